package evidence

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"apfsim/core/rules"
	fitted "apfsim/experiment/fit/shape"
	"apfsim/experiment/incident"
	"apfsim/lint/metrics"
	"apfsim/reports/files"
	"apfsim/reports/format"
	"apfsim/reports/record"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario"
)

// Imported is what an import of metrics has made, and how runs of it compare with the series.
type Imported struct {
	SchemaVersion     string            `json:"schemaVersion"`
	KubernetesVersion string            `json:"kubernetesVersion"` // the release of the scenario
	Sources           []incident.Source `json:"sources"`
	Server            string            `json:"server"` // of which the scenario is; "" if nothing names it
	From              string            `json:"from"`   // the first sample, RFC 3339
	To                string            `json:"to"`     // the last one

	Workloads []ImportedWorkload `json:"workloads"`
	Runs      []ImportedRun      `json:"runs"`   // one for each assumption on the flows
	Chosen    int                `json:"chosen"` // the index of the one that the scenario has
	Notes     []string           `json:"notes"`  // what is assumed, and what is not known
	Warnings  []string           `json:"warnings"`

	release  *rules.Rules
	scenario string
	objects  []byte
}

// ImportedWorkload is the requests of a FlowSchema.
type ImportedWorkload struct {
	FlowSchema    string  `json:"flowSchema"`
	PriorityLevel string  `json:"priorityLevel"`
	Rate          float64 `json:"rate"`        // arrivals per second, on average
	Steady        bool    `json:"steady"`      // the rate is the same in all intervals, as far as their counts show
	Watches       float64 `json:"watches"`     // which part of the requests are watches
	ExecutionNs   float64 `json:"executionNs"` // on average; of watches, their initialisation
	Seats         float64 `json:"seats"`       // of a request, on average
	Flows         int     `json:"flows"`       // 0 if they are assumed
	OneFlow       bool    `json:"oneFlow"`     // by the rules of the FlowSchema, or the priority level, there is one
}

// ImportedRun is the runs with one assumption on the flows, beside the series.
type ImportedRun struct {
	Flows   string   `json:"flows"`  // "1", "10", "requests"; "given" if nothing is assumed
	Agrees  bool     `json:"agrees"` // all figures do
	Figures []Figure `json:"figures"`
}

// Figure is a figure of a priority level in the series and in the runs.
type Figure struct {
	PriorityLevel string  `json:"priorityLevel"`
	Name          string  `json:"figure"` // requests, rejected: REASON, "wait over 0.5 s", "seats in use"
	Unit          string  `json:"unit"`   // requests, ratio or seats
	Series        float64 `json:"series"`
	Run           float64 `json:"run"`       // mean of the runs
	Tolerance     float64 `json:"tolerance"` // up to which difference they agree
	Agrees        bool    `json:"agrees"`

	deviations float64 // three standard deviations of one more run
}

// runsOfEach is how many runs there are of each assumption: seeds 1, 2, …
const runsOfEach = 3

// How far runs may be from the series: by three standard deviations of one more run, or so much. The deviation counts up to
// mostDeviations of these: runs that differ from each other by more do not show that the series are one of them.
const (
	mostDeviations = 3

	mostRequests = 0.02 // of the requests
	mostRejected = 0.1  // of the rejected requests
	mostSeats    = 0.05 // of the seats in use
	mostWaiting  = 0.05 // of all requests, that wait for longer than the bound of a bucket
	leastSeats   = 0.5
)

