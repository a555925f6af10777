package evidence

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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
}

const second = int64(time.Second)

// observe runs a scenario. The truth is that of the last three quarters, before which a server has a past.
func observe(t *testing.T, sc *scenario.Scenario) *observedRun {
	t.Helper()
	intervalNs := 10 * second
	duration := int64(sc.Spec.Duration)
	if duration < 80*second {
		intervalNs = max(duration/8/second, 1) * second
	}
	from := duration / 4 / intervalNs * intervalNs
	sc.Spec.Warmup = scenario.Warmup{Duration: quantity.Duration(from)}
	run := sim.New(sc)
	truth := collect.Measure(run, result.Interval(duration))
	sc.Spec.Warmup = scenario.Warmup{}
	whole := collect.Measure(run, result.Interval(duration))
	var metrics bytes.Buffer
	m := record.NewOpenMetrics(&metrics, sc, run.Servers(), output.Epoch, intervalNs)
	run.Observe(m.Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	r := truth.Result()
	judge.Verdict(r)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return &observedRun{sc, r, whole.Result(), metrics.String(), float64(from / second), float64(duration) / 1e9}
}

// scrapes returns what the servers report at some times, with or without the times; keep says which metrics.
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
}

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
func (w *truth) outcome(d *Diagnosis, name string) (outcome, text string) {
	i := slices.IndexFunc(d.Verdict.Causes, func(c result.Cause) bool { return c.Level == name })
	switch {
	case i < 0 && w.status == result.OK:
		return "right", ""
	case i < 0 && (d.Verdict.Status == result.Unknown || slices.ContainsFunc(d.unknown, func(text string) bool { return strings.HasPrefix(text, "How long requests waited") })):
		return "unknown", ""
	case i < 0:
		return "missed", d.Verdict.Sentence
	}
	c := &d.Verdict.Causes[i]
	text = fmt.Sprintf("%s or %v", c.Kind, c.Or)
	switch {
	case w.status == result.OK:
		return "wrong", text
	case len(w.kinds) == 0 || seen(w.kinds[0]) == c.Kind:
		return "right", text
	case slices.Contains(c.Or, seen(w.kinds[0])):
		return "among", text
	}
	return "wrong", text
}

func TestLibraryThroughMetrics(t *testing.T) {
	counts := map[string]map[string]int{}
	for _, scenario := range scenarios.Names() {
		if scenario == "day-of-5000-nodes" || !*long && !slices.Contains(cheap, scenario) { // it takes minutes
			continue
		}
		all, mistakes := loader.Load(scenarios.Files, scenarios.File(scenario), loader.Options{})
		if err := mistakes.Err(); err != nil {
			t.Fatal(err)
		}
		for i, sc := range all {
			if sc.Spec.Servers.FlowControl != apiserver.PriorityAndFairness {
				continue
			}
			name := scenario
			if len(all) > 1 {
				name += fmt.Sprintf("#%d", i)
			}
			t.Run(name, func(t *testing.T) {
				start := time.Now()
				o := observe(t, sc)
				took := time.Since(start)
				for _, v := range views {
					if counts[v.name] == nil {
						counts[v.name] = map[string]int{}
					}
					o.compare(t, v.name, v.of(o), counts[v.name])
				}
				t.Logf("TOOK %v of %v %s", took, time.Since(start), name)
			})
		}
	}
	for _, v := range views {
		c := counts[v.name]
		t.Logf("%-12s harmed levels: %d right, %d among those that are said to fit, %d cannot be told, %d missed, %d wrong", v.name, c["right"], c["among"], c["unknown"], c["missed"], c["wrong"])
	}
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
		outcome, text := want.outcome(d, l.Name)
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
	switch restarted := slices.ContainsFunc(d.Verdict.Causes, func(c result.Cause) bool { return c.Kind == result.ByInFlightLimit }); {
	case spills, got == worst, got == result.Unknown, o.result.Summary.Total.Arrived < judge.LeastRequests:
	case restarted && worst == result.OK && got == result.Warning: // what flow control reports is not all that happened
	case len(o.result.Summary.Servers) > 1 && view == "GKE" && worst == result.Harm && got == result.Warning:
		// What a server had counted before it stopped is lost, and GKE does not give when a process started.
	default:
		t.Errorf("%s: status %s, want %s: %s", view, got, worst, d.Verdict.Sentence)
	}
}
