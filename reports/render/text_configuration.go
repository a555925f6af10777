package render

import (
	"bytes"
	"io"
	"strings"

	"apfsim/reports/advice"
	"apfsim/reports/format"
	"apfsim/reports/report"
)

// TextSeats writes how a server's seats are divided among its priority levels.
func TextSeats(w io.Writer, s *advice.SeatDivision) error { return writeTable(w, report.SeatTable(s)) }

// TextCollisions writes a collision table in aligned columns.
func TextCollisions(w io.Writer, c *advice.Collisions) error {
	return writeTable(w, report.CollisionTable(c))
}

// MarkdownCollisions writes a collision table as the Kubernetes documentation has it.
func MarkdownCollisions(w io.Writer, c *advice.Collisions) error {
	var b bytes.Buffer
	table := report.CollisionTable(c)
	var head []string
	for _, column := range table.Columns {
		head = append(head, column.Title)
	}
	markdownRow(&b, head...)
	b.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	for _, row := range table.Rows {
		var cells []string
		for i := range row {
			cells = append(cells, row[i].Text)
		}
		markdownRow(&b, cells...)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeTable writes a table alone, without colours.
func writeTable(w io.Writer, table *report.Table) error {
	t := newTextWriter(format.TextOptions{})
	t.rows(table)
	_, err := w.Write(t.Bytes())
	return err
}
