package result

import (
	"math"
)

func (s *WorkloadSeries) LongestNs() int64 {
	longest := int64(0)
	for i := range s.Points {
		longest = max(longest, s.Points[i].WaitP99Ns, s.Points[i].OldestWaitNs)
	}
	return longest
}

// P50, p99 and oldestWait are the values that are drawn of a point, in nanoseconds; NaN for none.
func (p *WorkloadPoint) P50() float64        { return p.ofWaits(p.WaitP50Ns) }
func (p *WorkloadPoint) P99() float64        { return p.ofWaits(p.WaitP99Ns) }
func (p *WorkloadPoint) OldestWait() float64 { return float64(p.OldestWaitNs) }

func (p *WorkloadPoint) ofWaits(ns int64) float64 {
	if p.Waits == 0 {
		return math.NaN()
	}
	return float64(ns)
}
