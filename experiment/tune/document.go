package tune

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// Document returns the answer in words: whether a change is needed and which, the proof, who gains and who loses, what was
// tried, how far to trust it, and how to undo it. A page has the decision on its first screen.
func (a *Answer) Document() *report.Document {
	name := a.search.present.Metadata.Name
	d := &report.Document{Title: name, Name: name, Data: a, Answer: a.answer(), Ran: a.ran(), Setting: a.setting(),
		Sources: "All numbers are in " + AnswerFile + "."}
	add := func(name, title string, only report.Form, parts ...report.Part) {
		var kept []report.Part
		for _, p := range parts {
			if p.Table == nil || len(p.Table.Rows) > 0 {
				kept = append(kept, p)
			}
		}
		if len(kept) > 0 {
			d.Sections = append(d.Sections, report.Section{Name: name, Title: title, Parts: kept, Only: only})
		}
	}
	const text = report.Terminal | report.Markdown // a page has it on its first screen
	d.Sections = append(d.Sections, a.screens()...)
	add("goals", "Goals", text, report.Part{Table: a.goalTable(), Only: report.Markdown}, report.Part{Heading: "Goals" + a.sides(), Items: a.goalItems(), Wrapped: true, Only: report.Terminal})
	if c := a.shown(); c != nil {
		all := a.changeTable(c)
		add("change", a.changeTitle(), text, report.Part{Table: all, Only: report.Markdown}, report.Part{Heading: a.changeTitle(), Items: changeItems(c), Wrapped: true, Only: report.Terminal})
		if len(all.Rows) > fieldRows {
			add("all-changes", "All fields that change", report.HTML, report.Part{Table: all})
		}
		add("effects", "Who gains and who loses", text, report.Part{Table: a.effectTable()})
		add("seats", "Seats", 0, report.Part{Table: a.seatsTable()})
	}
	add("undo", "How to undo it", text, report.Part{Table: a.undoTable(), Only: report.Markdown}, report.Part{Heading: "How to undo it", Items: a.undoItems(), Only: report.Terminal})
	tried := a.triedTable()
	add("tried", "What was tried", 0, report.Part{Table: briefly(tried), Only: text}, report.Part{Table: tried, Only: report.HTML})
	add("breaks", "Where it breaks", 0, report.Part{Table: a.breakTable(), Only: report.HTML | report.Markdown})
	if a.Selected != nil {
		add("measure", "What to measure afterwards", 0, report.Part{Table: a.levelTable()}, report.Part{Table: a.schemaTable()}, report.Part{Note: measureNote, Only: text})
	}
	add("needs", "What would be needed", 0, sentences("needs", "What would be needed", a.Needs)...)
	add("clients", "What clients could do instead", 0, sentences("clients", "What clients could do instead", a.Clients)...)
	add("trust", "How far to trust it", 0, sentences("trust", "How far to trust it", a.trustSentences())...)
	add("figures", "All figures, with intervals", report.HTML, report.Part{Table: a.figureTable()})
	return d
}

// sentences are the parts of a section of sentences: a list on a terminal, and a table elsewhere.
func sentences(name, title string, all []string) []report.Part {
	if len(all) == 0 {
		return nil
	}
	t := report.TextTable(title, title)
	t.Name, t.Caption = name, title
	for _, text := range all {
		t.AddTexts(text)
	}
	return []report.Part{{Table: t, Only: report.HTML | report.Markdown}, {Heading: title, List: all, Only: report.Terminal}}
}

