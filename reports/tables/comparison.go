package tables

import (
	"fmt"
	"math"
	"strings"

	"apfsim/reports/compare"
	"apfsim/reports/format"
)

// changesShown is how many changes are listed unless all are asked for.
const changesShown = 40

// alsoShown is how many other names of a number are listed beside it.
const alsoShown = 4

// ListedChanges returns the changes to be listed, and a heading. A number with several names, as of a
// workload that has a priority level to itself, is listed once.
func ListedChanges(c *compare.Comparison, all bool) (changes []compare.Change, title string) {
	total := c.Distinct.Tested + c.Distinct.Untested + c.Exact
	if all {
		return c.Changes, fmt.Sprintf("%d statistics, %d changed", total, c.Distinct.Changed)
	}
	n := c.Distinct.Changed
	switch {
	case untestedAlone(c):
		n = c.Distinct.Untested
		title = fmt.Sprintf("%d of %d statistics differ; nobody knows whether by chance", n, total)
	case n == 0:
		title = fmt.Sprintf("None of %d statistics changed", total)
	default:
		title = fmt.Sprintf("%d of %d statistics changed", n, total)
	}
	if n > changesShown {
		return c.Changes[:changesShown], fmt.Sprintf("%s; the first %d", title, changesShown)
	}
	return c.Changes[:n], title
}

// untestedAlone says whether no statistic could be tested, as of single runs: what differs is
// then listed in place of what has changed.
func untestedAlone(c *compare.Comparison) bool { return c.Untested > 0 && c.Changed+c.Same == 0 }

// FoldedChanges says what has become of the statistics that are not listed; mark is put before
// those that did not change.
func FoldedChanges(c *compare.Comparison, mark string) string {
	var parts []string
	be := func(n int) string {
		if n == 1 {
			return "is"
		}
		return "are"
	}
	if n := c.Distinct.Tested - c.Distinct.Changed; n > 0 {
		parts = append(parts, fmt.Sprintf("%s%d did not change as far as these runs can tell", mark, n))
	}
	if c.Untested > 0 && !untestedAlone(c) {
		parts = append(parts, fmt.Sprintf("of %d there are samples in too few runs to tell", c.Distinct.Untested))
	}
	if c.Exact > 0 {
		parts = append(parts, fmt.Sprintf("%s%d %s exactly the same", mark, c.Exact, be(c.Exact)))
	}
	if n := len(c.Changes) - c.Distinct.Tested - c.Distinct.Untested - c.Exact; n > 0 {
		parts = append(parts, fmt.Sprintf("%d more %s for numbers counted above", n, format.Plural(n, "name")))
	}
	if n := len(c.Unmatched); n > 0 {
		parts = append(parts, fmt.Sprintf("%d %s on one side alone", n, be(n)))
	}
	return strings.Join(parts, "; ")
}

// ComparedTests says what was tested, and what that assumes; empty without tests.
func ComparedTests(c *compare.Comparison) string {
	if c.Distinct.Tested == 0 {
		return ""
	}
	return fmt.Sprintf("%s at a false discovery rate of 5 %% (Benjamini-Hochberg; assumes positive dependence).",
		format.Counted(c.Distinct.Tested, "test"))
}

// ComparedScope says to what the comparison is narrowed down; empty without --only.
func ComparedScope(c *compare.Comparison) string {
	if len(c.Only) == 0 {
		return ""
	}
	return fmt.Sprintf("Only %s: %d of %s compared.", format.Printable(strings.Join(c.Only, ", ")), len(c.Changes), format.Counted(len(c.Changes)+len(c.Outside), "name"))
}

// ChangeAlso returns the other names of the number, if there are any: of the same statistic of other
// requests, the tags alone.
func ChangeAlso(c *compare.Change, most int) string {
	if len(c.Also) == 0 {
		return ""
	}
	var names []string
	id := &c.ID
	for i, name := range c.Also {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(c.Also)-most))
			break
		}
		other := &c.AlsoIDs[i]
		if from := strings.IndexByte(name, '{'); from >= 0 && other.Metric == id.Metric && other.Stat == id.Stat && other.Percentile == id.Percentile {
			name = name[from : strings.LastIndexByte(name, '}')+1]
		}
		names = append(names, format.Printable(name))
	}
	return strings.Join(names, ", ")
}

// ComparedHow says how the sides are compared.
func ComparedHow(c *compare.Comparison) string {
	switch {
	case min(len(c.Base.Seeds), len(c.Head.Seeds)) < 2:
		return "Single runs: no intervals."
	case c.Paired:
		return "Run by run, as the seeds are the same: 95 % intervals by Student's t."
	}
	return "As independent samples, as the seeds are not the same: 95 % intervals by Welch's t."
}

func SideText(s *compare.Side) string {
	runs := fmt.Sprintf("seed %d", s.Seeds[0])
	if n := len(s.Seeds); n > 1 {
		runs = fmt.Sprintf("%d runs, seeds %d to %d", n, s.Seeds[0], s.Seeds[n-1])
	}
	return fmt.Sprintf("%s, %s, %s", s.Scenario, format.Window(s.DurationNs, s.WarmupNs, s.FlowControl), runs)
}

func ChangeValue(c *compare.Change, x float64) string {
	return format.ValueText(x, c.Unit, c.ID.PrintPercent())
}

// ChangeText writes how much of the base the head is more, and half of its interval.
func ChangeText(c *compare.Change) string {
	if c.Outcome == compare.Exact {
		return "~ exact"
	}
	scale, suffix := c.Base/100, " %"
	if c.Base == 0 {
		scale, suffix = format.ScaleOf(math.Abs(c.Difference), c.Unit, c.ID.PrintPercent())
	}
	if c.High == nil {
		return format.Signed(format.Digits(c.Difference/scale)) + suffix
	}
	figure, margin := format.Rounded(c.Difference/scale, (*c.High-c.Difference)/scale)
	switch {
	case c.Outcome == compare.Same && margin == "0" && c.Difference != 0: // in every run, but these are few
		return "~ " + format.Signed(figure) + suffix
	case c.Outcome == compare.Same:
		return "~ ±" + margin + suffix
	}
	return format.Signed(figure) + " ±" + margin + suffix
}

// limitText writes how far the statistic has changed.
func limitText(v *compare.LimitVerdict) string {
	if v.Change == nil {
		return v.Note
	}
	scale, suffix := 0.01, " %"
	if !v.Relative {
		scale, suffix = format.ScaleOf(math.Abs(*v.Change), v.Unit, v.ID.PrintPercent())
	}
	figure, margin := format.Rounded(*v.Change/scale, (*v.High-*v.Change)/scale)
	if margin == "0" {
		figure = format.BesideLimit(*v.Change/scale, v.Limit/scale, "", false)
	}
	text := format.Signed(figure) + " ±" + margin + suffix
	if v.Note != "" {
		text += "; " + v.Note
	}
	return text
}

// LimitsTitle says how many limits are exceeded.
func LimitsTitle(c *compare.Comparison) string {
	failed := 0
	for _, v := range c.Limits {
		if !v.Passed {
			failed++
		}
	}
	if failed == 0 {
		return "Limits: none is exceeded for certain"
	}
	return fmt.Sprintf("Limits: %d of %d exceeded", failed, len(c.Limits))
}
