package compare

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"apfsim/lab/live/outcome"
	"apfsim/lab/live/trial"
)

// What a prediction for a busy server may differ in from the live runs, which is decided before they are made.
const (
	busyFactor    = 1.5                   // of the times
	busyRejection = 0.10                  // of the share of the rejections
	busyOther     = 0.01                  // of the share of the other errors
	busyWait      = 20 * time.Millisecond // of the waits, besides the factor
	// busyFirst is the time at the beginning of a load that is left out.
	busyFirst = 5 * time.Second
)

// BusyStats are the statistics of one kind of requests under one load, without the first seconds.
type BusyStats struct {
	Kind      string        `json:"kind"` // verb and resource
	Requests  int           `json:"requests"`
	PerSecond float64       `json:"perSecond"` // arrivals
	Rejected  float64       `json:"rejected"`  // share
	P50       time.Duration `json:"p50Ns"`     // of the latency of executed requests, and likewise P99
	P99       time.Duration `json:"p99Ns"`
	WaitP99   time.Duration `json:"waitP99Ns"`
	Execution time.Duration `json:"executionNs"` // mean
	Failed    float64       `json:"failed"`      // share that was answered with an error other than 429
}

// SummarizeBusy returns the statistics of the requests for resources, by kind.
func SummarizeBusy(requests []outcome.Outcome) (all []BusyStats) {
	type kind struct{ latencies, waits, executions []time.Duration }
	kinds := map[string]*kind{}
	from, to := int64(busyFirst), int64(0)
	for i := range requests {
		to = max(to, requests[i].ArrivalNs)
	}
	for i := range requests {
		r := &requests[i]
		if r.ArrivalNs < from || r.Resource == "" {
			continue
		}
		name := r.Verb + " " + r.Resource
		n := slices.IndexFunc(all, func(s BusyStats) bool { return s.Kind == name })
		if n < 0 {
			n = len(all)
			all = append(all, BusyStats{Kind: name})
			kinds[name] = &kind{}
		}
		s, k := &all[n], kinds[name]
		s.Requests++
		if r.Status >= http.StatusBadRequest && r.Status != http.StatusTooManyRequests {
			s.Failed++
		}
		if r.Outcome != outcome.Executed {
			s.Rejected++
			continue
		}
		k.latencies = append(k.latencies, time.Duration(r.FinishNs-r.ArrivalNs))
		k.waits = append(k.waits, time.Duration(r.WaitNs))
		execution := r.ExecutionNs
		if r.DispatchNs > 0 { // of a simulated request, that is the demand
			execution = r.FinishNs - r.DispatchNs
		}
		k.executions = append(k.executions, time.Duration(execution))
	}
	for i := range all {
		s, k := &all[i], kinds[all[i].Kind]
		s.Rejected /= float64(s.Requests)
		s.Failed /= float64(s.Requests)
		s.PerSecond = float64(s.Requests) / (float64(to-from) / float64(time.Second))
		s.P50, s.P99, s.WaitP99, s.Execution = Percentile(k.latencies, 50), Percentile(k.latencies, 99), Percentile(k.waits, 99), Mean(k.executions)
	}
	slices.SortFunc(all, func(a, b BusyStats) int { return cmp.Compare(b.Kind, a.Kind) })
	return all
}

// BusyLoad is one load of one run: what was measured and predicted.
type BusyLoad struct {
	Load      float64       `json:"load"`      // in parts of what the server can do
	PerSecond float64       `json:"perSecond"` // planned arrivals of the first workload
	Began     time.Time     `json:"began"`
	Void      string        `json:"void,omitempty"`
	Late      time.Duration `json:"lateP90Ns"`
	Live      []BusyStats   `json:"live"`
}

