package result

import (
	"apfsim/sim/metric"
)

// InSummary says whether summaries have the statistic of a canonical name, whatever its tags
// besides the reason are. They have all but most percentiles.
func InSummary(name *metric.Name) bool { return byKey()[keyOf(name)] != nil }

// OfRequests returns the value of a statistic of requests, which InSummary has, in a group of
// requests that arrived within so many seconds. If there is none, the note says why.
func OfRequests(g *Group, seconds float64, name *metric.Name) (value float64, note string) {
	return byKey()[keyOf(name)].value(&subject{seconds: seconds, requests: g, status: name.Tag(metric.TagStatus)})
}

// StatisticValue returns the value of a statistic in a summary; if there is none, the note says why. It is
// not ok if the summary does not have the number: a summary has the percentiles of the
// table alone, and it divides requests by one tag only, except that the tags of a flow may include its
// FlowSchema and its priority level.
func StatisticValue(s *Summary, name *metric.Name) (value float64, note string, ok bool) {
	d := byKey()[keyOf(name)]
	if d == nil {
		return 0, "", false
	}
	target := &subject{seconds: windowSeconds(s), requests: &Group{}, status: name.Tag(metric.TagStatus), server: serverOf(s, name)}
	switch d.metric.Source {
	case metric.FromFlows:
		target.addFlows(s, func(f *Flow) bool { return matches(f, name) })
	case metric.FromLevel:
		target.level = levelOf(s, name)
	case metric.FromServer:
	default:
		g, found := requestsOf(s, name)
		switch {
		case !found:
			return 0, NoSuchFlow, true
		case g == nil:
			return 0, "", false
		}
		target.requests = g
	}
	value, note = d.value(target)
	return value, note, true
}

// serverOf returns the server that a name has the tag of, nil without the tag and if the summary has no
// servers.
func serverOf(s *Summary, name *metric.Name) *Server {
	for i := range s.Servers {
		if s.Servers[i].Name == name.Tag(metric.TagServer) {
			return &s.Servers[i]
		}
	}
	return nil
}

// levelOf returns the priority level that a name has the tag of, at the server of its tag if it has one;
// nil if there is none.
func levelOf(s *Summary, name *metric.Name) *Level {
	wanted := name.Tag(metric.TagPriorityLevel)
	if server := serverOf(s, name); server != nil {
		for i := range server.Levels {
			if server.Levels[i].Name == wanted {
				level := server.Levels[i].Level()
				return &level
			}
		}
		return nil
	}
	for i := range s.PriorityLevels {
		if l := &s.PriorityLevels[i]; l.Name == wanted {
			return l
		}
	}
	return nil
}

// matches says whether a flow has the tags of a name.
func matches(f *Flow, name *metric.Name) bool {
	has := func(tag, value string) bool { return name.Tag(tag) == "" || name.Tag(tag) == value }
	return has(metric.TagFlow, f.Name) && has(metric.TagFlowSchema, f.FlowSchema) && has(metric.TagPriorityLevel, f.PriorityLevel)
}

// requestsOf returns the group of the requests that have the tags of a name. If there is no such
// group in the summary, found says whether the run may have such requests nevertheless.
func requestsOf(s *Summary, name *metric.Name) (g *Group, found bool) {
	var tags []metric.Tag
	for _, t := range name.Tags {
		switch {
		case t.Name == metric.TagReason, t.Name == metric.TagStatus:
		case t.Name == metric.TagServer && len(s.Servers) == 0: // the one server
		default:
			tags = append(tags, t)
		}
	}
	switch {
	case name.Tag(metric.TagFlow) != "":
		for i := range s.Flows {
			if f := &s.Flows[i]; matches(f, name) {
				if g != nil {
					return nil, true
				}
				g, found = &f.Group, true
			}
		}
		if name.Tag(metric.TagWorkload) != "" || len(s.Servers) > 0 && name.Tag(metric.TagServer) != "" {
			g = nil
		}
		return g, found
	case len(tags) == 0:
		return &s.Total, true
	case len(tags) > 1:
		return nil, true
	}
	groups := s.Workloads
	switch tags[0].Name {
	case metric.TagServer:
		groups = nil
		for i := range s.Servers {
			groups = append(groups, s.Servers[i].Group)
		}
	case metric.TagFlowSchema:
		groups = s.FlowSchemas
	case metric.TagPriorityLevel:
		groups = nil
		for i := range s.PriorityLevels {
			groups = append(groups, s.PriorityLevels[i].Group)
		}
	}
	for i := range groups {
		if groups[i].Name == tags[0].Value {
			return &groups[i], true
		}
	}
	return &Group{}, true // no request had the tag
}
