// Package check runs a fitted scenario several times and compares it with the recorded requests: it says which recorded
// statistics are within the prediction intervals of the runs.
package check

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"apfsim/experiment"
	"apfsim/experiment/fit"
	"apfsim/experiment/fit/shape"
	"apfsim/reports/collect"
	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
)

// Report is the report of a fit and of the check of the scenario.
type Report struct {
	*fit.Report
	Check *Check `json:"check"` // null if the scenario was not run
}

// Check compares runs of the fitted scenario with the recorded requests. The interval of a statistic goes from
// its least to its greatest value in the runs. It is a prediction interval: it holds the value of one more run
// with the probability Coverage, (runs − 1)/(runs + 1), whatever the distribution. It is not an interval of
// the mean, which would be narrower and say nothing about a single recording.
type Check struct {
	Runs     int     `json:"runs"`
	Coverage float64 `json:"coverage"`
	Within   int     `json:"within"` // rows whose recorded value is in the interval
	Rows     []Row   `json:"rows"`   // of all requests, then by priority level, then by workload
	Moved    []Moved `json:"moved"`  // workloads whose requests went elsewhere than recorded
	// NotFitted lists properties of the log that the scenario as a whole lacks: fit.Bursts, if the counts of all
	// requests vary otherwise than recorded although those of each workload do not, because the workloads send at the
	// same times.
	NotFitted []string `json:"notFitted"`
	// SlowTimes says that in the log, but not in the scenario, requests were slow at the same times; "" if that is not
	// so.
	SlowTimes string `json:"slowTimes"`
	// Disagrees says how the log differs from a scenario with a capacity by so much that the capacity cannot explain
	// the speed of the server; "" if it can.
	Disagrees string `json:"disagrees"`
	Skipped   string `json:"skipped"` // why some statistics are not compared; "" if all are

	// WaitErrors is how much the recorded waits are too long; null if this is unknown. The upper bounds of the
	// intervals of waits contain it.
	WaitErrors *result.Distribution `json:"waitErrors"`
	// WaitMarginNs widens the upper bounds of the intervals of waits if WaitErrors is unknown.
	WaitMarginNs int64 `json:"waitMarginNs"`

	missed map[int]string // of the workloads whose bursts are not those of the scenario, the first statistic that says so
}

// Row is one statistic, recorded and simulated. Durations are in nanoseconds.
type Row struct {
	Group     string   `json:"group"` // all, workload or priorityLevel
	Name      string   `json:"name"`  // of the workload or the level
	Statistic string   `json:"statistic"`
	Unit      string   `json:"unit"` // ns, "" of a number of requests, or 1 of a number without a unit
	Recorded  float64  `json:"recorded"`
	Low       *float64 `json:"low"`    // null without simulated values
	Median    *float64 `json:"median"` // null without simulated values
	High      *float64 `json:"high"`   // null without simulated values
	Within    bool     `json:"within"`
}

// Moved is a workload whose requests the simulated servers classified differently.
type Moved struct {
	Workload  string `json:"workload"`
	Recorded  string `json:"recorded"`  // FlowSchema and priority level
	Simulated string `json:"simulated"` // FlowSchema and priority level
}

// DefaultRuns is the number of runs with which the intervals are 95 % prediction intervals.
const DefaultRuns = 39

