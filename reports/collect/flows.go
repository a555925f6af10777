package collect

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"apfsim/reports/judge"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// Flows iterates over the statistics of all flows, by priority level and name, after Result. Each is
// valid until the next.
func (c *Collector) Flows() iter.Seq[*result.Flow] {
	return func(yield func(*result.Flow) bool) {
		m := measure.New(measure.CoarsePrecision)
		for _, l := range c.levels { // by name since Result
			if l.name == "" {
				continue
			}
			type named struct {
				flow *flow
				name string
			}
			var flows []named
			for _, f := range l.flows {
				flows = append(flows, named{f, f.name()})
			}
			slices.SortFunc(flows, func(a, b named) int { return strings.Compare(a.name, b.name) })
			for _, f := range flows {
				m.Reset()
				f.flow.addTo(m)
				if summary := f.flow.summary(m); !yield(&summary) {
					return
				}
			}
		}
	}
}

// addFlows adds the flows of all levels to the summary. If there are too many, it lists those that chosen returns, and
// combines the others.
func (c *Collector) addFlows(s *result.Summary) {
	listed := func(*flow) bool { return true }
	n := c.flowCount()
	if n > result.MostFlows && !c.everyFlow {
		n, listed = result.MostFlows, c.chosen(result.MostFlows)
	}
	s.Flows = slices.Grow(s.Flows, n)
	moved := movedSchemas(c.scenario)
	m := measure.New(measure.CoarsePrecision)
	for _, l := range c.levels {
		if l.name == "" {
			continue
		}
		first, others := len(s.Flows), map[string]*otherFlows{}
		for _, f := range l.flows {
			if !listed(f) {
				combined := others[f.group.schema]
				if combined == nil {
					combined = &otherFlows{measures: measure.New(measure.CoarsePrecision)}
					others[f.group.schema] = combined
				}
				combined.add(f)
				continue
			}
			m.Reset()
			f.addTo(m)
			flow := f.summary(m)
			if !f.mixed {
				flow.Workload = c.scenario.Spec.Workload[f.workload].Name
			}
			flow.SeveralLevels = moved[flow.FlowSchema]
			s.Flows = append(s.Flows, flow)
		}
		slices.SortFunc(s.Flows[first:], func(a, b result.Flow) int { return cmp.Compare(a.Name, b.Name) })
		for _, g := range c.groups { // not by the map, whose order is random
			if combined := others[g.schema]; combined != nil && g.level == l {
				s.OtherFlows = append(s.OtherFlows, combined.summary(g, moved[g.schema]))
			}
		}
	}
	s.NameFlows()
	slices.SortFunc(s.OtherFlows, func(a, b result.OtherFlows) int {
		return cmp.Or(cmp.Compare(a.PriorityLevel, b.PriorityLevel), cmp.Compare(a.FlowSchema, b.FlowSchema))
	})
}

func (c *Collector) flowCount() (n int) {
	for _, l := range c.levels {
		n += len(l.flows)
	}
	return n
}

// otherFlows combines flows of a FlowSchema at a level.
type otherFlows struct {
	measures            *measure.Measures
	number, underserved int
	sum                 result.Flow
	brief               flowSummary
}

func (o *otherFlows) add(f *flow) {
	o.number++
	brief := &o.brief
	brief.set(f)
	if judge.Underserved(&brief.Flow) {
		o.underserved++
	}
	f.addTo(o.measures)
	o.sum.ServiceSeatSeconds += brief.ServiceSeatSeconds
	o.sum.DemandSeatSeconds += brief.DemandSeatSeconds
	o.sum.FairShareSeatSeconds += brief.FairShareSeatSeconds
	o.sum.StarvationNs = max(o.sum.StarvationNs, brief.StarvationNs)
}

func (o *otherFlows) summary(g *group, severalLevels bool) result.OtherFlows {
	out := result.OtherFlows{Number: o.number, Underserved: o.underserved, Flow: o.sum}
	out.Group = result.NewGroup("", o.measures)
	out.PriorityLevel, out.FlowSchema, out.SeveralLevels = g.level.name, g.schema, severalLevels
	out.SetRatio()
	return out
}

