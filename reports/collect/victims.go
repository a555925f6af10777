package collect

import (
	"slices"

	"apfsim/reports/judge"
	"apfsim/reports/measure"
	"apfsim/reports/result"
)

// limitFlows notes which flows of the level were limited. Their fair shares must be known.
func (l *level) limitFlows() {
	demands := make([]float64, 0, len(l.flows))
	for _, f := range l.flows {
		if f.demand > 0 {
			demands = append(demands, f.demand)
		}
	}
	if len(demands) == 0 {
		return
	}
	slices.Sort(demands)
	median := demands[(len(demands)-1)/2] / 1e9
	var flow flowSummary
	for _, f := range l.flows {
		if f.limited = f.demand/1e9 > median; f.limited { // else it is not worth to describe it
			flow.set(f)
			f.limited = judge.Limited(&flow.Flow, median, l.excessOf(f)/1e9)
		}
	}
}

// excessOf returns the demand of a flow above its fair share while it was queued or rejected.
func (l *level) excessOf(f *flow) float64 {
	if int(f.index) < len(l.excess) {
		return l.excess[f.index]
	}
	return 0
}

// addVictims adds to the evidence the requests of those flows that were not limited, of each workload and level that has limited
// ones.
func (c *Collector) addVictims(e *result.Evidence) {
	levels := map[*level]*result.Asked{}
	at := 0
	for _, l := range c.levels {
		if l.name != "" {
			levels[l] = &e.Levels[at].Asked
			at++
		}
	}
	for f := range c.flows() {
		if f.limited {
			e.Workloads[f.workload].Asked.Limit(f.demand / 1e9)
			levels[f.level].Limit(f.demand / 1e9)
		}
	}
	victims := func(of *result.Asked) *measure.Measures {
		if of.Victims == nil {
			of.Victims = measure.New(measure.CoarsePrecision)
		}
		return of.Victims
	}
	for f := range c.flows() {
		for _, of := range []*result.Asked{&e.Workloads[f.workload].Asked, levels[f.level]} {
			if of.Limited > 0 && !f.limited {
				f.addTo(victims(of))
			}
		}
	}
	for i := range e.Workloads {
		for _, p := range c.inGroups[i] { // what servers refused or did not let flow control see is of no flow
			if of := &e.Workloads[i].Asked; p != nil && p.group.schema == "" && of.Limited > 0 {
				victims(of).Counted.Merge(&p.Counted)
			}
		}
	}
}
