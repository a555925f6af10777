package text

import (
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// aligned is text in aligned columns, two spaces before each.
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
			widths[i] = max(widths[i], uniseg.StringWidth(c))
		}
	}
	var out strings.Builder
	for n, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-uniseg.StringWidth(c))
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
