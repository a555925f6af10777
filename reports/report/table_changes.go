package report

import (
	"fmt"
	"math"
	"strconv"

	"apfsim/reports/compare"
	"apfsim/reports/format"
)

// changeColumns are the columns of the changes of a comparison. On a page and on a terminal the
// other names of a statistic are printed with its name, in Markdown they have a column.
var changeColumns = Definition[compare.Change]{
	{Column: Column{Title: "Statistic", Short: "statistic", Left: true}, Cell: changeNameCell,
		CSV: "statistic", Value: func(c *compare.Change) string { return c.Name }},
	{CSV: "unit", Value: func(c *compare.Change) string { return c.Unit }},
	{CSV: "better", Value: func(c *compare.Change) string { return string(c.Better) }},
	{Column: Column{Title: "Base", Short: "base"}, Cell: func(c *compare.Change) Cell { return baseCell(c) },
		CSV: "base", Value: func(c *compare.Change) string { return format.AllDigits(&c.Base) }},
	{Column: Column{Title: "Head", Short: "head"}, Cell: func(c *compare.Change) Cell { return headCell(c) },
		CSV: "head", Value: func(c *compare.Change) string { return format.AllDigits(&c.Head) }},
	{Column: Column{Title: "Change", Short: "change", Term: "change"}, Cell: differenceCell,
		CSV: "difference", Value: func(c *compare.Change) string { return format.AllDigits(&c.Difference) }},
	{CSV: "low", Value: func(c *compare.Change) string { return format.AllDigits(c.Low) }},
	{CSV: "high", Value: func(c *compare.Change) string { return format.AllDigits(c.High) }},
	{CSV: "relative", Value: func(c *compare.Change) string { return format.AllDigits(c.Relative) }},
	{CSV: "p", Value: func(c *compare.Change) string { return format.AllDigits(c.P) }},
	{CSV: "outcome", Value: func(c *compare.Change) string { return string(c.Outcome) }},
	{Column: Column{Title: "Effect", Term: "better", Left: true, Only: HTML | Markdown}, Cell: judgementCell},
	{Column: Column{Only: Terminal}, Cell: judgementCell},
	{Column: Column{Short: "also", Left: true, Only: Markdown},
		Cell: func(c *compare.Change) Cell { return Cell{Text: compare.ChangeAlso(c, compare.AlsoShown), Code: true} }},
	{CSV: "sameAs", Value: func(c *compare.Change) string { return c.SameAs }},
	{CSV: "judgement", Value: func(c *compare.Change) string { return string(c.Judgement) }},
}

func changeNameCell(c *compare.Change) Cell {
	return Cell{Text: c.Name, Code: true, Also: compare.ChangeAlso(c, compare.AlsoShown)}
}

// sideCell is the value on one side. Where both sides would read the same although they differ, as
// indices near 1 do, they get more digits.
func sideCell(c *compare.Change, x float64, few int64) Cell {
	cell := figure(x, compare.ChangeValue(c, x))
	cell.Few = few
	if c.Outcome == compare.Changed && c.Unit == "" && compare.ChangeValue(c, c.Base) == compare.ChangeValue(c, c.Head) && !c.ID.PrintPercent() {
		cell.Text = strconv.FormatFloat(x, 'g', 6, 64)
	}
	return cell
}

func baseCell(c *compare.Change) Cell { return sideCell(c, c.Base, c.BaseFew) }
func headCell(c *compare.Change) Cell { return sideCell(c, c.Head, c.HeadFew) }

// differenceCell sorts as the list of changes does: by the size relative to the base; a change
// from 0 is the greatest.
func differenceCell(c *compare.Change) Cell {
	text, margin, interval := compare.ChangeText(c)
	cell := figure(math.Copysign(min(c.RelativeSize(), math.MaxFloat64), c.Difference), text)
	cell.Margin, cell.Interval = margin, interval
	return cell
}

func judgementCell(c *compare.Change) Cell {
	word := map[compare.Judgement]string{compare.Improvement: "better", compare.Regression: "worse"}[c.Judgement]
	if c.Outcome == compare.Untested {
		word = "?"
	}
	return Cell{Text: word, Judgement: c.Judgement.Mark()}
}

// ChangeTable is the table of the changes that are listed first.
func ChangeTable(changes []compare.Change) *Table {
	return newChangeTable("changes", "Changes, the greatest first", changes)
}

// allChangesTable is the table of all statistics of a comparison, changed or not, for a page.
func allChangesTable(c *compare.Comparison) *Table {
	shown := c.Changes[:min(mostRows, len(c.Changes))]
	t := newChangeTable("statistics", "Statistics by name, as thresholds call them", shown)
	t.First = firstRows
	if more := len(c.Changes) - len(shown); more > 0 {
		t.Missing = fmt.Sprintf("Left out: %s, all in comparison.json.", format.Counted(more, "statistic"))
	}
	return t
}

func newChangeTable(name, caption string, changes []compare.Change) *Table {
	t := &Table{Name: name, Caption: caption, Columns: changeColumns.Columns(), Reserved: 56}
	for i := range changes {
		t.Rows = append(t.Rows, changeColumns.Row(&changes[i]))
	}
	return t
}
