package requests

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// farDays is how far from the median of its server's log the time of a line may be. A log of so many days is read whole, however
// its lines are distributed; one clock that was never set, or set to another year, would make a replay of decades.
const farDays = 100

const dayNs = int64(24 * time.Hour)

// days counts the lines of a log by the day on which their stage was reached, so that the median needs little memory.
type days map[int64]*day

type day struct{ lines, firstNs, lastNs int64 }

func (d days) add(ns int64) {
	at := d[ns/dayNs]
	if at == nil {
		at = &day{firstNs: ns, lastNs: ns}
		d[ns/dayNs] = at
	}
	at.lines++
	at.firstNs, at.lastNs = min(at.firstNs, ns), max(at.lastNs, ns)
}

// median returns the day of the median line, the later one of two, because more clocks were never set than are ahead.
func (d days) median() (median int64) {
	var all, before int64
	for _, at := range d {
		all += at.lines
	}
	for _, median = range slices.Sorted(maps.Keys(d)) {
		if before += d[median].lines; before > all/2 {
			break
		}
	}
	return median
}

// judgeClocks finds out when the log of each server begins and ends, without the lines whose clocks were wrong.
func (r *Log) judgeClocks() {
	for _, s := range r.Servers {
		s.medianDay = s.days.median()
		s.BeginNs = -1
		for _, on := range slices.Sorted(maps.Keys(s.days)) {
			if at := s.days[on]; s.near(at.firstNs) {
				if s.BeginNs < 0 {
					s.BeginNs = at.firstNs
				}
				s.EndNs = at.lastNs
			}
		}
	}
}

// near reports whether a time can be that of a line of the log.
func (s *Server) near(ns int64) bool {
	return max(ns/dayNs-s.medianDay, s.medianDay-ns/dayNs) <= farDays
}

// wrongClock returns why the times of a line cannot be right, "" if they can.
func (s *Server) wrongClock(l *located) string {
	for _, ns := range []int64{l.ArrivalNs, l.StageNs} {
		if !s.near(ns) {
			return fmt.Sprintf("the time %s is more than %d days from the median of the log, which is on %s",
				time.Unix(0, ns).UTC().Format(time.RFC3339), farDays, time.Unix(0, s.medianDay*dayNs).UTC().Format(time.DateOnly))
		}
	}
	return ""
}
