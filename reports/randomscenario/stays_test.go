package randomscenario

import (
	"cmp"
	"slices"

	"apfsim/sim/server"
)

// stay is a request's time at flow control: it waits from its arrival on, and holds seats from its dispatch on. What has
// not happened by the end of the run happens then.
type stay struct {
	arrivedNs, waitedNs, releasedNs int64
	dispatchedNs                    int64 // waitedNs if it is not dispatched
	asked, seats                    int   // that it waited for, and that it held: dispatch can make it narrower

	executionNs         int64 // that the scenario gives, else 0
	additionalLatencyNs int64 // as estimated at its arrival
}

// stay sets the stays of all lines.
func (c *check) stay() {
	c.stays = make([]stay, len(c.lines))
	lostNs := map[int64]int64{}
	for _, e := range c.ran.Seen.Requests {
		if e.What == Lost {
			lostNs[e.Line] = e.AtNs
		}
	}
	for i := range c.lines {
		l, s := &c.lines[i], &c.stays[i]
		*s = stay{arrivedNs: l.ArrivalNs, waitedNs: c.waitedUntilNs(l), seats: max(1, l.Seats, l.FinalSeats)}
		s.dispatchedNs, s.releasedNs = s.waitedNs, s.waitedNs
		switch {
		case l.DispatchNs == nil:
		case l.FinishNs != nil:
			s.releasedNs = min(*l.FinishNs+l.AdditionalLatencyNs, c.toNs)
			for _, e := range c.ran.Seen.Stages { // the seats end with the server
				if e.Server == l.Server && e.Stage == server.Off && e.AtNs >= *l.FinishNs {
					s.releasedNs = min(s.releasedNs, e.AtNs)
					break
				}
			}
		case l.Outcome == "lost":
			s.releasedNs = lostNs[int64(i)]
		default:
			s.releasedNs = c.toNs
		}
	}
	for _, e := range c.ran.Seen.Requests {
		if e.What == Arrived {
			s := &c.stays[e.Line]
			s.asked, s.executionNs, s.additionalLatencyNs = e.Seats, e.ExecutionNs, e.AdditionalLatencyNs
		}
	}
}

// occupiedNs returns the seat-nanoseconds of a stay from one time to another.
func (s *stay) occupiedNs(fromNs, toNs int64) float64 {
	return float64(s.seats) * float64(max(0, min(toNs, s.releasedNs)-max(fromNs, s.dispatchedNs)))
}

// limitStep is what a level is from a time on: at one server, or all together.
type limitStep struct {
	atNs           int64
	limit, nominal int
	exists, exempt bool
}

// limitsOf returns the limits of a level at a server, or the sums over all that have it, from what each of them said
// whenever its limits may have changed.
func (c *check) limitsOf(level string, server int) (all []limitStep) {
	at := map[int]LevelLimit{}
	for _, e := range c.ran.Seen.Limits {
		if server != allServers && e.Server != server {
			continue
		}
		delete(at, e.Server)
		if l, has := e.Levels[level]; has {
			at[e.Server] = l
		}
		step := limitStep{atNs: e.AtNs, exists: len(at) > 0}
		for _, l := range at {
			step.limit, step.nominal, step.exempt = step.limit+l.Limit, step.nominal+l.Nominal, l.Exempt
		}
		all = append(all, step)
	}
	return all
}

const allServers = -1

// use is how a level's seats and queues were used in the window: integrals over time in nanoseconds.
type use struct {
	seats, waiting        float64
	existed, saturated    float64
	relative, withLimit   float64 // seats in use by the limit, while that is not 0, and how long that was
	peak                  int
	known, exempt, exists bool // it was there at some time, it has no limit, and it is there at the end
	limit                 int  // at the end
}

// course is what is averaged over an interval of a series.
type course struct{ seats, executing, waiting, waitingSeats, limit, nominal float64 }

// useOf goes through the stays of a level from one moment at which anything changes to the next.
func (c *check) useOf(lines []int, limits []limitStep) (u use, intervals []course) {
	type change struct {
		atNs                                       int64
		waiting, waitingSeats, executing, occupied int
	}
	var changes []change
	for _, i := range lines {
		s := &c.stays[i]
		changes = append(changes, change{s.arrivedNs, 1, s.asked, 0, 0}, change{s.waitedNs, -1, -s.asked, 0, 0})
		if s.dispatchedNs < s.releasedNs {
			changes = append(changes, change{s.dispatchedNs, 0, 0, 1, s.seats}, change{s.releasedNs, 0, 0, -1, -s.seats})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.atNs, b.atNs) })
	eachNs := c.eachNs()
	intervals = make([]course, (c.toNs+eachNs-1)/eachNs)
	var now change
	var l limitStep
	for atNs := int64(0); atNs < c.toNs; {
		for ; len(changes) > 0 && changes[0].atNs <= atNs; changes = changes[1:] {
			d := changes[0]
			now.waiting, now.waitingSeats, now.executing, now.occupied = now.waiting+d.waiting, now.waitingSeats+d.waitingSeats, now.executing+d.executing, now.occupied+d.occupied
		}
		for ; len(limits) > 0 && limits[0].atNs <= atNs; limits = limits[1:] {
			exempt := l.exempt
			if l = limits[0]; !l.exists {
				l.exempt = exempt
			}
			u.known = u.known || l.exists
		}
		nextNs := min(c.toNs, (atNs/eachNs+1)*eachNs)
		if atNs < c.fromNs {
			nextNs = min(nextNs, c.fromNs)
		}
		if len(changes) > 0 {
			nextNs = min(nextNs, changes[0].atNs)
		}
		if len(limits) > 0 {
			nextNs = min(nextNs, limits[0].atNs)
		}
		ns := float64(nextNs - atNs)
		p := &intervals[atNs/eachNs]
		p.seats += float64(now.occupied) * ns
		p.executing += float64(now.executing) * ns
		p.waiting += float64(now.waiting) * ns
		p.waitingSeats += float64(now.waitingSeats) * ns
		p.limit += float64(l.limit) * ns
		p.nominal += float64(l.nominal) * ns
		if atNs >= c.fromNs {
			u.peak = max(u.peak, now.occupied)
			u.seats += float64(now.occupied) * ns
			if l.exists {
				u.existed += ns
				u.waiting += float64(now.waiting) * ns
				if now.waiting > 0 || now.occupied >= l.limit {
					u.saturated += ns
				}
				if l.limit > 0 {
					u.withLimit += ns
					u.relative += float64(now.occupied) / float64(l.limit) * ns
				}
			}
		}
		atNs = nextNs
	}
	u.exempt, u.exists, u.limit = l.exempt, l.exists, l.limit
	return u, intervals
}
