package scenario

import (
	"strings"

	"apfsim/document"
)

// decodeOneOf decodes an object of which exactly one of the fields in kinds must be given.
func decodeOneOf(d *document.Decoder, n *document.Node, path string, kinds []string, into any) {
	before := len(d.Errors)
	d.Decode(n, path, into)
	var given []string
	for _, kind := range kinds {
		if value := n.Get(kind); value != nil && value.Kind != document.Null {
			given = append(given, kind)
		}
	}
	switch {
	case n.Kind != document.Object:
	case len(given) > 1:
		d.Fail(n, path, "has %s: want one of them", strings.Join(given, " and "))
	case len(given) == 0 && len(d.Errors) == before: // not after a misspelt one
		d.Fail(n, path, "want one of %s", strings.Join(kinds, ", "))
	}
}
