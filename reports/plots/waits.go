package plots

import (
	"cmp"
	"fmt"
	"slices"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// coursesDrawn is how many workloads have their waits over time drawn.
const coursesDrawn = 12

// DrawnCourses returns the workloads whose requests waited, in the scenario's order; of many, those
// with the longest waits. The sentence says which are left out.
func DrawnCourses(r *result.Result) (drawn []*result.WorkloadSeries, leftOut string) {
	for _, s := range r.Courses {
		if s.Waited() {
			drawn = append(drawn, s)
		}
	}
	idle := len(r.Courses) - len(drawn)
	if n := len(drawn); n > coursesDrawn {
		longest := slices.Clone(drawn)
		slices.SortStableFunc(longest, func(a, b *result.WorkloadSeries) int { return -cmp.Compare(a.LongestNs(), b.LongestNs()) })
		drawn = slices.DeleteFunc(drawn, func(s *result.WorkloadSeries) bool { return !slices.Contains(longest[:coursesDrawn], s) })
		leftOut = fmt.Sprintf(" Of %d workloads whose requests waited, the %d with the longest waits are drawn.", n, coursesDrawn)
	}
	if idle > 0 && len(drawn) > 0 {
		leftOut += fmt.Sprintf(" %s not drawn: no request waited.", pluralIs(idle, "workload"))
	}
	return drawn, leftOut
}

// pluralIs returns "1 workload is", or "3 workloads are".
func pluralIs(n int, what string) string {
	if n == 1 {
		return format.Counted(n, what) + " is"
	}
	return format.Counted(n, what) + " are"
}

const (
	WaitsCaption  = "The median and the 99th percentile of the waits of the requests that arrived in an interval, and how long the request that waits longest has waited at its end. "
	MarksCaption  = "Upright lines mark the scenario's events (solid) and adjustments that moved the limit of a priority level of the workload by 5 % or more (dashed)."
	OldestWaiting = "longest waiting so far"
)
