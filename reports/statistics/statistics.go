// Package statistics lists the numbers of a summary by the names that thresholds give them.
package statistics

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/document"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
)

// Statistic is one number of a run, by the name that thresholds know it by.
type Statistic struct {
	Name   string // wait{workload:mice}.p(99), as metric.ParseName reads it
	Value  float64
	Unit   string // ns, requests, requests/s, stalls, flows, seats, seat-seconds, or "" for a plain number
	Better Better

	ID            metric.Name
	Level, Schema string // of a flow
}

// Better is which change of a statistic is one for the better.
type Better string

// Changes for the better.
const (
	Lower   Better = "lower"
	Higher  Better = "higher"
	Neither Better = "" // neither is good or bad in itself
)

// OfFlow says whether the statistic is that of a single flow.
func (s *Statistic) OfFlow() bool { return s.ID.Tag("flow") != "" }

// All returns all statistics of a run that have samples: in all, then by workload,
// FlowSchema, priority level and flow, each in the summary's order.
func All(s *result.Summary) []Statistic { return Of(s, true) }

// Of returns the statistics of a run, with those of its flows or without.
func Of(s *result.Summary, withFlows bool) []Statistic {
	l := statisticList{seconds: float64(s.DurationNs-s.WarmupNs) / 1e9}
	l.group(&s.Total)
	l.flows(s.Flows, func(*result.Flow) bool { return true })
	for i := range s.Workloads {
		l.tags = Tag("workload", s.Workloads[i].Name)
		l.group(&s.Workloads[i])
	}
	for i := range s.FlowSchemas {
		l.tags = Tag("flowSchema", s.FlowSchemas[i].Name)
		l.group(&s.FlowSchemas[i])
		l.flows(s.Flows, func(f *result.Flow) bool { return f.FlowSchema == s.FlowSchemas[i].Name })
	}
	for i := range s.PriorityLevels {
		l.tags = Tag("priorityLevel", s.PriorityLevels[i].Name)
		l.group(&s.PriorityLevels[i].Group)
		l.flows(s.Flows, func(f *result.Flow) bool { return f.PriorityLevel == s.PriorityLevels[i].Name })
		l.priorityLevel(&s.PriorityLevels[i])
	}
	if !withFlows {
		return l.all
	}
	for i := range s.Flows {
		f := &s.Flows[i]
		l.tags = Tag("flow", f.Name)
		if f.SeveralLevels {
			l.tags = append(Tag("priorityLevel", f.PriorityLevel), l.tags...)
		}
		l.level, l.schema = f.PriorityLevel, f.FlowSchema
		l.group(&f.Group)
		l.flows(s.Flows[i:i+1], func(*result.Flow) bool { return true })
	}
	return l.all
}

func Tag(name, value string) []metric.Tag { return []metric.Tag{{Name: name, Value: value}} }

// statisticList is statistics in the making, and what those to come have in common.
type statisticList struct {
	all           []Statistic
	seconds       float64 // of the window
	tags          []metric.Tag
	level, schema string
}

func (l *statisticList) add(value float64, unit string, better Better, id metric.Name) {
	if id.Tags == nil {
		id.Tags = l.tags
	}
	l.all = append(l.all, Statistic{Name: id.String(), Value: value, Unit: unit, Better: better,
		ID: id, Level: l.level, Schema: l.schema})
}

