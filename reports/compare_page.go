package reports

import (
	"apfsim/sim/metric"
	"fmt"
	"math"
	"slices"
	"strings"
)

// page returns the report of a comparison.
func (c *Comparison) page() Page {
	changes, title := c.listed(false)
	p := Page{
		Title: "Comparison: " + c.Base.Scenario, Description: []string{"Base: " + c.Base.Label, "Head: " + c.Head.Label}, Ran: c.Base.text(),
		Verdict: c.verdict(title), Findings: c.findings(), Warnings: c.Warnings,
		Footer: "All numbers are in comparison.json and comparison.csv.",
	}
	if head := c.Head.text(); head != p.Ran {
		p.Ran = "base: " + p.Ran + "; head: " + head
	} else {
		p.Ran = "on both sides " + p.Ran
	}
	if c.Head.Scenario != c.Base.Scenario {
		p.Title += " and " + c.Head.Scenario
	}
	note := c.how()
	for _, text := range []string{c.tests(), "A number that has several names is tested and listed once.", c.scope()} {
		if text != "" {
			note += " " + text
		}
	}
	if text := c.folded(""); text != "" {
		note += " " + text + "."
	}
	s := Section{Name: "changes", Title: "Changes", Note: title + ". " + note}
	if len(changes) > 0 {
		s.Parts = append(s.Parts, Part{Table: changesTable("changes", "Changes, the greatest first", changes)})
	}
	p.Sections = append(p.Sections, s)
	var plots []Part
	for _, of := range []struct{ metric, title string }{{"wait", "How long requests waited"}, {"latency", "How long requests took"}} {
		if plot := percentilesPlot(of.metric, of.title, []*Replications{c.base, c.head}, SideNames[:]); plot != nil {
			plots = append(plots, Part{Plot: plot})
		}
	}
	if len(plots) > 0 {
		p.Sections = append(p.Sections, Section{Name: "durations", Title: "Waits and latencies", Parts: plots})
	}
	all := changesTable("statistics", "Statistics by name, as thresholds call them", c.Changes[:min(flowsMost, len(c.Changes))])
	all.First = statisticsFirst
	if more := len(c.Changes) - flowsMost; more > 0 {
		all.Missing = fmt.Sprintf("Left out: %s, all in comparison.json.", counted(more, "statistic"))
	}
	p.Sections = append(p.Sections, Section{Name: "statistics", Title: "All statistics", Parts: []Part{{Table: all}}})
	return p
}

// SideNames are what the two sides of a comparison are called, in their order.
var SideNames = [2]string{"base", "head"}

// verdict is about the limits or, without any, about what changed.
func (c *Comparison) verdict(title string) *PageVerdict {
	if len(c.Limits) == 0 {
		moods := map[Mood]int{}
		for i := range c.Changes {
			if c.Changes[i].SameAs == "" {
				moods[c.Changes[i].Mood]++
			}
		}
		if n := c.Distinct.Changed; n > 0 {
			title = fmt.Sprintf("%d of %d statistics changed: %d for the worse, %d for the better",
				n, c.Distinct.Tested+c.Distinct.Untested+c.Exact, moods[Bad], moods[Good])
		}
		return &PageVerdict{Text: title}
	}
	t := &Table{Name: "limits", Caption: "Limits of change", Columns: []Column{{Title: "Limit", Term: "limit", Left: true},
		{Title: "Verdict", Left: true}, {Title: "Change"}}}
	for i := range c.Limits {
		v := &c.Limits[i]
		verdict := Cell{Text: "✓ not exceeded for certain", Mood: Good}
		if !v.Passed {
			verdict = Cell{Text: "✗ exceeded", Mood: Bad}
		}
		t.Rows = append(t.Rows, []Cell{{Text: v.Expression, Code: true}, verdict, word(v.text())})
	}
	return &PageVerdict{Mood: passedMood(c.Passed), Text: c.limitsTitle(), Table: t}
}

