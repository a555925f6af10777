package render

import (
	"strings"
	"testing"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// Characters of two columns, and those of several code points, are aligned by their width.
func TestAlignsWideNames(t *testing.T) {
	table := &report.Table{Title: "Flows", Columns: []report.Column{{Short: "flow", Left: true}, {Short: "wait"}},
		Rows: [][]report.Cell{{report.Word("日本語"), report.Word("3 ms")}, {report.Word("mice"), report.Word("779 µs")}}}
	w := newTextWriter(format.TextOptions{})
	w.table(table, false)
	const want = `
Flows
  flow      wait
  日本語    3 ms
  mice    779 µs
`
	if got := w.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A row has the colour of its judgement, whichever cell states it, and the heads have none.
func TestColoursRows(t *testing.T) {
	table := &report.Table{Columns: []report.Column{{Short: "name", Left: true}, {Short: "verdict"}},
		Rows: [][]report.Cell{{report.Word("a"), {Text: "better", Judgement: "good"}}, {report.Word("b"), {Text: "worse", Judgement: "bad"}}, {report.Word("c"), {Text: "?"}}}}
	w := newTextWriter(format.TextOptions{Colour: true})
	w.rows(table)
	var styles []string
	for line := range strings.Lines(w.String()) {
		style, _, _ := strings.Cut(strings.TrimPrefix(line, "\x1b["), "m")
		styles = append(styles, strings.TrimSpace(style))
	}
	if got, want := strings.Join(styles, "|"), dim+"|"+green+"|"+red+"|c           ?"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
