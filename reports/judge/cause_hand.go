package judge

import (
	"cmp"
	"fmt"
	"slices"

	"apfsim/reports/result"
)

// hand returns the cause that flows waited behind others in the queues of their hands although they asked for no more than
// their fair share; nil without. Its waitedNs is the share of the level's harm.
func (d *diagnosis) hand(l *result.Level, flows []*result.Flow) *cause {
	var overServed []*result.Flow
	var total, harmed float64
	weight := func(f *result.Flow) float64 {
		if l.Rejected > 0 {
			return float64(f.Rejected)
		}
		return waitedNs(&f.Group)
	}
	for _, f := range flows {
		total += weight(f)
		if OverDemanding(f) && f.Arrived >= int64(len(f.Hand)) { // fewer requests cannot be in all queues of a hand
			overServed = append(overServed, f)
		}
	}
	if total == 0 || len(overServed) == 0 {
		return nil
	}
	c := &cause{}
	by := map[*result.Flow]bool{}
	var victims []*result.Flow
	for _, f := range flows {
		if len(f.Hand) == 0 || !f.HasUser() || OverDemanding(f) || weight(f) == 0 || f.Rejected == 0 && (f.Wait == nil || f.Wait.P50Ns < GoodWaitNs/10) {
			continue
		}
		var together []*result.Flow
		for _, g := range overServed {
			if g != f && QueuedTogether(g, f) {
				together = append(together, g)
			}
		}
		cover := CoverOf(f.Hand, together)
		if cover == nil {
			continue
		}
		harmed += weight(f)
		victims = append(victims, f)
		for _, g := range cover {
			by[g] = true
		}
	}
	if len(victims) == 0 {
		return nil
	}
	var covering []*result.Flow
	parts := make([]float64, len(d.Summary.Workloads))
	demand := 0.0
	for _, f := range flows {
		demand += f.DemandSeatSeconds
		if by[f] {
			covering = append(covering, f)
			if at := slices.IndexFunc(d.Summary.Workloads, func(g result.Group) bool { return g.Name == f.Workload }); at >= 0 {
				parts[at] += f.DemandSeatSeconds
			}
		}
	}
	c.waitedNs = harmed / total
	c.Workloads, c.Flows = d.mostOf(parts), d.causeFlows(l, covering, demand)
	c.Figures = []result.Figure{figure("flows", float64(len(victims))), figure("coveredBy", float64(len(by))), figure("shareOfHarm", c.waitedNs)}
	c.Sentence = fmt.Sprintf("%s asked for no more than %s fair share, and %s with flows of %s that asked for more: %s.",
		d.groupOf(victims), map[bool]string{true: "its", false: "their"}[len(victims) == 1],
		map[bool]string{true: "shares all queues of its hand", false: "share all queues of their hands"}[len(victims) == 1], l.Name, d.groupOf(covering))
	return c
}

// CoverOf returns flows whose hands together contain all queues, of which there is at least one; nil if there are none. It is greedy:
// each step takes the flow with the most queues that are not covered yet and, of several such flows,
// the one with the greatest service.
func CoverOf(queues []int, flows []*result.Flow) []*result.Flow {
	missing := make([]bool, 1+slices.Max(queues)) // by queue
	for _, q := range queues {
		missing[q] = true
	}
	var cover []*result.Flow
	for left := len(queues); left > 0; {
		var best *result.Flow
		most := 0
		for _, f := range flows {
			n := 0
			for _, q := range f.Hand {
				if q < len(missing) && missing[q] {
					n++
				}
			}
			if n > most || n > 0 && n == most && cmp.Compare(f.ServiceSeatSeconds, best.ServiceSeatSeconds) > 0 {
				best, most = f, n
			}
		}
		if best == nil {
			return nil
		}
		cover = append(cover, best)
		left -= most
		for _, q := range best.Hand {
			if q < len(missing) {
				missing[q] = false
			}
		}
	}
	return cover
}