// group adds what all groups of requests have.
func (l *statisticList) group(g *result.Group) {
	l.count("arrived", g.Arrived, Neither)
	if l.seconds > 0 {
		l.add(float64(g.Arrived)/l.seconds, "requests/s", Neither, metric.Name{Metric: "arrived", Stat: "perSecond"})
	}
	if g.Arrived == 0 {
		return // of nothing there is neither a part nor a duration
	}
	part := func(metricName string, n int64, better Better, tags ...metric.Tag) {
		if len(tags) > 0 {
			tags = append(slices.Clone(l.tags), tags...)
		}
		l.add(float64(n), "requests", better, metric.Name{Metric: metricName, Stat: "count", Tags: tags})
		l.add(float64(n)/float64(g.Arrived), "", better, metric.Name{Metric: metricName, Stat: "rate", Tags: tags})
	}
	part("executed", g.Executed, Higher)
	part("rejected", g.Rejected, Lower)
	part("rejected", g.QueueFull, Lower, Tag("reason", "queue-full")...)
	part("rejected", g.ConcurrencyLimit, Lower, Tag("reason", "concurrency-limit")...)
	part("timedOut", g.TimedOut, Lower)
	part("retries", g.Retries, Lower)
	part("waiting", g.Waiting, Lower)
	part("executing", g.Executing, Neither)
	l.count("wait", g.Executed+g.Executing, Neither)
	l.durations("wait", g.Wait, Lower)
	l.durations("execution", g.Execution, Neither)
	l.durations("latency", g.Latency, Lower)
	l.durations("rejectedWait", g.RejectedWait, Lower)
	if st := g.Stall; st != nil {
		l.add(float64(st.MaxNs), "ns", Lower, metric.Name{Metric: "stall", Stat: "max"})
		l.add(float64(st.Count), "stalls", Lower, metric.Name{Metric: "stall", Stat: "count"})
		l.add(st.Share, "", Lower, metric.Name{Metric: "stall", Stat: "share"})
	}
	if v := g.VirtualWait; v != nil {
		l.add(v.RejectedRate(), "", Lower, metric.Name{Metric: "virtualRejected", Stat: "rate"})
		l.count("virtualWait", v.Probes-v.Rejected, Neither)
		l.durations("virtualWait", v.Wait, Lower)
	}
}

func (l *statisticList) count(metricName string, n int64, better Better) {
	l.add(float64(n), "requests", better, metric.Name{Metric: metricName, Stat: "count"})
}

func (l *statisticList) durations(metricName string, d *result.Distribution, better Better) {
	if d == nil {
		return
	}
	for _, s := range []struct {
		stat       string
		percentile float64
		ns         int64
	}{
		{"mean", 0, d.MeanNs}, {"min", 0, d.MinNs}, {"med", 0, d.P50Ns}, {"p", 90, d.P90Ns},
		{"p", 95, d.P95Ns}, {"p", 99, d.P99Ns}, {"p", 99.9, d.P999Ns}, {"max", 0, d.MaxNs},
	} {
		l.add(float64(s.ns), "ns", better, metric.Name{Metric: metricName, Stat: s.stat, Percentile: s.percentile})
	}
}

// flows adds the longest starvation and the service, demand and fair share of those flows that
// are wanted.
func (l *statisticList) flows(flows []result.Flow, wanted func(*result.Flow) bool) {
	sum, found := result.AsOne(flows, wanted)
	if !found {
		return
	}
	l.add(float64(sum.StarvationNs), "ns", Lower, metric.Name{Metric: "starvation", Stat: "max"})
	l.add(sum.ServiceSeatSeconds, "seat-seconds", Neither, metric.Name{Metric: "service", Stat: "seatSeconds"})
	l.add(sum.DemandSeatSeconds, "seat-seconds", Neither, metric.Name{Metric: "demand", Stat: "seatSeconds"})
	l.add(sum.FairShareSeatSeconds, "seat-seconds", Neither, metric.Name{Metric: "fairShare", Stat: "seatSeconds"})
	if sum.Ratio != nil {
		l.add(*sum.Ratio, "", Neither, metric.Name{Metric: "fairShare", Stat: "ratio"})
	}
}

func (l *statisticList) priorityLevel(p *result.Level) {
	l.add(p.MeanWaiting, "requests", Lower, metric.Name{Metric: "waiting", Stat: "mean"})
	if f := p.Fairness; f != nil {
		l.add(f.Jain, "", Higher, metric.Name{Metric: "fairness", Stat: "jain"})
		l.add(f.MaxMinError, "", Lower, metric.Name{Metric: "fairness", Stat: "maxMinError"})
		l.add(f.LeastRatio, "", Higher, metric.Name{Metric: "fairness", Stat: "leastRatio"})
		l.add(float64(f.Flows), "flows", Neither, metric.Name{Metric: "fairness", Stat: "flows"})
	}
	l.add(float64(p.PeakSeats), "seats", Neither, metric.Name{Metric: "utilisation", Stat: "peak"})
	if u := p.Utilisation; u != nil {
		if u.Mean != nil {
			l.add(*u.Mean, "", Neither, metric.Name{Metric: "utilisation", Stat: "mean"})
		}
		l.add(u.Saturated, "", Neither, metric.Name{Metric: "utilisation", Stat: "saturated"})
	}
}

