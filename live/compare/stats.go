// Package compare holds a live run against its replay and its prediction: it computes the statistics of all
// three, and checks what must agree.
package compare

import (
	"math"
	"slices"
	"time"

	"apfsim/live/outcome"
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
	of, waits := map[key]*Stats{}, map[key][]time.Duration{}
	for i := range requests {
		r := &requests[i]
		k := key{r.PriorityLevel, r.Workload}
		s := of[k]
		if s == nil {
			s = &Stats{Level: k.level, Kind: k.kind}
			of[k], all = s, append(all, s)
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
	for k, s := range of {
		s.setWaits(waits[k])
	}
	return all
}

func (s *Stats) setWaits(waits []time.Duration) {
	if len(waits) == 0 {
		return
	}
	slices.Sort(waits)
	s.WaitMean = meanOf(waits)
	s.WaitP50, s.WaitP90, s.WaitP99 = Quantile(waits, 0.5), Quantile(waits, 0.9), Quantile(waits, 0.99)
	s.P90Low, s.P90High = bounds(waits, 0.9)
	s.P99Low, s.P99High = bounds(waits, 0.99)
	for i := range 101 {
		s.Waits = append(s.Waits, Quantile(waits, float64(i)/100))
	}
}

// bounds returns the confidence interval of a quantile, of which it is known only that so many values are below it:
// their number has a binomial distribution.
func bounds(sorted []time.Duration, q float64) (low, high time.Duration) {
	n := float64(len(sorted))
	half := 1.96 * math.Sqrt(q*(1-q)/n)
	return Quantile(sorted, q-half), Quantile(sorted, min(1, q+half))
}

func meanOf(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sum := time.Duration(0)
	for _, d := range all {
		sum += d
	}
	return sum / time.Duration(len(all))
}

// Quantile returns the least value that at least the share q of all sorted values do not exceed; 0 of none.
func Quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(max(0, int(math.Ceil(q*float64(len(sorted))))-1), len(sorted)-1)]
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
