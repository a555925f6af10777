package render

import (
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// aligned is text in aligned columns, two spaces before each.
//
// text/tabwriter gives every character one column, so that a table with Chinese names is not aligned.
// jedib0t/go-pretty aligns them correctly, but it brings three more modules and its borders, padding and
// capitals must be switched off; olekukonko/tablewriter is a library of the same kind. All that is specific
// here would remain: names are shortened in the middle to the width of the terminal, a line has the colour
// of the judgement in its row, and a line with the other names of a statistic may follow a row.
type aligned struct {
	left []bool // by column: flush left; columns beyond the slice are flush right
	rows [][]string
}

func (t *aligned) row(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the table, each line passed through style with its row number.
func (t *aligned) write(w io.Writer, style func(row int, line string) string) error {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], shownWidth(c))
		}
	}
	var out strings.Builder
	for n, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-shownWidth(c))
			if i < len(t.left) && t.left[i] {
				line.WriteString("  " + c + pad)
			} else {
				line.WriteString("  " + pad + c)
			}
		}
		out.WriteString(style(n, strings.TrimRight(line.String(), " ")) + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// shownWidth returns how many columns of a terminal a text takes, which may be dim.
func shownWidth(text string) int {
	if inner, ok := strings.CutPrefix(text, dimBegin); ok {
		text = strings.TrimSuffix(inner, dimEnd)
	}
	return uniseg.StringWidth(text)
}
