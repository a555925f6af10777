package result

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"apfsim/sim/metric"
)

// subject is a part of a run that statistics are of: all requests, or those of a workload, a
// FlowSchema, a priority level or a flow.
type subject struct {
	seconds  float64 // length of the window
	requests *Group  // never nil
	flows    *Flow   // the flows of the part, combined; nil if it has none
	level    *Level  // nil unless the part is a priority level
	server   *Server // nil unless the part is a server
	status   string  // of responses; "" for all
}

// statusText is the value of the tag status.
func statusText(status int) string {
	if status == 0 {
		return metric.NoAnswer
	}
	return strconv.Itoa(status)
}

func (s *subject) addFlows(summary *Summary, wanted func(*Flow) bool) {
	if sum, found := summary.AsOne(wanted); found {
		s.flows = &sum
	}
}

// definition says how a statistic is read.
type definition struct {
	name     metric.Name // its only tag is the reason
	metric   *metric.Metric
	field    sum
	per      sum  // nil for 1
	seconds  bool // it is per second
	zero     bool // a field that the summary omits is 0
	computed func(*subject) (x float64, ok bool)
}

// takes says whether the metric has all of the tags.
func (d *definition) takes(tags []metric.Tag) bool {
	return !slices.ContainsFunc(tags, func(t metric.Tag) bool { return !slices.Contains(d.metric.Tags, t.Name) })
}

// value returns the value of the statistic in a part of a run. If there is none, the note says why.
func (d *definition) value(s *subject) (value float64, note string) {
	from, note := d.source(s)
	if note != "" {
		return 0, note
	}
	divisor := 1.0
	if d.seconds {
		if divisor = s.seconds; divisor <= 0 {
			return 0, metric.NoSamples
		}
	}
	ok, absent := true, false
	if d.computed != nil {
		value, ok = d.computed(s)
	} else {
		value, ok, absent = d.field.read(from)
	}
	if ok && d.per != nil {
		divisor, ok, absent = d.per.read(from)
	}
	switch {
	case ok:
		return value / divisor, ""
	case d.zero:
		return 0, ""
	case absent:
		return 0, cmp.Or(d.metric.Absent, metric.NoSamples)
	}
	return 0, metric.NoSamples
}

// source returns what the statistic is read from. The note says why there is no such thing.
func (d *definition) source(s *subject) (from reflect.Value, note string) {
	found := any(s.requests)
	switch d.metric.Source {
	case metric.FromRequests:
		if s.requests.Arrived == 0 {
			return from, metric.NoSamples
		}
	case metric.FromFlows:
		if found = s.flows; s.flows == nil {
			return from, NoSuchFlow
		}
	case metric.FromLevel:
		if found = s.level; s.level == nil {
			return from, NoSuchLevel
		}
	case metric.FromServer:
		if found = s.server; s.server == nil {
			found = &alwaysReady
		}
	case metric.FromClients:
		if s.requests.Clients == nil {
			return from, metric.NoSamples
		}
		found = s.requests.Clients.Noted(cmp.Or(d.metric.ReadOf, d.metric.Name))
	}
	return reflect.ValueOf(found), ""
}

// alwaysReady is the one server of a run that has no others.
var alwaysReady = Server{ReadyShare: 1}

// computed are the fields that no summary has, by their names.
var computed = map[string]func(*subject) (float64, bool){
	"notServed":   func(s *subject) (float64, bool) { return float64(s.requests.NotServedTotal()), true },
	"seats.mean":  ofSeats(func(u *SeatUse) float64 { return u.Mean }),
	"seats.peak":  ofSeats(func(u *SeatUse) float64 { return float64(u.Peak) }),
	"seats.share": ofSeats(func(u *SeatUse) float64 { return u.Share }),
	"responses": func(s *subject) (n float64, ok bool) {
		for _, r := range s.requests.Responses {
			if s.status == "" || s.status == statusText(r.Status) {
				n += float64(r.Count)
			}
		}
		return n, len(s.requests.Responses) > 0
	},
}

