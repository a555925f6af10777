package randomscenario

import (
	"fmt"
	"maps"
	"slices"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// noSeats recomputes when the limits of levels that queue were 0, from the limits of all servers, and compares it with
// the summary and with what is said of it.
func (c *check) noSeats(all *claims) {
	for i := range c.ran.Result.Summary.PriorityLevels {
		p := &c.ran.Result.Summary.PriorityLevels[i]
		want := c.noSeatsOf(p.Name)
		part := ""
		if got := p.NoSeats; want == nil || got == nil {
			if want != nil || got != nil {
				c.fail("level %s: limit of 0 seats %+v, by the limits of the servers %+v", p.Name, got, want)
			}
		} else {
			end, wantEnd := c.toNs, c.toNs
			if got.ToNs != nil {
				end = *got.ToNs
			}
			until := "the end of the run"
			if want.ToNs != nil {
				wantEnd = *want.ToNs
				until = format.Moment(wantEnd)
			}
			if got.TotalNs != want.TotalNs || got.MaxNs != want.MaxNs || got.FromNs != want.FromNs || got.NominalLimit != want.NominalLimit || end != wantEnd {
				c.fail("level %s: limit of 0 seats %+v to %d, by the limits of the servers %+v to %d", p.Name, *got, end, *want, wantEnd)
			}
			part = fmt.Sprintf(" from %s to %s ", format.Moment(want.FromNs), until)
		}
		all.expect(p.Arrived > 0 && want != nil, "Stalls", p.Name, "the limit was 0 seats"+part)
	}
}

func (c *check) noSeatsOf(level string) (none *result.NoSeats) {
	events := c.ran.Seen.Limits
	at := map[int]LevelLimit{} // by server, those that have the level
	sinceNs, nominal := int64(-1), 0
	end := func(nowNs int64) {
		fromNs := max(sinceNs, c.fromNs)
		if sinceNs < 0 || nowNs <= fromNs {
			return
		}
		if none == nil {
			none = &result.NoSeats{}
		}
		none.TotalNs += nowNs - fromNs
		if nowNs-fromNs > none.MaxNs {
			none.MaxNs, none.FromNs, none.NominalLimit, none.ToNs = nowNs-fromNs, fromNs, nominal, nil
			if nowNs < c.toNs {
				none.ToNs = &nowNs
			}
		}
	}
	for i := 0; i < len(events); {
		nowNs := events[i].AtNs
		for ; i < len(events) && events[i].AtNs == nowNs; i++ {
			delete(at, events[i].Server)
			if l, has := events[i].Levels[level]; has {
				at[events[i].Server] = l
			}
		}
		limits := slices.Collect(maps.Values(at))
		zero, now := len(limits) > 0, 0
		for _, l := range limits {
			zero = zero && l.Limit == 0 && l.Queues
			now += l.Nominal
		}
		switch {
		case zero && sinceNs < 0:
			sinceNs, nominal = nowNs, now
		case !zero:
			end(nowNs)
			sinceNs = -1
		}
	}
	end(c.toNs)
	return none
}
