package tune

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/report"
	"apfsim/sim/metric"
)

// Document returns the answer in words: whether a change is needed and which, the proof, who gains and who loses, and
// what was tried.
func (a *Answer) Document() *report.Document {
	d := &report.Document{Title: "Tune", Name: a.search.present.Metadata.Name, Data: a, Answer: a.answer(), Ran: a.ran()}
	add := func(name, title string, parts ...report.Part) {
		var kept []report.Part
		for _, p := range parts {
			if p.Table == nil || len(p.Table.Rows) > 0 {
				kept = append(kept, p)
			}
		}
		if len(kept) > 0 {
			d.Sections = append(d.Sections, report.Section{Name: name, Title: title, Parts: kept})
		}
	}
	if c := a.shown(); c != nil {
		add("change", "Change", report.Part{Table: changeTable(c)})
	}
	if a.Selected != nil {
		add("effects", "Who gains and who loses", report.Part{Table: a.effectTable()}, report.Part{Table: a.seatsTable()})
	}
	add("tried", "What was tried", report.Part{Table: a.triedTable()})
	if a.Selected != nil {
		text := "The probability is that of runs of this scenario. How well the scenario describes the cluster is another question."
		if a.search.present.Spec.Servers.Capacity == nil && a.Selected.Class == ServerLimits {
			text += " The scenario has no capacity, so that more seats cost nothing in it; on a server, they may."
		}
		if c := a.Selected.Class; c == SameLevel || c == OtherLevel || c == NewLevel || c == Queues {
			text += " The change deals new hands, which follow from the names of FlowSchemas and users: if the scenario invents the users, try others."
		}
		const title = "How far to trust it"
		add("trust", title, report.Part{Heading: title, List: []string{text,
			"Measure afterwards, for all levels and FlowSchemas: apiserver_flowcontrol_nominal_limit_seats, rejected_requests_total, and the wait p99."}})
	}
	return d
}

// shown is the candidate whose changes are shown, nil without one.
func (a *Answer) shown() *Candidate {
	if a.Selected == nil && a.Closest != nil {
		return a.Closest.Candidate
	}
	return a.Selected
}

// answer is what stands first.
func (a *Answer) answer() *report.Answer {
	goals := "Goals: " + strings.Join(a.Goals, "; ") + "."
	now := fmt.Sprintf("Without a change, the goals hold in %d of %d runs.", a.Present.Passes, a.Present.Runs)
	switch {
	case !a.Needed:
		return &report.Answer{Status: "NO CHANGE NEEDED", Judgement: judge.Good, Why: []string{goals},
			Sentence: fmt.Sprintf("The goals hold in %d of %d runs.", a.Present.Passes, a.Present.Runs)}
	case a.Selected != nil:
		proof := fmt.Sprintf("The goals held in all of %d runs of the replay. One log is one run: no probability follows.", a.Confirmed.Runs)
		if a.Probability != nil {
			proof = fmt.Sprintf("The goals held in %d of %d fresh runs: a run holds with a probability of at least %v, at %s confidence.",
				a.Confirmed.Passes, a.Confirmed.Runs, *a.Probability, format.Percent(*a.Confidence))
		}
		return &report.Answer{Status: "CHANGE", Judgement: judge.Good, Sentence: a.Selected.Sentence, Why: []string{proof, now, goals, a.costSentence()}}
	}
	sentence := fmt.Sprintf("None of the %d candidates suffices.", a.Candidates)
	if a.OutOfBudget {
		sentence = fmt.Sprintf("The budget of %s ended the search before one of %d candidates was confirmed.", format.Counted(a.search.Budget, "run"), a.Candidates)
	}
	why := []string{now, goals}
	if c := a.Closest; c != nil {
		closest := fmt.Sprintf("Closest: %s It holds in %d of %d runs", c.Sentence, c.Passes, c.Runs)
		if c.Fails != "" {
			closest += " and fails " + c.Fails
		}
		if c.Excess != nil {
			closest += fmt.Sprintf(" by up to %s", format.Percent(max(*c.Excess, -*c.Excess)))
		}
		why = append([]string{closest + "."}, why...)
	}
	var untried []string
	for _, kind := range Kinds {
		if kind != "clients" && !slices.Contains(a.search.Kinds, kind) {
			untried = append(untried, kind)
		}
	}
	if len(untried) > 0 {
		why = append(why, "Kinds of changes that were not tried: "+strings.Join(untried, ", ")+" (--allow).")
	}
	return &report.Answer{Status: "NONE SUFFICES", Judgement: judge.Bad, Sentence: sentence, Why: why}
}

