package report

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// The first screen of a comparison: for whom the head is better and for whom worse, a row for each workload, and one for
// each priority level.

// beforeAfter is a row: what a workload, a level or all requests have on both sides.
type beforeAfter struct {
	name       string
	statistics []*oneBeforeAfter // one for each of the statistics of the table
}

// oneBeforeAfter is a statistic on both sides. The change is nil if only one side has samples, or none.
type oneBeforeAfter struct {
	label      string
	statistic  string
	change     *compare.Change
	base, head *compare.Estimate
}

// comparedStatistic is a statistic that the first screen compares.
type comparedStatistic struct {
	title, label string
	term         string
	name         metric.Name
}

var (
	comparedOfWorkloads = []comparedStatistic{{"Not served", "not served", "notServed", judge.NotServed}, {"Wait p99", "wait p99", "percentile", judge.WaitP99}}
	comparedOfFlows     = []comparedStatistic{{"Rejected", "rejected", "rejected", judge.Rejected}, {"Wait p99", "wait p99", "percentile", judge.WaitP99}}
	comparedOfLevels    = []comparedStatistic{{"Share of seats used", "share of seats used", "utilisation", utilisationMean}, {"Rejected", "rejected", "rejected", judge.Rejected}, {"Wait p99", "wait p99", "percentile", judge.WaitP99}}
)

// comparedOfClients are compare.SeenByClients.
var comparedOfClients = []comparedStatistic{
	{"Leaders lost", "leaders lost", "leaderLost", compare.SeenByClients[0]}, {"Never sent", "never sent", "neverSent", compare.SeenByClients[1]},
	{"Client latency p99", "client latency p99", "clientLatency", compare.SeenByClients[2]}, {"Own limit mean", "own limit mean", "limiterWait", compare.SeenByClients[3]},
}

// clientRows returns the rows of workloads that lost leaders or waited for their own rate limits on a side.
func (s *sides) clientRows(c *compare.Comparison) (rows []*beforeAfter) {
	has := func(e *compare.Estimate) bool { return e != nil && e.Mean > 0 }
	for _, row := range s.rows(c, "workload", comparedOfClients) {
		for i, one := range row.statistics {
			if comparedOfClients[i].term != "clientLatency" && (has(one.base) || has(one.head)) {
				rows = append(rows, row)
				break
			}
		}
	}
	return rows
}

// row returns the statistics of a workload or level; of all requests if the tag is "". It is nil if no side has
// requests of it.
func (s *sides) row(tag, name string, statistics []comparedStatistic) *beforeAfter {
	row := &beforeAfter{name: name}
	any := false
	for _, st := range statistics {
		id := st.name
		if tag != "" {
			id = id.With(tag, name)
		}
		text := id.String()
		one := &oneBeforeAfter{st.label, text, s.changes[text], s.base[text], s.head[text]}
		if st.term != "utilisation" { // which levels without requests have too
			any = any || one.base != nil || one.head != nil
		}
		row.statistics = append(row.statistics, one)
	}
	if !any {
		return nil
	}
	return row
}

// rows returns the rows of all workloads or levels.
func (s *sides) rows(c *compare.Comparison, tag string, statistics []comparedStatistic) (all []*beforeAfter) {
	names := c.BaseRuns.Names(tag)
	for _, name := range c.HeadRuns.Names(tag) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if row := s.row(tag, name, statistics); row != nil {
			all = append(all, row)
		}
	}
	return all
}

// values returns the values of both sides, as "3 ms → 9 ms".
func (o *oneBeforeAfter) values() string {
	if c := o.change; c != nil {
		base, head := baseCell(c), headCell(c)
		return base.Text + " → " + head.Text
	}
	value := func(e *compare.Estimate) string {
		if e == nil {
			return noValue.Text
		}
		return format.ValueText(printedValue(e), e.Unit, e.ID.PrintPercent())
	}
	return value(o.base) + " → " + value(o.head)
}

// row returns the row of a table.
func (o *oneBeforeAfter) row(name string) []Cell {
	label, values := Cell{Text: o.label, Whole: o.statistic}, Word(o.values())
	if o.change == nil {
		return []Cell{Word(name), label, values, noValue, {}}
	}
	values.Few = max(o.change.BaseFew, o.change.HeadFew)
	return []Cell{Word(name), label, values, differenceCell(o.change), judgementCell(o.change)}
}

// weight sorts the statistics of a table: those that changed for better or worse first, then those that differ.
func (o *oneBeforeAfter) weight() int {
	switch c := o.change; {
	case c == nil:
		if o.base == nil && o.head == nil {
			return 0
		}
		return 2
	case c.Judgement.Mark() != judge.Neutral:
		return 4
	case c.Outcome == compare.Changed:
		return 3
	case c.Outcome == compare.Untested && c.Base != c.Head:
		return 2
	}
	return 1
}