// Run runs a fitted scenario, which has been loaded from its file, so many times, and compares it with the
// recorded requests.
func Run(ctx context.Context, f *fit.Fitted, sc *scenario.Scenario, runs int, progress experiment.Progress) (*Check, error) {
	own := *sc
	own.Spec.Replications = runs
	seen := &observed{bySeed: map[uint64]*run{}}
	group := experiment.Begin(ctx, []*scenario.Scenario{&own}, experiment.Outputs{Observer: seen.observer}, experiment.Precision{}, progress)
	defer group.Stop()
	var rows []*row
	errors := newWaitErrors(f.Recorded)
	moved := map[Moved]bool{}
	for {
		next, err := group.Groups[0].Next()
		if err != nil {
			return nil, err
		}
		if next == nil {
			break
		}
		run := seen.take(next)
		if rows == nil {
			rows = rowsOf(f, levelsWith(f, run.Replication))
		}
		for _, r := range rows {
			if x, ok := r.statistic.value(r.find(run)); ok {
				r.simulated = append(r.simulated, x)
				r.errors = append(r.errors, errors.errorIn(r, len(r.errors)))
			}
		}
		compareFlows(f, run.Replication, moved)
	}
	c := &Check{Runs: runs, Coverage: float64(runs-1) / float64(runs+1), Rows: []Row{}, Moved: []Moved{}, NotFitted: []string{}}
	if !f.Recorded.Outcomes {
		c.Skipped = "the recorded requests do not say what became of them, so only arrivals and executions are compared"
	} else if t := &f.Recorded.Total; float64(t.Wait.N) < leastKnown*float64(t.Executed) {
		c.Skipped = fmt.Sprintf("the log has the waits of %s of %s executed requests, mostly of slow ones, so that the waits of all requests are not compared",
			format.Quantity(int64(t.Wait.N)), format.Quantity(t.Executed))
	}
	c.missed = map[int]string{}
	c.WaitErrors, c.WaitMarginNs = errors.distribution(), int64(errors.marginNs)
	for _, r := range rows {
		row := r.finish()
		if c.SlowTimes == "" && row.Group == "all" && row.slow() {
			c.SlowTimes = fmt.Sprintf("the server was slow at times: in the log, the mean latency of the requests of some %s was %s, and in the runs it is %s to %s. With a greater load such times hold more requests, and the scenario does not have them",
				map[string]string{"1s": "second", "10s": "10 s", "60s": "minute"}[strings.TrimPrefix(row.Statistic, slowest)], row.text(&row.Recorded), row.text(row.Low), row.text(row.High))
		}
		if row.Within {
			c.Within++
		}
		if r.missed && row.Group == "all" {
			c.NotFitted = []string{fit.Bursts}
		}
		if r.missed && row.Group == "workload" && c.missed[r.workload] == "" {
			c.missed[r.workload] = row.sentence()
		}
		c.Rows = append(c.Rows, row)
	}
	if k := f.Report.Capacity; k != nil && k.Identifiable {
		if c.Disagrees = c.disagreement(f.Recorded.Total.Latencies); k.DemandRatio != nil {
			c.Disagrees = fmt.Sprintf("the requests with which it was measured execute %s times as long alone in the log", format.Digits(*k.DemandRatio))
		}
	}
	for m := range moved {
		c.Moved = append(c.Moved, m)
	}
	slices.SortFunc(c.Moved, func(a, b Moved) int {
		return cmp.Or(cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Simulated, b.Simulated))
	})
	return c, nil
}

// levelsWith returns the recorded statistics of the priority levels. Requests whose level is not in the log, as those
// of watches that were open at its end, are added to the level that the simulated server chose.
func levelsWith(f *fit.Fitted, run *collect.Replication) map[string]*fit.Tally {
	levels := maps.Clone(f.Recorded.Levels)
	for i := range f.Report.Workloads {
		w := &f.Report.Workloads[i]
		known := slices.ContainsFunc(w.Kinds, func(k fit.Kind) bool { return k.PriorityLevel != "" })
		at := map[string]bool{}
		for k := range run.Parts {
			if p := &run.Parts[k]; p.Workload == w.Name {
				at[p.Level] = true
			}
		}
		if known || len(at) != 1 {
			continue
		}
		for level := range at {
			if levels[level] != nil {
				sum := &fit.Tally{}
				sum.Merge(levels[level])
				sum.Merge(f.Recorded.Workloads[i])
				levels[level] = sum
			}
		}
	}
	return levels
}

// compareFlows adds the workloads of which a run classified requests differently.
func compareFlows(f *fit.Fitted, run *collect.Replication, moved map[Moved]bool) {
	for i := range run.Parts {
		p := &run.Parts[i]
		for k := range f.Report.Workloads {
			w := &f.Report.Workloads[k]
			expected := func(k fit.Kind) bool {
				return k.PriorityLevel == "" || k.FlowSchema == p.Schema && k.PriorityLevel == p.Level
			}
			if w.Name == p.Workload && !slices.ContainsFunc(w.Kinds, expected) {
				moved[Moved{w.Name, w.FlowSchema + ", " + w.PriorityLevel, p.Schema + ", " + p.Level}] = true
			}
		}
	}
}

