package randomscenario

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"apfsim/core/queueset"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
)

// eachNs returns the length of the intervals of the series.
func (c *check) eachNs() int64 { return result.Interval(c.toNs) }

// counted is what happens in an interval.
type counted struct {
	arrived, dispatched, executed, refused, lost int64
	rejected                                     map[string]int64 // by reason
}

func (n *counted) allRejected() (sum int64) {
	for _, of := range n.rejected {
		sum += of
	}
	return sum
}

// countedIn returns what happens to some lines in each interval. What happens at the moment at which an interval ends is in
// the next one.
func (c *check) countedIn(lines []int) []counted {
	eachNs := c.eachNs()
	all := make([]counted, (c.toNs+eachNs-1)/eachNs)
	at := func(ns int64) *counted { return &all[min(ns/eachNs, int64(len(all)-1))] }
	for _, i := range lines {
		l := &c.lines[i]
		if l.Outcome == "refused" {
			at(l.ArrivalNs).refused++
			continue
		}
		at(l.ArrivalNs).arrived++
		if l.DispatchNs != nil {
			at(*l.DispatchNs).dispatched++
		}
		switch l.Outcome {
		case "executed":
			at(*l.FinishNs).executed++
		case "lost":
			at(c.stays[i].releasedNs).lost++
		case "rejected":
			n := at(l.ArrivalNs + *l.WaitNs)
			if n.rejected == nil {
				n.rejected = map[string]int64{}
			}
			n.rejected[l.Reason]++
		}
	}
	return all
}

// rejections compares rejections by reason.
func (c *check) rejections(what string, at int, got *[queueset.Rejections]int64, want map[string]int64) {
	for why, n := range got {
		if reason := queueset.Rejection(why).String(); n != want[reason] {
			c.fail("%s, interval %d: %d rejected for %q, in the log %d", what, at, n, reason, want[reason])
		}
	}
}

// interval checks the times of a point, and that it is one of so many.
func (c *check) interval(what string, at, n int, startNs, endNs int64) bool {
	eachNs := c.eachNs()
	if fromNs := int64(at) * eachNs; startNs != fromNs || endNs != min(fromNs+eachNs, c.toNs) || int64(n) != (c.toNs+eachNs-1)/eachNs {
		c.fail("%s: point %d of %d is from %d to %d ns", what, at, n, startNs, endNs)
		return false
	}
	return true
}

// series compares each interval of each series, which cover the whole run, with the log.
func (c *check) series() {
	r := c.ran.Result
	lines := c.linesBy(func(l *Line) string { return l.PriorityLevel })
	for _, s := range r.Series {
		c.levelSeries("series of level "+s.Level, s, lines[s.Level], c.limitsOf(s.Level, allServers))
		c.queueLengths("series of level "+s.Level, s, lines[s.Level])
		c.fairnessSeries(s, lines[s.Level])
	}
	byWorkload := map[string][]int{}
	byServer := map[int][]int{}
	for i := range c.lines {
		l := &c.lines[i]
		byWorkload[l.Workload] = append(byWorkload[l.Workload], i)
		byServer[l.Server] = append(byServer[l.Server], i)
	}
	for _, s := range r.WorkloadSeries {
		c.workloadSeries(s, byWorkload[s.Workload])
	}
	c.limitMarks(byWorkload)
	atServers := c.linesBy(atServer)
	for _, s := range r.ServerSeries {
		c.serverSeries(s, byServer[s.Server])
		for _, series := range s.Levels {
			what := "series of server " + strconv.Itoa(s.Server) + " and level " + series.Level
			c.levelSeries(what, series, atServers[keyAtServer(s.Server, series.Level)], c.limitsOf(series.Level, s.Server))
			for at := range series.Points {
				if series.Points[at].Jain != nil {
					c.fail("%s: Jain's index at one server", what)
				}
			}
		}
	}
}

