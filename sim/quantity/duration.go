// Package quantity reads the quantities of a scenario file: durations, rates, numbers of bytes and
// distributions of durations. A struct that a document is decoded into has fields of these types;
// each is decoded from text with its unit, and is checked against its bounds then.
package quantity

import (
	"time"

	"apfsim/document"
)

// Duration is a time span in nanoseconds, from 0 to [Longest], written as Go does: 500ms, 60s,
// 1h30m.
type Duration int64

// Longest is a hundred years, so that the sum of two durations fits an int64.
const Longest = Duration(100 * 365 * 24 * time.Hour)

// String returns the duration as a file has it.
func (t Duration) String() string { return time.Duration(t).String() }

// UnmarshalDocument implements document.Unmarshaler.
func (t *Duration) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	if n.Kind != document.String && n.Kind != document.Number {
		d.Fail(n, path, "is %v; want a duration such as 60s or 1h30m", n.Kind)
		return
	}
	value, err := time.ParseDuration(n.Text)
	switch {
	case n.Kind == document.Number && err != nil:
		d.Fail(n, path, "%s has no unit; want a duration such as 60s or 1h30m", n.Text)
	case err != nil:
		d.Fail(n, path, "%q is not a duration; want one such as 60s or 1h30m", document.Abridge(n.Text))
	case value < 0:
		d.Fail(n, path, "%s is negative; want a duration of 0s or more", n.Text)
	case Duration(value) > Longest:
		d.Fail(n, path, "%s is more than a hundred years", n.Text)
	default:
		*t = Duration(value)
	}
}
