package report

import (
	"cmp"
	"fmt"
	"slices"

	"apfsim/reports/result"
)

// maxServers limits the servers that have lines.
const maxServers = 12

// serverValues are what is drawn of servers over time. What is 0 throughout at all servers is not drawn.
var serverValues = []struct {
	name, title string
	y           Axis
	caption     string // after "In intervals of 1 s"
	value       func(*result.ServerPoint) float64
}{
	{"executed", "Throughput", Axis{Label: "per second", Unit: "/s"}, "Requests executed per second, in intervals of %s.",
		func(p *result.ServerPoint) float64 { return float64(p.Executed) / p.Seconds() }},
	{"failed", "Requests rejected, refused or lost", Axis{Label: "per second", Unit: "/s"}, "Requests per second, in intervals of %s.",
		func(p *result.ServerPoint) float64 { return float64(p.Rejected+p.Refused+p.Lost) / p.Seconds() }},
	{"seats", "Seats in use", Axis{Label: "seats"}, "Of all priority levels that have a limit; mean of intervals of %s.",
		func(p *result.ServerPoint) float64 { return p.SeatsInUse }},
	{"executing", "Requests executing", Axis{Label: "requests"}, "Requests that hold seats or are not limited; mean of intervals of %s.",
		func(p *result.ServerPoint) float64 { return p.ExecutingRequests }},
	{"waiting", "Requests waiting", Axis{Label: "requests"}, "Mean of intervals of %s.",
		func(p *result.ServerPoint) float64 { return p.WaitingRequests }},
	{"in-service", "Requests in service", Axis{Label: "requests"}, "Requests that share the capacity of the server, at the ends of intervals of %s.",
		func(p *result.ServerPoint) float64 { return float64(p.InService) }},
	{"speed", "Speed of execution", Axis{Label: "share of the speed alone", Unit: "share"}, "Speed at which each request in service progresses, at the ends of intervals of %s. 100 % is that of a request alone on an idle server.",
		func(p *result.ServerPoint) float64 { return p.Speed }},
	{"memory", "Memory", Axis{Label: "GiB", Unit: " GiB"}, "At the ends of intervals of %s.",
		func(p *result.ServerPoint) float64 { return float64(p.MemoryBytes) / (1 << 30) }},
	{"connections", "Connections", Axis{Label: "connections"}, "Open connections of clients, at the ends of intervals of %s.",
		func(p *result.ServerPoint) float64 { return float64(p.Connections) }},
	{"watch-events", "Events sent to watches", Axis{Label: "per second", Unit: "/s"}, "Events per second, without the initial ones, in intervals of %s.",
		func(p *result.ServerPoint) float64 { return float64(p.WatchEvents) / p.Seconds() }},
	{"staleness", "Delay of events at the watch caches", Axis{Label: "delay", Unit: "ns"}, "From the commit until the watch cache of the server has the event; mean of intervals of %s.",
		func(p *result.ServerPoint) float64 { return float64(p.StalenessNs) }},
}

// ServerPlots returns the plots over time that compare the servers, with a line for each; none if the run
// has none.
func ServerPlots(r *result.Result) (plots []*Plot) {
	drawn, leftOut := drawnServers(r)
	if len(drawn) == 0 {
		return nil
	}
	t := timelineOf(r.Summary)
	marks := t.marks(result.TimelineMarks(r.Summary.Timeline))
	first := drawn[0].Points
	for _, v := range serverValues {
		p := t.plot("servers-"+v.name, v.title, v.y, t.places(len(first), func(i int) (int64, int64) { return first[i].StartNs, first[i].EndNs }))
		p.Subject, p.Steps, p.Marks = v.title, true, marks
		p.Caption = fmt.Sprintf(v.caption, intervalText(&result.Series{Points: []result.Point{{StartNs: first[0].StartNs, EndNs: first[0].EndNs}}})) + leftOut
		greatest := 0.0
		for _, s := range drawn {
			values := stepValues(s.Points, v.value)
			greatest = max(greatest, slices.Max(values))
			p.Lines = append(p.Lines, Line{Name: plottedServerName(s), Kind: KindCategory, Index: s.Server, Values: values})
		}
		if greatest > 0 {
			plots = append(plots, p)
		}
	}
	if len(plots) > 0 && len(marks) > 0 {
		plots[0].Caption += " Solid vertical lines mark servers that stop, end, become ready or have another speed; dashed ones the other steps, such as what the load balancer notices."
	}
	return plots
}

func plottedServerName(s *result.ServerSeries) string { return fmt.Sprintf("server %d", s.Server) }

// drawnServers returns the servers that have lines: of too many, those with the most requests.
func drawnServers(r *result.Result) (drawn []*result.ServerSeries, leftOut string) {
	drawn = r.ServerSeries
	if len(drawn) <= maxServers {
		return drawn, ""
	}
	drawn = slices.Clone(drawn)
	slices.SortStableFunc(drawn, func(a, b *result.ServerSeries) int {
		return -cmp.Compare(r.Summary.Servers[a.Server].Arrived, r.Summary.Servers[b.Server].Arrived)
	})
	drawn = drawn[:maxServers]
	slices.SortFunc(drawn, func(a, b *result.ServerSeries) int { return cmp.Compare(a.Server, b.Server) })
	return drawn, fmt.Sprintf(" Drawn: the %d of %d servers with the most requests; the others are in servers.csv.", maxServers, len(r.ServerSeries))
}

func serversPicture(r *result.Result) *Picture {
	panels := ServerPlots(r)
	if len(panels) == 0 {
		return nil
	}
	p := &Picture{Name: "servers", Title: "Servers over time", Panels: panels}
	for _, l := range panels[0].Lines {
		p.Legend = append(p.Legend, legendEntry{Name: l.Name, Kind: l.Kind, Index: l.Index})
	}
	if len(panels[0].Marks) > 0 {
		p.Legend = append(p.Legend, legendEntry{Name: "server stops, ends, is ready or has another speed", Kind: KindEvent}, legendEntry{Name: "other steps", Kind: KindAdjustment})
	}
	return p
}
