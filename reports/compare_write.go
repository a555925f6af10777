package reports

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// changesShown is how many changes are listed unless all are asked for.
const changesShown = 40

// alsoShown is how many other names of a number are listed beside it.
const alsoShown = 4

// CompareFormats are the formats in which Comparison.Write can write.
var CompareFormats = []string{"text", "markdown", "json", "csv"}

// Write writes the comparison in one of CompareFormats; all says whether to list what has
// not changed, too, which json and csv always do.
func (c *Comparison) Write(w io.Writer, format string, all bool, options TextOptions) error {
	switch format {
	case "text":
		return c.writeText(w, all, options)
	case "markdown":
		return c.writeMarkdown(w, all)
	case "json":
		return WriteJSON(w, c)
	case "csv":
		return c.writeCSV(w)
	}
	panic("reports: no format " + format)
}

// listed returns the changes to be listed, and a heading. A number with several names, as of a
// workload that has a priority level to itself, is listed once.
func (c *Comparison) listed(all bool) (changes []Change, title string) {
	total := c.Distinct.Tested + c.Distinct.Untested + c.Exact
	if all {
		return c.Changes, fmt.Sprintf("%d statistics, %d changed", total, c.Distinct.Changed)
	}
	n := c.Distinct.Changed
	switch {
	case c.untestedAlone():
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
func (c *Comparison) untestedAlone() bool { return c.Untested > 0 && c.Changed+c.Same == 0 }

// folded says what has become of the statistics that are not listed; mark is put before
// those that did not change.
func (c *Comparison) folded(mark string) string {
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
	if c.Untested > 0 && !c.untestedAlone() {
		parts = append(parts, fmt.Sprintf("of %d there are samples in too few runs to tell", c.Distinct.Untested))
	}
	if c.Exact > 0 {
		parts = append(parts, fmt.Sprintf("%s%d %s exactly the same", mark, c.Exact, be(c.Exact)))
	}
	if n := len(c.Changes) - c.Distinct.Tested - c.Distinct.Untested - c.Exact; n > 0 {
		parts = append(parts, fmt.Sprintf("%d more %s for numbers counted above", n, plural(n, "name")))
	}
	if n := len(c.Unmatched); n > 0 {
		parts = append(parts, fmt.Sprintf("%d %s on one side alone", n, be(n)))
	}
	return strings.Join(parts, "; ")
}

// tests says what was tested, and what that assumes; empty without tests.
func (c *Comparison) tests() string {
	if c.Distinct.Tested == 0 {
		return ""
	}
	return fmt.Sprintf("%s at a false discovery rate of 5 %% (Benjamini-Hochberg; assumes positive dependence).",
		counted(c.Distinct.Tested, "test"))
}

// scope says to what the comparison is narrowed down; empty without --only.
func (c *Comparison) scope() string {
	if len(c.Only) == 0 {
		return ""
	}
	return fmt.Sprintf("Only %s: %d of %s compared.", printable(strings.Join(c.Only, ", ")), len(c.Changes), counted(len(c.Changes)+len(c.outside), "name"))
}

// also returns the other names of the number, if there are any: of the same statistic of other
// requests, the tags alone.
func (c *Change) also(most int) string {
	if len(c.Also) == 0 {
		return ""
	}
	var names []string
	id := idOf(c.Name)
	for i, name := range c.Also {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(c.Also)-most))
			break
		}
		other := idOf(name)
		if from := strings.IndexByte(name, '{'); from >= 0 && other.Metric == id.Metric && other.Stat == id.Stat && other.Percentile == id.Percentile {
			name = name[from : strings.LastIndexByte(name, '}')+1]
		}
		names = append(names, printable(name))
	}
	return strings.Join(names, ", ")
}

// how says how the sides are compared.
func (c *Comparison) how() string {
	switch {
	case min(len(c.Base.Seeds), len(c.Head.Seeds)) < 2:
		return "Single runs: no intervals."
	case c.Paired:
		return "Run by run, as the seeds are the same: 95 % intervals by Student's t."
	}
	return "As independent samples, as the seeds are not the same: 95 % intervals by Welch's t."
}