// BusyFit is what a scenario that is fitted to one of the loads predicts (trial.BusyFit): the medians of its runs, and an interval.
type BusyFit struct {
	Load        float64       `json:"load"`
	Measured    bool          `json:"measured,omitempty"` // it has the capacity that closed loops have measured
	Capacity    string        `json:"capacity"`
	Known       bool          `json:"known"`
	Disagrees   string        `json:"disagrees,omitempty"` // how the scenario is so far from its log that it predicts nothing
	Failed      string        `json:"failed,omitempty"`
	Predictions [][]BusyStats `json:"predictions"` // by load
	// Least and Most are the least and the greatest value of each statistic, in all runs and in those with the ends of the interval of the capacity.
	Least [][]BusyStats `json:"least"`
	Most  [][]BusyStats `json:"most"`
}

// Name says to what the scenario is fitted.
func (f *BusyFit) Name() string {
	if f.Measured {
		return fmt.Sprintf("%v with the measured capacity", f.Load)
	}
	return fmt.Sprint(f.Load)
}

// BusyRun is one run of a busy case.
type BusyRun struct {
	Loads []BusyLoad `json:"loads"`
	Fits  []BusyFit  `json:"fits"`
}

// NewBusyRun returns the statistics of a run.
func NewBusyRun(t *trial.Busy) *BusyRun {
	r := &BusyRun{}
	for i := range t.Loads {
		l := &t.Loads[i]
		b := BusyLoad{Load: l.Load, PerSecond: l.PerSecond, Began: l.Began, Late: Percentile(l.Late, 90), Live: SummarizeBusy(l.Live.Requests)}
		switch {
		case len(l.Missing) > 0:
			b.Void = fmt.Sprintf("%d requests were lost, the first one %s", len(l.Missing), l.Missing[0])
		case b.Late > mostLate:
			b.Void = fmt.Sprintf("the sender was %v late at p90; want at most %v", b.Late.Round(time.Millisecond/10), mostLate)
		}
		r.Loads = append(r.Loads, b)
	}
	return r
}

// SetFits sets what scenarios that are fitted to the logs of the run predict.
func (r *BusyRun) SetFits(fits []trial.BusyFit) {
	r.Fits = nil
	for i := range fits {
		f := &fits[i]
		b := BusyFit{Load: f.Load, Measured: f.Measured, Capacity: f.Capacity, Known: f.Known, Disagrees: f.Disagrees, Failed: f.Failed}
		for k, runs := range f.Predictions {
			b.Predictions = append(b.Predictions, statistics(runs, 0.5))
			all := slices.Concat(runs, f.Ends[k])
			b.Least, b.Most = append(b.Least, statistics(all, 0)), append(b.Most, statistics(all, 1))
		}
		r.Fits = append(r.Fits, b)
	}
}

// statistics returns, of each statistic, the value of which so great a part of the runs have less: 0 for the least, 0.5 for the median, and 1 for the greatest.
func statistics(runs [][]outcome.Outcome, part float64) (all []BusyStats) {
	var each [][]BusyStats
	for _, run := range runs {
		each = append(each, SummarizeBusy(run))
	}
	for i := range each[0] {
		kind := each[0][i].Kind
		of := func(value func(*BusyStats) float64) float64 {
			var xs []float64
			for _, run := range each {
				if s := FindBusy(run, kind); s != nil {
					xs = append(xs, value(s))
				}
			}
			slices.Sort(xs)
			return xs[min(len(xs)-1, int(part*float64(len(xs))))]
		}
		duration := func(value func(*BusyStats) time.Duration) time.Duration {
			return time.Duration(of(func(s *BusyStats) float64 { return float64(value(s)) }))
		}
		all = append(all, BusyStats{Kind: kind,
			Requests:  int(of(func(s *BusyStats) float64 { return float64(s.Requests) })),
			PerSecond: of(func(s *BusyStats) float64 { return s.PerSecond }),
			Rejected:  of(func(s *BusyStats) float64 { return s.Rejected }),
			Failed:    of(func(s *BusyStats) float64 { return s.Failed }),
			P50:       duration(func(s *BusyStats) time.Duration { return s.P50 }),
			P99:       duration(func(s *BusyStats) time.Duration { return s.P99 }),
			WaitP99:   duration(func(s *BusyStats) time.Duration { return s.WaitP99 }),
			Execution: duration(func(s *BusyStats) time.Duration { return s.Execution })})
	}
	return all
}

