package judge

import (
	"cmp"
	"math"
	"slices"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// Limits by which flows are classified.
const (
	UnderservedRatio   = 0.95          // service below this share of the fair share is too little
	StarvedNs          = 5_000_000_000 // starvation from this length on makes a flow underserved
	OverDemandingRatio = 1.01          // demand above this multiple of the fair share is too much
)

// Stalled says whether the group has a stall that is long enough for a finding.
func Stalled(g *result.Group) bool {
	return g.Arrived > 0 && g.Stall != nil && g.Stall.MaxNs >= result.StallNs
}

// OverDemanding says whether the demand of a flow exceeds its fair share by more than 1 %.
func OverDemanding(f *result.Flow) bool {
	return f.DemandSeatSeconds > OverDemandingRatio*f.FairShareSeatSeconds
}

// Limited says whether a flow was limited, and not a victim of others: its demand exceeds its fair share and twice the median
// demand of the flows of its level, in seat-seconds, and it was rejected or waited. Flow control did its work there. One that got all that it
// asked for in the end has exceeded its share, too, if it did while it was queued or rejected: excess is what it asked for above it then. The
// median of an even number of flows is the lower one of the middle two, so that of two flows one can be limited.
func Limited(f *result.Flow, median, excess float64) bool {
	over := OverDemanding(f) || excess > (OverDemandingRatio-1)*f.DemandSeatSeconds
	return over && surelyAsked(f) > 2*median && (f.Rejected > 0 || Waited(&f.Group))
}

// surelyAsked returns the demand of a flow less what it may have asked for by chance: twice the standard deviation of a Poisson
// number of requests. Of flows that ask alike and seldom, one has twice the median of the others sooner or later.
func surelyAsked(f *result.Flow) float64 {
	return f.DemandSeatSeconds * max(0, 1-2/math.Sqrt(float64(max(f.Arrived, 1))))
}

// Underserved says whether a flow is underserved. One of these conditions is sufficient:
//   - it starved for StarvedNs or longer;
//   - requests were rejected although the flow is not over-demanding;
//   - requests waited or were rejected, and the service is below UnderservedRatio of the fair share.
//
// A flow in which no request waited or was rejected is not underserved: its service may be below its
// fair share because its last requests were still executing at the end of the run.
func Underserved(f *result.Flow) bool {
	return starvedLong(f) > 0 || f.Rejected > 0 && !OverDemanding(f) || (f.Rejected > 0 || Waited(&f.Group)) && Ratio(f) < UnderservedRatio
}

// starvedLong returns how long the flow starved if that makes it underserved, else 0. In nanoseconds.
func starvedLong(f *result.Flow) int64 {
	if f.StarvationNs < StarvedNs {
		return 0
	}
	return f.StarvationNs
}

// Ratio returns the service of a flow divided by its fair share. It is 0 if the level served no flow,
// as there is no fair share then, and 1 for a flow without demand.
func Ratio(f *result.Flow) float64 {
	switch {
	case f.Ratio != nil:
		return *f.Ratio
	case f.DemandSeatSeconds > 0:
		return 0
	}
	return 1
}

// Waited says whether requests waited that were dispatched or still queued at the end.
func Waited(g *result.Group) bool { return g.Waiting > 0 || g.Wait != nil && g.Wait.MaxNs > 0 }

// RatioText writes a ratio of service to fair share as a percentage. A ratio below UnderservedRatio
// gets as many digits as are necessary for the text to be below it, too.
func RatioText(ratio float64) string {
	if ratio < UnderservedRatio {
		return format.BesideLimit(ratio, UnderservedRatio, "", true)
	}
	return format.Percent(ratio)
}

// QueuedTogether says whether f had requests in queues in at least half of the intervals in which
// other had requests in queues or rejected.
func QueuedTogether(f, other *result.Flow) bool {
	n := other.QueuedIn.Count()
	return n > 0 && 2*f.QueuedIn.Shared(other.QueuedIn) >= n
}

// FlowRank is the key by which flows are sorted, worst first.
type FlowRank struct {
	underserved         bool
	ratio               float64
	starvedNs, rejected int64
}

// FlowRankOf returns the rank of a flow. It is bad if the flow is underserved or had requests rejected.
func FlowRankOf(f *result.Flow) (s FlowRank, bad bool) {
	s = FlowRank{Underserved(f), Ratio(f), starvedLong(f), f.Rejected}
	return s, s.underserved || s.rejected > 0
}

// Compare compares two ranks. The underserved flows come first, by increasing ratio (all ratios from UnderservedRatio
// on count as equal) and then by decreasing starvation.
func (s FlowRank) Compare(other FlowRank) int {
	if s.underserved != other.underserved {
		if s.underserved {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(min(s.ratio, UnderservedRatio), min(other.ratio, UnderservedRatio)),
		-cmp.Compare(s.starvedNs, other.starvedNs), cmp.Compare(s.ratio, other.ratio), -cmp.Compare(s.rejected, other.rejected))
}

// WorstFlows returns at most maxFlows of the listed flows that are underserved or had requests rejected, in the order
// of their ranks.
func WorstFlows(s *result.Summary, maxFlows int) []*result.Flow {
	type standing struct {
		FlowRank
		flow *result.Flow
	}
	var bad []standing
	for i := range s.Flows {
		if rank, is := FlowRankOf(&s.Flows[i]); is {
			bad = append(bad, standing{rank, &s.Flows[i]})
		}
	}
	slices.SortStableFunc(bad, func(a, b standing) int { return a.Compare(b.FlowRank) })
	var flows []*result.Flow
	for _, f := range bad[:min(maxFlows, len(bad))] {
		flows = append(flows, f.flow)
	}
	return flows
}