// beforeAfterTable has a row for each statistic that a side has, those that changed first.
func beforeAfterTable(name, title, head string, rows []*beforeAfter) *Table {
	t := &Table{Name: name, Title: title, Caption: title + ": before and after", Reserved: 60,
		Columns: []Column{{Title: capitalized(head), Short: head, Left: true}, {Title: "Statistic", Short: "statistic", Left: true},
			{Title: "Base → head", Short: "base → head"}, {Title: "Change", Short: "change", Term: "change"}, {Title: "Effect", Term: "better", Left: true}}}
	for weight := 4; weight > 0; weight-- {
		for _, row := range rows {
			for _, one := range row.statistics {
				if one.weight() == weight {
					t.Rows = append(t.Rows, one.row(row.name))
				}
			}
		}
	}
	return t
}

// victims returns the rows of flows that were harmed on a side and did not ask for more than their share.
func (s *sides) victims(c *compare.Comparison) (all []*beforeAfter) {
	seen := map[string]bool{}
	for _, v := range []*result.Overall{c.BaseRuns.Verdict, c.HeadRuns.Verdict} {
		if v == nil {
			continue
		}
		for i := range v.Harmed {
			h := &v.Harmed[i]
			if h.Flow == "" || h.Role == result.WasLimited || seen[h.Flow] {
				continue
			}
			seen[h.Flow] = true
			if row := s.row("flow", h.Flow, comparedOfFlows); row != nil {
				row.name = h.Name
				all = append(all, row)
			}
		}
	}
	return all
}

// comparedShown is how many rows a comparison has in text and Markdown, unless all are asked for.
const comparedShown = 10

// comparisonScreen returns the answer and the first screen of a comparison, and the statistics that text and Markdown have there;
// nil and no parts of one of chosen statistics. Unless all are asked for, these have comparedShown rows at most.
func comparisonScreen(c *compare.Comparison, everything bool) (answer *Answer, screen Section, shown []string) {
	screen = Section{Name: "verdict", Title: "Verdict", Screen: true}
	if len(c.Only) > 0 {
		return nil, screen, nil
	}
	both := sidesOf(c)
	if both.byClient { // which does not know the waits
		return nil, screen, nil
	}
	workloads := both.rows(c, "workload", comparedOfWorkloads)
	workloads = withClients(workloads, both.clientRows(c))
	answer = comparisonAnswer(c, workloads)
	workloads = append(workloads, both.victims(c)...)
	if all := both.row("", "all", comparedOfWorkloads); all != nil && len(workloads) > 1 {
		workloads = append(workloads, all)
	}
	table := beforeAfterTable("before-after", "Workloads, base → head", "workload", workloads)
	levels := beforeAfterTable("levels-before-after", "Priority levels, base → head", "priority level", both.rows(c, "priorityLevel", comparedOfLevels))
	parts := slices.Concat(tablePart(table, ""), tablePart(levels, ""))
	if !everything {
		brief := *table
		if more := len(table.Rows) - comparedShown; more > 0 {
			brief.Rows, brief.Missing = table.Rows[:comparedShown], fmt.Sprintf("%d more: --all lists them.", more)
		}
		for i := range parts {
			parts[i].Only = HTML
		}
		for _, p := range tablePart(&brief, "") {
			p.Only = Terminal | Markdown
			parts = append(parts, p)
		}
		for _, row := range brief.Rows {
			shown = append(shown, row[1].Whole)
		}
	}
	screen.Parts = parts
	for _, text := range movedRequests(c, both) {
		screen.Parts = append(screen.Parts, Part{Note: text})
	}
	return answer, screen, shown
}

// withClients returns the rows of workloads with what their clients see.
func withClients(workloads, clients []*beforeAfter) (all []*beforeAfter) {
	for _, row := range workloads {
		one := &beforeAfter{name: row.name}
		for _, c := range clients {
			if c.name == row.name {
				one.statistics = append(one.statistics, c.statistics...)
			}
		}
		one.statistics = append(one.statistics, row.statistics...)
		all = append(all, one)
	}
	return all
}

// effects sorts the rows by who is better off and who worse. A row that is both has changes in both directions.
type effects struct {
	better, worse, mixed, differ []string
}

func effectsOf(rows []*beforeAfter) (e effects) {
	for _, row := range rows {
		var better, worse, differ []string
		for _, one := range row.statistics {
			c := one.change
			if c == nil {
				continue
			}
			text := one.label + " " + one.values()
			switch {
			case c.Judgement == compare.Improvement:
				better = append(better, text)
			case c.Judgement == compare.Regression:
				worse = append(worse, text)
			case c.Outcome == compare.Untested && c.Base != c.Head:
				differ = append(differ, text)
			}
		}
		named := func(texts ...[]string) string {
			return row.name + " (" + strings.Join(slices.Concat(texts...), ", ") + ")"
		}
		switch {
		case len(better) > 0 && len(worse) > 0:
			e.mixed = append(e.mixed, named(better, worse))
		case len(better) > 0:
			e.better = append(e.better, named(better))
		case len(worse) > 0:
			e.worse = append(e.worse, named(worse))
		case len(differ) > 0:
			e.differ = append(e.differ, named(differ))
		}
	}
	return e
}

