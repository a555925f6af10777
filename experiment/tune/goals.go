package tune

import (
	"slices"

	"apfsim/experiment"
	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
)

// GoalValue is a goal in the present configuration and in a changed one, in runs with the same seeds.
type GoalValue struct {
	Goal   string    `json:"goal"`
	Unit   string    `json:"unit"` // of the values and the limit: ns, or "" for a plain number
	Limit  float64   `json:"limit"`
	Before *Measured `json:"before"`
	After  *Measured `json:"after"` // null if no other configuration was run

	percent bool // whether outputs write the values as percentages
}

// Measured is what a goal is about over several runs, and in how many of them it held.
type Measured struct {
	Value *float64 `json:"value"` // of a percentile that of the requests of all runs, otherwise the mean of the runs; null without samples
	Low   *float64 `json:"low"`   // ends of the 95 % interval of Value; null without one
	High  *float64 `json:"high"`
	Least *float64 `json:"least"` // of the values of the runs; null without samples
	Most  *float64 `json:"most"`
	Holds
}

// sample is runs of one configuration.
type sample struct {
	*compare.Replicator
	goals  []sampledGoal
	runs   int
	passes int
}

// sampledGoal is a goal in the runs of a sample.
type sampledGoal struct {
	*metric.Threshold
	expression string
	failed     int
	values     compare.RunValues
}

// newSample returns a sample without runs of a scenario whose thresholds are the goals.
func newSample(sc *scenario.Scenario) *sample {
	s := &sample{Replicator: compare.NewReplicator(sc.Metadata.Name, 0, nil)}
	for i := range sc.Spec.Thresholds {
		t := &sc.Spec.Thresholds[i]
		s.goals = append(s.goals, sampledGoal{Threshold: t, expression: collect.NewVerdict(t).Expression})
	}
	return s
}

// add adds a run. One that had too many events has failed all goals.
func (s *sample) add(run *experiment.Trial) {
	s.runs++
	passed := true
	for i := range s.goals {
		g := &s.goals[i]
		if run.Replication == nil {
			g.failed++
			passed = false
			continue
		}
		// The first runs of the present configuration may have been judged by more goals.
		at := slices.IndexFunc(run.Summary.Thresholds, func(v result.Verdict) bool {
			return v.Metric == g.Key && v.Expression == g.expression
		})
		v := &run.Summary.Thresholds[at]
		if !v.Passed {
			g.failed++
			passed = false
		}
		if v.Value != nil {
			g.values = append(g.values, *v.Value)
		}
	}
	if passed {
		s.passes++
	}
	if run.Replication != nil {
		s.Replicator.Add(run.Replication)
	}
}

// measured returns the goals of a sample, in their order.
func (s *sample) measured(r *compare.Replications) (all []*Measured) {
	byName := r.ByName()
	for i := range s.goals {
		g := &s.goals[i]
		m := &Measured{Holds: Holds{s.runs - g.failed, s.runs}}
		if len(g.values) > 0 {
			least, most := slices.Min(g.values), slices.Max(g.values)
			m.Least, m.Most = &least, &most
		}
		name := g.Name()
		switch e := byName[name.String()]; {
		case e != nil && g.Over == 0:
			value, low, high := e.Printed()
			m.Value = &value
			if e.HasInterval() {
				m.Low, m.High = &low, &high
			}
		case len(g.values) > 0: // windows, and percentiles that summaries do not have
			mean := compare.EstimateOf(g.values).Mean
			m.Value = &mean
		}
		all = append(all, m)
	}
	return all
}

// goalText writes a goal as --goal has it, and behind it the length of its windows if it has any.
func goalText(t *metric.Threshold) string { return t.Key + ": " + collect.NewVerdict(t).Expression }

// goalValues compares the goals of two samples, of which then has none without a changed configuration.
func goalValues(goals metric.Thresholds, now, then []*Measured) (all []GoalValue) {
	for i := range goals {
		g := &goals[i]
		v := GoalValue{Goal: goalText(g), Limit: g.Limit, Before: now[i], percent: format.InPercent(g.Text)}
		if g.Unit == metric.Nanoseconds {
			v.Unit = "ns"
		}
		if name := g.Name(); name.PrintPercent() {
			v.percent = true
		}
		if then != nil {
			v.After = then[i]
		}
		all = append(all, v)
	}
	return all
}
