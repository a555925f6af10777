package findings

import (
	"fmt"
	"slices"

	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/tables"
	"apfsim/sim/metric"
)

// SideNames are what the two sides of a comparison are called, in their order.
var SideNames = [2]string{"base", "head"}

// Comparison say in plain language what the change means for each workload and each
// priority level, and for which flows.
func Comparison(c *compare.Comparison) []Finding {
	if len(c.Only) > 0 {
		return nil // what they would say has not been tested
	}
	byName := map[string]*compare.Change{}
	for i := range c.Changes {
		byName[c.Changes[i].Name] = &c.Changes[i]
	}
	base, head := tables.EstimatesByName(c.BaseRuns), tables.EstimatesByName(c.HeadRuns)
	var all []Finding
	for i := range tables.EstimateTables {
		g := &tables.EstimateTables[i]
		names := tables.Names(c.BaseRuns, g.Tag)
		for _, name := range tables.Names(c.HeadRuns, g.Tag) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		for _, name := range names {
			// on says on which of the sides a statistic has samples.
			on := func(s metric.Name) (inBase, inHead bool) {
				return base[s.With(g.Tag, name).String()] != nil, head[s.With(g.Tag, name).String()] != nil
			}
			inBase, inHead := on(rejectedRate) // which all requests have that arrived
			if !inBase && !inHead {
				continue
			}
			f := Finding{Group: g.Title, Subject: name}
			say := func(ch *compare.Change, text string) {
				if f.Text != "" {
					f.Text += "; "
				}
				f.Text += text
				if ch != nil && (ch.Judgement == judge.Bad || ch.Judgement == judge.Good && f.Judgement != judge.Bad) {
					f.Judgement = ch.Judgement
				}
			}
			it, itsRequests := "", "" // the group, or after the seats of a level
			if use := byName[utilisationMean.With(g.Tag, name).String()]; use != nil {
				say(use, sentence(use, "had ", " of its seats in use"))
				it, itsRequests = "it ", "its requests "
			}
			if inBase != inHead {
				say(nil, it+g.Sent+" requests in the "+theOne(inBase)+" alone")
			} else {
				switch inBase, inHead := on(waitP99); {
				case !inBase && !inHead:
					say(nil, it+"had no request dispatched on either side")
				case !inBase || !inHead:
					say(nil, it+"had no request dispatched in the "+theOne(!inBase))
				default:
					wait := byName[waitP99.With(g.Tag, name).String()]
					if wait.Base == 0 && wait.Head == 0 {
						say(wait, itsRequests+"did not wait at p99 on either side")
					} else {
						say(wait, sentence(wait, itsRequests+"waited ", " at p99"))
					}
				}
				rejected := byName[rejectedRate.With(g.Tag, name).String()]
				if rejected.Base == 0 && rejected.Head == 0 {
					say(rejected, "no request was rejected on either side")
				} else {
					say(rejected, sentence(rejected, "", " of the requests were rejected"))
				}
			}
			f.Text += "."
			all = append(all, f)
		}
	}
	return append(all, flowChanges(c)...)
}

// theOne returns the name of one of the sides.
func theOne(isBase bool) string {
	if isBase {
		return SideNames[0]
	}
	return SideNames[1]
}

// sentence puts the head's value between two halves of a sentence, and behind it the base's.
func sentence(c *compare.Change, before, after string) string {
	text, base, from := before+tables.ChangeValue(c, c.Head)+after, tables.ChangeValue(c, c.Base), "up from"
	if c.Difference < 0 {
		from = "down from"
	}
	switch c.Outcome {
	case compare.Exact:
		return text + ", exactly as in the base"
	case compare.Same:
		return fmt.Sprintf("%s and %s in the base, no change that these runs can tell", text, base)
	case compare.Untested:
		return fmt.Sprintf("%s, %s %s, perhaps by chance", text, from, base)
	}
	return fmt.Sprintf("%s, %s %s (%s)", text, from, base, tables.ChangeText(c))
}

// flowChanges are about the flows whose waits or rejections changed.
func flowChanges(c *compare.Comparison) []Finding {
	var all []Finding
	for _, of := range []struct {
		statistic metric.Name
		mood      judge.Judgement
		text      string
	}{
		{rejectedRate, judge.Bad, "had a greater share of requests rejected."}, {waitP99, judge.Bad, "waited longer at p99."},
		{rejectedRate, judge.Good, "had a smaller share of requests rejected."}, {waitP99, judge.Good, "waited less at p99."},
	} {
		var flows []string
		for i := range c.Changes {
			ch := &c.Changes[i]
			if ch.PriorityLevel == "" || ch.Judgement != of.mood {
				continue
			}
			if id := &ch.ID; id.Metric == of.statistic.Metric && id.Stat == of.statistic.Stat && id.Percentile == of.statistic.Percentile && id.Tag("reason") == "" {
				flows = append(flows, id.Tag("flow"))
			}
		}
		if len(flows) > 0 {
			all = append(all, Finding{Group: "Flows, those that changed most first", Judgement: of.mood, Subject: format.Listed(flows, 3, flows[0]), Text: of.text})
		}
	}
	return all
}