// findings say in plain language what the change means for each workload and each
// priority level, and for which flows.
func (c *Comparison) findings() []Finding {
	if len(c.Only) > 0 {
		return nil // what they would say has not been tested
	}
	byName := map[string]*Change{}
	for i := range c.Changes {
		byName[c.Changes[i].Name] = &c.Changes[i]
	}
	base, head := c.base.byName(), c.head.byName()
	var all []Finding
	for i := range estimateTables {
		g := &estimateTables[i]
		names := c.base.names(g.tag)
		for _, name := range c.head.names(g.tag) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		for _, name := range names {
			// on says on which of the sides a statistic has samples.
			on := func(s metric.Name) (inBase, inHead bool) {
				return base[named(s, g.tag, name)] != nil, head[named(s, g.tag, name)] != nil
			}
			inBase, inHead := on(rejectedRate) // which all requests have that arrived
			if !inBase && !inHead {
				continue
			}
			f := Finding{Group: g.title, Subject: name}
			say := func(ch *Change, text string) {
				if f.Text != "" {
					f.Text += "; "
				}
				f.Text += text
				if ch != nil && (ch.Mood == Bad || ch.Mood == Good && f.Mood != Bad) {
					f.Mood = ch.Mood
				}
			}
			it, itsRequests := "", "" // the group, or after the seats of a level
			if use := byName[named(utilisationMean, g.tag, name)]; use != nil {
				say(use, use.sentence("had ", " of its seats in use"))
				it, itsRequests = "it ", "its requests "
			}
			if inBase != inHead {
				say(nil, it+g.sent+" requests in the "+theOne(inBase)+" alone")
			} else {
				switch inBase, inHead := on(waitP99); {
				case !inBase && !inHead:
					say(nil, it+"had no request dispatched on either side")
				case !inBase || !inHead:
					say(nil, it+"had no request dispatched in the "+theOne(!inBase))
				default:
					wait := byName[named(waitP99, g.tag, name)]
					if wait.Base == 0 && wait.Head == 0 {
						say(wait, itsRequests+"did not wait at p99 on either side")
					} else {
						say(wait, wait.sentence(itsRequests+"waited ", " at p99"))
					}
				}
				rejected := byName[named(rejectedRate, g.tag, name)]
				if rejected.Base == 0 && rejected.Head == 0 {
					say(rejected, "no request was rejected on either side")
				} else {
					say(rejected, rejected.sentence("", " of the requests were rejected"))
				}
			}
			f.Text += "."
			all = append(all, f)
		}
	}
	return append(all, c.flowFindings()...)
}

// theOne returns the name of one of the sides.
func theOne(isBase bool) string {
	if isBase {
		return SideNames[0]
	}
	return SideNames[1]
}

// sentence puts the head's value between two halves of a sentence, and behind it the base's.
func (c *Change) sentence(before, after string) string {
	text, base, from := before+c.value(c.Head)+after, c.value(c.Base), "up from"
	if c.Difference < 0 {
		from = "down from"
	}
	switch c.Outcome {
	case Exact:
		return text + ", exactly as in the base"
	case Same:
		return fmt.Sprintf("%s and %s in the base, no change that these runs can tell", text, base)
	case Untested:
		return fmt.Sprintf("%s, %s %s, perhaps by chance", text, from, base)
	}
	return fmt.Sprintf("%s, %s %s (%s)", text, from, base, c.change())
}

// flowFindings are about the flows whose waits or rejections changed.
func (c *Comparison) flowFindings() []Finding {
	var all []Finding
	for _, of := range []struct {
		statistic metric.Name
		mood      Mood
		text      string
	}{
		{rejectedRate, Bad, "had a greater share of requests rejected."}, {waitP99, Bad, "waited longer at p99."},
		{rejectedRate, Good, "had a smaller share of requests rejected."}, {waitP99, Good, "waited less at p99."},
	} {
		var flows []string
		for i := range c.Changes {
			ch := &c.Changes[i]
			if ch.PriorityLevel == "" || ch.Mood != of.mood {
				continue
			}
			if id := idOf(ch.Name); id.Metric == of.statistic.Metric && id.Stat == of.statistic.Stat && id.Percentile == of.statistic.Percentile && id.Tag("reason") == "" {
				flows = append(flows, id.Tag("flow"))
			}
		}
		if len(flows) > 0 {
			all = append(all, Finding{Group: "Flows, those that changed most first", Mood: of.mood, Subject: listed(flows, 3, flows[0]), Text: of.text})
		}
	}
	return all
}

func changesTable(name, caption string, changes []Change) *Table {
	t := &Table{Name: name, Caption: caption, Columns: []Column{{Title: "Statistic", Left: true}, {Title: "Base"}, {Title: "Head"},
		{Title: "Change", Term: "change"}, {Title: "For the", Term: "better", Left: true}}}
	for i := range changes {
		ch := &changes[i]
		cells := ch.cells()
		text, margin, found := strings.Cut(cells[3], " ±")
		change := figure(ch.Difference, text)
		if found {
			change.Margin = "± " + margin
		}
		// It sorts as the list does: by size relative to the base, beside nothing the greatest there is.
		change.Value = math.Copysign(min(ch.relativeSize(), math.MaxFloat64), ch.Difference)
		name := ch.Name
		if also := ch.also(alsoShown); also != "" {
			name += " (also: " + also + ")"
		}
		t.Rows = append(t.Rows, []Cell{{Text: name, Code: true}, figure(ch.Base, cells[1]), figure(ch.Head, cells[2]),
			change, {Text: cells[4], Mood: ch.Mood}})
	}
	return t
}
