package report

import (
	"strings"

	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// RunDocument returns the page of a run.
func RunDocument(r *result.Result) Document {
	s := r.Summary
	p := Document{
		Title: s.Name, Description: []string{s.Description}, Ran: result.Ran(s), Verdict: thresholdsVerdict(s), Replay: replayed(s.Replay),
		Findings: RunFindings(s), Warnings: s.Warnings,
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
		add("replay", "Log and replay", Part{Table: ReplayTable(s.Replay)})
	}
	workloads := []Part{{Table: WorkloadTable(s)}}
	if wait := WaitPlot(r); wait != nil {
		workloads = append(workloads, Part{Plot: wait})
	}
	add("workloads", "Workloads", workloads...)
	var levels []Part
	if t := LevelTable(s); len(t.Rows) > 0 {
		levels = append(levels, Part{Table: t})
	}
	if len(s.FlowSchemas) > 0 {
		levels = append(levels, Part{Heading: "By FlowSchema", Table: FlowSchemaTable(s)})
	}
	add("levels", "Priority levels", levels...)
	if len(s.Servers) > 0 {
		servers := []Part{{Table: ServerTable(s)}}
		if len(s.Timeline) > 0 {
			servers = append(servers, Part{Heading: "Timeline", Table: TimelineTable(s)})
		}
		for i, plot := range ServerPlots(r) {
			servers = append(servers, Part{Plot: plot})
			if i == 0 {
				servers[len(servers)-1].Heading = "Servers over time"
			}
		}
		if t := ServerLevelTable(s); len(t.Rows) > 0 {
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
	if t := ClientTable(s); len(t.Rows) > 0 {
		stored = append(stored, Part{Table: t})
	}
	for i, plot := range ClientPlots(r) {
		stored = append(stored, Part{Plot: plot})
		if i == 0 {
			stored[len(stored)-1].Heading = "Clients over time"
		}
	}
	if t := CacheTable(s); len(t.Rows) > 0 {
		stored = append(stored, Part{Heading: "Watch caches", Table: t})
	}
	if t := RequestKindTable(s); len(t.Rows) > 0 {
		stored = append(stored, Part{Heading: "Seats and work", Table: t})
	}
	add("store", "Clients and the store", stored...)
	if len(s.AggregatedServers) > 0 {
		add("aggregated", "Aggregated servers", Part{Table: AggregatedServerTable(s)})
	}
	var overTime []Part
	for i, plot := range WaitPlots(r) {
		overTime = append(overTime, Part{Plot: plot})
		if i == 0 {
			overTime[0].Heading = "Waits of workloads"
		}
	}
	for i := range r.Series {
		for k, plot := range LevelPlots(r, i) {
			part := Part{Plot: plot}
			if k == 0 {
				part.Heading = plot.Subject
			}
			overTime = append(overTime, part)
		}
	}
	add("course", "Over time", overTime...)
	if len(s.Flows) > 0 {
		add("flows", "Flows", Part{Table: FlowTable(s)})
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
	return &Verdict{Judgement: how, Text: strings.Join(ReplaySentences(r), " ")}
}

func thresholdsVerdict(s *result.Summary) *Verdict {
	if len(s.Thresholds) == 0 {
		return nil
	}
	t := ThresholdTable(s)
	return &Verdict{Judgement: passed(s.Passed), Text: t.Title, Table: t}
}

// passed returns the judgement of a verdict.
func passed(ok bool) judge.Judgement {
	if ok {
		return judge.Good
	}
	return judge.Bad
}
