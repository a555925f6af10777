package collect

import (
	"apfsim/reports/result"
	"apfsim/sim/server"
)

// seatUse integrates the seats in use at all priority levels together. Their mean is the sum of the levels' means;
// their peak is not the sum of the peaks.
type seatUse struct {
	inUse   int
	sinceNs int64
	peak    int // within the window, up to sinceNs
}

// add changes the number of seats in use. The window begins at fromNs.
func (u *seatUse) add(nowNs, fromNs int64, seats int) {
	if u.inUse > u.peak && nowNs > max(u.sinceNs, fromNs) {
		u.peak = u.inUse
	}
	u.sinceNs = nowNs
	u.inUse += seats
}

// use returns the use of limit seats at the levels within the window, which ends now.
func (u *seatUse) use(nowNs, fromNs int64, limit int, levels []*level) *result.SeatUse {
	u.add(nowNs, fromNs, 0)
	seatNs := 0.0
	for _, l := range levels {
		if l != nil && l.name != "" {
			seatNs += l.window.seatNs
		}
	}
	mean := seatNs / float64(nowNs-fromNs)
	return &result.SeatUse{Mean: mean, Peak: u.peak, Share: mean / float64(limit)}
}

// addSeatsInUse changes the seats in use by those that a request takes, or gives back if the number is negative. Requests that
// flow control does not handle take none.
func (c *Collector) addSeatsInUse(nowNs int64, l *level, at int16, seats int) {
	if l.name == "" {
		return
	}
	c.seats.add(nowNs, c.fromNs, seats)
	if c.servers != nil {
		c.servers[at].seats.add(nowNs, c.fromNs, seats)
	}
}

// addSeats adds the use of all seats to the summary of all requests and of those of each server.
func (c *Collector) addSeats(s *result.Summary) {
	servers := &c.scenario.Spec.Servers
	limit := servers.MaxRequestsInflight + servers.MaxMutatingRequestsInflight
	if s.FlowControl != server.PriorityAndFairness || limit == 0 {
		return
	}
	s.Total.Seats = c.seats.use(c.toNs, c.fromNs, limit*max(1, len(c.servers)), c.levels)
	for i := range s.Servers {
		s.Servers[i].Seats = c.servers[i].seats.use(c.toNs, c.fromNs, limit, c.servers[i].levels)
	}
}
