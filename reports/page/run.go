package page

import (
	"strings"

	"apfsim/reports/findings"
	"apfsim/reports/judge"
	"apfsim/reports/plots"
	"apfsim/reports/result"
	"apfsim/reports/tables"
)

// Run returns the page of a run.
func Run(r *result.Result) Page {
	s := r.Summary
	p := Page{
		Title: s.Name, Description: []string{s.Description}, Ran: result.Ran(s), Verdict: thresholdsVerdict(s), Replay: replayed(s.Replay),
		Findings: findings.Run(s), Warnings: s.Warnings,
		Footer: "All numbers are in summary.json, the values over time in series.csv.",
	}
	if s.Fingerprint != "" {
		p.Footer += " Fingerprint of the decisions: " + s.Fingerprint
	}
	add := func(name, title string, parts ...Part) {
		if len(parts) > 0 {
			p.Sections = append(p.Sections, Section{Name: name, Title: title, Parts: parts})
		}
	}
	if s.Replay != nil {
		add("replay", "Log and replay", Part{Table: tables.Replay(s.Replay)})
	}
	workloads := []Part{{Table: tables.Workloads(s)}}
	if wait := plots.Wait(r); wait != nil {
		workloads = append(workloads, Part{Plot: wait})
	}
	add("workloads", "Workloads", workloads...)
	var levels []Part
	if t := tables.Levels(s); len(t.Rows) > 0 {
		levels = append(levels, Part{Table: t})
	}
	if len(s.FlowSchemas) > 0 {
		levels = append(levels, Part{Heading: "By FlowSchema", Table: tables.FlowSchemas(s)})
	}
	add("levels", "Priority levels", levels...)
	if len(s.Servers) > 0 {
		servers := []Part{{Table: tables.Servers(s)}}
		if len(s.Timeline) > 0 {
			servers = append(servers, Part{Heading: "Timeline", Table: tables.Timeline(s)})
		}
		for i, plot := range plots.Servers(r) {
			servers = append(servers, Part{Plot: plot})
			if i == 0 {
				servers[len(servers)-1].Heading = "Servers over time"
			}
		}
		if t := tables.ServerLevels(s); len(t.Rows) > 0 {
			servers = append(servers, Part{Heading: "Priority levels by server", Table: t})
		}
		add("servers", "Servers", servers...)
		p.Footer = "All numbers are in summary.json, the values over time in series.csv and servers.csv."
		if len(r.ClientSeries) > 0 {
			p.Footer = "All numbers are in summary.json, the values over time in series.csv, servers.csv and clients.csv."
		}
		if s.Fingerprint != "" {
			p.Footer += " Fingerprint of the decisions: " + s.Fingerprint
		}
	}
	var stored []Part
	if t := tables.Clients(s); len(t.Rows) > 0 {
		stored = append(stored, Part{Table: t})
	}
	for i, plot := range plots.Clients(r) {
		stored = append(stored, Part{Plot: plot})
		if i == 0 {
			stored[len(stored)-1].Heading = "Clients over time"
		}
	}
	if t := tables.Caches(s); len(t.Rows) > 0 {
		stored = append(stored, Part{Heading: "Watch caches", Table: t})
	}
	if t := tables.RequestKinds(s); len(t.Rows) > 0 {
		stored = append(stored, Part{Heading: "Seats and work", Table: t})
	}
	add("store", "Clients and the store", stored...)
	if len(s.AggregatedServers) > 0 {
		add("aggregated", "Aggregated servers", Part{Table: tables.AggregatedServers(s)})
	}
	var overTime []Part
	for i, plot := range plots.WaitsOverTime(r) {
		overTime = append(overTime, Part{Plot: plot})
		if i == 0 {
			overTime[0].Heading = "Waits of workloads"
		}
	}
	for i := range r.Series {
		for k, plot := range plots.Level(r, i) {
			part := Part{Plot: plot}
			if k == 0 {
				part.Heading = plot.Subject
			}
			overTime = append(overTime, part)
		}
	}
	add("course", "Over time", overTime...)
	if len(s.Flows) > 0 {
		add("flows", "Flows", Part{Table: tables.Flows(s)})
	}
	return p
}

// replayed says whether a replay agrees with its log; nil if the run is not a replay.
func replayed(r *result.Replay) *Verdict {
	if r == nil {
		return nil
	}
	how := judge.Neutral
	if r.Matches != nil {
		how = passed(*r.Matches)
	}
	return &Verdict{Judgement: how, Text: strings.Join(findings.Replay(r), " ")}
}

func thresholdsVerdict(s *result.Summary) *Verdict {
	if len(s.Thresholds) == 0 {
		return nil
	}
	t := tables.Thresholds(s)
	return &Verdict{Judgement: passed(s.Passed), Text: t.Title, Table: t}
}

// passed returns the judgement of a verdict.
func passed(ok bool) judge.Judgement {
	if ok {
		return judge.Good
	}
	return judge.Bad
}