func (r *Imported) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// describe adds the workloads, and the notes on all that is assumed.
func (b *builder) describe(flows map[string]int) {
	r := b.Imported
	r.SchemaVersion = result.SchemaVersion
	r.Notes = append(r.Notes, b.placement.notes...)
	var narrowed []string
	for i, s := range b.load.schemas {
		w := ImportedWorkload{FlowSchema: s.schema, PriorityLevel: s.level, Rate: fitted.Number(s.perSecond(b.load)), Steady: s.steady(b.load), Watches: s.watches, Seats: 1,
			Flows: flows[s.schema], OneFlow: !b.senders[i].flows}
		if s.executions.n > 0 {
			w.ExecutionNs = s.executions.mean() * 1e9
		}
		if s.widths.n > 0 {
			w.Seats = s.widths.mean()
		}
		if kinds := s.widths.seats(); kinds[len(kinds)-1].value > 1 {
			if wide := kinds[len(kinds)-1].value; !b.senders[i].lists || b.query(b.senders[i], wide) == "" {
				narrowed = append(narrowed, s.schema)
			}
		}
		r.Workloads = append(r.Workloads, w)
	}
	if len(narrowed) > 0 {
		r.note("Requests of several seats of %s have one seat in the scenario, as its FlowSchema takes no lists that could have them: they may be writes that many watches receive.", format.Listed(narrowed, 3, ""))
	}
	r.note("Users, verbs and resources are not known: the series of flow control have no such labels, and apiserver_request_total has no FlowSchema. Each FlowSchema is one workload.")
	r.note("Within an interval of the series, requests are assumed to arrive independently (Poisson). Requests that were sent again after a rejection are part of the arrivals: the scenario has no retries, so that fewer rejections do not make them fewer.")
	if slices.ContainsFunc(b.load.schemas, func(s *schemaLoad) bool { return s.watches > 0 }) {
		r.note("Watches occupy seats only while they are initialised. In the scenario they are requests like the others of their FlowSchema, with the seats and executions of both.")
	}
	for i, s := range b.load.schemas {
		if s.held > 0 && !slices.ContainsFunc(b.load.schemas[:i], func(o *schemaLoad) bool { return o.level == s.level }) {
			r.note("Requests at %s hold their seats for about %s longer than they execute, as writes do that many watches receive: in the scenario, the executions of those with the most seats are longer by that.", s.level, format.Duration(s.held*1e9))
		}
	}
	if !slices.ContainsFunc(b.load.schemas, func(s *schemaLoad) bool { return s.widths.n > 0 }) {
		r.note("The series do not say how many seats requests have (work_estimated_seats): each has one.")
	}
}

// assumption is a number of flows of each FlowSchema.
type assumption struct {
	name  string
	flows []int
}

// middle is the assumption that is preferred to others that agree as well.
const middle = "10"

// assumptions returns the assumptions on the flows.
func (b *builder) assumptions(given map[string]int) (all []assumption) {
	flows := func(free func(s *schemaLoad) int) (list []int, used bool) {
		for i, s := range b.load.schemas {
			n := 1
			switch fixed, known := given[s.schema]; {
			case known:
				n = fixed
			case b.senders[i].flows:
				n, used = max(1, free(s)), true
			}
			list = append(list, n)
		}
		return list, used
	}
	for _, a := range []struct {
		name string
		free func(s *schemaLoad) int
	}{{"1", func(*schemaLoad) int { return 1 }}, {middle, func(*schemaLoad) int { return 10 }},
		{"requests", func(s *schemaLoad) int { return int(min(mostFlows, s.all)) }}} {
		list, used := flows(a.free)
		if !used {
			return []assumption{{"given", list}}
		}
		all = append(all, assumption{a.name, list})
	}
	return all
}

