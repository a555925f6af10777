package tune

import (
	"slices"

	"apfsim/reports/advice"
	"apfsim/reports/compare"
	"apfsim/reports/judge"
	"apfsim/sim/metric"
)

// Measurement is a metric of servers that shows whether a change does what is expected of it, with the values in the
// scenario: of all servers together, except for seats, which are those of one.
type Measurement struct {
	Metric    string   `json:"metric"`
	Label     string   `json:"label"`     // priority_level or flow_schema
	Of        string   `json:"of"`        // the value of the label
	Statistic string   `json:"statistic"` // of the metric: value, rate or p99
	Unit      string   `json:"unit"`      // of Before and After: seats, requests/s or ns
	Before    *float64 `json:"before"`
	After     *float64 `json:"after"` // null where the scenario does not tell it
}

// The metrics.
const (
	nominalSeatsMetric = "apiserver_flowcontrol_nominal_limit_seats"
	rejectedMetric     = "apiserver_flowcontrol_rejected_requests_total"
	dispatchedMetric   = "apiserver_flowcontrol_dispatched_requests_total"
	waitMetric         = "apiserver_flowcontrol_request_wait_duration_seconds"
	demandMetric       = "apiserver_flowcontrol_demand_seats_high_watermark"
)

// measurements lists what to measure after a change: the seats, rejections, waits and demand of each level that it changes or
// whose requests it moves, and how many requests each FlowSchema has there. changed is the division of the seats with it.
func (a *Answer) measurements(c *Candidate, changed *advice.SeatDivision, before, after *compare.Replications) []Measurement {
	var levels []string
	for _, l := range c.objects.PriorityLevels {
		addName(&levels, l.Name)
	}
	for _, s := range c.objects.FlowSchemas {
		if old := a.search.present.Objects.FlowSchema(s.Name); old != nil {
			addName(&levels, old.Spec.PriorityLevelConfiguration.Name)
		}
		addName(&levels, s.Spec.PriorityLevelConfiguration.Name)
	}
	for _, l := range a.search.problem.levels {
		addName(&levels, l)
	}
	sides := [2]map[string]*compare.Estimate{before.ByName(), after.ByName()}
	all := []Measurement{}
	add := func(name, label, of, statistic, unit string, value func(side int) *float64) {
		all = append(all, Measurement{name, label, of, statistic, unit, value(0), value(1)})
	}
	seconds := float64(before.DurationNs-before.WarmupNs) / 1e9
	// estimate returns the value of a statistic; 0 if the number of requests is asked for where none arrived.
	estimate := func(id metric.Name, tag, of string, scale float64, zero bool) func(int) *float64 {
		id = id.With(tag, of)
		return func(side int) *float64 {
			value := 0.0
			if e := sides[side][id.String()]; e != nil {
				value, _, _ = e.Printed()
			} else if !zero {
				return nil
			}
			value *= scale
			return &value
		}
	}
	for _, l := range levels {
		seats := [2]*advice.LevelSeats{seatsOf(a.search.problem.seats, l), seatsOf(changed, l)}
		add(nominalSeatsMetric, "priority_level", l, "value", "seats", func(side int) *float64 {
			value := 0.0
			if seats[side] != nil {
				value = float64(seats[side].Nominal)
			}
			return &value
		})
		add(rejectedMetric, "priority_level", l, "rate", "requests/s", estimate(rejectedCount, metric.TagPriorityLevel, l, 1/seconds, true))
		add(waitMetric, "priority_level", l, "p99", "ns", estimate(judge.WaitP99, metric.TagPriorityLevel, l, 1, false))
		add(demandMetric, "priority_level", l, "value", "seats", func(int) *float64 { return nil })
	}
	for _, s := range a.schemas(levels, before, after) {
		add(dispatchedMetric, "flow_schema", s, "rate", "requests/s", estimate(executedCount, metric.TagFlowSchema, s, 1/seconds, true))
	}
	return all
}

// The statistics that are measured beside the wait.
var (
	rejectedCount = parsed("rejected.count")
	executedCount = parsed("wait.count")
)

func parsed(text string) metric.Name {
	n, err := metric.ParseName(text)
	if err != nil {
		panic(err)
	}
	return n
}

// schemas returns the FlowSchemas that had requests and lead to one of the levels, before or after the change.
func (a *Answer) schemas(levels []string, before, after *compare.Replications) (all []string) {
	leads := func(name string, c *Candidate) bool {
		objects := a.search.present.Objects
		if c != nil {
			objects = c.scenarioOf(a.search.present).Objects
		}
		s := objects.FlowSchema(name)
		return s != nil && slices.Contains(levels, s.Spec.PriorityLevelConfiguration.Name)
	}
	for _, r := range []*compare.Replications{before, after} {
		for _, name := range r.Names(metric.TagFlowSchema) {
			if leads(name, nil) || leads(name, a.shown()) {
				addName(&all, name)
			}
		}
	}
	slices.Sort(all)
	return all
}
