package report

import (
	"strings"
	"testing"
	"time"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// The axis of a replay has round times of day, whatever time it begins at.
func TestClockTicks(t *testing.T) {
	start := time.Date(2026, 11, 22, 14, 3, 7, 5e8, time.UTC)
	for _, c := range []struct {
		lasts time.Duration
		want  string
	}{
		{40 * time.Second, "14:03:10Z 14:03:20Z 14:03:30Z 14:03:40Z"},
		{time.Hour, "14:10:00Z 14:20:00Z 14:30:00Z 14:40:00Z 14:50:00Z 15:00:00Z"},
		{12 * time.Hour, "16:00:00Z 18:00:00Z 20:00:00Z 22:00:00Z 2026-11-23 00:00:00Z 2026-11-23 02:00:00Z"},
	} {
		s := &result.Summary{DurationNs: int64(c.lasts)}
		s.StartNs = format.Clock(start.UnixNano())
		axis := timelineOf(s).axis
		at, labels := axis.ClockTicks(7)
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%v: %s, want %s", c.lasts, got, c.want)
		}
		for i, x := range at {
			if got := axis.Moment(x); got != labels[i] {
				t.Errorf("%v: the tick of %s is at %s", c.lasts, labels[i], got)
			}
		}
	}
}