func (a *Answer) trustSentences() (all []string) {
	for i := range a.Trust {
		all = append(all, a.Trust[i].Sentence)
	}
	return all
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
	now := fmt.Sprintf("Without a change, the goals hold in %d of %d runs.", a.Present.Passes, a.Present.Runs)
	switch {
	case !a.Needed:
		why := []string{"One log is one run: no probability follows."}
		if a.Confidence != nil {
			why = []string{fmt.Sprintf("A run holds with a probability of more than %v, at %s confidence.", acceptable, format.Percent(*a.Confidence))}
		}
		why = append(why, a.breakSentences()...)
		if a.unknownCapacity() {
			return &report.Answer{Status: "NOT KNOWN", Judgement: judge.Neutral, Why: append([]string{slower}, why...),
				Sentence: fmt.Sprintf("The goals hold in %d of %d runs, with executions of a smaller load.", a.Present.Passes, a.Present.Runs)}
		}
		if text := a.uncovered(); text != "" {
			why = append([]string{text}, why...)
		} else {
			why = append(why, "Nothing has to be changed. If the cluster disagrees, the scenario does not describe it.")
		}
		return &report.Answer{Status: "NO CHANGE NEEDED", Judgement: judge.Good, Why: why,
			Sentence: fmt.Sprintf("The goals hold in %d of %d runs.", a.Present.Passes, a.Present.Runs)}
	case a.Selected != nil:
		proof := fmt.Sprintf("The goals held in all of %d runs of the replay. One log is one run: no probability follows. %s", a.Confirmed.Runs, now)
		if a.Probability != nil {
			proof = fmt.Sprintf("The goals held in %d of %d fresh runs: a run holds with a probability of at least %v, at %s confidence. %s",
				a.Confirmed.Passes, a.Confirmed.Runs, *a.Probability, format.Percent(*a.Confidence), now)
		}
		why := append([]string{proof, a.costSentence()}, a.breakSentences()...)
		if t := a.Tight; t != nil {
			why = append(why, fmt.Sprintf("Tight: %s It held in %d of %d fresh runs and costs less, but does not hold with 1.1 times the load or 1.25 times the executions.",
				t.Sentence, t.Passes, t.Runs))
		}
		if a.unknownCapacity() {
			why = append([]string{slower}, why...)
		}
		return &report.Answer{Status: "CHANGE", Judgement: judge.Good, Sentence: a.Selected.Sentence, Why: why}
	}
	status, sentence := "NONE SUFFICES", fmt.Sprintf("None of the %s suffices.", format.Counted(a.Candidates, "candidate"))
	if a.Candidates == 0 {
		sentence = "There is no candidate among the changes that are allowed."
	}
	if missing := a.search.problem.missingLimits(); len(missing) > 0 {
		sentence += " " + missing[0]
	}
	if a.OutOfBudget {
		what := "budget of " + format.Counted(a.search.Budget, "run")
		if a.search.late {
			what = "time of " + a.search.Time.String()
		}
		status, sentence = "NOT FINISHED", fmt.Sprintf("The %s ended the search before one of %s was confirmed.", what, format.Counted(a.Candidates, "candidate"))
	}
	var why []string
	if a.Closest != nil {
		why = append(why, a.closestSentence())
	}
	why = append(why, now)
	if len(a.NotTried) > 0 {
		why = append(why, a.notTriedText())
	}
	return &report.Answer{Status: status, Judgement: judge.Bad, Sentence: sentence, Why: why}
}

// slower is what an answer depends on if nothing says how fast the servers execute with the load.
const slower = "This is so only if the servers are as fast with this load as with the smaller one of the log, which is not known. Measure their capacity, or take a log of a busier time."

func (a *Answer) unknownCapacity() bool {
	return slices.ContainsFunc(a.ofRuns, func(t result.Trust) bool { return t.ID == result.UnknownCapacity })
}

// closestSentence says how near to the goals the closest candidate comes, and by how much it misses them; of a search that
// was ended, what the best so far is worth.
func (a *Answer) closestSentence() string {
	c := a.Closest
	if c.AtLeast != nil && c.Passes > 0 {
		runs := fmt.Sprintf("It held in %d of %s of the search", c.Passes, format.Counted(c.Runs, "run"))
		if c.Fresh != nil {
			runs += fmt.Sprintf(", and in %d of %s that should confirm it", c.Fresh.Passes, format.Counted(c.Fresh.Runs, "fresh run"))
		}
		return fmt.Sprintf("Best so far: %s %s. By these, a run holds with a probability of at least %s, at %s confidence; it is not confirmed.",
			c.Sentence, runs, format.Number(*c.AtLeast), format.Percent(1-a.search.alpha))
	}
	text := fmt.Sprintf("Closest: %s It holds in %d of %s", c.Sentence, c.Passes, format.Counted(c.Runs, "run"))
	var misses []string
	for i := range a.Thresholds {
		if g := &a.Thresholds[i]; g.After != nil && g.After.Passes < g.After.Runs {
			misses = append(misses, fmt.Sprintf("%s (%s)", g.Goal, g.valueText(g.After)))
		}
	}
	if len(misses) > 0 {
		text += ", and misses " + strings.Join(misses, ", ")
	}
	return text + "."
}

// costSentence says what the selected change costs.
func (a *Answer) costSentence() string {
	c := a.Selected.Cost
	costs := []string{"changes " + format.Counted(c.Objects, "object")}
	if c.Class == ServerLimits {
		costs = []string{"restarts the servers"}
	}
	if c.Class == ClientLimits {
		costs = []string{"changes clients of " + format.Counted(c.Objects, "workload") + ", which those who run them have to do"}
	}
	if z := a.Selected.size; z != nil {
		costs = []string{"needs the size " + z.name}
		if c.Objects > 0 {
			costs = append(costs, "changes "+format.Counted(c.Objects, "object"))
		}
	}
	if n := a.Selected.servers - a.search.present.Spec.Servers.Replicas; n > 0 {
		costs = []string{"adds " + format.Counted(n, "server")}
	}
	if c.Moved > 0 {
		costs = append(costs, "moves "+format.Counted(c.Moved, "client")+" to another level")
	}
	if c.Seats > 0 {
		var losers []string
		for _, l := range a.Seats {
			if l.After < l.Before {
				losers = append(losers, fmt.Sprintf("%s %d → %d", l.Level, l.Before, l.After))
			}
		}
		costs = append(costs, "takes "+format.Counted(c.Seats, "seat")+" of each server from other levels ("+format.Listed(losers, mostNames, "")+")")
	}
	loses := "Nobody loses significantly."
	if len(a.Worse) > 0 {
		loses = "Who loses: " + effectsText(a.Worse) + "."
	}
	return "It " + strings.Join(costs, ", ") + ". " + loses
}