func (c *check) levelSeries(what string, s *result.Series, lines []int, limits []limitStep) {
	u, courses := c.useOf(lines, limits)
	counts := c.countedIn(lines)
	if want := u.known && !u.exempt; s.Limited != want {
		c.fail("%s: limited %v, want %v", what, s.Limited, want)
	}
	for at := range s.Points {
		p := &s.Points[at]
		if !c.interval(what, at, len(s.Points), p.StartNs, p.EndNs) {
			return
		}
		ns, want, n := float64(p.EndNs-p.StartNs), &courses[at], &counts[at]
		for _, v := range []struct {
			name      string
			got, want float64
		}{{"seats in use", p.SeatsInUse, want.seats}, {"executing requests", p.ExecutingRequests, want.executing}, {"waiting requests", p.WaitingRequests, want.waiting},
			{"waiting seats", p.WaitingSeats, want.waitingSeats}, {"limit", p.CurrentLimit, want.limit}, {"nominal limit", p.NominalLimit, want.nominal}} {
			if !isNear(v.got, v.want/ns) {
				c.fail("%s, interval %d: %s %v, of the log %v", what, at, v.name, v.got, v.want/ns)
			}
		}
		if p.Arrived != n.arrived || p.Dispatched != n.dispatched {
			c.fail("%s, interval %d: %d arrived and %d dispatched, in the log %d and %d", what, at, p.Arrived, p.Dispatched, n.arrived, n.dispatched)
		}
		c.rejections(what, at, &p.Rejected, n.rejected)
	}
}

// queueLengths compares the lengths of the queues at the beginning of each interval with the log, which has the queue of
// each request, unless a change of the configuration could have given it another one.
func (c *check) queueLengths(what string, s *result.Series, lines []int) {
	if len(s.QueueLengths) != len(s.Points) {
		c.fail("%s: %d lengths of queues, want %d", what, len(s.QueueLengths), len(s.Points))
		return
	}
	eachNs := c.eachNs()
	changed := slices.ContainsFunc(c.ran.Scenario.Spec.Events, func(e scenario.Event) bool { return e.Apply != nil }) || c.ran.Scenario.Spec.Servers.Maintenance
	want := make([]map[int]int32, len(s.Points))
	for _, i := range lines {
		l := &c.lines[i]
		for at := l.ArrivalNs/eachNs + 1; at < int64(len(want)) && at*eachNs <= c.stays[i].waitedNs; at++ {
			if want[at] == nil {
				want[at] = map[int]int32{}
			}
			want[at][l.Queue]++
		}
	}
	for at, lengths := range s.QueueLengths {
		got, all := map[int]int32{}, [2]int32{}
		for queue, n := range lengths {
			all[0] += n
			if n > 0 {
				got[queue] = n
			}
		}
		for _, n := range want[at] {
			all[1] += n
		}
		differs := all[0] != all[1] || (lengths != nil) != (want[at] != nil)
		for queue, n := range want[at] {
			differs = differs || !changed && got[queue] != n
		}
		if differs {
			c.fail("%s, interval %d: lengths of queues %v, of the log %v", what, at, got, want[at])
		}
	}
}

func (c *check) workloadSeries(s *result.WorkloadSeries, lines []int) {
	what, eachNs := "series of workload "+s.Workload, c.eachNs()
	counts := c.countedIn(lines)
	waits, oldestNs := make([][]int64, len(counts)), make([]int64, len(counts))
	for _, i := range lines {
		l, from := &c.lines[i], c.lines[i].ArrivalNs/eachNs
		if l.DispatchNs != nil {
			waits[from] = append(waits[from], *l.DispatchNs-l.ArrivalNs)
		}
		for at := from + 1; at < int64(len(counts)) && l.Outcome != "refused"; at++ { // one that waits through a whole interval
			if endNs := min((at+1)*eachNs, c.toNs); c.stays[i].waitedNs >= endNs {
				oldestNs[at] = max(oldestNs[at], endNs-(from+1)*eachNs)
			}
		}
	}
	for at := range s.Points {
		p := &s.Points[at]
		if !c.interval(what, at, len(s.Points), p.StartNs, p.EndNs) {
			return
		}
		n := &counts[at]
		if p.Arrived != n.arrived || p.Dispatched != n.dispatched || p.Refused != n.refused || p.Waits != int64(len(waits[at])) || p.OldestWaitNs != oldestNs[at] {
			c.fail("%s, interval %d: %+v, in the log %+v, %d dispatched of those that arrived, the oldest waits for %d ns", what, at, *p, *n, len(waits[at]), oldestNs[at])
		}
		c.rejections(what, at, &p.Rejected, n.rejected)
		slices.Sort(waits[at])
		for _, v := range []struct {
			percent float64
			gotNs   int64
		}{{50, p.WaitP50Ns}, {99, p.WaitP99Ns}} {
			exact := int64(0)
			if of := waits[at]; len(of) > 0 {
				exact = of[max(0, int(math.Ceil(v.percent/100*float64(len(of))-1e-9))-1)]
			}
			if v.gotNs < exact || float64(v.gotNs) > float64(exact)*(1+ofFlows) {
				c.fail("%s, interval %d: wait p%v is %d ns, in the log %d ns", what, at, v.percent, v.gotNs, exact)
			}
		}
	}
}

