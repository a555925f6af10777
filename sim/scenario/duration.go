package scenario

import (
	"strconv"
	"strings"
	"time"

	"apfsim/document"

	"github.com/invopop/jsonschema"
)

// Duration is a time span in nanoseconds, from 0 to a hundred years, written as Go does:
// 500ms, 60s, 1h30m.
type Duration int64

// longest keeps the sum of two durations within an int64.
const longest = Duration(100 * 365 * 24 * time.Hour)

// String returns the duration as it is written.
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
		d.Fail(n, path, "%q is no duration; want one such as 60s or 1h30m", document.Abridge(n.Text))
	case value < 0:
		d.Fail(n, path, "%s is negative; want a duration of 0s or more", n.Text)
	case Duration(value) > longest:
		d.Fail(n, path, "%s is more than a hundred years", n.Text)
	default:
		*t = Duration(value)
	}
}

// JSONSchema describes the type.
func (Duration) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		OneOf: []*jsonschema.Schema{
			{Type: "string", Pattern: `^\+?([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$|^0$`},
			{Const: 0},
		},
		Description: "A time span, such as 500ms, 60s or 1h30m.",
	}
}

// Rate is a number of events per second, written per second, minute or hour: 100/s, 5/m,
// 10/h.
type Rate float64

// highest is one event a nanosecond.
const highest = Rate(time.Second)

var rateUnits = map[string]float64{"s": 1, "m": 60, "h": 3600}

// UnmarshalDocument implements document.Unmarshaler.
func (r *Rate) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	switch n.Kind {
	case document.String:
	case document.Number:
		d.Fail(n, path, "%s has no unit; want a rate such as %s/s, per second, or /m or /h", n.Text, n.Text)
		return
	default:
		d.Fail(n, path, "is %v; want a rate such as 100/s", n.Kind)
		return
	}
	number, unit, _ := strings.Cut(n.Text, "/")
	value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	seconds, known := rateUnits[strings.TrimSpace(unit)]
	switch {
	case err != nil || !known || value != value:
		d.Fail(n, path, "%q is no rate; want one such as 100/s, 5/m or 10/h", document.Abridge(n.Text))
	case value < 0:
		d.Fail(n, path, "%s is negative; want a rate of 0/s or more", n.Text)
	case Rate(value/seconds) > highest:
		d.Fail(n, path, "%s is more than 1e9/s, one a nanosecond", n.Text)
	default:
		*r = Rate(value / seconds)
	}
}

// JSONSchema describes the type.
func (Rate) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type:        "string",
		Pattern:     `^ *[+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)? */ *[smh] *$`,
		Description: "Events per second, minute or hour, such as 100/s, 5/m or 10/h.",
	}
}