// FindBusy returns the statistics of a kind; nil if there are none.
func FindBusy(all []BusyStats, kind string) *BusyStats {
	for i := range all {
		if all[i].Kind == kind {
			return &all[i]
		}
	}
	return nil
}

// BusyChecks compares what the scenarios fitted to one load predict for another with the live runs that are not void. No
// check has a prediction of a scenario whose log does not say what the capacity is, how such requests wait, or which is not like its log. All statistics are compared, or those
// alone of which the tolerance was decided for the first cases.
func BusyChecks(runs []*BusyRun, fit, load int, all bool) (checks []Check) {
	var live [][]BusyStats
	for _, r := range runs {
		if r.Loads[load].Void == "" {
			live = append(live, r.Loads[load].Live)
		}
	}
	if len(live) == 0 {
		return nil
	}
	for i, r := range runs {
		f := &r.Fits[fit]
		if !f.Known || f.Disagrees != "" {
			continue
		}
		name := fmt.Sprintf("run %d, fitted to %s, load %v", i+1, f.Name(), r.Loads[load].Load)
		if f.Failed != "" {
			checks = append(checks, Check{name, false, f.Failed})
			continue
		}
		for _, kind := range live[0] { // a scenario has requests that nobody has planned, such as those of the server itself
			checks = append(checks, busyChecks(name+": "+kind.Kind, FindBusy(f.Least[load], kind.Kind), FindBusy(f.Most[load], kind.Kind), live, all)...)
		}
	}
	return checks
}

// busyChecks compares a prediction with what was measured. It is an interval, and holds if a part of it is allowed: what the live runs
// have themselves, from the least to the greatest, and the tolerance beyond.
func busyChecks(name string, least, most *BusyStats, live [][]BusyStats, all bool) []Check {
	if least == nil || most == nil {
		return []Check{{name, false, "the scenario has no such requests"}}
	}
	var measured []*BusyStats
	for _, l := range live {
		if s := FindBusy(l, least.Kind); s != nil {
			measured = append(measured, s)
		}
	}
	duration := func(what string, of func(*BusyStats) time.Duration, slack time.Duration) Check {
		low, high := span(measured, of)
		low, high = max(0, time.Duration(float64(low)/busyFactor)-slack), time.Duration(float64(high)*busyFactor)+slack
		from, to := of(least), of(most)
		return Check{name + " " + what, to >= low && from <= high, fmt.Sprintf("predicted %v to %v, allowed %v to %v", round(from), round(to), round(low), round(high))}
	}
	share := func(what string, of func(*BusyStats) float64, tolerance float64) Check {
		low, high := span(measured, of)
		low, high = max(0, low-tolerance), high+tolerance
		from, to := of(least), of(most)
		return Check{name + " " + what, to >= low && from <= high,
			fmt.Sprintf("predicted %.1f to %.1f %%, allowed %.1f to %.1f %%", 100*from, 100*to, 100*low, 100*high)}
	}
	checks := []Check{
		duration("p50", func(s *BusyStats) time.Duration { return s.P50 }, 0),
		duration("p99", func(s *BusyStats) time.Duration { return s.P99 }, 0),
		share("rejected", func(s *BusyStats) float64 { return s.Rejected }, busyRejection),
	}
	if all {
		checks = append(checks,
			duration("wait p99", func(s *BusyStats) time.Duration { return s.WaitP99 }, busyWait),
			duration("execution mean", func(s *BusyStats) time.Duration { return s.Execution }, 0),
			share("other errors", func(s *BusyStats) float64 { return s.Failed }, busyOther))
	}
	return checks
}

// span returns the least and the greatest value of a statistic.
func span[T cmp.Ordered](all []*BusyStats, of func(*BusyStats) T) (low, high T) {
	low, high = of(all[0]), of(all[0])
	for _, s := range all {
		low, high = min(low, of(s)), max(high, of(s))
	}
	return low, high
}
