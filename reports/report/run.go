package report

import (
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// RunDocument returns the report of a run. Of a result that has only a summary, it has no plots.
func RunDocument(r *result.Result) *Document {
	s := r.Summary
	servers, stored, stalls := ServerFindings(s), storedFindings(s), StallFindings(s)
	d := &Document{
		Title: s.Name, Name: s.Name, Description: []string{s.Description}, Ran: result.Ran(s), Verdict: thresholdsVerdict(s), Replay: replayed(s.Replay),
		Findings: runFindings(s, servers, stored, stalls), Warnings: s.Warnings,
		Sources: sources(r), Fingerprint: s.Fingerprint, Data: s, Records: runRecords(r), Pictures: runPictures(r),
	}
	d.Setting = setting(s)
	d.Answer = AnswerOf(s.Verdict)
	d.add(runScreen(r))
	d.add(CauseSection(s.Verdict))
	if s.Replay != nil {
		d.add(Section{Name: "replay", Title: "Log and replay", Parts: []Part{{Table: ReplayTable(s.Replay)}}})
	}
	workloads := []Part{{Table: workloadTable(s)}}
	if t := boundsTable(s); t != nil {
		workloads = append(workloads, Part{Table: t})
	}
	if wait := waitPlot(r); wait != nil {
		workloads = append(workloads, Part{Plot: wait})
	}
	d.add(Section{Name: "workloads", Title: "Workloads", Parts: workloads})
	levels := tablePart(levelTable(s), "")
	if len(s.FlowSchemas) > 0 {
		levels = append(levels, Part{Heading: "By FlowSchema", Table: flowSchemaTable(s), Only: HTML})
	}
	d.add(Section{Name: "levels", Title: "Priority levels", Parts: levels})
	if len(s.Servers) > 0 {
		parts := append([]Part{{Table: serverTable(s)}}, tablePart(timelineTable(s), "Timeline")...)
		parts = append(parts, plotParts(ServerPlots(r), "Servers over time")...)
		if t := serverLevelTable(s); len(t.Rows) > 0 {
			parts = append(parts, Part{Heading: "Priority levels by server", Table: t, Only: HTML})
		}
		parts = append(parts, Part{Heading: "What happened", Findings: servers, Only: Terminal})
		d.add(Section{Name: "servers", Title: "Servers", Parts: parts})
	}
	parts := tablePart(clientTable(s), "")
	parts = append(parts, plotParts(clientPlots(r), "Clients over time")...)
	parts = append(parts, tablePart(cacheTable(s), "Watch caches")...)
	parts = append(parts, tablePart(requestKindTable(s), "Seats and work")...)
	d.add(Section{Name: "store", Title: "Clients and the store", Parts: parts})
	d.add(Section{Parts: []Part{{Heading: "What happened to clients", Findings: stored}}, Only: Terminal})
	d.add(Section{Name: "aggregated", Title: "Aggregated servers", Parts: tablePart(aggregatedServerTable(s), "")})
	d.add(Section{Parts: []Part{{Heading: "Stalls", Findings: stalls}}, Only: Terminal})
	overTime := plotParts(waitPlots(r), "Waits of workloads")
	for i := range r.Series {
		if plots := LevelPlots(r, i); len(plots) > 0 {
			overTime = append(overTime, plotParts(plots, plots[0].Subject)...)
		}
	}
	d.add(Section{Name: "course", Title: "Over time", Parts: overTime, Only: HTML})
	if len(s.Flows) > 0 {
		d.add(Section{Name: "flows", Title: "Flows", Parts: []Part{{Table: flowTable(s)}}, Only: HTML})
	}
	if t := worstFlowTable(s, flowsShown); len(t.Rows) > 0 {
		d.add(Section{Only: Terminal, Parts: []Part{{Table: t},
			{Note: "Demand, share, service in seat-seconds; starved: the longest time with requests waiting, none dispatched."}}})
	}
	if d.Verdict != nil {
		d.add(Section{Parts: []Part{{Table: d.Verdict.Table, Brief: thresholdsBrief}}, Only: Terminal})
	}
	return d
}

// flowsShown is how many underserved flows a terminal shows.
const flowsShown = 8

// sources names the files that have all numbers of a run.
func sources(r *result.Result) string {
	series := "series.csv"
	switch {
	case len(r.Summary.Servers) > 0 && len(r.ClientSeries) > 0:
		series = "series.csv, servers.csv and clients.csv"
	case len(r.Summary.Servers) > 0:
		series = "series.csv and servers.csv"
	}
	return "All numbers are in summary.json, the values over time in " + series + "."
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
	return &Verdict{Judgement: how, Sentences: ReplaySentences(r)}
}

func thresholdsVerdict(s *result.Summary) *Verdict {
	if len(s.Thresholds) == 0 {
		return nil
	}
	t := thresholdTable(s)
	how := passed(s.Passed)
	if a := s.Verdict; how == judge.Good && a != nil && a.Status != result.OK { // what is expected may be harm
		how = judge.Neutral
	}
	return &Verdict{Judgement: how, Sentences: []string{t.Title}, Table: t}
}

// passed returns the judgement of a verdict.
func passed(ok bool) judge.Judgement {
	if ok {
		return judge.Good
	}
	return judge.Bad
}