// compare runs the scenario with each assumption, compares the runs with the series, and keeps the assumption with which they differ in
// the fewest figures.
func (b *builder) compare(ctx context.Context, o *ImportOptions) error {
	objects, err := b.objectsText()
	if err != nil {
		return err
	}
	r, fewest := b.Imported, math.MaxInt
	var chosen assumption
	for _, a := range b.assumptions(o.Flows) {
		text, err := b.scenario(a.flows)
		if err != nil {
			return err
		}
		var runs []*server
		for seed := range runsOfEach {
			sc, err := incident.Load(map[string][]byte{incident.ScenarioFile: []byte(text), ObjectsFile: objects})
			if err != nil {
				return fmt.Errorf("the scenario that is made of the series is not valid: %w", err)
			}
			sc.Spec.Seed = uint64(seed + 1)
			progress := o.Progress(fmt.Sprintf("s, %s flows, run %d of %d", a.name, seed+1, runsOfEach))
			run, err := b.run(ctx, sc, progress)
			if err != nil {
				return err
			}
			runs = append(runs, run)
		}
		run := ImportedRun{Flows: a.name, Figures: b.figures(runs)}
		differ := 0
		for i := range run.Figures {
			if !run.Figures[i].Agrees {
				differ++
			}
		}
		run.Agrees = differ == 0
		if r.Runs = append(r.Runs, run); differ < fewest || differ == fewest && a.name == middle {
			fewest, r.Chosen, r.scenario, r.objects, chosen = differ, len(r.Runs)-1, text, objects, a
		}
	}
	if b.disagrees = fewest > 0; b.disagrees {
		r.scenario, err = b.scenario(chosen.flows)
	}
	return err
}

// run runs a scenario, and returns the metrics of its server in the time of the series.
func (b *builder) run(ctx context.Context, sc *scenario.Scenario, progress format.Progress) (*server, error) {
	run := sim.New(sc)
	var text bytes.Buffer
	all := max(1, int(sc.Spec.Duration)/int(time.Second))
	m := record.NewOpenMetrics(&text, sc, run.Servers(), b.start(), int64(b.interval()))
	run.Observe(m.Observer())
	if err := run.Execute(ctx, func(nowNs int64, _ uint64) { progress.Report(int(nowNs/int64(time.Second)), all) }); err != nil {
		return nil, err
	}
	if err := m.Close(); err != nil {
		return nil, err
	}
	e := &evidence{}
	if err := e.readNamed(&incident.Source{}, text.Bytes(), comparedMetrics); err != nil {
		return nil, err
	}
	servers, _, _ := e.collected.servers()
	s := servers[0]
	fromMs := b.start().Add(b.lead()).UnixMilli() // an old release reports nothing at first, so that the sample at 0 is missing
	from := slices.IndexFunc(s.atMs, func(at int64) bool { return at >= fromMs })
	return s.cut(from, len(s.atMs)-1), nil
}

// comparedMetrics are the beginnings of the names of the metrics that are compared.
var comparedMetrics = []string{metrics.DispatchedTotal, metrics.RejectedTotal, metrics.WaitSeconds, metrics.SeatUtilization + "_sum", metrics.SeatUtilization + "_count",
	metrics.CurrentLimit, metrics.ExecutingSeats, metrics.ConcurrencyInUse, metrics.InQueue}

