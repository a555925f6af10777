// Package compare compares a live run with its replay and its prediction: it computes the statistics of all
// three, and checks what must agree.
package compare

import (
	"math"
	"slices"
	"time"

	"apfsim/lab/live/outcome"
	"apfsim/reports/measure"
)

// Stats are the statistics of one kind of request at one priority level. Waits are those of executed requests.
type Stats struct {
	Level string `json:"level"`
	Kind  string `json:"kind"` // the workload's name

	Requests  int `json:"requests"`
	Executed  int `json:"executed"`
	QueueFull int `json:"queueFull"`
	TimeOut   int `json:"timeOut"`

	WaitMean time.Duration `json:"waitMeanNs"`
	WaitP50  time.Duration `json:"waitP50Ns"`
	WaitP90  time.Duration `json:"waitP90Ns"`
	WaitP99  time.Duration `json:"waitP99Ns"`

	// Where the percentiles of a larger number of such requests may lie, with a confidence of 95 %.
	P90Low  time.Duration `json:"p90LowNs"`
	P90High time.Duration `json:"p90HighNs"`
	P99Low  time.Duration `json:"p99LowNs"`
	P99High time.Duration `json:"p99HighNs"`

	// Waits are the wait's quantiles 0 %, 1 % … 100 %; nil if nothing was executed.
	Waits []time.Duration `json:"waitsNs,omitempty"`
}

// Summarize returns the statistics of a run, in the order in which the kinds first arrive.
func Summarize(requests []outcome.Outcome) []*Stats {
	type key struct{ level, kind string }
	var all []*Stats
	byKey, waits := map[key]*Stats{}, map[key][]time.Duration{}
	for i := range requests {
		r := &requests[i]
		k := key{r.PriorityLevel, r.Workload}
		s := byKey[k]
		if s == nil {
			s = &Stats{Level: k.level, Kind: k.kind}
			byKey[k], all = s, append(all, s)
		}
		s.Requests++
		switch {
		case r.Outcome == outcome.Executed:
			s.Executed++
			waits[k] = append(waits[k], time.Duration(r.WaitNs))
		case r.Reason == outcome.QueueFull:
			s.QueueFull++
		case r.Reason == outcome.TimeOut:
			s.TimeOut++
		}
	}
	for k, s := range byKey {
		s.setWaits(waits[k])
	}
	return all
}

func (s *Stats) setWaits(waits []time.Duration) {
	if len(waits) == 0 {
		return
	}
	h := newHistogram(waits)
	at := func(share float64) time.Duration { return time.Duration(h.PercentileNs(100 * share)) }
	// Of a percentile it is only known that so many values are below it: their number has a binomial distribution.
	bounds := func(share float64) (low, high time.Duration) {
		half := 1.96 * math.Sqrt(share*(1-share)/float64(len(waits)))
		return at(max(0, share-half)), at(min(1, share+half))
	}
	s.WaitMean = time.Duration(h.MeanNs())
	s.WaitP50, s.WaitP90, s.WaitP99 = at(0.5), at(0.9), at(0.99)
	s.P90Low, s.P90High = bounds(0.9)
	s.P99Low, s.P99High = bounds(0.99)
	for percent := range 101 {
		s.Waits = append(s.Waits, at(float64(percent)/100))
	}
}

// newHistogram counts durations as simulations do: percentiles are by nearest rank, within 0.1 %.
func newHistogram(all []time.Duration) *measure.Histogram {
	h := &measure.Histogram{Precision: measure.FinePrecision}
	for _, d := range all {
		h.Record(int64(d))
	}
	return h
}

// Mean returns the mean of durations; 0 of none.
func Mean(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return time.Duration(newHistogram(all).MeanNs())
}

// Percentile returns a percentile of durations, p in percent; 0 of none.
func Percentile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return time.Duration(newHistogram(all).PercentileNs(p))
}

// Find returns the statistics of a kind at a level, or those of no request.
func Find(all []*Stats, level, kind string) *Stats {
	for _, s := range all {
		if s.Level == level && s.Kind == kind {
			return s
		}
	}
	return &Stats{Level: level, Kind: kind}
}

// Handover estimates for how long a seat stands idle between two executions while requests wait for it, in a run
// at whose level all requests take one seat of a constant number: the server wakes up the goroutine of the next
// request. From the time during which requests waited, times the seats, it takes the executions of that time; the
// rest is divided by the number of dispatches.
func Handover(requests []outcome.Outcome, level string, seats int) time.Duration {
	type interval struct{ from, to int64 }
	var queued []interval
	for i := range requests {
		if r := &requests[i]; r.PriorityLevel == level && r.Outcome == outcome.Executed && r.WaitNs > int64(time.Millisecond) {
			queued = append(queued, interval{r.ArrivalNs, r.ArrivalNs + r.WaitNs})
		}
	}
	slices.SortFunc(queued, func(a, b interval) int { return int(a.from - b.from) })
	var busy []interval // when any request waited
	for _, q := range queued {
		if n := len(busy); n > 0 && q.from <= busy[n-1].to {
			busy[n-1].to = max(busy[n-1].to, q.to)
		} else {
			busy = append(busy, q)
		}
	}
	idle, dispatches := int64(0), int64(0)
	for _, b := range busy {
		idle += (b.to - b.from) * int64(seats)
	}
	for i := range requests {
		r := &requests[i]
		if r.PriorityLevel != level || r.Outcome != outcome.Executed {
			continue
		}
		from, to := r.ArrivalNs+r.WaitNs, r.ArrivalNs+r.WaitNs+r.ExecutionNs
		for _, b := range busy {
			idle -= max(0, min(to, b.to)-max(from, b.from))
			if from > b.from && from <= b.to {
				dispatches++
			}
		}
	}
	if dispatches == 0 {
		return 0
	}
	return time.Duration(idle / dispatches)
}

// SameOutcome returns the share of the requests of a run that had the same outcome, for the same reason, in another
// run.
func SameOutcome(run, other []outcome.Outcome) float64 {
	type result struct{ outcome, reason string }
	results := map[int64]result{}
	for i := range other {
		results[other[i].ID] = result{other[i].Outcome, other[i].Reason}
	}
	same := 0
	for i := range run {
		if results[run[i].ID] == (result{run[i].Outcome, run[i].Reason}) {
			same++
		}
	}
	return float64(same) / float64(max(1, len(run)))
}
