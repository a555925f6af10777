package quantity

import (
	"strconv"
	"strings"
	"time"

	"apfsim/document"
)

// Rate is a number of events per second, written per second, minute or hour: 100/s, 5/m,
// 10/h.
type Rate float64

// HighestRate is one event per nanosecond, the resolution of the clock.
const HighestRate = Rate(time.Second)

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
		d.Fail(n, path, "%q is not a rate; want one such as 100/s, 5/m or 10/h", document.Abridge(n.Text))
	case value < 0:
		d.Fail(n, path, "%s is negative; want a rate of 0/s or more", n.Text)
	case Rate(value/seconds) > HighestRate:
		d.Fail(n, path, "%s is more than 1e9/s, one per nanosecond", n.Text)
	default:
		*r = Rate(value / seconds)
	}
}