// chosen returns the flows to list if there are too many: those that thresholds name, and then, in turns, the first of
// each list of ranked, the second of each, and so on.
func (c *Collector) chosen(maxFlows int) func(*flow) bool {
	is := map[*flow]bool{}
	named := map[string]bool{}
	for i := range c.scenario.Spec.Thresholds {
		if name := c.scenario.Spec.Thresholds[i].Tag(metric.TagFlow); name != "" {
			named[name] = true
		}
	}
	if len(named) > 0 {
		for f := range c.flows() {
			if len(is) < maxFlows && named[f.name()] {
				is[f] = true
			}
		}
	}
	lists := c.ranked(maxFlows)
	for place, more := 0, true; more; place++ {
		more = false
		for _, list := range lists {
			if place < len(list) && len(is) < maxFlows {
				is[list[place]] = true
				more = true
			}
		}
	}
	return func(f *flow) bool { return is[f] }
}

// ranked returns the lists that flows are chosen from, each of at most so many flows:
//
//   - of each level the worst flows, as package judge orders them, and those with the greatest demand and service;
//   - of each workload the flows with the greatest service, the longest wait, and the most rejections.
//
// A flow that several workloads send requests of belongs to the first. A flow with the value 0 is in no list.
func (c *Collector) ranked(maxFlows int) (lists [][]*flow) {
	type valued struct {
		value float64
		flow  *flow
	}
	var all []valued // scratch
	rank := func(flows []*flow, value func(*flow) float64) {
		all = slices.Grow(all[:0], len(flows))
		for _, f := range flows {
			if v := value(f); v > 0 {
				all = append(all, valued{v, f})
			}
		}
		slices.SortStableFunc(all, func(a, b valued) int { return -cmp.Compare(a.value, b.value) })
		list := make([]*flow, min(maxFlows, len(all)))
		for i := range list {
			list[i] = all[i].flow
		}
		lists = append(lists, list)
	}
	var counted metric.Counted // scratch
	byWorkload := make([][]*flow, len(c.scenario.Spec.Workload))
	for f := range c.flows() {
		byWorkload[f.workload] = append(byWorkload[f.workload], f)
	}
	for _, l := range c.levels {
		lists = append(lists, worst(l.flows, maxFlows))
		rank(l.flows, func(f *flow) float64 { return f.demand })
		rank(l.flows, func(f *flow) float64 { return f.service })
	}
	for _, flows := range byWorkload {
		rank(flows, func(f *flow) float64 { return f.service })
		rank(flows, func(f *flow) float64 { return float64(f.longestNs()) })
		rank(flows, func(f *flow) float64 {
			counted = metric.Counted{}
			f.addCounts(&counted)
			return float64(counted.Final().Rejected)
		})
	}
	return lists
}

func worst(flows []*flow, maxFlows int) (list []*flow) {
	type standing struct {
		judge.FlowRank
		flow *flow
	}
	var all []standing
	var brief flowSummary
	for _, f := range flows {
		brief.set(f)
		if rank, bad := judge.FlowRankOf(&brief.Flow); bad {
			all = append(all, standing{rank, f})
		}
	}
	slices.SortStableFunc(all, func(a, b standing) int { return a.Compare(b.FlowRank) })
	for _, s := range all[:min(maxFlows, len(all))] {
		list = append(list, s.flow)
	}
	return list
}

// flowSummary is the part of a flow's statistics that package judge reads. One value is reused for all flows.
type flowSummary struct {
	result.Flow
	counted metric.Counted
	wait    result.Distribution
	ratio   float64
}

func (b *flowSummary) set(f *flow) {
	share := f.share()
	b.counted = metric.Counted{}
	f.addCounts(&b.counted)
	b.Flow = result.Flow{
		Group:              result.Group{Counts: b.counted.Final()},
		ServiceSeatSeconds: f.service / 1e9, DemandSeatSeconds: f.demand / 1e9,
		FairShareSeatSeconds: share / 1e9, StarvationNs: f.starvedNs,
	}
	if share > 0 {
		b.ratio = f.service / share
		b.Ratio = &b.ratio
	}
	if f.dispatched > 0 {
		b.wait.MaxNs = f.longestNs()
		b.Wait = &b.wait
	}
}

// share returns the fair share of the flow in seat-nanoseconds, after Result.
func (f *flow) share() float64 { return f.level.shares[f.index] }
