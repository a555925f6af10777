// Package tables defines the columns and rows of the tables that reports show.
package tables

import (
	"apfsim/reports/judge"

	_ "embed"

	"github.com/rivo/uniseg"
)

// Long says whether the table has rows that are not shown at first.
func (t *Table) Long() bool { return t.Shown() < len(t.Rows) }

func (t *Table) Shown() int {
	if t.First == 0 || t.First >= len(t.Rows) {
		return len(t.Rows)
	}
	return t.First
}

// Named says whether the rows are named by code, as statistics are. Such names are long, and
// stand above their rows where the page is narrow.
func (t *Table) Named() bool { return len(t.Rows) > 0 && t.Rows[0][0].Code }

// Figures is how many columns there are beside the names.
func (t *Table) Figures() int { return len(t.Columns) - 1 }

// Measure is how wide the names are, in characters; very long ones break.
func (t *Table) Measure() int {
	measure := 0
	for _, row := range t.Rows {
		measure = max(measure, uniseg.StringWidth(row[0].Text))
	}
	return min(measure, 34)
}

// Table is a table whose rows the reader can sort, and filter if there are many.
type Table struct {
	Name    string // in links: letters, digits and hyphens
	Caption string
	Columns []Column
	Rows    [][]Cell // each begins with the cell that names it
	First   int      // so many rows are shown until the reader asks for the others; 0: all
	Last    int      // so many rows at the end stay there: totals
	Missing string   // what is left out, in a sentence; may be empty
}

// Column is the head of a column.
type Column struct {
	Title string
	Term  string // key of its explanation in the glossary; may be empty
	Left  bool   // flush left, as words are
}

// Cell is what stands in a row below a column.
type Cell struct {
	Text   string
	Margin string  // behind the text: how far off it may be, as "± 3 ms"; may be empty
	Value  float64 // what the row sorts by, if Number is set
	Number bool
	Code   bool // text of a file or a command
	Mood   judge.Mood
	Bar    *Bar // drawn below the text; may be nil
}

// Bar is a quantity beside another that it is measured by, both as shares of the greatest in
// their column.
type Bar struct {
	Value, Mark float64
}