// requests are the measures of a group of requests from which statistics are read.
type requests struct {
	counts          *metric.Counts
	wait, execution *result.Distribution
	windows         windows
}

// statistic is a number of a group of requests.
type statistic struct {
	name, unit string
	outcome    bool // whether it depends on the outcomes
	bursts     bool // whether it says how much the counts of arrivals vary
	get        func(requests) (float64, bool)
}

func (s *statistic) value(r requests) (float64, bool) {
	if r.counts == nil {
		return 0, false
	}
	return s.get(r)
}

// statistics are the statistics that are compared between the log and the runs.
var statistics = func() (all []statistic) {
	for _, c := range []struct {
		name    string
		outcome bool
		get     func(*metric.Counts) int64
	}{
		{"arrived", false, func(c *metric.Counts) int64 { return c.Arrived }},
		{"executed", true, func(c *metric.Counts) int64 { return c.Executed }},
		{"rejected", true, func(c *metric.Counts) int64 { return c.Rejected }},
	} {
		all = append(all, statistic{c.name, "", c.outcome, false, func(r requests) (float64, bool) { return float64(c.get(r.counts)), true }})
	}
	all = append(all, burstStatistics()...)
	for _, t := range []struct {
		name         string
		outcome      bool
		distribution func(requests) *result.Distribution
	}{
		{"wait", true, func(r requests) *result.Distribution { return r.wait }},
		{"execution", false, func(r requests) *result.Distribution { return r.execution }},
	} {
		for _, c := range []struct {
			name string
			get  func(*result.Distribution) int64
		}{
			{"mean", func(d *result.Distribution) int64 { return d.MeanNs }},
			{"p50", func(d *result.Distribution) int64 { return d.P50Ns }},
			{"p90", func(d *result.Distribution) int64 { return d.P90Ns }},
			{"p99", func(d *result.Distribution) int64 { return d.P99Ns }},
		} {
			all = append(all, statistic{t.name + " " + c.name, "ns", t.outcome, false, func(r requests) (float64, bool) {
				d := t.distribution(r)
				if d == nil {
					return 0, false
				}
				return float64(c.get(d)), true
			}})
		}
	}
	for i, ns := range shape.LatencyWindows {
		all = append(all, statistic{slowest + strconv.FormatInt(ns/1e9, 10) + "s", "ns", true, false, func(r requests) (float64, bool) {
			if r.windows.latencies == nil {
				return 0, false
			}
			return r.windows.latencies.Slowest(i)
		}})
	}
	return all
}()

// slowest begins the names of the statistics of the slowest times.
const slowest = "slowest "

// farOff is the ratio beyond the times of the runs from which on a time of the log is reported.
const farOff = 1.25

// slow says whether a row is of a slowest time that the scenario does not have.
func (r *Row) slow() bool {
	return strings.HasPrefix(r.Statistic, slowest) && r.High != nil && r.Recorded > farOff**r.High
}

// disagreement returns Disagrees of a scenario with a capacity.
func (c *Check) disagreement(log *shape.Latencies) string {
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.Group != "all" || r.High == nil {
			continue
		}
		switch r.Statistic {
		case slowest + "1s":
			if often := log.SlowTwentieth(); often > farOff**r.High {
				return fmt.Sprintf("in a twentieth of the seconds of the log, the mean latency was %s or more, and in the slowest second of the runs %s to %s", r.text(&often), r.text(r.Low), r.text(r.High))
			}
		case "execution mean":
			if r.Recorded > farOff**r.High || farOff*r.Recorded < *r.Low {
				return fmt.Sprintf("the mean execution was %s in the log, and is %s to %s in the runs", r.text(&r.Recorded), r.text(r.Low), r.text(r.High))
			}
		}
	}
	return ""
}

// Caution says why the scenario may be wrong about a greater load, as the end of a sentence; "" if nothing is known.
func (c *Check) Caution() string {
	if c.Disagrees != "" {
		return "the capacity given does not explain how fast the server was: " + c.Disagrees + ". The scenario does not say what a greater load does"
	}
	return c.SlowTimes
}

