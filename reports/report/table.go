package report

import (
	"apfsim/reports/format"
	"apfsim/reports/judge"

	"github.com/rivo/uniseg"
)

// Form is a form in which a table is printed, or a set of them.
type Form uint8

// The forms. CSV has columns of its own names: see ColumnOf.
const (
	HTML     Form = 1 << iota // an HTML page: the long form
	Terminal                  // the short form
	Markdown
	Brief // the first screen of a terminal: see Document.Brief
)

// has reports whether the set, which is all forms if it is empty, has a form.
func (f Form) has(form Form) bool { return f == 0 || f&form != 0 }

// Column is the head of a column, and how it is printed.
type Column struct {
	Title string // the head on a page
	Short string // the head on a terminal and in Markdown
	Term  string // the key of its explanation in the glossary; may be empty
	Left  bool   // flush left, as words are; numbers are flush right
	Only  Form   // the forms that have the column; 0 for all
	Width int    // on a terminal, longer text is cut to this many characters; 0: it is not
	Wide  bool   // neither a narrow terminal nor a table beside others on a page has the column
}

// ColumnOf is a column of a table whose rows are made from values of type R.
type ColumnOf[R any] struct {
	Column
	Cell func(*R) Cell // nil when only CSV has the column

	CSV   string          // the column's name in CSV; empty when CSV does not have it
	Value func(*R) string // what CSV has in the column
}

// Definition is the columns of a table, in order.
type Definition[R any] []ColumnOf[R]

// Columns returns the columns for all forms but CSV.
func (d Definition[R]) Columns() []Column {
	var columns []Column
	for i := range d {
		if d[i].Cell != nil {
			columns = append(columns, d[i].Column)
		}
	}
	return columns
}

// Row returns a row's cells, one for each of Columns.
func (d Definition[R]) Row(r *R) []Cell {
	cells := make([]Cell, 0, len(d))
	for i := range d {
		if d[i].Cell != nil {
			cells = append(cells, d[i].Cell(r))
		}
	}
	return cells
}

// Head returns the names of the columns in CSV.
func (d Definition[R]) Head() []string {
	var names []string
	for i := range d {
		if d[i].CSV != "" {
			names = append(names, d[i].CSV)
		}
	}
	return names
}

// Record returns a row in CSV, one field for each name of Head.
func (d Definition[R]) Record(r *R) []string {
	fields := make([]string, 0, len(d))
	for i := range d {
		if d[i].CSV != "" {
			fields = append(fields, d[i].Value(r))
		}
	}
	return fields
}

// Table is a table that is ready to be printed. On a page the reader can sort its rows, and
// filter them if there are many.
type Table struct {
	Name    string // in links: letters, digits and hyphens
	Title   string // the heading above it on a terminal and in Markdown
	Caption string // on a page
	Columns []Column
	Rows    [][]Cell // each begins with the cell that names it
	First   int      // a page shows this many rows until the reader asks for the others; 0: all
	Last    int      // this many rows at the end are totals, which sorting does not move
	Missing string   // a sentence that says what is left out; may be empty
	Compact bool     // Markdown has the titles of the columns, and all flush left, as the documentation of Kubernetes
	NoHead  bool     // a terminal prints the rows without the heads of the columns
	Flush   bool     // a terminal does not indent the rows
	Brief   int      // a terminal shows this many rows at most, and says how many more there are; 0: all

	// Reserved is how many characters of a terminal's line the columns after the first need at least. Names
	// in the first column are cut to what these leave. 0: they are not cut.
	Reserved int
}

// In returns the table with only the columns of a form.
func (t *Table) In(form Form) *Table {
	return t.withColumns(func(c *Column) bool { return c.Only.has(form) })
}

// Narrow returns the table without the columns that need a wide place.
func (t *Table) Narrow() *Table { return t.withColumns(func(c *Column) bool { return !c.Wide }) }

// withColumns returns the table with only the columns that are wanted.
func (t *Table) withColumns(wanted func(*Column) bool) *Table {
	in := *t
	in.Columns, in.Rows = nil, make([][]Cell, len(t.Rows))
	for i, c := range t.Columns {
		if wanted(&c) {
			in.Columns = append(in.Columns, c)
			for k, row := range t.Rows {
				in.Rows[k] = append(in.Rows[k], row[i])
			}
		}
	}
	return &in
}

