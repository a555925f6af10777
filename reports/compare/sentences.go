package compare

import (
	"fmt"
	"math"
	"strings"

	"apfsim/reports/format"
)

// AlsoShown is how many other names of a number are listed beside it.
const AlsoShown = 4

// ListedChanges returns the changes to be listed, and a title. all lists every statistic. A number with
// several names, as of a workload that is the only one at its priority level, is counted once.
func ListedChanges(c *Comparison, all bool) (changes []Change, title string) {
	total := c.Total()
	if all {
		return c.Changes, fmt.Sprintf("%d of %d statistics changed; all are listed", c.Distinct.Changed, total)
	}
	n := c.Distinct.Changed
	title = fmt.Sprintf("%d of %d statistics changed", n, total)
	if onlyUntested(c) {
		n = c.Distinct.Untested
		title = fmt.Sprintf("%d of %d statistics differ; significance unknown (%s)", n, total, tooFewRuns(c))
	}
	return c.Changes[:n], title
}

// tooFewRuns says why nothing could be tested.
func tooFewRuns(c *Comparison) string {
	switch n, m := len(c.Base.Seeds), len(c.Head.Seeds); {
	case n == 1 && m == 1:
		return "one run per side"
	case n == 1 || m == 1:
		return "one run on a side"
	}
	return "samples in too few runs"
}

// onlyUntested says whether no statistic could be tested, as with a single run per side. The differences
// are then listed instead of the significant changes.
func onlyUntested(c *Comparison) bool { return c.Untested > 0 && c.Changed+c.Same == 0 }

// FoldedChanges counts the statistics that are not listed. mark precedes the counts of those that did
// not change significantly.
func FoldedChanges(c *Comparison, mark string) string {
	var parts []string
	add := func(format string, n int) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, n))
		}
	}
	add(mark+"no significant change: %d", c.Distinct.Tested-c.Distinct.Changed)
	if !onlyUntested(c) {
		add("too few samples or runs: %d", c.Distinct.Untested)
	}
	add(mark+"exactly equal: %d", c.Exact)
	add("other names of numbers counted above: %d", len(c.Changes)-c.Distinct.Tested-c.Distinct.Untested-c.Exact)
	add("samples on only one side: %d", len(c.Unmatched))
	return strings.Join(parts, "; ")
}

// ComparedTests states the number of tests and their assumption; empty without tests.
func ComparedTests(c *Comparison) string {
	if c.Distinct.Tested == 0 {
		return ""
	}
	return fmt.Sprintf("Tests: %d, at a false discovery rate of 5 %% (Benjamini-Hochberg; assumes positive dependence).", c.Distinct.Tested)
}

// ComparedScope states which statistics are compared; empty without --only.
func ComparedScope(c *Comparison) string {
	if len(c.Only) == 0 {
		return ""
	}
	return fmt.Sprintf("--only %s: %d of %d names compared.", format.Printable(strings.Join(c.Only, ", ")), len(c.Changes), len(c.Changes)+len(c.Outside))
}

