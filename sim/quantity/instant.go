package quantity

import (
	"time"

	"apfsim/document"
)

// Instant is a time of day on a date, in nanoseconds since 1970 UTC, written as RFC 3339 has it: 2026-11-22T14:03:00Z. It is 0
// if it is not given.
type Instant int64

// UnmarshalDocument implements document.Unmarshaler.
func (t *Instant) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	value, err := time.Parse(time.RFC3339Nano, n.Text)
	switch {
	case n.Kind != document.String && n.Kind != document.Number:
		d.Fail(n, path, "is %v; want a time such as 2026-11-22T14:03:00Z", n.Kind)
	case err != nil:
		d.Fail(n, path, "%q is not a time; want one such as 2026-11-22T14:03:00Z", document.Abridge(n.Text))
	case value.Year() < 1970 || value.Year() > 2200:
		d.Fail(n, path, "%s is not between 1970 and 2200", document.Abridge(n.Text))
	default:
		*t = Instant(value.UnixNano())
	}
}
