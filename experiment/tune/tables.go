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

// measureNote says which metrics the tables of what to measure are about.
const measureNote = "Of a server: apiserver_flowcontrol_nominal_limit_seats, demand_seats_high_watermark (it should stay below the seats), " +
	"rejected_requests_total, the p99 of request_wait_duration_seconds, and dispatched_requests_total by FlowSchema, which shows which of them matches."

// table returns a table whose columns behind the first have numbers.
func table(name, title string, heads ...string) *report.Table {
	t := report.TextTable(title, heads...)
	t.Name, t.Caption = name, title
	for i := range t.Columns[1:] {
		t.Columns[1+i].Left = false
	}
	return t
}

// ofLeft makes all columns of a table flush left.
func ofLeft(t *report.Table) *report.Table {
	for i := range t.Columns {
		t.Columns[i].Left = true
	}
	return t
}

// none is the cell without a value.
const none = "–"

// goalTable has the goals in both configurations.
func (a *Answer) goalTable() *report.Table {
	heads := []string{"goal", "now", "holds"}
	if a.shown() != nil {
		heads = append(heads, "changed", "holds")
	}
	t := table("goals", "Goals"+a.sides(), heads...)
	for i := range a.Thresholds {
		g := &a.Thresholds[i]
		row := []report.Cell{{Text: g.Goal, Code: true}}
		for _, m := range []*Measured{g.Before, g.After} {
			if m == nil {
				continue
			}
			holds := report.Cell{Text: fmt.Sprintf("%d of %d", m.Passes, m.Runs), Judgement: judge.Good}
			if float64(m.Passes) < a.leastPassed()*float64(m.Runs) {
				holds.Judgement = judge.Bad
			}
			row = append(row, report.Cell{Text: g.valueText(m), Interval: g.between(m.Low, m.High), Range: g.rangeText(m)}, holds)
		}
		for len(row) < len(t.Columns) { // the closest one was not run
			row = append(row, report.Word(none))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// leastPassed is the part of the runs in which a goal must hold.
func (a *Answer) leastPassed() float64 {
	if a.Probability == nil { // each replay must hold
		return 1
	}
	return *a.Probability
}

// goalItems has the same for a terminal, whose lines are too short for a table.
func (a *Answer) goalItems() (items []report.Item) {
	text := func(name string, g *GoalValue, m *Measured) string {
		line := name + " " + g.valueText(m)
		if interval := g.between(m.Low, m.High); interval != "" {
			line += " (" + interval + ")"
		} else if runs := g.rangeText(m); runs != "" {
			line += " (runs: " + runs + ")"
		}
		return line + fmt.Sprintf(", holds in %d of %d runs", m.Passes, m.Runs)
	}
	for i := range a.Thresholds {
		g := &a.Thresholds[i]
		item := report.Item{Text: g.Goal, Details: []string{text("now", g, g.Before)}}
		if g.After != nil {
			item.Details = append(item.Details, text("changed", g, g.After))
		}
		items = append(items, item)
	}
	return items
}

// valueText writes a value of a goal, with as many digits as it takes to differ from the limit.
func (g *GoalValue) valueText(m *Measured) string {
	if m.Value == nil {
		return none
	}
	return format.BesideLimit(*m.Value, g.Limit, g.Unit, g.percent)
}

// between writes the ends of an interval; "" without one or if it has no width.
func (g *GoalValue) between(low, high *float64) string {
	if low == nil || *low == *high {
		return ""
	}
	return format.ValueText(*low, g.Unit, g.percent) + " to " + format.ValueText(*high, g.Unit, g.percent)
}

// rangeText writes the least and the greatest value of the runs, if there is no interval.
func (g *GoalValue) rangeText(m *Measured) string {
	if m.Low != nil {
		return ""
	}
	return g.between(m.Least, m.Most)
}

// shown says whether outputs list a change. The rules of a FlowSchema are long, and change.yaml has them.
func (ch *Change) shown() bool { return ch.Path != "spec.rules" }

// where names the object and the field of a change.
func (ch *Change) where() string {
	kind := ch.Kind
	if kind == "PriorityLevelConfiguration" {
		kind = "level"
	}
	return strings.TrimSuffix(kind+" "+ch.Name, " ") + ": " + ch.field()
}

// field names the field of a change in a table.
func (ch *Change) field() string { return strings.TrimPrefix(ch.Path, "spec.") }

// values writes the values of a change.
func (ch *Change) values() string {
	to := none
	if ch.To != nil {
		to = textOf(ch.To)
	}
	if ch.From == nil {
		return to
	}
	return textOf(ch.From) + " → " + to
}

// changeTable has the fields that a candidate changes, and why.
func (a *Answer) changeTable(c *Candidate) *report.Table {
	t := ofLeft(table("change", a.changeTitle(), "field", "value", "because"))
	for i := range c.Changes {
		if ch := &c.Changes[i]; ch.shown() {
			t.Rows = append(t.Rows, []report.Cell{{Text: ch.where(), Code: true}, report.Word(ch.values()), report.Word(ch.Because)})
		}
	}
	return t
}

// Rows of the tables of the first screen of a page: of workloads, of which more lose or gain than that are all shown, and
// of fields.
const (
	workloadRows = 6
	fieldRows    = 4
)

// shortChangeTable has the first of the fields for the first screen of a page: those first whose values were searched.
func (a *Answer) shortChangeTable(c *Candidate) *report.Table {
	short := *c
	short.Changes = slices.DeleteFunc(slices.Clone(c.Changes), func(ch Change) bool { return !ch.shown() })
	slices.SortStableFunc(short.Changes, func(x, y Change) int {
		switch first, second := c.searches(&x), c.searches(&y); {
		case first == second:
			return 0
		case first:
			return -1
		}
		return 1
	})
	more := len(short.Changes) - fieldRows
	short.Changes = short.Changes[:min(len(short.Changes), fieldRows)]
	t := a.changeTable(&short)
	t.Name = "what-changes"
	if more > 0 {
		t.Missing = "Not shown: " + format.Counted(more, "other field") + "; see below."
	}
	return t
}

// changeItems has the fields for a terminal.
func changeItems(c *Candidate) (items []report.Item) {
	for i := range c.Changes {
		ch := &c.Changes[i]
		if !ch.shown() {
			continue
		}
		item := report.Item{Text: ch.where() + " " + ch.values()}
		if ch.Because != "" {
			item.Details = []string{ch.Because}
		}
		items = append(items, item)
	}
	return items
}

// workloadEffect is what happens to a workload.
type workloadEffect struct {
	cells         []report.Cell
	worse, better []string // names of statistics
}

// rank orders those that lose before those that gain, and these before the others.
func (e *workloadEffect) rank() int {
	switch {
	case len(e.worse) > 0:
		return 0
	case len(e.better) > 0:
		return 1
	}
	return 2
}

// effectTable says for each workload what it gains and what it loses: those that lose first, then those that gain.
func (a *Answer) effectTable() *report.Table {
	t := table("effects", "Who gains and who loses", "workload", "rejected", "wait p99", "effect")
	t.Columns[3].Left = true
	var all []*workloadEffect
	for i := range a.search.present.Spec.Workload {
		if e := a.effectOn(a.search.present.Spec.Workload[i].Name); e != nil {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(x, y *workloadEffect) int { return x.rank() - y.rank() })
	more := 0
	for _, e := range all {
		if len(t.Rows) >= workloadRows && e.rank() == 2 {
			more++
			continue
		}
		t.Rows = append(t.Rows, e.cells)
	}
	if more > 0 {
		t.Missing = format.Counted(more, "other workload") + " with neither a gain nor a loss."
	}
	return t
}

// effectOn returns what happens to a workload, nil if it has no requests.
func (a *Answer) effectOn(name string) *workloadEffect {
	e := &workloadEffect{cells: []report.Cell{report.Word(name)}}
	any := false
	for _, id := range []metric.Name{judge.Rejected, judge.WaitP99} {
		id = id.With(metric.TagWorkload, name)
		before, after := figureText(a.Before, id.String()), figureText(a.After, id.String())
		any = any || before != none || after != none
		text := before
		if before != after {
			text += " → " + after
		}
		e.cells = append(e.cells, report.Word(text))
		switch {
		case has(a.Worse, id.String()):
			e.worse = append(e.worse, id.Metric)
		case has(a.Better, id.String()):
			e.better = append(e.better, id.Metric)
		}
	}
	if !any {
		return nil
	}
	effect := report.Word("")
	switch {
	case len(e.worse) > 0 && len(e.better) > 0:
		effect = report.Cell{Text: e.worse[0] + " worse, " + e.better[0] + " better", Judgement: judge.Bad}
	case len(e.worse) > 0:
		effect = report.Cell{Text: "worse", Judgement: judge.Bad}
	case len(e.better) > 0:
		effect = report.Cell{Text: "better", Judgement: judge.Good}
	}
	e.cells = append(e.cells, effect)
	return e
}

// has says whether effects are on a statistic.
func has(all []Effect, statistic string) bool {
	return slices.ContainsFunc(all, func(e Effect) bool { return e.Statistic == statistic })
}

// figureText writes one of some figures without its interval.
func figureText(all []Figure, statistic string) string {
	at := slices.IndexFunc(all, func(f Figure) bool { return f.Statistic == statistic })
	if at < 0 {
		return none
	}
	one := all[at]
	one.Half = 0
	return one.text()
}

// figureTable has all figures before and after with their intervals.
func (a *Answer) figureTable() *report.Table {
	t := table("figures", "All figures, with intervals", "statistic", "now", "changed", "effect")
	t.Columns[3].Left = true
	for _, before := range a.Before {
		after, effect := none, ""
		if at := slices.IndexFunc(a.After, func(f Figure) bool { return f.Statistic == before.Statistic }); at >= 0 {
			after = a.After[at].text()
		}
		switch {
		case has(a.Better, before.Statistic):
			effect = "better"
		case has(a.Worse, before.Statistic):
			effect = "worse"
		}
		t.AddTexts(before.Statistic, before.text(), after, effect)
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
	t := table("seats", "Seats of one server", "level", "now", "changed")
	for _, l := range a.Seats {
		t.AddTexts(l.Level, fmt.Sprint(l.Before), fmt.Sprint(l.After))
	}
	return t
}

// undoTable has the commands that take the change back.
func (a *Answer) undoTable() *report.Table {
	t := report.TextTable("How to undo it", "command")
	t.Name, t.Caption = "undo", "Commands that undo the change"
	for _, command := range a.Undo {
		t.Rows = append(t.Rows, []report.Cell{{Text: command, Code: true}})
	}
	return t
}

// undoItems has the same for a terminal.
func (a *Answer) undoItems() (items []report.Item) {
	for _, command := range a.Undo {
		items = append(items, report.Item{Text: command})
	}
	return items
}

// breakTable has the variations with which the answer was repeated.
func (a *Answer) breakTable() *report.Table {
	t := table("breaks", "Where it breaks", "with", "holds", "runs", "fails")
	t.Columns[3].Left = true
	for i := range a.Breaks {
		b := &a.Breaks[i]
		holds := report.Cell{Text: "yes", Judgement: judge.Good}
		if !b.Holds {
			holds = report.Cell{Text: "no", Judgement: judge.Bad}
		}
		t.Rows = append(t.Rows, []report.Cell{report.Word(b.What), holds, report.Word(fmt.Sprintf("%d of %d", b.Passes, b.Runs)), report.Word(b.Fails)})
	}
	return t
}

// measuredText writes what a measurement is before and after.
func (a *Answer) measuredText(name, of string) string {
	at := slices.IndexFunc(a.Measure, func(m Measurement) bool { return m.Metric == name && m.Of == of })
	if at < 0 {
		return none
	}
	m := &a.Measure[at]
	text := func(x *float64) string {
		if x == nil {
			return none
		}
		return format.ValueText(*x, m.Unit, false)
	}
	return text(m.Before) + " → " + text(m.After)
}

// measured returns what a metric is measured of.
func (a *Answer) measured(name string) (all []string) {
	for i := range a.Measure {
		if a.Measure[i].Metric == name {
			all = append(all, a.Measure[i].Of)
		}
	}
	return all
}

// levelTable has what to measure afterwards of priority levels.
func (a *Answer) levelTable() *report.Table {
	t := table("measure-levels", "What to measure afterwards", "level", "seats of a server", "rejected/s", "wait p99")
	for _, l := range a.measured(nominalSeatsMetric) {
		t.AddTexts(l, a.measuredText(nominalSeatsMetric, l), a.measuredText(rejectedMetric, l), a.measuredText(waitMetric, l))
	}
	return t
}

// schemaTable has what to measure afterwards of FlowSchemas.
func (a *Answer) schemaTable() *report.Table {
	t := table("measure-schemas", "", "FlowSchema", "dispatched/s")
	t.Caption = "What to measure afterwards of FlowSchemas"
	for _, s := range a.measured(dispatchedMetric) {
		t.AddTexts(s, a.measuredText(dispatchedMetric, s))
	}
	return t
}

// triedTable has the candidates that were run, the cheapest first.
func (a *Answer) triedTable() *report.Table {
	t := table("tried", "What was tried, the cheapest first", "candidate", "class", "held", "why not")
	t.Columns[3].Left = true
	for i := range a.Eliminated {
		e := &a.Eliminated[i]
		if e.After == 0 {
			continue
		}
		why := e.Because
		if e.Fails != "" {
			why = "fails " + a.search.shortGoal(e.Fails)
		}
		t.AddTexts(e.ID, string(e.Class), fmt.Sprintf("%d of %d", e.Passes, e.After), why)
	}
	t.First = 3 * triedShown
	return t
}

// shortGoal names the statistic of a goal, such as wait p99 of mice.
func (s *search) shortGoal(text string) string {
	goals := s.present.Spec.Thresholds
	n := goals[slices.IndexFunc(goals, func(t metric.Threshold) bool { return goalText(&t) == text })].Name()
	short, of := shortStatistic(&n), []string{}
	for _, tag := range n.Tags {
		of = append(of, tag.Value)
	}
	if len(of) > 0 {
		short += " of " + strings.Join(of, ", ")
	}
	return short
}

// triedShown is how many candidates a terminal shows.
const triedShown = 12

// briefly returns a table with its first rows.
func briefly(t *report.Table) *report.Table {
	if len(t.Rows) <= triedShown {
		return t
	}
	brief := *t
	brief.Rows = t.Rows[:triedShown]
	brief.Missing = fmt.Sprintf("Not shown: %d more. The JSON and the page have all.", len(t.Rows)-triedShown)
	return &brief
}