// A long table has mostRows rows at most, so that the page opens at once, and shows firstRows of them
// at first.
const (
	mostRows  = 5000
	firstRows = 50
)

// Long reports whether a page hides some rows at first.
func (t *Table) Long() bool { return t.Shown() < len(t.Rows) }

// Shown returns how many rows a page shows at first.
func (t *Table) Shown() int {
	if t.First == 0 || t.First >= len(t.Rows) {
		return len(t.Rows)
	}
	return t.First
}

// Named reports whether the rows are named by code, as statistics are. Such names are long: a
// narrow page shows them above their rows.
func (t *Table) Named() bool { return len(t.Rows) > 0 && t.Rows[0][0].Code }

// Figures returns how many columns there are after the one with the names.
func (t *Table) Figures() int { return len(t.Columns) - 1 }

// Measure returns how wide a page makes the column with the names, in characters. Longer names
// are broken into lines.
func (t *Table) Measure() int {
	measure := 0
	for _, row := range t.Rows {
		measure = max(measure, uniseg.StringWidth(row[0].Text))
	}
	return min(measure, 34)
}

// Cell is one cell of a table.
type Cell struct {
	Text      string
	Margin    string    // half the width of the value's confidence interval, as "3 ms"; may be empty
	Interval  string    // the confidence interval instead of its half, if it is not symmetric, as "0 to 5 ms"; may be empty
	Range     string    // the range of the runs, if there is no interval, as "1 to 5 ms"; may be empty
	Also      string    // other names of the row, in its first cell; may be empty
	Whole     string    // the whole of what Text has in short, which a page shows as a tooltip; may be empty
	Few       int64     // how many values a percentile is of, if they are too few for it (measure.Enough); else 0
	Value     float64   // the number that rows are sorted by, if Number is set
	Number    bool      // whether Value is set
	Code      bool      // Text is from a file or a command line
	Judgement Judgement // the judgement that the cell states: a terminal colours the row by it
	Bar       *CellBar  // a page draws it below the text; may be nil
}

// Line returns the text, the margin and the number of values in one line, as "12 ±3 ms (n 7)",
// "2 (0 to 5 ms)" or "2 [1 to 5 ms]".
func (c *Cell) Line() string {
	text := c.Text
	if c.Margin != "" {
		text += " ±" + c.Margin
	}
	if c.Interval != "" {
		text += " (" + c.Interval + ")"
	}
	if c.Range != "" {
		text += " [" + c.Range + "]"
	}
	if c.Few > 0 {
		text += " (" + c.FewText() + ")"
	}
	return text
}

// FewText states how many values a percentile is of.
func (c *Cell) FewText() string { return "n " + format.Quantity(c.Few) }

// CellBar is a quantity and the one that it is compared with, both as shares of the greatest in
// their column.
type CellBar struct {
	Value, Mark float64
}

// Low reports whether the quantity is so much less than the other one that a page points it out.
func (b *CellBar) Low() bool { return b.Value < judge.UnderservedRatio*b.Mark }

// Word is a cell of text.
func Word(text string) Cell { return Cell{Text: text} }

// figure is a cell with a number, which text formats.
func figure(value float64, text string) Cell { return Cell{Text: text, Value: value, Number: true} }

// noValue is the cell of a statistic without samples.
var noValue = Word("–")

func countCell(n int64) Cell { return figure(float64(n), format.Quantity(n)) }

func shareCell(part, whole int64) Cell {
	if whole == 0 {
		return noValue
	}
	return figure(float64(part)/float64(whole), format.ShareOf(part, whole))
}

func durationCell(ns int64) Cell { return figure(float64(ns), format.Duration(float64(ns))) }

func percentCell(share float64) Cell { return figure(share, format.Percent(share)) }

func seatSecondsCell(x float64) Cell { return figure(x, format.Number(x)) }

// TextTable returns a table of texts without rows. Its columns have no heads if the first has none.
func TextTable(title string, heads ...string) *Table {
	t := &Table{Title: title, NoHead: heads[0] == ""}
	for _, head := range heads {
		t.Columns = append(t.Columns, Column{Title: head, Short: head, Left: true})
	}
	return t
}

// AddTexts adds a row.
func (t *Table) AddTexts(texts ...string) {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i] = Word(text)
	}
	t.Rows = append(t.Rows, row)
}
