package collect

import (
	"cmp"
	"fmt"
	"slices"

	"apfsim/core/config"
	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Result ends the collection and returns the result of the run. Warnings that follow from the
// statistics are added to the given ones.
func (c *Collector) Result(warnings ...string) *result.Result {
	c.end()
	sc := c.scenario
	s := &result.Summary{
		SchemaVersion: result.SchemaVersion,
		Name:          sc.Metadata.Name, Description: sc.Metadata.Description,
		Seed: sc.Spec.Seed, DurationNs: c.toNs, WarmupNs: c.fromNs, WarmupBy: sc.Spec.Warmup.By,
		FlowControl: sc.Spec.Servers.FlowControl, StartNs: startOf(&sc.Spec),
		Releases:   result.NewReleases(&sc.Spec),
		Passed:     true,
		Thresholds: []result.Verdict{}, Warnings: append([]string{}, warnings...),
		FlowSchemas: []result.Group{}, PriorityLevels: []result.Level{}, Flows: []result.Flow{},
	}
	if s.FlowControl == server.PriorityAndFairness {
		s.AdjustmentPhaseNs = sc.Spec.AdjustmentPhaseNs(0)
	}
	all := c.merged(func(*workloadInGroup) bool { return true })
	out := &result.Result{Summary: s, Parts: c.measuredParts()}

	s.Total = result.NewGroup("", all)
	for i := range sc.Spec.Workload {
		m := c.merged(func(cl *workloadInGroup) bool { return cl.workload == i })
		g := result.NewGroup(sc.Spec.Workload[i].Name, m)
		g.Stall, g.VirtualWait = c.noDispatches[i].summary(c.toNs-c.fromNs), c.virtual.Result(i)
		if c.kinds != nil {
			g.Freeze = c.noAnswers[i].summary()
		}
		s.Workloads = append(s.Workloads, g)
		caught := c.merged(func(cl *workloadInGroup) bool { return cl.workload == i && cl.group.schema == config.CatchAll })
		if n := result.NewGroup("", caught).Arrived; n > 0 {
			s.CatchAll = append(s.CatchAll, result.CaughtAll{Workload: g.Name, Requests: n, Arrived: g.Arrived})
		}
		out.Waits = append(out.Waits, m.Timed[measure.Wait])
	}
	c.addNotes(s)
	for _, name := range c.schemaNames() {
		m := c.merged(func(cl *workloadInGroup) bool { return cl.group.schema == name })
		s.FlowSchemas = append(s.FlowSchemas, result.NewGroup(name, m))
	}
	slices.SortFunc(c.levels, func(a, b *level) int { return cmp.Compare(a.name, b.name) })
	for _, l := range c.levels {
		out.Series = append(out.Series, l.series())
		if l.name != "" {
			c.addLevel(s, l)
		}
	}
	if c.servers != nil {
		c.addServers(out)
	}
	c.addSeats(s)
	if c.handlers != nil {
		c.addStored(s, c.handlers)
	}
	out.ClientSeries = c.noteSeries.series()
	out.WorkloadSeries = c.workloads.Series(sc, s.Timeline, c.sentTo)
	c.addFlows(s)
	for i := range sc.Spec.Thresholds {
		v := c.judge(s, &sc.Spec.Thresholds[i])
		s.Passed = s.Passed && v.Passed
		s.Thresholds = append(s.Thresholds, v)
	}
	c.addWarnings(s)
	return out
}

// movedSchemas returns the FlowSchemas that the scenario's events move to another priority level. It
// does not depend on the run, so that all runs of a scenario have statistics of the same names.
func movedSchemas(sc *scenario.Scenario) map[string]bool {
	first, moved := map[string]string{}, map[string]bool{}
	for _, objects := range sc.Configurations() {
		for _, f := range objects.FlowSchemas {
			level := f.Spec.PriorityLevelConfiguration.Name
			if before, ok := first[f.Name]; ok && before != level {
				moved[f.Name] = true
			} else {
				first[f.Name] = level
			}
		}
	}
	return moved
}

func (l *level) series() *result.Series {
	return &result.Series{Level: l.name, Limited: l.known && !l.exempt(), Points: l.points, QueueLengths: l.lengths}
}

// merged returns the measures of all parts that are wanted.
func (c *Collector) merged(wanted func(*workloadInGroup) bool) *measure.Measures {
	m := measure.New(measure.FinePrecision)
	for _, byGroup := range c.inGroups {
		for _, cl := range byGroup {
			if cl != nil && wanted(cl) {
				m.Merge(cl.Measures)
			}
		}
	}
	return m
}

func (c *Collector) schemaNames() []string {
	var names []string
	for _, g := range c.groups {
		if g.schema != "" {
			names = append(names, g.schema)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (c *Collector) addLevel(s *result.Summary, l *level) {
	all := c.merged(func(cl *workloadInGroup) bool { return cl.group.level == l })
	out := l.use()
	out.Group = result.NewGroup(l.name, all)
	if c.kinds != nil {
		out.Freeze = l.noAnswer.summary()
	}
	out.NoSeats = l.noSeats(c.fromNs, c.toNs)
	if l.spec.Limited != nil {
		out.Response = l.spec.Limited.LimitResponse.Type
	}
	if q := l.spec.Queuing(); q != nil {
		out.Queues, out.HandSize, out.QueueLengthLimit = int(q.Queues), int(q.HandSize), int(q.QueueLengthLimit)
	}
	l.shares, out.Fairness = l.fairness()
	l.limitFlows()
	for _, f := range l.flows {
		if out.Starvation == nil || f.starvedNs > out.Starvation.MaxNs {
			out.Starvation = &result.Starvation{MaxNs: f.starvedNs, Flow: f.name()}
		}
	}
	s.PriorityLevels = append(s.PriorityLevels, out)
}

// use returns the limits of the level and the use of its seats and queues in the window, which has ended.
func (l *level) use() result.Level {
	w := &l.window
	w.endLimit(l.limit)
	out := result.Level{
		Type:               l.spec.Type,
		Limits:             result.Limits{Nominal: l.limits.Nominal, Lower: l.limits.Min, Upper: l.limits.Max, Current: l.limit},
		PeakSeats:          w.peak,
		ServiceSeatSeconds: w.seatNs / 1e9,
	}
	if w.spanNs > 0 {
		out.MeanWaiting = w.waitingNs / float64(w.spanNs)
		if l.known && !l.exempt() {
			out.Utilisation = &result.Utilisation{Saturated: float64(w.saturatedNs) / float64(w.spanNs)}
			if w.ratioNs > 0 {
				mean := w.ratio / float64(w.ratioNs)
				out.Utilisation.Mean = &mean
			}
		}
	}
	return out
}

// summary returns the statistics of a flow with the measures m.
func (f *flow) summary(m *measure.Measures) result.Flow {
	share := f.share()
	out := result.Flow{
		Group: result.NewGroup(f.name(), m), PriorityLevel: f.level.name, FlowSchema: f.group.schema, Hand: f.hand(),
		ServiceSeatSeconds: f.service / 1e9, DemandSeatSeconds: f.demand / 1e9,
		FairShareSeatSeconds: share / 1e9, StarvationNs: f.starvedNs, Limited: f.limited, QueuedIn: f.level.queuedIn[f.index],
	}
	if share > 0 {
		ratio := f.service / share
		out.Ratio = &ratio
	}
	return out
}

func (c *Collector) addWarnings(s *result.Summary) {
	warn := func(format string, args ...any) { s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...)) }
	for i := range s.Workloads {
		w := &s.Workloads[i]
		switch left := w.Waiting + w.Executing; {
		case w.Arrived == 0 && c.scenario.Spec.Workload[i].Clients == 0: // it is switched off
		case w.Arrived == 0:
			warn("workload %s: no request arrived between the warm-up and the end of the run", w.Name)
		case left*20 > w.Arrived:
			warn("workload %s: %s of its requests had not finished when the run ended; their latency is not in the statistics",
				w.Name, format.Percent(float64(left)/float64(w.Arrived)))
		}
	}
	for i := range s.FlowSchemas {
		if f := &s.FlowSchemas[i]; f.Name == config.CatchAll && f.Arrived > 0 {
			warn("%s matched no FlowSchema other than catch-all: %s", format.Counted(int(f.Arrived), "request"), result.CaughtAllText(s.CatchAll))
		}
	}
}

// sentTo says whether requests of a workload arrived at a level, in the window or before it.
func (c *Collector) sentTo(workload int, name string) bool {
	return slices.ContainsFunc(c.levels, func(l *level) bool { return l.name == name && l.senders.Has(workload) })
}

// startOf returns the time of day at time 0 of a scenario that replays a log, 0 if it is not known.
func startOf(spec *scenario.Spec) format.Clock {
	for i := range spec.Workload {
		if t := spec.Workload[i].Arrivals.Trace; t != nil && t.Server != nil {
			return format.Clock(t.Server.Start)
		}
	}
	return 0
}
