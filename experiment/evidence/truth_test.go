package evidence

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"apfsim/core/queueset"
	"apfsim/experiment/incident"
	"apfsim/experiment/output"
	"apfsim/reports/collect"
	"apfsim/reports/judge"
	"apfsim/reports/record"
	"apfsim/reports/result"
	"apfsim/scenarios"
	"apfsim/sim"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	apiserver "apfsim/sim/server"
)

var long = flag.Bool("long", false, "run all scenarios of the library")

// observedRun is a run, what is true of it, and the metrics of its servers.
type observedRun struct {
	sc      *scenario.Scenario
	result  *result.Result
	whole   *result.Result // of the run from its beginning
	metrics string
	fromS   float64 // of the window that the truth is of, since the beginning
	toS     float64
	dumped  []File // at the moment at which most requests waited
}

const second = int64(time.Second)

// observe runs a scenario. The truth is that of its last part, before which a server has a past: three quarters, or all of it if the
// first quarter is another story.
func observe(t *testing.T, sc *scenario.Scenario) *observedRun {
	t.Helper()
	o := observeFrom(t, sc, 4)
	for i := range o.result.Summary.PriorityLevels {
		if l := &o.result.Summary.PriorityLevels[i]; o.truth(l).spills && sc.Metadata.Truth != nil {
			return observeFrom(t, sc, math.MaxInt64)
		}
	}
	return o
}

