package judge

import (
	"cmp"
	"slices"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// Stalled says whether the group stalled for so long that it is worth a finding.
func Stalled(g *result.Group) bool {
	return g.Arrived > 0 && g.Stall != nil && g.Stall.MaxNs >= result.StallNs
}

// A flow is underserved if it got less than hurtRatio of its fair share or starved for hurtStarvedNs,
// and over-demanding if it asked for more than greedyRatio times that share.
const (
	UnderservedRatio   = 0.95
	StarvedNs          = 5_000_000_000
	OverDemandingRatio = 1.01
)

func OverDemanding(f *result.Flow) bool {
	return f.DemandSeatSeconds > OverDemandingRatio*f.FairShareSeatSeconds
}

// Underserved says whether a flow is underserved: its requests waited or were rejected, and it got less
// than its fair share; or some were rejected though it asked for no more than that; or none was
// dispatched for long. One that neither waited nor was rejected is not: what its last requests
// take beyond the end of the run is no loss.
func Underserved(f *result.Flow) bool {
	return StarvedLong(f) > 0 || f.Rejected > 0 && !OverDemanding(f) || (f.Rejected > 0 || Waited(&f.Group)) && Ratio(f) < UnderservedRatio
}

// StarvedLong returns for how long the flow starved if that makes it underserved, else 0.
func StarvedLong(f *result.Flow) int64 {
	if f.StarvationNs < StarvedNs {
		return 0
	}
	return f.StarvationNs
}

// Ratio returns the service as a part of the fair share. Where the level served nobody, nobody has
// a share either: then it is 0.
func Ratio(f *result.Flow) float64 {
	switch {
	case f.Ratio != nil:
		return *f.Ratio
	case f.DemandSeatSeconds > 0:
		return 0
	}
	return 1
}

// Waited says whether requests are known to have waited and were not rejected.
func Waited(g *result.Group) bool { return g.Waiting > 0 || g.Wait != nil && g.Wait.MaxNs > 0 }

// ShareText writes a ratio of service and fair share, with so many digits that it does not read as
// the limit below which a flow is hurt unless it is it.
func ShareText(ratio float64) string {
	if ratio < UnderservedRatio {
		return format.BesideLimit(ratio, UnderservedRatio, "", true)
	}
	return format.Percent(ratio)
}

// QueuedTogether says whether a flow had requests in queues in at least half of the intervals in which
// another had, or had requests rejected.
func QueuedTogether(f *result.Flow, other *result.Flow) bool {
	n := other.QueuedIn.Count()
	return n > 0 && 2*f.QueuedIn.Shared(other.QueuedIn) >= n
}

// WorstFlows returns the flows that fared worst: the underserved ones, first by the part that they got of
// their fair share as far as it is below hurtRatio, then by how long they starved; then others with
// rejections.
func WorstFlows(s *result.Summary, most int) []*result.Flow {
	var flows []*result.Flow
	for i := range s.Flows {
		if f := &s.Flows[i]; Underserved(f) || f.Rejected > 0 {
			flows = append(flows, f)
		}
	}
	slices.SortStableFunc(flows, func(a, b *result.Flow) int {
		return cmp.Or(-cmp.Compare(Boolean(Underserved(a)), Boolean(Underserved(b))), cmp.Compare(min(Ratio(a), UnderservedRatio), min(Ratio(b), UnderservedRatio)),
			-cmp.Compare(StarvedLong(a), StarvedLong(b)), cmp.Compare(Ratio(a), Ratio(b)), -cmp.Compare(a.Rejected, b.Rejected))
	})
	return flows[:min(most, len(flows))]
}