// costSentence says what the selected change costs.
func (a *Answer) costSentence() string {
	c := a.Selected.Cost
	costs := []string{"changes " + format.Counted(c.Objects, "object")}
	if c.Class == ServerLimits {
		costs = []string{"restarts the servers"}
	}
	if c.Moved > 0 {
		costs = append(costs, "moves "+format.Counted(c.Moved, "client")+" to another level")
	}
	if c.Seats > 0 {
		costs = append(costs, "takes "+format.Counted(c.Seats, "seat")+" from other levels")
	}
	loses := "Nobody loses significantly."
	if len(a.Worse) > 0 {
		loses = "Who loses: " + a.effects(a.Worse) + "."
	}
	return "It " + strings.Join(costs, ", ") + ". " + loses
}

// effects writes significant changes.
func (a *Answer) effects(all []Effect) string {
	var texts []string
	for _, e := range all {
		texts = append(texts, e.Text())
	}
	return strings.Join(texts, "; ")
}

// Text writes a significant change.
func (e *Effect) Text() string {
	return fmt.Sprintf("%s %s → %s", e.Statistic, format.ValueText(e.Before, e.Unit, true), format.ValueText(e.After, e.Unit, true))
}

// ran says what was simulated.
func (a *Answer) ran() string {
	return fmt.Sprintf("%s, %s, seeds from %d", format.Counted(a.Candidates, "candidate"), format.Counted(a.Runs, "run"), a.search.present.Spec.Seed)
}

// table returns a table whose columns behind the first have numbers.
func table(name, title string, heads ...string) *report.Table {
	t := report.TextTable(title, heads...)
	t.Name, t.Caption = name, title
	for i := range t.Columns[1:] {
		t.Columns[1+i].Left = false
	}
	return t
}

// changeTable has the fields that a candidate changes.
func changeTable(c *Candidate) *report.Table {
	t := table("change", "Fields that change", "object", "field", "from", "to")
	for i := range t.Columns {
		t.Columns[i].Left = true
	}
	for _, ch := range c.Changes {
		if ch.Path == "spec.rules" {
			continue // change.yaml has them
		}
		from := "–"
		if ch.From != nil {
			from = textOf(ch.From)
		}
		t.AddTexts(strings.TrimSuffix(shortKind(ch.Kind)+" "+ch.Name, " "), strings.TrimPrefix(ch.Path, "spec."), from, textOf(ch.To))
	}
	return t
}

// shortKind is the name of a kind in a table.
func shortKind(kind string) string {
	if kind == "PriorityLevelConfiguration" {
		return "level"
	}
	return kind
}

// effectTable compares the figures of workloads.
func (a *Answer) effectTable() *report.Table {
	t := table("effects", "Who gains and who loses", "statistic", "before", "after", "change")
	for i, before := range a.Before {
		if i >= len(a.After) || a.After[i].Statistic != before.Statistic {
			continue
		}
		mark := ""
		for _, e := range a.Better {
			if e.Statistic == before.Statistic {
				mark = "better"
			}
		}
		for _, e := range a.Worse {
			if e.Statistic == before.Statistic {
				mark = "worse"
			}
		}
		t.AddTexts(before.Statistic, before.text(), a.After[i].text(), mark)
	}
	return t
}

// text writes a figure with its interval.
func (f *Figure) text() string {
	name, err := metric.ParseName(f.Statistic)
	percent := err == nil && name.PrintPercent()
	text := format.ValueText(f.Mean, f.Unit, percent)
	if f.Half > 0 {
		text += " ± " + format.ValueText(f.Half, f.Unit, percent)
	}
	return text
}

// seatsTable has the levels whose limits change.
func (a *Answer) seatsTable() *report.Table {
	t := table("seats", "Seats", "level", "before", "after")
	for _, l := range a.Seats {
		t.AddTexts(l.Level, fmt.Sprint(l.Before), fmt.Sprint(l.After))
	}
	return t
}

// triedShown is how many candidates a table has. The JSON has all of them.
const triedShown = 12

// triedTable has the candidates that were run, the cheapest first.
func (a *Answer) triedTable() *report.Table {
	t := table("tried", "What was tried, the cheapest first", "candidate", "class", "held", "why not")
	t.Columns[3].Left = true
	more := 0
	for i := range a.Eliminated {
		e := &a.Eliminated[i]
		if e.After == 0 {
			continue
		}
		if len(t.Rows) == triedShown {
			more++
			continue
		}
		why := e.Because
		if _, goal, ok := strings.Cut(why, "; "); ok {
			why = goal
		}
		t.AddTexts(e.ID, string(e.Class), fmt.Sprintf("%d of %d", e.Passes, e.After), why)
	}
	if more > 0 {
		t.Missing = fmt.Sprintf("Not shown: %d more. The JSON has all.", more)
	}
	return t
}