func observeFrom(t *testing.T, sc *scenario.Scenario, part int64) *observedRun {
	t.Helper()
	intervalNs := 10 * second
	duration := int64(sc.Spec.Duration)
	if duration < 80*second {
		intervalNs = max(duration/8/second, 1) * second
	}
	from := duration / part / intervalNs * intervalNs
	sc.Spec.Warmup = scenario.Warmup{Duration: quantity.Duration(from)}
	run := sim.New(sc)
	truth := collect.Measure(run, result.Interval(duration))
	sc.Spec.Warmup = scenario.Warmup{}
	whole := collect.Measure(run, result.Interval(duration))
	var metrics bytes.Buffer
	m := record.NewOpenMetrics(&metrics, sc, run.Servers(), output.Epoch, intervalNs)
	run.Observe(m.Observer())
	var moments []int64
	if sc.Metadata.Truth != nil {
		for at := from + second/4; at < duration; at += second / 2 {
			moments = append(moments, at)
		}
	}
	dumps, err := record.NewDumps(sc, run.Servers(), output.Epoch, moments)
	if err != nil {
		t.Fatal(err)
	}
	run.Observe(dumps.Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	r := truth.Result()
	judge.Verdict(r)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return &observedRun{sc, r, whole.Result(), metrics.String(), float64(from / second), float64(duration) / 1e9, worstDumps(dumps)}
}

// worstDumps returns the dumps of a server at the moment at which most requests wait.
func worstDumps(all record.Dumps) (worst []File) {
	most := -1
	list := all.Files().Files
	for i := 0; i+2 < len(list); i += 3 {
		n, files := 0, []File(nil)
		for k := range 3 {
			f := textFile(list[i+k].Name, string(list[i+k].Data))
			if files = append(files, f); f.Kind == incident.DumpRequests {
				n = bytes.Count(list[i+k].Data, []byte("0001-01-01T"))
			}
		}
		if n > most {
			most, worst = n, files
		}
	}
	return worst
}

// samples returns what the servers report at some times, with or without the times; keep says which metrics.
func (o *observedRun) samples(times func(s float64) bool, timed bool, keep func(name string) bool) (all map[float64]string) {
	texts := map[float64]*strings.Builder{}
	for line := range strings.Lines(o.metrics) {
		line = strings.TrimSuffix(line, "\n")
		space := strings.LastIndexByte(line, ' ')
		at, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil || line[0] == '#' || !keep(line[:strings.IndexByte(line, '{')]) {
			continue
		}
		if at -= float64(output.Epoch.Unix()); !times(at) {
			continue
		}
		if texts[at] == nil {
			texts[at] = &strings.Builder{}
			end := ""
			if timed {
				end = line[space:]
			}
			for i := range o.result.Summary.Servers {
				instance := o.sc.Metadata.Name
				if len(o.result.Summary.Servers) > 1 {
					instance += fmt.Sprintf("-%d", i)
				}
				fmt.Fprintf(texts[at], "process_start_time_seconds{instance=%q,job=\"apiserver\"} %d%s\n", instance, output.Epoch.Unix(), end)
			}
		}
		if !timed {
			line = line[:space]
		}
		texts[at].WriteString(line + "\n")
	}
	all = map[float64]string{}
	for at, b := range texts {
		all[at] = b.String()
	}
	return all
}

func textFile(name, content string) File {
	return File{Name: name, Kind: Recognize([]byte(content)[:min(len(content), HeadBytes)]), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
}

func everything(string) bool { return true }

// gkeSeries are the five series of flow control that GKE gives.
func gkeSeries(name string) bool {
	for _, s := range []string{"current_executing_seats", "current_inqueue_requests", "nominal_limit_seats", "rejected_requests_total", "request_wait_duration_seconds"} {
		if strings.HasPrefix(name, "apiserver_flowcontrol_"+s) {
			return true
		}
	}
	return false
}

// aksSeries are the two series of flow control that AKS gives, and the requests.
func aksSeries(name string) bool {
	return slices.Contains([]string{"apiserver_flowcontrol_demand_seats_average", "apiserver_flowcontrol_current_limit_seats", "apiserver_request_total"}, name)
}

// views are the ways to see a run.
var views = []struct {
	name string
	of   func(o *observedRun) []File
}{
	{"two scrapes", func(o *observedRun) []File { return o.twoScrapes(everything) }},
	{"a series", func(o *observedRun) []File { return o.series(everything) }},
	{"GKE", func(o *observedRun) []File { return o.series(gkeSeries) }},
	{"AKS", func(o *observedRun) []File { return o.series(aksSeries) }},
	{dumpsView, func(o *observedRun) []File { return o.dumped }},
}

// dumpsView is the dumps at the worst moment, which the systems of the judgement have.
const dumpsView = "dumps"

// series is what Prometheus has with a sample each 30 s, or more often of short runs.
func (o *observedRun) series(keep func(string) bool) []File {
	text := ""
	all := o.samples(func(s float64) bool { return s >= o.fromS && (int(s-o.fromS)%30 == 0 || s == o.toS || o.toS < 240) }, true, keep)
	for _, at := range slices.Sorted(keys(all)) {
		text += all[at]
	}
	return []File{textFile("series.txt", text)}
}

func keys(m map[float64]string) func(func(float64) bool) {
	return func(yield func(float64) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (o *observedRun) twoScrapes(keep func(string) bool) (files []File) {
	all := o.samples(func(s float64) bool { return s == o.fromS || s == o.toS }, false, keep)
	for _, at := range slices.Sorted(keys(all)) {
		files = append(files, textFile(fmt.Sprintf("at-%g.txt", at), all[at]))
	}
	return files
}

// cheap are the scenarios that run in a moment.
var cheap = []string{"wide-lists", "wide-lists-at-catch-all", "idle-capacity-penalty", "webhook-deadlock", "memory-and-relists", "cold-cache-429", "lent-seats",
	"watch-storm", "policy-engine-behind-operators", "zero-shares", "anonymous-health-checks", "noisy-namespace"}

// truth is what is true of a level.
type truth struct {
	status result.Status
	spills bool          // requests that arrived before the window waited in it
	kinds  []result.Kind // of the causes, the most important first
	any    bool          // any of them is right as the first one
}

func (o *observedRun) truth(l *result.Level) truth {
	v := o.result.Summary.Verdict
	of := func(l *result.Level) result.Status {
		j := result.Judged{Of: result.OfLevel, Name: l.Name, Arrived: l.Arrived, NotServed: l.Rejected}
		if l.Wait != nil && l.Wait.Count >= leastForP99 {
			j.WaitP99Ns = l.Wait.P99Ns
		}
		status, _ := judge.Decide([]result.Judged{j})
		return status
	}
	t := truth{status: of(l)}
	for i := range o.whole.Summary.PriorityLevels {
		if w := &o.whole.Summary.PriorityLevels[i]; w.Name == l.Name {
			t.spills = of(w) != t.status
		}
	}
	if known := o.sc.Metadata.Truth; known != nil && len(known.FirstCauses) > 0 && t.status != result.OK {
		t.any = true
		for _, k := range known.FirstCauses {
			t.kinds = append(t.kinds, result.Kind(k))
		}
		return t
	}
	for _, c := range v.Causes {
		if c.Level == l.Name || c.Level == "" {
			t.kinds = append(t.kinds, c.Kind)
		}
	}
	return t
}

// slowOnes are classes of causes that metrics cannot tell apart: executions take longer.
var slowOnes = []result.Kind{result.ByEtcd, result.ByWebhook, result.ByCores, result.ByMemory, result.ByNetwork}

func seen(k result.Kind) result.Kind {
	if slices.Contains(slowOnes, k) {
		return result.ByExecution
	}
	return k
}

// outcome says how far a diagnosis of a level is right: "right" in the first cause, "among" those that it says fit, "wrong" otherwise.
// Of a level without harm, it is "right" if there is no cause.
func (w *truth) outcome(d *Diagnosis, name, view string) (outcome, text string) {
	i := slices.IndexFunc(d.Verdict.Causes, func(c result.Cause) bool { return c.Level == name })
	switch {
	case i < 0 && w.status == result.OK:
		return "right", ""
	case i < 0 && (d.Verdict.Status == result.Unknown || slices.ContainsFunc(d.unknown, func(text string) bool { return strings.HasPrefix(text, "How long requests waited") })):
		return "unknown", ""
	case i < 0 && view == dumpsView && d.Verdict.Status != result.OK: // it says that requests wait, or were rejected
		return "unknown", ""
	case i < 0:
		return "missed", d.Verdict.Sentence
	}
	c := &d.Verdict.Causes[i]
	text = fmt.Sprintf("%s or %v", c.Kind, c.Or)
	switch {
	case w.status == result.OK:
		return "wrong", text
	case len(w.kinds) == 0:
		return "right", text
	}
	first := w.kinds[:1]
	if w.any {
		first = w.kinds
	}
	switch is := func(k result.Kind) bool {
		return slices.ContainsFunc(first, func(one result.Kind) bool { return seen(one) == k })
	}; {
	case is(c.Kind):
		return "right", text
	case slices.ContainsFunc(c.Or, is):
		return "among", text
	}
	return "wrong", text
}

func TestLibraryThroughMetrics(t *testing.T) {
	var all []*scenario.Scenario
	for _, name := range scenarios.Names() {
		if name != "day-of-5000-nodes" && (*long || slices.Contains(cheap, name)) { // it takes minutes
			all = append(all, loaded(t, scenarios.Files, scenarios.File(name))...)
		}
	}
	throughViews(t, all)
}

// The systems of make judgement have a truth that was known before they ran. Those with faults are incidents, and the others are not to
// be called harmed.
func TestJudgementThroughMetrics(t *testing.T) {
	var all []*scenario.Scenario
	for _, class := range []string{"overloaded", "healthy", "borderline", "clients", "other"} {
		systems := loaded(t, nil, "../../lab/judgement/testdata/"+class+".yaml")
		if !*long {
			systems = systems[:2]
		}
		all = append(all, systems...)
	}
	throughViews(t, all)
}

func loaded(t *testing.T, files fs.FS, name string) []*scenario.Scenario {
	t.Helper()
	all, mistakes := loader.Load(files, name, loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// throughViews compares what is said of the runs of scenarios, seen in each way, with what is true.
func throughViews(t *testing.T, all []*scenario.Scenario) {
	counts := map[string]map[string]int{}
	for _, sc := range all {
		if sc.Spec.Servers.FlowControl != apiserver.PriorityAndFairness {
			continue
		}
		t.Run(sc.Metadata.Name, func(t *testing.T) {
			start := time.Now()
			o := observe(t, sc)
			took := time.Since(start)
			for _, v := range views {
				if v.name == dumpsView && o.dumped == nil {
					continue
				}
				if counts[v.name] == nil {
					counts[v.name] = map[string]int{}
				}
				o.compare(t, v.name, v.of(o), counts[v.name])
			}
			t.Logf("TOOK %v of %v %s", took, time.Since(start), sc.Metadata.Name)
		})
	}
	for _, v := range views {
		c := counts[v.name]
		t.Logf("%-12s status of %d systems: %d the same, %d unknown; harmed levels: %d right, %d among those that are said to fit, %d cannot be told, %d missed, %d wrong",
			v.name, c["systems"], c["status"], c["status unknown"], c["right"], c["among"], c["unknown"], c["missed"], c["wrong"])
	}
}

// wrongSchema says how the FlowSchema of a level with most of its rejections, or their reason, is another than that of the run.
func (o *observedRun) wrongSchema(d *Diagnosis, l *result.Level, view string) string {
	if view == dumpsView || view == "AKS" || l.Rejected < leastForP99 || len(o.result.Summary.Servers) > 1 {
		return ""
	}
	worst := &result.Group{}
	for i := range o.result.Summary.FlowSchemas {
		if g := &o.result.Summary.FlowSchemas[i]; g.Rejected > worst.Rejected && slices.ContainsFunc(d.Schemas, func(u incident.SchemaUse) bool { return u.FlowSchema == g.Name && u.PriorityLevel == l.Name }) {
			worst = g
		}
	}
	reason := queueset.QueueFull
	if most := max(worst.QueueFull, worst.ConcurrencyLimit, worst.TimedOut); most == worst.TimedOut {
		reason = queueset.TimedOut
	} else if most == worst.ConcurrencyLimit {
		reason = queueset.ConcurrencyLimit
	}
	for _, u := range d.Schemas {
		if n := sum(u.Rejected); u.PriorityLevel == l.Name && n > 0 { // the first has most
			if u.FlowSchema != worst.Name || 2*u.Rejected[reason.String()] < n {
				return fmt.Sprintf("most rejections of %s are those of %s, %v; want %s, %s", l.Name, u.FlowSchema, u.Rejected, worst.Name, reason)
			}
			return ""
		}
	}
	return fmt.Sprintf("no rejection of %s is seen; want %d, most of %s", l.Name, l.Rejected, worst.Name)
}

func (o *observedRun) compare(t *testing.T, view string, files []File, counts map[string]int) {
	d, err := Diagnose(context.Background(), files)
	if err != nil {
		t.Error(view, err)
		return
	}
	worst, spills := result.OK, false
	for i := range o.result.Summary.PriorityLevels {
		l := &o.result.Summary.PriorityLevels[i]
		want := o.truth(l)
		if want.spills {
			spills = true
			continue
		}
		if want.status.Worse(worst) {
			worst = want.status
		}
		if wrong := o.wrongSchema(d, l, view); wrong != "" {
			t.Errorf("%s: %s", view, wrong)
		}
		outcome, text := want.outcome(d, l.Name, view)
		if want.status != result.OK || outcome != "right" {
			counts[outcome]++
			t.Logf("%-8s %-12s %-18s %-8s %v | %s", outcome, view, l.Name, want.status, want.kinds, text)
			if outcome == "wrong" || outcome == "missed" {
				t.Errorf("%s: the cause is %s", view, outcome)
				for _, c := range o.result.Summary.Verdict.Causes {
					t.Log("    ", c.Sentence)
				}
				for _, c := range d.Verdict.Causes {
					t.Log("  > ", c.Sentence)
				}
			}
		}
	}
	got := d.Verdict.Status
	if counts["systems"]++; got == worst {
		counts["status"]++
	} else if got == result.Unknown {
		counts["status unknown"]++
	}
	switch restarted := slices.ContainsFunc(d.Verdict.Causes, func(c result.Cause) bool { return c.Kind == result.ByInFlightLimit }); {
	case view == dumpsView && slices.Contains(o.sc.Metadata.Truth.Status, string(got)):
	case view == dumpsView && (got == result.OK) == (worst == result.OK): // how many are harmed is not in a dump
	case spills, got == worst, got == result.Unknown, o.result.Summary.Total.Arrived < judge.LeastRequests:
	case restarted && worst == result.OK && got == result.Warning: // what flow control reports is not all that happened
	case len(o.result.Summary.Servers) > 1 && view == "GKE" && worst == result.Harm && got == result.Warning:
		// What a server had counted before it stopped is lost, and GKE does not give when a process started.
	default:
		t.Errorf("%s: status %s, want %s: %s", view, got, worst, d.Verdict.Sentence)
	}
}