// effectsText writes significant changes, by workload.
func effectsText(all []Effect) string {
	var workloads []string
	of := map[string][]string{}
	for _, e := range all {
		n := parsed(e.Statistic)
		w := n.Tag(metric.TagWorkload)
		addName(&workloads, w)
		of[w] = append(of[w], fmt.Sprintf("%s %s → %s", shortStatistic(&n), format.ValueText(e.Before, e.Unit, true), format.ValueText(e.After, e.Unit, true)))
	}
	var texts []string
	for _, w := range workloads {
		texts = append(texts, w+" ("+strings.Join(of[w], ", ")+")")
	}
	return strings.Join(texts, ", ")
}

// shortStatistic names a statistic of a workload in a text that names the workload.
func shortStatistic(n *metric.Name) string {
	if percent, is := n.Percent(); is {
		return fmt.Sprintf("%s p%v", n.Metric, percent)
	}
	return n.Metric
}

// Text writes a significant change.
func (e *Effect) Text() string {
	return fmt.Sprintf("%s %s → %s", e.Statistic, format.ValueText(e.Before, e.Unit, true), format.ValueText(e.After, e.Unit, true))
}

// ran says what was simulated.
func (a *Answer) ran() string {
	return fmt.Sprintf("%s, %s, seeds from %d", format.Counted(a.Candidates, "candidate"), format.Counted(a.Runs, "run"), a.search.present.Spec.Seed)
}

// setting says at the top of a page what was simulated.
func (a *Answer) setting() string {
	s := a.search.explained.Summary
	parts := []string{format.Counted(max(1, len(s.Servers)), "server"), format.Window(s.DurationNs, s.WarmupNs, s.WarmupBy, s.FlowControl), a.ran()}
	if release := s.Releases.Text(); release != "" {
		parts = append([]string{release}, parts...)
	}
	return strings.Join(parts, " · ")
}

// sides says in a heading which configurations are compared.
func (a *Answer) sides() string {
	switch {
	case a.Selected != nil:
		return ", now and with the change"
	case a.Closest != nil:
		return ", now and with the closest candidate"
	}
	return ""
}

// changeTitle is the heading of the fields that a candidate changes.
func (a *Answer) changeTitle() string {
	if a.Selected == nil {
		return "What the closest candidate changes, and why"
	}
	return "What changes, and why"
}

// screens returns the first screen of a page. Its parts are sections of their own, because tables of one section stand side
// by side.
func (a *Answer) screens() []report.Section {
	first := report.Section{Name: "screen", Title: "Answer", Screen: true, Only: report.HTML}
	for _, p := range report.ComparedPlots(a.pictured[0], a.pictured[1]) {
		first.Parts = append(first.Parts, report.Part{Plot: p, Only: report.HTML})
	}
	first.Parts = append(first.Parts, report.Part{Table: a.goalTable()})
	rest := report.Section{Name: "screen-change", Title: "Change", Screen: true, Only: report.HTML}
	if c := a.shown(); c != nil {
		first.Parts = append(first.Parts, report.Part{Table: a.effectTable()})
		rest.Parts = append(rest.Parts, report.Part{Table: a.shortChangeTable(c)})
	}
	if len(a.Undo) > 0 {
		rest.Parts = append(rest.Parts, report.Part{Note: "To undo it: " + strings.Join(a.Undo, "; ") + "."})
	}
	for _, text := range a.Needs {
		rest.Parts = append(rest.Parts, report.Part{Note: text})
	}
	rest.Parts = append(rest.Parts, report.Part{Note: "Trust: " + a.trustSummary()})
	return []report.Section{first, rest}
}

// trustSummary names the reasons to trust the answer less.
func (a *Answer) trustSummary() string {
	var names []string
	for i := range a.Trust {
		if id := a.Trust[i].ID; id != modelOnly {
			names = append(names, strings.ReplaceAll(id, "-", " "))
		}
	}
	text := "the answer is about this scenario; how well it describes the cluster is another question."
	if len(names) > 0 {
		text += " Notes below: " + strings.Join(slices.Compact(names), ", ") + "."
	}
	return text
}
