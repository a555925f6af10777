package format

import (
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// TextTable is text in aligned columns.
type TextTable struct {
	Rows [][]string // the first is the head
	Left int        // so many columns are flush left, the others right
}

func (t *TextTable) Row(cells ...string) { t.Rows = append(t.Rows, cells) }

// Write prints the table, indented, each line passed through style with its row number.
func (t *TextTable) Write(w io.Writer, style func(row int, line string) string) {
	var widths []int
	for _, row := range t.Rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(c))
		}
	}
	for n, row := range t.Rows {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-uniseg.StringWidth(c))
			if i < t.Left {
				line.WriteString("  " + c + pad)
			} else {
				line.WriteString("  " + pad + c)
			}
		}
		io.WriteString(w, style(n, strings.TrimRight(line.String(), " "))+"\n")
	}
}

// WritePlain prints the table without styles.
func (t *TextTable) WritePlain(w io.Writer) error {
	var b strings.Builder
	t.Write(&b, func(_ int, line string) string { return line })
	_, err := io.WriteString(w, b.String())
	return err
}

// Shorten cuts text to so many columns, with an ellipsis where something was cut.
func Shorten(s string, columns int) string {
	if uniseg.StringWidth(s) <= columns {
		return s
	}
	var out strings.Builder
	width := 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if width+g.Width() > columns-1 {
			break
		}
		width += g.Width()
		out.WriteString(g.Str())
	}
	return out.String() + "…"
}

// Squeeze cuts the middle out of text that is longer than so many columns: of flows,
// the end tells most.
func Squeeze(s string, columns int) string {
	width := uniseg.StringWidth(s)
	if width <= columns {
		return s
	}
	head := columns / 3
	var start, end strings.Builder
	at := 0
	for g := uniseg.NewGraphemes(s); g.Next(); at += g.Width() {
		switch {
		case at+g.Width() <= head:
			start.WriteString(g.Str())
		case at >= width-(columns-head-1):
			end.WriteString(g.Str())
		}
	}
	return start.String() + "…" + end.String()
}

// Printable replaces what would move the cursor or confuse a terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 {
			return '�'
		}
		return r
	}, s)
}
