package result

import (
	"slices"

	"apfsim/sim/metric"
)

// Statistic is one number of a run.
type Statistic struct {
	Name  metric.Name
	Value float64 // in Name.Unit

	// Level and Schema are the priority level and the FlowSchema of a flow; "" if the statistic is
	// not that of a flow.
	Level, Schema string
}

// OfFlow says whether the statistic is that of a single flow.
func (s *Statistic) OfFlow() bool { return s.Name.Tag(metric.TagFlow) != "" }

// Statistics returns all statistics of a run that have samples: those of all requests, then by workload,
// FlowSchema, priority level and flow, each in the summary's order.
func Statistics(s *Summary) []Statistic { return ListStatistics(s, true) }

// ListStatistics returns the statistics of a run, with those of its flows or without.
func ListStatistics(s *Summary, withFlows bool) []Statistic {
	l := list{servers: len(s.Servers) > 0, one: len(s.Servers) == 1, byClient: s.MeasuredBy == Client}
	for _, r := range s.Total.Responses {
		l.statuses = append(l.statuses, statusText(r.Status))
	}
	all := subject{seconds: windowSeconds(s), requests: &s.Total}
	all.addFlows(s, func(*Flow) bool { return true })
	l.add(&all, nil)
	for i := range s.Workloads {
		g := &s.Workloads[i]
		l.add(&subject{seconds: windowSeconds(s), requests: g}, TagOf(metric.TagWorkload, g.Name))
	}
	for i := range s.FlowSchemas {
		g := &s.FlowSchemas[i]
		schemaSubject := subject{seconds: windowSeconds(s), requests: g}
		schemaSubject.addFlows(s, func(f *Flow) bool { return f.FlowSchema == g.Name })
		l.add(&schemaSubject, TagOf(metric.TagFlowSchema, g.Name))
	}
	for i := range s.PriorityLevels {
		level := &s.PriorityLevels[i]
		levelSubject := subject{seconds: windowSeconds(s), requests: &level.Group, level: level}
		levelSubject.addFlows(s, func(f *Flow) bool { return f.PriorityLevel == level.Name })
		l.add(&levelSubject, TagOf(metric.TagPriorityLevel, level.Name))
	}
	for i := range s.Servers {
		server := &s.Servers[i]
		l.add(&subject{seconds: windowSeconds(s), requests: &server.Group, server: server}, TagOf(metric.TagServer, server.Name))
		for k := range server.Levels {
			level := server.Levels[k].Level()
			if !l.one && !level.Idle() {
				l.addLevel(&level, append(TagOf(metric.TagPriorityLevel, level.Name), TagOf(metric.TagServer, server.Name)...))
			}
		}
	}
	if !withFlows {
		return l.all
	}
	for i := range s.Flows {
		f := &s.Flows[i]
		tags := TagOf(metric.TagFlow, f.Name)
		if f.SeveralLevels {
			tags = append(TagOf(metric.TagPriorityLevel, f.PriorityLevel), tags...)
		}
		flowSubject := subject{seconds: windowSeconds(s), requests: &f.Group}
		one := *f
		one.SetRatio() // by the rounded values in the summary, as those of several flows
		flowSubject.flows = &one
		from := len(l.all)
		l.add(&flowSubject, tags)
		for k := range l.all[from:] {
			l.all[from+k].Level, l.all[from+k].Schema = f.PriorityLevel, f.FlowSchema
		}
	}
	return l.all
}

func windowSeconds(s *Summary) float64 { return float64(s.DurationNs-s.WarmupNs) / 1e9 }

// TagOf returns the tags of a name that has one.
func TagOf(name, value string) []metric.Tag { return []metric.Tag{{Name: name, Value: value}} }

// list is a list of statistics under construction.
type list struct {
	all      []Statistic
	servers  bool     // the summary has servers
	one      bool     // it has one server: all requests and levels are those of the server, and not listed again
	statuses []string // of all responses, so that runs without one of a status count 0 of them
	byClient bool     // only those that a client of a server can measure
}

// MeasuredByClient says whether a client of a server can measure a statistic.
func MeasuredByClient(n *metric.Name) bool {
	m, _ := metric.Find(n.Metric, n.Stat)
	return m.ByClient && n.Tag(metric.TagReason) == ""
}

// add adds the statistics of a part of a run that have samples.
func (l *list) add(part *subject, tags []metric.Tag) {
	all := table()
	for i := range all {
		d := &all[i]
		switch {
		case d.metric.ByName:
		case l.byClient && !MeasuredByClient(&d.name):
		case l.one && part.server != nil && d.metric.Source != metric.FromServer:
		case d.metric.ByServer && (!l.servers || !d.takes(tags)), d.metric.Source == metric.FromServer && part.server == nil:
		case slices.Contains(d.metric.Tags, metric.TagStatus):
			for _, status := range l.statuses {
				with := *part
				with.status = status
				l.addOne(d, &with, append(tags[:len(tags):len(tags)], metric.Tag{Name: metric.TagStatus, Value: status}))
			}
		default:
			l.addOne(d, part, tags)
		}
	}
}

// addLevel adds the statistics of a level at a server that are about seats and queues.
func (l *list) addLevel(level *Level, tags []metric.Tag) {
	part := &subject{level: level}
	all := table()
	for i := range all {
		if d := &all[i]; d.metric.Source == metric.FromLevel && !d.metric.ByName {
			l.addOne(d, part, tags)
		}
	}
}

// addOne adds a statistic if it has samples.
func (l *list) addOne(d *definition, part *subject, tags []metric.Tag) {
	value, note := d.value(part)
	if note != "" {
		return
	}
	name := d.name
	name.Tags = tags
	if len(d.name.Tags) > 0 {
		name.Tags = append(tags[:len(tags):len(tags)], d.name.Tags...)
	}
	l.all = append(l.all, Statistic{Name: name, Value: value})
}
