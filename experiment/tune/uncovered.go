package tune

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// uncovered names the harm in a run of the present configuration that no goal is about, and proposes such a goal. It is "" if
// there is no such harm.
func (a *Answer) uncovered() string {
	v := a.Verdict
	if v == nil || v.Status != result.Harm && v.Status != result.Warning || a.search.explained.Summary.Replay.Disagrees() {
		return ""
	}
	limited := func(j result.Judged) bool { return j.Limited } // flow control did its work
	judged := slices.DeleteFunc(slices.Clone(v.Judged), limited)
	for i := range judged {
		j := &judged[i]
		if a.hasGoal(j, "wait", "latency") {
			j.WaitP99Ns, j.Grows = 0, false
		}
		if a.hasGoal(j, "stall", "freeze", "wait.max", "latency.max") {
			j.StallNs = 0
		}
		if a.hasGoal(j, "rejected", "notServed") {
			j.NotServed = 0
		}
	}
	status, by := judge.Decide(judged)
	if by == nil || status == result.OK {
		return ""
	}
	text := fmt.Sprintf("The verdict on the present configuration is %s, and no goal covers why: %s.", strings.ToUpper(string(status)), strings.TrimSuffix(by.Sentence, "."))
	if goal := a.goalAbout(by); goal != "" {
		if _, err := ParseGoals(a.search.present, []string{goal}); err == nil {
			text += fmt.Sprintf(" To search for a remedy, add --goal '%s'.", goal)
		}
	}
	return text
}

// hasGoal says whether a goal is about one of some metrics, or metrics and statistics, of who is judged. Any is about priority levels and flows, which have
// the requests of workloads.
func (a *Answer) hasGoal(j *result.Judged, metrics ...string) bool {
	return slices.ContainsFunc(a.search.present.Spec.Thresholds, func(t metric.Threshold) bool {
		w := t.Tag(metric.TagWorkload)
		return (slices.Contains(metrics, t.Metric) || slices.Contains(metrics, t.Metric+"."+t.Stat)) && (w == "" || w == j.Name || j.Of != result.OfWorkload)
	})
}

// goalAbout returns a goal about the figure that decides a verdict: that it is below its limit. It is "" for a figure that no
// goal can be about.
func (a *Answer) goalAbout(by *result.Decided) string {
	of, ok := map[string]string{result.OfWorkload: metric.TagWorkload, result.OfLevel: metric.TagPriorityLevel}[by.Of]
	if !ok {
		return ""
	}
	of = "{" + of + ":" + by.Name + "}"
	limit := strings.ReplaceAll(format.Duration(by.Limit), " ", "")
	switch by.Figure {
	case "wait p99":
		return "wait" + of + ": p99 < " + limit
	case "stall":
		for _, name := range []string{"stall", "freeze"} {
			n, err := metric.ParseName(name + of + ".max")
			if err != nil {
				continue
			}
			if value, note, ok := result.StatisticValue(a.search.explained.Summary, &n); ok && note == "" && value >= by.Limit {
				return name + of + ": max < " + limit
			}
		}
	case "not served":
		return "notServed" + of + ": count == 0"
	}
	return ""
}