// ofSeats reads a number of the use of all seats.
func ofSeats(of func(*SeatUse) float64) func(*subject) (float64, bool) {
	return func(s *subject) (float64, bool) {
		if s.requests.Seats == nil {
			return 0, false
		}
		return of(s.requests.Seats), true
	}
}

// table has the statistics of a summary in the order in which lists have them: by section, and then in the order of the
// registry. A statistic that is another name of one in the table is not in it: see metric.ParseName. Not all commands need it.
var table = sync.OnceValue(func() (all []definition) {
	sections, fields := map[metric.Section][]definition{}, fieldCache{}
	for _, m := range metric.All() {
		for _, reason := range append([]metric.Reason{{}}, m.Reasons...) {
			for _, s := range listed(&m) {
				section := cmp.Or(s.Section, m.Section)
				if reason.Name != "" && section == metric.SectionClients {
					section = metric.SectionReasons
				}
				sections[section] = append(sections[section], define(&m, s, reason.Name, fields)...)
			}
		}
	}
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		all = append(all, sections[section]...)
	}
	return all
})

// listed returns the statistics of a metric that are read from summaries, in the order of lists: the count of durations
// is before them, and behind those of clients.
func listed(m *metric.Metric) []metric.Statistic {
	all := slices.DeleteFunc(slices.Clone(m.Statistics), func(s metric.Statistic) bool { return s.Field == "" || s.Alias != "" })
	if _, percentile := metric.Find(m.Name, "p"); percentile == nil {
		return all
	}
	order := []string{"count", "mean", "min", "med", "p", "max"}
	if m.Timed {
		order = append(order[1:], "count")
	}
	slices.SortStableFunc(all, func(a, b metric.Statistic) int {
		return cmp.Compare(slices.Index(order, a.Name), slices.Index(order, b.Name))
	})
	return all
}

// define returns the definitions of a statistic, for a reason if that is not "". There are none of a name that another
// one is canonical of.
func define(m *metric.Metric, s metric.Statistic, reason string, fields fieldCache) (all []definition) {
	one := definition{name: metric.Name{Metric: m.Name, Stat: s.Name, Unit: s.Unit}, metric: m, zero: s.Zero, seconds: s.Per == metric.PerSecond}
	from := sources[m.Source]
	if s.Per != "" && !one.seconds {
		one.per = fields.parseSum(from, s.Per)
	}
	if s.Name == "p" {
		for _, p := range metric.Percentiles {
			percentile := one
			percentile.name.Percentile, percentile.field = p.Percent, fields.parseSum(from, s.Field+"."+p.Field)
			all = append(all, percentile)
		}
		return all
	}
	field := s.Field
	if reason != "" {
		if m.Name == "rejected" && reason == metric.TimedOutReason { // see metric.ParseName
			return nil
		}
		one.name.Tags = TagOf(metric.TagReason, reason)
		field = metric.ReasonField(reason)
	}
	one.computed = computed[field]
	switch {
	case m.Source == metric.FromStored:
		one.computed = func(counted *subject) (float64, bool) {
			if counted.requests.Stored == nil {
				return 0, false
			}
			return float64(counted.requests.Stored.Values[s.Server]), true
		}
	case reason != "" && m.Source == metric.FromClients:
		one.computed = func(s *subject) (float64, bool) { return s.requests.Clients.Because(m.Name, reason), true }
	case one.computed == nil:
		one.field = fields.parseSum(from, field)
	}
	return []definition{one}
}

// key identifies a definition.
type key struct {
	metric, statistic string
	percentile        float64
	reason            string
}

func keyOf(n *metric.Name) key {
	return key{n.Metric, n.Stat, n.Percentile, n.Tag(metric.TagReason)}
}

var byKey = sync.OnceValue(func() map[key]*definition {
	all, of := table(), map[key]*definition{}
	for i := range all {
		of[keyOf(&all[i].name)] = &all[i]
	}
	return of
})
