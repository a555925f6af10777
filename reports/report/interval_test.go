package report

import "testing"

func TestIntervalText(t *testing.T) {
	for _, c := range []struct {
		value, low, high float64
		unit             string
		share            bool
		want             string
	}{
		{12e6, 9e6, 15e6, "ns", false, "12.0 ±3.0 ms"},
		{704e6, 0, 1501e6, "ns", false, "704 (0 to 1501 ms)"},
		{0.9, 0.5, 1, "", true, "90 (50 to 100 %)"},
		{0.75, 0.75 - 1e-9, 0.75 + 1e-9, "", false, "0.75 ±1e-09"},
		{0, 0, 0, "ns", false, "0"},
		{5, 5, 5, "requests", false, "5"},
	} {
		cell := Cell{}
		cell.Text, cell.Margin, cell.Interval = IntervalText(c.value, c.low, c.high, c.unit, c.share)
		if got := cell.Line(); got != c.want {
			t.Errorf("%v from %v to %v: %q, want %q", c.value, c.low, c.high, got, c.want)
		}
	}
}
