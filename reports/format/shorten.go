package format

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Shorten cuts the end off text that is wider than the given number of terminal columns, and puts
// an ellipsis there.
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

// Squeeze cuts the middle out of text that is wider than the given number of terminal columns, and
// puts an ellipsis there. The names of flows differ at their ends.
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
