package result

import (
	"math"

	"apfsim/core/queueset"
)

// WorkloadSeries are the statistics of one workload over time, in intervals of equal length. They
// cover the whole run, including the warm-up.
type WorkloadSeries struct {
	Workload string
	Points   []WorkloadPoint
	Marks    []Mark // by time
}

// WorkloadPoint is one interval of a WorkloadSeries. Arrivals, dispatches and rejections are
// those that happen in the interval; the percentiles are of the waits of the requests that
// arrive in it, whenever they are dispatched. docs/reference/statistics.md has the
// definitions, under "Waits over time".
type WorkloadPoint struct {
	StartNs, EndNs      int64
	Arrived, Dispatched int64
	Rejected            [queueset.Rejections]int64 // by reason
	Refused             int64                      // besides those that arrived at flow control
	Failed              int64                      // lost, or answered too late or with an error

	Waits                int64 // requests that arrived in the interval and were dispatched
	WaitP50Ns, WaitP99Ns int64 // of these; 0 if there are none

	// OldestWaitNs is how long, in whole intervals, the request that waits longest has waited
	// at the end of the interval; 0 if none has waited through a whole interval.
	OldestWaitNs int64
}

// Mark is a change of the limits or of a server during a run.
type Mark struct {
	AtNs  int64
	Event bool   // of the scenario or of a server; otherwise an adjustment that changed a current limit by 5 % or more
	Text  string // as "limit of workload-low: 56 → 245 seats"
}

// NotServed returns how many requests turned out in the interval not to be served. The unfinished ones are not known in any.
func (p *WorkloadPoint) NotServed() int64 {
	total := p.Refused + p.Failed
	for _, n := range p.Rejected {
		total += n
	}
	return total
}

// Waited says whether any request of the workload waited.
func (s *WorkloadSeries) Waited() bool {
	for i := range s.Points {
		if p := &s.Points[i]; p.WaitP99Ns > 0 || p.OldestWaitNs > 0 {
			return true
		}
	}
	return false
}

// MarkTexts returns what the marks within an interval say.
func (s *WorkloadSeries) MarkTexts(interval int) (texts []string) {
	p := &s.Points[interval]
	for _, m := range s.Marks {
		if p.StartNs <= m.AtNs && m.AtNs < p.EndNs {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// LongestNs returns the longest wait that the points of the series show.
func (s *WorkloadSeries) LongestNs() int64 {
	longest := int64(0)
	for i := range s.Points {
		longest = max(longest, s.Points[i].WaitP99Ns, s.Points[i].OldestWaitNs)
	}
	return longest
}

// P50 returns the median of the waits in nanoseconds, NaN if there are none.
func (p *WorkloadPoint) P50() float64 { return p.ofWaits(p.WaitP50Ns) }

// P99 returns the 99th percentile of the waits in nanoseconds, NaN if there are none.
func (p *WorkloadPoint) P99() float64 { return p.ofWaits(p.WaitP99Ns) }

// OldestWait returns the wait of the oldest waiting request in nanoseconds, 0 if there is none.
func (p *WorkloadPoint) OldestWait() float64 { return float64(p.OldestWaitNs) }

func (p *WorkloadPoint) ofWaits(ns int64) float64 {
	if p.Waits == 0 {
		return math.NaN()
	}
	return float64(ns)
}