// figures compares runs with the series, by priority level.
func (b *builder) figures(runs []*server) (all []Figure) {
	var levels []map[string]*level
	for _, run := range runs {
		byName := map[string]*level{}
		for _, l := range run.levels() {
			byName[l.level] = l
		}
		levels = append(levels, byName)
	}
	for _, l := range b.levels {
		if l.arrived() == 0 {
			continue
		}
		add := func(name, unit string, series func(s *server, l *level) float64, tolerance func(series, run, deviation float64) float64) {
			f := Figure{PriorityLevel: l.level, Name: name, Unit: unit, Series: series(b.server, l)}
			if math.IsNaN(f.Series) {
				return
			}
			var values []float64
			for i, run := range runs {
				x := 0.0
				if of := levels[i][l.level]; of != nil {
					x = series(run, of)
				}
				values = append(values, x)
			}
			mean, deviation := stat.MeanStdDev(values, nil)
			if f.Run = mean; math.IsNaN(mean) {
				return
			}
			f.deviations = 3 * deviation * math.Sqrt(1+1/float64(len(values)))
			f.Tolerance = tolerance(f.Series, mean, f.deviations)
			f.Agrees = math.Abs(f.Series-mean) <= f.Tolerance
			all = append(all, f)
		}
		// A count varies at least as that of a Poisson process.
		count := func(part float64) func(series, run, deviation float64) float64 {
			return func(series, run, deviation float64) float64 {
				most := part * max(series, run)
				return max(most, min(deviation, mostDeviations*most), 3*math.Sqrt(max(series, run)))
			}
		}
		add("requests", "requests", func(s *server, l *level) float64 { return s.arrivals(l) }, count(mostRequests))
		reasons := maps.Clone(l.reasons)
		for _, byName := range levels {
			if of := byName[l.level]; of != nil {
				maps.Copy(reasons, of.reasons)
			}
		}
		for _, reason := range slices.Sorted(maps.Keys(reasons)) {
			add("rejected: "+reason, "requests", func(_ *server, l *level) float64 { return l.reasons[reason] }, count(mostRejected))
		}
		if l.exempt() {
			continue
		}
		for _, bound := range waitBounds {
			share := func(s *server, l *level) float64 {
				w, _ := s.histogram(metrics.WaitSeconds, 1, len(s.atMs), func(one *series) bool { return one.level() == l.level && one.labels["execute"] == "true" })
				if w.Count() == 0 {
					return math.NaN()
				}
				return 1 - w.UpTo(bound)/w.Count()
			}
			if !slices.ContainsFunc(b.server.series[metrics.WaitSeconds+"_bucket"], func(one *series) bool { return one.upTo(bound) }) {
				continue
			}
			add(fmt.Sprintf("wait over %s", format.Duration(bound*1e9)), "ratio", share, func(_, _, deviation float64) float64 {
				return max(mostWaiting, min(deviation, mostDeviations*mostWaiting))
			})
		}
		add("seats in use", "seats", func(s *server, l *level) float64 { return s.usedSeats(l) }, func(series, run, deviation float64) float64 {
			most := max(mostSeats*max(series, run), leastSeats)
			return max(most, min(deviation, mostDeviations*most))
		})
	}
	return all
}

// waitBounds are the bounds of buckets whose requests are compared, in seconds.
var waitBounds = []float64{0.005, 0.05, 0.2, 1, 5, 15}

// arrivals returns how many requests arrived at a level.
func (s *server) arrivals(l *level) float64 {
	of := func(one *series) bool { return one.level() == l.level }
	return l.arrived() + s.sumAt(metrics.InQueue, len(s.atMs)-1, of) - s.sumAt(metrics.InQueue, 0, of)
}

// Files returns the files of the import.
func (r *Imported) Files() (list files.List) {
	list.Files = []files.File{{Name: incident.ScenarioFile, Data: []byte(r.scenario)}, {Name: ObjectsFile, Data: r.objects}}
	list.Add(incident.ReportFile, func(w io.Writer) error { return format.WriteJSON(w, r) })
	return list
}

// flowsText names an assumption.
func (r *ImportedRun) flowsText() string {
	switch r.Flows {
	case "given":
		return "run"
	case "requests":
		return "each its own"
	case "1":
		return "1 flow"
	}
	return r.Flows + " flows"
}

// worst returns the figure that differs most, nil if all agree: in rejections before waits, seats and requests.
func (r *ImportedRun) worst() (worst *Figure) {
	rank := func(f *Figure) int {
		return slices.IndexFunc([]string{"rejected", "wait", "seats", "requests"}, func(prefix string) bool { return strings.HasPrefix(f.Name, prefix) })
	}
	for i := range r.Figures {
		if f := &r.Figures[i]; !f.Agrees && (worst == nil || cmp.Or(cmp.Compare(rank(f), rank(worst)), -cmp.Compare(f.off(), worst.off())) < 0) {
			worst = f
		}
	}
	return worst
}

// off returns by how many tolerances a figure differs.
func (f *Figure) off() float64 { return math.Abs(f.Series-f.Run) / f.Tolerance }