// limitMarks compares the marks at which the limits of the levels that a workload sends to have changed by 5 % or more.
func (c *check) limitMarks(byWorkload map[string][]int) {
	type at struct {
		level  string
		server int
	}
	type mark struct {
		ns       int64
		from, to int
	}
	limits, marks := map[at]int{}, map[at][]mark{} // without the limits of servers that are off
	for _, e := range c.ran.Seen.Limits {
		if len(e.Levels) == 0 { // it is off
			maps.DeleteFunc(limits, func(a at, _ int) bool { return a.server == e.Server })
			continue
		}
		now := map[at]int{}
		for a := range limits {
			if a.server == e.Server {
				now[a] = 0 // if it has been removed
			}
		}
		for name, l := range e.Levels {
			if !l.Exempt {
				now[at{name, e.Server}] = l.Limit
			}
		}
		for a, to := range now {
			from, known := limits[a]
			limits[a] = to
			if all := marks[a]; !known || from == to || math.Abs(float64(to-from)) < 0.05*float64(from) {
				continue
			} else if n := len(all); n > 0 && all[n-1].ns/c.eachNs() == e.AtNs/c.eachNs() {
				all[n-1].to = to
			} else {
				marks[a] = append(all, mark{e.AtNs, from, to})
			}
		}
	}
	for _, s := range c.ran.Result.WorkloadSeries {
		sentTo := map[string]bool{}
		for _, i := range byWorkload[s.Workload] {
			sentTo[c.lines[i].PriorityLevel] = true
		}
		var got, want []string
		for _, m := range s.Marks {
			if strings.HasPrefix(m.Text, "limit of ") {
				got = append(got, fmt.Sprint(m.AtNs, " ", m.Text))
			}
		}
		for a, all := range marks {
			name := a.level
			if c.ran.Scenario.Spec.Servers.Replicas > 1 {
				name += fmt.Sprint(" at server ", a.server)
			}
			for _, m := range all {
				if sentTo[a.level] {
					want = append(want, fmt.Sprintf("%d limit of %s: %d → %d seats", m.ns, name, m.from, m.to))
				}
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			c.fail("series of workload %s: marks %q, by the limits of the servers %q", s.Workload, got, want)
		}
	}
}

func (c *check) serverSeries(s *result.ServerSeries, lines []int) {
	what := "series of server " + strconv.Itoa(s.Server)
	counts := c.countedIn(lines)
	var reached []int
	for _, i := range lines {
		if c.lines[i].Outcome != "refused" {
			reached = append(reached, i)
		}
	}
	_, courses := c.useOf(reached, nil)
	limited := make([]course, len(courses)) // of the levels that have a limit
	for _, l := range s.Levels {
		if l.Limited {
			for at := range l.Points { // which levelSeries compares
				limited[at].seats += l.Points[at].SeatsInUse
				limited[at].limit += l.Points[at].CurrentLimit
			}
		}
	}
	for at := range s.Points {
		p := &s.Points[at]
		if !c.interval(what, at, len(s.Points), p.StartNs, p.EndNs) {
			return
		}
		n, ns := &counts[at], float64(p.EndNs-p.StartNs)
		if p.Arrived != n.arrived || p.Executed != n.executed || p.Rejected != n.allRejected() || p.Refused != n.refused || p.Lost != n.lost {
			c.fail("%s, interval %d: %d arrived, %d were executed, %d rejected, %d refused, %d lost; in the log %+v", what, at, p.Arrived, p.Executed, p.Rejected, p.Refused, p.Lost, *n)
		}
		for _, v := range []struct {
			name      string
			got, want float64
		}{{"executing requests", p.ExecutingRequests, courses[at].executing / ns}, {"waiting requests", p.WaitingRequests, courses[at].waiting / ns},
			{"seats in use", p.SeatsInUse, limited[at].seats}, {"limit", p.Limit, limited[at].limit}} {
			if !isNear(v.got, v.want) {
				c.fail("%s, interval %d: %s %v, of the log %v", what, at, v.name, v.got, v.want)
			}
		}
	}
}
