package evidence

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// Document returns what was imported in words. Next is the command to type next.
func (r *Imported) Document(next string) *report.Document {
	of := ""
	if r.Server != "" {
		of = r.Server + ", "
	}
	d := &report.Document{Title: "Import", Data: r, Ran: fmt.Sprintf("Metrics of %s%s to %s; Kubernetes %s", of, r.From, r.To, r.KubernetesVersion),
		Replay: &report.Verdict{Judgement: report.Neutral, Sentences: r.verdict()}, Warnings: r.Warnings, Next: next}
	if !r.Runs[r.Chosen].Agrees {
		d.Replay.Judgement = report.Bad
	}
	add := func(name, title string, parts ...report.Part) {
		d.Sections = append(d.Sections, report.Section{Name: name, Title: title, Parts: parts})
	}
	add("workloads", "Workloads", report.Part{Paragraph: d.Ran}, report.Part{Table: r.workloadTable()})
	add("figures", "Series and runs", report.Part{Table: r.figureTable()})
	add("notes", "What is assumed, and what is not known", report.Part{Heading: "What is assumed, and what is not known", List: r.Notes})
	return d
}

// verdict says whether the runs agree with the series, and with which flows.
func (r *Imported) verdict() (sentences []string) {
	chosen := &r.Runs[r.Chosen]
	with := ""
	if len(r.Runs) > 1 {
		with = fmt.Sprintf(" with %s", r.inWords(chosen))
	}
	if f := chosen.worst(); f != nil {
		sentences = append(sentences, fmt.Sprintf("The run does not agree with the series%s: %s. Do not rely on what it says of a change.", with, f.differs()))
	} else {
		sentences = append(sentences, fmt.Sprintf("The run agrees with the series%s.", with))
	}
	var agree, differ []string
	for i := range r.Runs {
		switch run := &r.Runs[i]; {
		case i == r.Chosen:
		case run.Agrees:
			agree = append(agree, r.inWords(run))
		default:
			differ = append(differ, r.inWords(run))
		}
	}
	if len(agree) > 0 {
		sentences = append(sentences, fmt.Sprintf("It also agrees with %s: the series do not tell these apart.", strings.Join(agree, ", and with ")))
	}
	if len(differ) > 0 {
		text := "It does not agree with "
		if !chosen.Agrees {
			text = "Nor does it with "
		}
		sentences = append(sentences, text+strings.Join(differ, ", or with ")+".")
	}
	return sentences
}

// differs says how a figure differs.
func (f *Figure) differs() string {
	series, run := f.text(f.Series), f.text(f.Run)
	kind, of, _ := strings.Cut(f.Name, " ")
	switch kind {
	case "rejected:":
		return fmt.Sprintf("%s of the requests of %s are rejected (%s) in the run, and %s in the series", run, f.PriorityLevel, of, series)
	case "wait":
		return fmt.Sprintf("%s of the requests of %s wait for %s in the run, and %s in the series", run, f.PriorityLevel, of, series)
	}
	return fmt.Sprintf("%s has %s %s in the run, and %s in the series", f.PriorityLevel, run, f.Name, series)
}

// inWords names an assumption in a sentence.
func (r *Imported) inWords(run *ImportedRun) string {
	of := " for each FlowSchema"
	if slices.ContainsFunc(r.Workloads, func(w ImportedWorkload) bool { return w.Flows > 0 }) {
		of = " for each other FlowSchema"
	}
	switch run.Flows {
	case "requests":
		return "as many flows as requests"
	case "1":
		return "1 flow" + of
	}
	return run.Flows + " flows" + of
}

func (f *Figure) text(x float64) string {
	switch f.Unit {
	case "ratio":
		return format.Percent(x)
	case "seats":
		return format.Number(x)
	}
	return format.Whole(int64(math.Round(x)))
}

func (r *Imported) workloadTable() *report.Table {
	t := report.TextTable("", "workload", "priority level", "requests/s", "rate", "execution", "seats", "watches", "flows")
	t.Caption = "Workloads of the scenario, one for each FlowSchema; executions and seats are means"
	for _, w := range r.Workloads {
		flows, rate, watches := "assumed", "changes", "–"
		if w.Steady {
			rate = "steady"
		}
		if w.OneFlow {
			flows = "1"
		} else if w.Flows > 0 {
			flows = fmt.Sprintf("%d (given)", w.Flows)
		}
		if w.Watches > 0 {
			watches = format.Percent(w.Watches)
		}
		t.AddTexts(w.FlowSchema, w.PriorityLevel, format.Number(w.Rate), rate, format.Duration(w.ExecutionNs), format.Number(w.Seats), watches, flows)
	}
	return t
}

// figureTable has the figures of the series beside those of the runs of each assumption. Waits that nobody had are left out.
func (r *Imported) figureTable() *report.Table {
	heads := []string{"priority level", "figure", "series"}
	for i := range r.Runs {
		heads = append(heads, r.Runs[i].flowsText())
	}
	t := report.TextTable("", heads...)
	t.Caption = fmt.Sprintf("The series, and the mean of %d runs with each assumption on the flows of a FlowSchema; ≠ marks what does not agree", runsOfEach)
	before := ""
	for _, f := range r.Runs[0].Figures {
		row, shown := []string{f.PriorityLevel, f.Name, f.text(f.Series)}, f.Unit != "ratio" || f.Series >= 0.001
		for i := range r.Runs {
			for _, of := range r.Runs[i].Figures {
				if of.PriorityLevel != f.PriorityLevel || of.Name != f.Name {
					continue
				}
				text := of.text(of.Run)
				if !of.Agrees {
					text += " ≠"
				}
				row, shown = append(row, text), shown || !of.Agrees || of.Run >= 0.001
			}
			if len(row) < 4+i {
				row = append(row, "–")
			}
		}
		if !shown {
			continue
		}
		if row[0] == before {
			row[0] = ""
		} else {
			before = row[0]
		}
		t.AddTexts(row...)
	}
	return t
}