// row is a Row in progress.
type row struct {
	Row
	statistic *statistic
	find      func(*run) requests
	workload  int       // index, of a row of a workload
	missed    bool      // it is a statistic of bursts, and the recorded value is far from those of the runs
	waits     int64     // number of recorded waits, if it is a statistic of waits
	simulated []float64 // by run
	errors    []float64 // by run, of measurement
}

// rowsOf returns a row for each recorded statistic, of the priority levels as given.
func rowsOf(f *fit.Fitted, levels map[string]*fit.Tally) (all []*row) {
	workload := 0
	add := func(group, name string, t *fit.Tally, find func(*run) requests) {
		r := ofTally(t)
		for i := range statistics {
			s := &statistics[i]
			if s.outcome && !f.Recorded.Outcomes {
				continue
			}
			if x, ok := s.value(r); ok {
				waits := int64(0)
				if strings.HasPrefix(s.name, "wait ") {
					waits = r.wait.Count
				}
				all = append(all, &row{Row: Row{Group: group, Name: name, Statistic: s.name, Unit: s.unit, Recorded: x}, statistic: s, find: find, workload: workload, waits: waits})
			}
		}
	}
	add("all", "", &f.Recorded.Total, func(r *run) requests { return ofGroup(&r.Summary.Total, r.total) })
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		add("priorityLevel", name, levels[name], func(r *run) requests {
			for i := range r.Summary.PriorityLevels {
				if l := &r.Summary.PriorityLevels[i]; l.Name == name {
					return ofGroup(&l.Group, windows{})
				}
			}
			return requests{}
		})
	}
	for i, w := range f.Report.Workloads { // the scenario has them in the same order
		workload = i
		add("workload", w.Name, f.Recorded.Workloads[i], func(r *run) requests { return ofGroup(&r.Summary.Workloads[i], r.workloads[i]) })
	}
	return all
}

func ofGroup(g *result.Group, in windows) requests {
	return requests{&g.Counts, g.Wait, g.Execution, in}
}

// leastKnown is the least part of the waits that must be known to compare them. An audit log has only those of slow
// requests, which are the long ones.
const leastKnown = 0.9

// ofTally converts a tally to the form in which runs have their measures.
func ofTally(t *fit.Tally) requests {
	distribution := func(h *measure.Histogram) *result.Distribution {
		if h.N == 0 {
			return nil
		}
		return result.NewDistribution(h)
	}
	waits, in := distribution(&t.Wait), windows{t.Arrivals, t.Latencies}
	if float64(t.Wait.N) < leastKnown*float64(t.Executed) {
		waits, in.latencies = nil, nil
	}
	return requests{&t.Counts, waits, distribution(&t.Execution), in}
}

// finish returns the row with its interval. Percentiles are compared within the precision of histograms.
func (r *row) finish() Row {
	if len(r.simulated) == 0 {
		return r.Row
	}
	high := slices.Max(r.simulated)
	for i, x := range r.simulated {
		high = max(high, x+r.errors[i])
	}
	slices.Sort(r.simulated)
	n := len(r.simulated)
	low, median := r.simulated[0], (r.simulated[(n-1)/2]+r.simulated[n/2])/2
	r.Low, r.Median, r.High = &low, &median, &high
	margin := 0.0
	switch {
	case r.statistic.bursts:
		margin = burstMargin(r.Recorded)
		r.missed = missed(r.Recorded, low, median, high)
	case r.Unit != "":
		margin = math.Abs(r.Recorded) * 2 / (1 << measure.FinePrecision)
	}
	r.Within = r.Recorded >= low-margin && r.Recorded <= high+margin
	return r.Row
}

// Outside returns the rows whose recorded value is not in the interval.
func (c *Check) Outside() (rows []Row) {
	for _, r := range c.Rows {
		if !r.Within {
			rows = append(rows, r)
		}
	}
	return rows
}

// summary says in one line how well the scenario agrees with the requests.
func (c *Check) summary() string {
	text := fmt.Sprintf("%d of %d recorded statistics are within the %.0f %% prediction intervals of %d runs", c.Within, len(c.Rows), 100*c.Coverage, c.Runs)
	if len(c.NotFitted) > 0 {
		text += ". Not fitted: bursts of all requests together, because the workloads are independent of each other in the scenario"
	}
	return text
}
