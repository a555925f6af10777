package report

import (
	"fmt"

	"apfsim/reports/compare"
	"apfsim/reports/format"
)

// valueChange is a change of one statistic from the base to one value of the parameter.
type valueChange struct {
	value string
	*compare.Change
}

// valueColumns returns the columns of the CSV file of a comparison of several values: the value, and those
// of the comparison of two sides.
func valueColumns() Definition[valueChange] {
	columns := Definition[valueChange]{{CSV: "value", Value: func(c *valueChange) string { return c.value }}}
	for _, column := range changeColumns {
		if column.CSV != "" {
			columns = append(columns, ColumnOf[valueChange]{CSV: column.CSV, Value: func(c *valueChange) string { return column.Value(c.Change) }})
		}
	}
	return columns
}

// valueChanges returns the rows of valueColumns: the changes to each value, one value after the other.
func valueChanges(v *compare.Values) (rows []valueChange) {
	for i, value := range v.HeadValues() {
		for k := range v.Comparisons[i].Changes {
			rows = append(rows, valueChange{value, &v.Comparisons[i].Changes[k]})
		}
	}
	return rows
}

// valueCountTable is the table with a row for each value: how many statistics changed there.
func valueCountTable(v *compare.Values) *Table {
	t := &Table{Name: "values", Title: "Changes from " + v.BaseSide().Label, Columns: []Column{
		{Title: v.Parameter, Short: v.Parameter, Left: true}, {Title: "Changed", Short: "changed"}, {Title: "Of", Short: "of"},
		{Title: "Better", Short: "better"}, {Title: "Worse", Short: "worse"}}}
	t.Caption = t.Title + ": statistics that changed"
	for i, value := range v.HeadValues() {
		c := v.Comparisons[i]
		improvements, regressions := c.Judged()
		t.Rows = append(t.Rows, []Cell{Word(value), countCell(int64(c.Distinct.Changed)), countCell(int64(c.Total())),
			countCell(int64(improvements)), countCell(int64(regressions))})
	}
	return t
}

// valueListTable is the table of some statistics with a row for each value, which is narrow enough for a
// terminal.
func valueListTable(v *compare.Values, rows []compare.ValueRow) *Table {
	t := &Table{Reserved: 56, Columns: []Column{{Short: "statistic", Left: true}, {Short: v.Parameter, Left: true},
		{Short: "mean"}, {Short: "change"}, {Left: true}}}
	for i := range rows {
		change := rows[i].Any()
		name := Cell{Text: rows[i].Name, Code: true}
		t.Rows = append(t.Rows, []Cell{name, Word(v.Base), baseCell(change), Word("base"), {}})
		for k, value := range v.HeadValues() {
			row := []Cell{{}, Word(value), noValue, {}, {}}
			if c := rows[i].Changes[k]; c != nil {
				row = append(row[:2], headCell(c), differenceCell(c), judgementCell(c))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// valueTable is the table of some statistics with a column for each value: the mean, the change from
// the base and whether it is better or worse.
func valueTable(v *compare.Values, name, caption string, rows []compare.ValueRow) *Table {
	base := fmt.Sprintf("%s (base)", v.Base)
	t := &Table{Name: name, Caption: caption, Columns: []Column{
		{Title: "Statistic", Short: "statistic", Left: true}, {Title: base, Short: base}}}
	for _, value := range v.HeadValues() {
		t.Columns = append(t.Columns, Column{Title: value, Short: value, Term: "change"})
	}
	for i := range rows[:min(mostRows, len(rows))] {
		change := rows[i].Any()
		row := []Cell{{Text: rows[i].Name, Code: true}, baseCell(change)}
		for _, c := range rows[i].Changes {
			row = append(row, pointCell(c))
		}
		t.Rows = append(t.Rows, row)
	}
	if more := len(rows) - len(t.Rows); more > 0 {
		t.Missing = fmt.Sprintf("Left out: %s, all in comparison.json.", format.Counted(more, "statistic"))
	}
	return t
}

// pointCell states the mean at a value and the change from the base; it sorts by the mean.
func pointCell(c *compare.Change) Cell {
	if c == nil {
		return noValue
	}
	cell, change, judgement := headCell(c), differenceCell(c), judgementCell(c)
	cell.Text += ", " + change.Line()
	if judgement.Text != "" {
		cell.Text += ", " + judgement.Text
	}
	cell.Judgement = judgement.Judgement
	return cell
}

// allValuesTable is the table of all statistics at all values, for a page.
func allValuesTable(v *compare.Values, rows []compare.ValueRow) *Table {
	t := valueTable(v, "statistics", "Statistics by name, as thresholds call them", rows)
	t.First = firstRows
	return t
}
