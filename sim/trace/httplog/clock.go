package httplog

import (
	"errors"
	"time"

	"apfsim/sim/trace/serverlog"
)

// Clock completes the times of klog headers, which have neither a year nor a zone.
type Clock struct {
	// Zone is that of the server. The default is UTC, which is that of a container.
	Zone *time.Location
	// Reference is a time near those of the log, such as when the file was last modified: the year is the
	// one that brings a header nearest to it.
	Reference time.Time
}

// errYear is the error of a header to which no year can be given.
var errYear = errors.New("the times of a klog header have no year; " +
	"give the time at which the log was written, or its year")

// zoneStep divides all offsets of zones from UTC.
const zoneStep = 15 * time.Minute

// headerTime is the time in a klog header.
type headerTime struct{ month, day, hour, minute, second, nanosecond int }

// complete returns the time of a header in nanoseconds since 1970. Recorded is when the line was received from
// the server, or zero. It determines the year and, if the clock has no zone, the zone: that in which the header
// and recorded differ by less than 7.5 minutes.
func (c *Clock) complete(h headerTime, recorded time.Time) (int64, error) {
	near, zone := recorded, c.Zone
	if near.IsZero() {
		near = c.Reference
	}
	if near.IsZero() {
		return 0, errYear
	}
	if zone == nil {
		zone = time.UTC
	}
	var best time.Time
	for year := near.Year() - 1; year <= near.Year()+1; year++ {
		t := time.Date(year, time.Month(h.month), h.day, h.hour, h.minute, h.second, h.nanosecond, zone)
		if int(t.Month()) != h.month {
			continue // 29 February of a year without one
		}
		if best.IsZero() || t.Sub(near).Abs() < best.Sub(near).Abs() {
			best = t
		}
	}
	if best.IsZero() {
		return 0, errors.New("the date of the header is 29 February, and no year near the reference has one")
	}
	if c.Zone == nil && !recorded.IsZero() {
		best = best.Add(-best.Sub(recorded).Round(zoneStep))
	}
	return serverlog.Nanoseconds(best, "the time of the header")
}