func (s *Side) text() string {
	runs := fmt.Sprintf("seed %d", s.Seeds[0])
	if n := len(s.Seeds); n > 1 {
		runs = fmt.Sprintf("%d runs, seeds %d to %d", n, s.Seeds[0], s.Seeds[n-1])
	}
	return fmt.Sprintf("%s, %s, %s", s.Scenario, window(s.DurationNs, s.WarmupNs, s.FlowControl), runs)
}

// changeHead and cells are what is shown of a change.
var changeHead = []string{"statistic", "base", "head", "change", ""}

func (c *Change) cells() []string {
	word := map[Mood]string{Good: "better", Bad: "worse"}[c.Mood]
	if c.Outcome == Untested {
		word = "?"
	}
	base, head := c.value(c.Base), c.value(c.Head)
	if base == head && c.Outcome == Changed && c.Unit == "" && !isShare(idOf(c.Name)) { // an index near 1, say
		base, head = strconv.FormatFloat(c.Base, 'g', 6, 64), strconv.FormatFloat(c.Head, 'g', 6, 64)
	}
	return []string{printable(c.Name), base, head, c.change(), word}
}

func (c *Change) value(x float64) string { return valueText(x, c.Unit, isShare(idOf(c.Name))) }

// valueText writes a statistic's value.
func valueText(x float64, unit string, share bool) string {
	switch {
	case unit == "ns":
		return duration(x)
	case share:
		return percent(x)
	}
	return number(x)
}

// change writes how much of the base the head is more, and half of its interval.
func (c *Change) change() string {
	if c.Outcome == Exact {
		return "~ exact"
	}
	scale, suffix := c.Base/100, " %"
	if c.Base == 0 {
		scale, suffix = scaleOf(math.Abs(c.Difference), c.Unit, isShare(idOf(c.Name)))
	}
	if c.High == nil {
		return signed(digits(c.Difference/scale)) + suffix
	}
	figure, margin := rounded(c.Difference/scale, (*c.High-c.Difference)/scale)
	switch {
	case c.Outcome == Same && margin == "0" && c.Difference != 0: // in every run, but these are few
		return "~ " + signed(figure) + suffix
	case c.Outcome == Same:
		return "~ ±" + margin + suffix
	}
	return signed(figure) + " ±" + margin + suffix
}

func signed(figure string) string {
	if strings.HasPrefix(figure, "-") {
		return "−" + figure[1:]
	}
	return "+" + figure
}

// mark says whether a limit holds, and text how far the statistic has changed.
func (v *LimitVerdict) mark() string {
	if v.Passed {
		return "✓"
	}
	return "✗"
}

func (v *LimitVerdict) text() string {
	if v.Change == nil {
		return v.Note
	}
	scale, suffix := 0.01, " %"
	if !v.Relative {
		scale, suffix = scaleOf(math.Abs(*v.Change), v.Unit, isShare(idOf(v.Name)))
	}
	figure, margin := rounded(*v.Change/scale, (*v.High-*v.Change)/scale)
	if margin == "0" {
		figure = besideLimit(*v.Change/scale, v.Limit/scale, "", false)
	}
	text := signed(figure) + " ±" + margin + suffix
	if v.Note != "" {
		text += "; " + v.Note
	}
	return text
}