// comparisonAnswer says for whom the head is better and for whom worse, and what the verdicts on both sides are.
func comparisonAnswer(c *compare.Comparison, workloads []*beforeAfter) *Answer {
	e := effectsOf(workloads)
	a := &Answer{}
	var parts []string
	add := func(what string, all []string) {
		if len(all) > 0 {
			parts = append(parts, what+" "+firstOf(all))
		}
	}
	untested := c.Distinct.Tested == 0 && c.Untested > 0
	switch {
	case len(e.worse) > 0 && len(e.better)+len(e.mixed) == 0:
		a.Status, a.Judgement = "WORSE", judge.Bad
	case len(e.better) > 0 && len(e.worse)+len(e.mixed) == 0:
		a.Status, a.Judgement = "BETTER", judge.Good
	case len(e.better)+len(e.worse)+len(e.mixed) > 0:
		a.Status = "MIXED"
	case len(e.differ) > 0 || untested:
		a.Status = "UNKNOWN"
	default:
		a.Status = "NO CHANGE"
	}
	add("worse for", e.worse)
	add("better for", e.better)
	add("better and worse for", e.mixed)
	switch {
	case a.Status == "BETTER" || a.Status == "WORSE": // which the sentence need not say again
		a.Sentence = "For " + firstOf(slices.Concat(e.better, e.worse)) + "."
	case len(parts) > 0:
		a.Sentence = capitalized(strings.Join(parts, "; ")) + "."
	case len(e.differ) > 0:
		a.Sentence = "Too few runs or samples tell whether these differences are by chance: " + firstOf(e.differ) + "."
	case untested:
		a.Sentence = fmt.Sprintf("Too few runs tell whether the %s by chance; no workload differs in requests that were not served, or in waits.",
			map[bool]string{true: "difference of a statistic is", false: fmt.Sprintf("differences of %d statistics are", c.Untested)}[c.Untested == 1])
	default:
		a.Sentence = "No workload has significantly more or fewer requests that were not served, or longer or shorter waits."
	}
	if len(c.Limits) > 0 {
		a.Why = append(a.Why, compare.LimitsTitle(c)+".")
		if !c.Passed {
			a.Judgement = judge.Bad
		}
	}
	for i, v := range []*result.Overall{c.BaseRuns.Verdict, c.HeadRuns.Verdict} {
		if v != nil && v.Status != "" {
			a.Why = append(a.Why, fmt.Sprintf("%s: %s. %s", capitalized(SideNames[i]), v.Status, v.Sentence))
		}
	}
	return a
}

// mostAnswered is how many workloads the answer of a comparison names of each effect.
const mostAnswered = 2

func firstOf(all []string) string {
	if more := len(all) - mostAnswered; more > 0 {
		return strings.Join(all[:mostAnswered], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(all, " and ")
}

// movedPart is the least part of the requests of a FlowSchema that must be missing, and the least part of those missing that
// other FlowSchemas must have gained, for them to be told as moved.
const movedPart = 0.5

// movedRequests tells which FlowSchemas lost requests to which others: their rejections and waits changed because of that.
func movedRequests(c *compare.Comparison, both *sides) (sentences []string) {
	arrived := metric.Name{Metric: "arrived", Stat: "perSecond"}
	type change struct {
		name       string
		base, head float64
	}
	var lost, gained []change
	var gains float64
	names := c.BaseRuns.Names("flowSchema")
	for _, name := range c.HeadRuns.Names("flowSchema") {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		value := func(side map[string]*compare.Estimate) float64 {
			if e := side[arrived.With("flowSchema", name).String()]; e != nil {
				return e.Mean
			}
			return 0
		}
		ch := change{name, value(both.base), value(both.head)}
		switch {
		case ch.head <= (1-movedPart)*ch.base && ch.base > 0:
			lost = append(lost, ch)
		case ch.head > ch.base:
			gained = append(gained, ch)
			gains += ch.head - ch.base
		}
	}
	for _, from := range lost {
		if gains < movedPart*(from.base-from.head) {
			continue
		}
		var to []string
		for _, g := range gained {
			if g.head-g.base >= movedPart*(from.base-from.head)/float64(len(gained)) {
				to = append(to, g.name)
			}
		}
		if len(to) > 0 {
			sentences = append(sentences, fmt.Sprintf("FlowSchema %s had %s requests per second instead of %s: they moved to %s, and its rejections with them.",
				from.name, format.Number(from.head), format.Number(from.base), strings.Join(to, ", ")))
		}
	}
	return sentences
}