// ChangeAlso lists at most so many of the other names of the number; empty if it has none. Of a name that
// differs only in its tags, only the tags are written.
func ChangeAlso(c *Change, maxNames int) string {
	if len(c.Also) == 0 {
		return ""
	}
	var names []string
	id := &c.ID
	for i, name := range c.Also {
		if i == maxNames {
			names = append(names, fmt.Sprintf("%d more", len(c.Also)-maxNames))
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

// ComparedHow states how the sides are compared.
func ComparedHow(c *Comparison) string {
	switch {
	case min(len(c.Base.Seeds), len(c.Head.Seeds)) < 2:
		return "One run on a side: no intervals."
	case c.Paired:
		return "Same seeds: paired by run, tests by Student's t, 95 % intervals."
	}
	return "Different seeds: independent samples, tests by Welch's t, 95 % intervals."
}

// SideText states the scenario and the runs of a side.
func SideText(s *Side) string {
	runs := fmt.Sprintf("seed %d", s.Seeds[0])
	if n := len(s.Seeds); n > 1 {
		runs = fmt.Sprintf("%d runs, seeds %d to %d", n, s.Seeds[0], s.Seeds[n-1])
	}
	if s.MeasuredBy != "" {
		runs += ", measured by a " + s.MeasuredBy
	}
	return s.After(fmt.Sprintf("%s, %s, %s", s.Scenario, format.Window(s.DurationNs, s.WarmupNs, s.WarmupBy, s.FlowControl), runs))
}

// ChangeValue writes a value of the statistic in its unit.
func ChangeValue(c *Change, x float64) string {
	return format.ValueText(x, c.Unit, c.ID.PrintPercent())
}

// ChangeText writes the change relative to the base or, if the base is 0, in the statistic's unit. margin is half the width of
// its interval if that is symmetric, otherwise interval has its ends; both are empty without one.
func ChangeText(c *Change) (text, margin, interval string) {
	if c.Outcome == Exact {
		return "~ exact", "", ""
	}
	scale, suffix := c.Base/100, " %"
	if c.Base == 0 {
		scale, suffix = format.ScaleOf(math.Abs(c.Difference), c.Unit, c.ID.PrintPercent())
	}
	least, most := c.ID.Range() // of the head, beside this base
	least, most = (least-c.Base)/scale, (most-c.Base)/scale
	text, margin, interval = signedInterval(c.Difference/scale, scale, suffix, c.Low, c.High, least, most)
	switch {
	case c.Outcome != Same:
		return text, margin, interval
	case c.High == nil:
		return "~", "", ""
	}
	half := max(*c.High-c.Difference, c.Difference-*c.Low) / scale
	if half > -least && interval != "" {
		return "~", "", interval
	}
	figure, margin := format.Rounded(c.Difference/scale, half)
	if margin == "0" && c.Difference != 0 { // the same change in every run, but in too few runs
		return "~ " + format.Signed(figure) + suffix, "", ""
	}
	return "~", margin + suffix, ""
}

// signedInterval writes a change, which is scaled already, and its interval as far as it is from least to most.
func signedInterval(figure, scale float64, suffix string, low, high *float64, least, most float64) (text, margin, interval string) {
	if high == nil {
		return format.Signed(format.Digits(figure)) + suffix, "", ""
	}
	from, to := max(*low/scale, least), min(*high/scale, most)
	half := max(to-figure, figure-from)
	text, margin = format.Rounded(figure, half)
	text = format.Signed(text)
	// The longer half stands for both if the other is at least half as long, unless it would include 0 as the interval does not, or
	// what cannot be.
	if 2*min(to-figure, figure-from) >= half && (figure-half)*(figure+half) > 0 == (from*to > 0) && figure-half >= least && figure+half <= most {
		return text, margin + suffix, ""
	}
	from1, _ := format.Rounded(from, half)
	to1, _ := format.Rounded(to, half)
	return text, "", format.Signed(from1) + " to " + format.Signed(to1) + suffix
}

// WithInterval joins the parts of a figure and its interval in one line.
func WithInterval(text, margin, interval string) string {
	switch {
	case margin != "":
		return text + " ±" + margin
	case interval != "":
		return text + " (" + interval + ")"
	}
	return text
}

// LimitText writes how far the statistic has changed.
func LimitText(v *LimitVerdict) string {
	if v.Change == nil {
		return v.Note
	}
	scale, suffix := 0.01, " %"
	if !v.Relative {
		scale, suffix = format.ScaleOf(math.Abs(*v.Change), v.Unit, v.ID.PrintPercent())
	}
	text := ""
	if v.High != nil && *v.High == *v.Low || v.High == nil {
		text = format.Signed(format.BesideLimit(*v.Change/scale, v.Limit/scale, "", false)) + suffix
	} else {
		least, most := math.Inf(-1), math.Inf(1)
		if v.Relative {
			least = -100
		}
		text = WithInterval(signedInterval(*v.Change/scale, scale, suffix, v.Low, v.High, least, most))
	}
	if v.Note != "" {
		text += "; " + v.Note
	}
	return text
}

// LimitsTitle states how many limits are exceeded.
func LimitsTitle(c *Comparison) string {
	failed := 0
	for _, v := range c.Limits {
		if !v.Passed {
			failed++
		}
	}
	if failed == 0 {
		return "Limits: no limit is significantly exceeded"
	}
	return fmt.Sprintf("Limits: %d of %d exceeded", failed, len(c.Limits))
}