// limitsTitle says how many limits are exceeded.
func (c *Comparison) limitsTitle() string {
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

func (c *Comparison) writeText(w io.Writer, all bool, options TextOptions) error {
	t := newTextWriter(options)
	sides := &table{left: 3}
	sides.row(t.paint(bold, "base"), printable(c.Base.Label), c.Base.text())
	sides.row(t.paint(bold, "head"), printable(c.Head.Label), c.Head.text())
	sides.write(t, func(_ int, line string) string { return strings.TrimPrefix(line, "  ") })
	for _, text := range []string{c.how(), c.tests(), c.scope()} {
		if text != "" {
			fmt.Fprintln(t, t.paint(dim, text))
		}
	}
	changes, title := c.listed(all)
	t.heading(title)
	if len(changes) > 0 {
		tb := &table{left: 1}
		tb.row(changeHead...)
		for i := range changes {
			cells := changes[i].cells()
			cells[0] = t.name(cells[0], 56)
			tb.row(cells...)
		}
		tb.write(t, func(row int, line string) string {
			if row == 0 {
				return t.paint(dim, line)
			}
			ch := &changes[row-1]
			switch ch.Mood {
			case Good:
				line = t.paint(green, line)
			case Bad:
				line = t.paint(red, line)
			}
			if also := ch.also(alsoShown); also != "" {
				line += "\n" + t.paint(dim, "    "+squeeze("also: "+also, max(30, t.options.Width-4)))
			}
			return line
		})
	}
	if text := c.folded("~ "); text != "" && !all {
		fmt.Fprintln(t, t.paint(dim, "  "+text))
	}
	if len(c.Limits) > 0 {
		t.heading(c.limitsTitle())
		tb := &table{left: 3}
		for i := range c.Limits {
			v := &c.Limits[i]
			tb.row(v.mark(), printable(v.Expression), v.text())
		}
		t.judged(tb, func(row int) bool { return c.Limits[row].Passed })
	}
	t.warnings(&Summary{Warnings: c.Warnings})
	fmt.Fprintln(t)
	_, err := w.Write(t.Bytes())
	return err
}

func (c *Comparison) writeMarkdown(w io.Writer, all bool) error {
	var b bytes.Buffer
	row := func(cells ...string) {
		for _, cell := range cells {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", "\\|") + " ")
		}
		b.WriteString("|\n")
	}
	changes, title := c.listed(all)
	fmt.Fprintf(&b, "### %s\n\n", title)
	row("", "", "")
	row("---", "---", "---")
	row("base", code(c.Base.Label), c.Base.text())
	row("head", code(c.Head.Label), c.Head.text())
	fmt.Fprintf(&b, "\n%s\n\n", strings.TrimSpace(c.how()+" "+c.tests()+" "+c.scope()))
	if len(changes) > 0 {
		row(append(slices.Clone(changeHead), "also")...)
		row("---", "---:", "---:", "---:", "---", "---")
		for i := range changes {
			cells := append(changes[i].cells(), "")
			cells[0] = code(cells[0])
			if also := changes[i].also(alsoShown); also != "" {
				cells[len(cells)-1] = code(also)
			}
			row(cells...)
		}
		b.WriteString("\n")
	}
	if text := c.folded("~ "); text != "" && !all {
		fmt.Fprintf(&b, "%s\n\n", text)
	}
	if len(c.Limits) > 0 {
		fmt.Fprintf(&b, "### %s\n\n", c.limitsTitle())
		row("", "limit", "change")
		row("---", "---", "---:")
		for i := range c.Limits {
			v := &c.Limits[i]
			row(v.mark(), code(v.Expression), v.text())
		}
		b.WriteString("\n")
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(&b, "> Note: %s.\n\n", printable(warning))
	}
	_, err := w.Write(append(bytes.TrimRight(b.Bytes(), "\n"), '\n'))
	return err
}

// code writes text as Markdown code.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + printable(text) + " " + fence
	}
	return fence + printable(text) + fence
}

func (c *Comparison) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"statistic", "unit", "better", "base", "head", "difference", "low", "high", "relative", "p", "outcome", "mood", "sameAs"})
	for i := range c.Changes {
		ch := &c.Changes[i]
		out.Write([]string{ch.Name, ch.Unit, string(ch.Better), allDigits(&ch.Base), allDigits(&ch.Head), allDigits(&ch.Difference),
			allDigits(ch.Low), allDigits(ch.High), allDigits(ch.Relative), allDigits(ch.P), string(ch.Outcome), string(ch.Mood), ch.SameAs})
	}
	out.Flush()
	return out.Error()
}
