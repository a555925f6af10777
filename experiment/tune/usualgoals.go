package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"apfsim/reports/collect"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// goals sets the thresholds of the present configuration: those that are asked for, whose number it returns, and after
// them the goals of the scenario.
func (s *search) goals() (asked int, err error) {
	spec := &s.present.Spec
	var own metric.Thresholds
	for i := range spec.Thresholds {
		t := spec.Thresholds[i]
		given := slices.ContainsFunc(s.Goals, func(g metric.Threshold) bool { return g.Key == t.Key && g.Text == t.Text && g.Over == t.Over })
		if t.Kind != metric.Expect && !given {
			own = append(own, t)
		}
	}
	spec.Thresholds = append(slices.Clone(s.Goals), own...)
	if len(s.Goals) > 0 {
		return len(s.Goals), nil
	}
	if len(own) > 0 {
		return len(own), nil
	}
	run, err := s.runOnce(s.present, spec.Seed)
	if err != nil {
		return 0, err
	}
	s.runs++
	spec.Thresholds, err = ParseGoals(s.present, s.usualGoals(run.Summary.Verdict))
	return len(spec.Thresholds), err
}

// leastHarm is which part of the requests of all victims that are not served a victim must have, so that it is a goal to
// serve its requests: one of thousands says nothing of the incident.
const leastHarm = 0.01

// usualGoals returns the goals of a scenario that has none: every request of the harmed workloads is served. Requests that
// are open at the end are not counted against a workload of which nothing else is wrong: one of a hundred healthy ones is
// older than the 99th percentile, whatever the configuration is.
func (s *search) usualGoals(v *result.Overall) (texts []string) {
	if v == nil {
		return []string{"notServed: count == 0"}
	}
	type harm struct {
		workload         string
		rejected, others int64
		limited          bool // all its flows were
	}
	var harmed []*harm
	for i := range v.Harmed {
		h := &v.Harmed[i]
		at := slices.IndexFunc(harmed, func(x *harm) bool { return x.workload == h.Workload })
		if at < 0 {
			at = len(harmed)
			harmed = append(harmed, &harm{workload: h.Workload, limited: true})
		}
		harmed[at].limited = harmed[at].limited && h.Role == result.WasLimited
		harmed[at].rejected += h.NotServed.Rejected
		harmed[at].others += h.NotServed.Total() - h.NotServed.Rejected - h.NotServed.Unfinished
	}
	harmed = slices.DeleteFunc(harmed, func(h *harm) bool { return h.rejected+h.others == 0 })
	isCausing := func(h *harm) bool { return h.limited || overDemands(v, h.workload) }
	if victims := slices.DeleteFunc(slices.Clone(harmed), isCausing); s.Victims && len(victims) > 0 {
		all := int64(0)
		for _, h := range victims {
			all += h.rejected + h.others
		}
		harmed = slices.DeleteFunc(victims, func(h *harm) bool { return float64(h.rejected+h.others) < leastHarm*float64(all) })
	}
	for _, h := range harmed {
		if s.Victims {
			texts = append(texts, "wait{workload:"+h.workload+"}: p99 < 1s")
		}
		if h.others == 0 {
			texts = append(texts, "rejected{workload:"+h.workload+"}: rate == 0")
		} else {
			texts = append(texts, "notServed{workload:"+h.workload+"}: count == 0")
		}
	}
	if len(texts) == 0 {
		texts = []string{"rejected: rate == 0"}
	}
	return texts
}

// overDemands says whether flows of a harmed workload asked for more than their fair share of a level that was full.
func overDemands(v *result.Overall, workload string) bool {
	for i := range v.Causes {
		if c := &v.Causes[i]; c.Kind == result.ByDemand {
			for k := range v.Harmed {
				h := &v.Harmed[k]
				over := func(f result.CauseFlow) bool { return f.OfFairShare > 1 && f.Flow == h.Flow }
				if h.Workload == workload && (slices.ContainsFunc(c.Flows, over) || h.Flow == "" && slices.Contains(c.Workloads, workload)) {
					return true
				}
			}
		}
	}
	return false
}

// keepServed adds goals beside those about waits and latencies: no more requests of the workload may be rejected than now,
// and 0.1 points. A request that is rejected has no wait, so that a candidate could reach the goal by rejecting requests.
func (s *search) keepServed() error {
	about := func(t *metric.Threshold, workload string) bool {
		return (t.Metric == "rejected" || t.Metric == "notServed") && (len(t.Tags) == 0 || t.Tag(metric.TagWorkload) == workload)
	}
	goals := s.present.Spec.Thresholds
	var texts, workloads []string
	for i := range goals {
		w := goals[i].Tag(metric.TagWorkload)
		if goals[i].Metric != "wait" && goals[i].Metric != "latency" || slices.Contains(workloads, w) ||
			slices.ContainsFunc(goals, func(t metric.Threshold) bool { return about(&t, w) }) {
			continue
		}
		workloads = append(workloads, w)
		name := "rejected"
		if w != "" {
			name += "{workload:" + w + "}"
		}
		id, err := metric.ParseName(name + ".rate")
		if err != nil {
			return err
		}
		most := 0.0
		for _, run := range s.first {
			if rate, note, ok := result.StatisticValue(run.Summary, &id); ok && note == "" {
				most = max(most, rate)
			}
		}
		texts = append(texts, fmt.Sprintf("%s: rate <= %s", name, strconv.FormatFloat(math.Ceil((most+moreRejected)*1e4)/1e4, 'f', -1, 64)))
	}
	if len(texts) == 0 {
		return nil
	}
	added, err := ParseGoals(s.present, texts)
	if err != nil {
		return err
	}
	for _, run := range s.first { // they were run without the added goals
		for i := range added {
			v := collect.NewVerdict(&added[i])
			value, note, ok := result.StatisticValue(run.Summary, &v.ID)
			if v.Passed, v.Note = note == "" && ok, note; v.Passed {
				v.Value = &value
			}
			run.Summary.Thresholds = append(run.Summary.Thresholds, v)
		}
	}
	sc := *s.present
	sc.Spec.Thresholds = slices.Concat(goals, added)
	s.present = &sc
	return nil
}