// Find returns the index in all of the statistic that text names, however it is
// spelt. The error says what is wrong with the name and which one is near; it is
// ErrNoSamples if the name is right and there is no value.
func Find(all []Statistic, text string) (int, error) {
	want, err := metric.ParseName(text)
	if err != nil {
		return 0, err
	}
	found := []int{}
	name := want.String()
	for i := range all {
		if all[i].Name == name || want.Tag("flow") != "" && all[i].IsThatOf(&want) {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, fmt.Errorf("%s: %w", name, missing(all, &want))
	}
	return 0, fmt.Errorf("%s: flows of several priority levels have this name; want one of %s, %s", name, all[found[0]].Name, all[found[1]].Name)
}

// Check says what is wrong with the name of a statistic for runs of the scenarios, as
// far as that is known before they are run: which flows there are is not.
func Check(text string, scenarios ...*scenario.Scenario) error {
	id, err := metric.ParseName(text)
	if err != nil || id.Tag("flow") != "" {
		return err
	}
	if _, err = Find(All(namesOf(scenarios)), text); errors.Is(err, result.ErrNoSamples) {
		return nil
	}
	return err
}

// namesOf returns a summary without requests, of all workloads, FlowSchemas and levels that
// there are in the scenarios.
func namesOf(scenarios []*scenario.Scenario) *result.Summary {
	var s result.Summary
	groups := func(to *[]result.Group) func(name string) {
		seen := map[string]bool{}
		return func(name string) {
			if !seen[name] {
				seen[name] = true
				*to = append(*to, result.Group{Name: name})
			}
		}
	}
	var levels []result.Group
	addWorkload, addSchema, addLevel := groups(&s.Workloads), groups(&s.FlowSchemas), groups(&levels)
	addObjects := func(objects *config.Objects) {
		for _, schema := range objects.FlowSchemas {
			addSchema(schema.Name)
		}
		for _, level := range objects.PriorityLevels {
			addLevel(level.Name)
		}
	}
	for _, sc := range scenarios {
		for i := range sc.Spec.Workload {
			addWorkload(sc.Spec.Workload[i].Name)
		}
		if sc.Spec.Servers.FlowControl != scenario.PriorityAndFairness {
			continue
		}
		for _, objects := range sc.Configurations() {
			addObjects(&objects)
		}
	}
	for _, g := range levels {
		s.PriorityLevels = append(s.PriorityLevels, result.Level{Group: g})
	}
	return &s
}

// IsThatOf says whether s is the wanted statistic of a flow, which may be narrowed down
// by its FlowSchema and level.
func (s *Statistic) IsThatOf(want *metric.Name) bool {
	if s.ID.Metric != want.Metric || s.ID.Stat != want.Stat || s.ID.Percentile != want.Percentile {
		return false
	}
	for _, t := range want.Tags {
		value := s.ID.Tag(t.Name)
		switch t.Name {
		case "flowSchema":
			value = s.Schema
		case "priorityLevel":
			value = s.Level
		}
		if value != t.Value {
			return false
		}
	}
	return s.ID.Tag("reason") == want.Tag("reason")
}

// missing says why there is no such statistic.
func missing(all []Statistic, want *metric.Name) error {
	groups := 0
	for _, t := range want.Tags {
		if t.Name == "reason" {
			continue
		}
		groups++
		var values []string
		seen := map[string]bool{"": true}
		for i := range all {
			if v := all[i].ID.Tag(t.Name); !seen[v] {
				seen[v] = true
				values = append(values, v)
			}
		}
		if !seen[t.Value] {
			return fmt.Errorf("there is no %s %q%s", t.Name, t.Value, Nearest(t.Value, values))
		}
	}
	switch {
	case want.Tag("flow") == "" && groups > 1, want.Tag("flow") != "" && want.Tag("workload") != "":
		return errors.New("summaries do not tell requests apart by several tags; want one")
	case want.Stat == "p" && !slices.Contains([]float64{90, 95, 99, 99.9}, want.Percentile):
		return errors.New("summaries have no such percentile; want p(50), p(90), p(95), p(99) or p(99.9)")
	}
	return result.ErrNoSamples
}

// Nearest proposes the nearest of some values or, when none is near, a few of them.
func Nearest(value string, values []string) string {
	if s := document.Suggest(value, values); s != "" || len(values) == 0 {
		return s
	}
	const most = 8
	more := ""
	if len(values) > most {
		values, more = values[:most], ", ..."
	}
	return "; there are " + strings.Join(values, ", ") + more
}
