package output

import (
	"io"

	"apfsim/reports/advice"
	"apfsim/reports/format"
	"apfsim/reports/render"
)

// CollisionFormats are the formats of WriteCollisions.
var CollisionFormats = []string{"markdown", "text", "csv", "json"}

// WriteCollisions writes a collision table in one of CollisionFormats. Exact values have all their
// digits.
func WriteCollisions(w io.Writer, c *advice.Collisions, as string) error {
	switch as {
	case "markdown":
		return render.MarkdownCollisions(w, c)
	case "text":
		return render.TextCollisions(w, c)
	case "csv":
		return render.CSVCollisions(w, c)
	case "json":
		return format.WriteJSON(w, c)
	}
	panic("output: no format " + as)
}
