package randomscenario

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/server"
)

// moments returns what happened to servers, as their observers saw it, and the changes of speed that the scenario
// makes, in the order in which they happened.
func (c *check) moments() (all []result.Moment) {
	spec := &c.ran.Scenario.Spec
	if c.steady {
		return nil
	}
	stages := make([]server.Stage, max(1, spec.Servers.Replicas))
	for i := range stages {
		stages[i] = server.Ready
	}
	for _, e := range c.ran.Seen.Stages {
		what := [...]string{"gone", "started", "ready", "stopped", "not accepting", "drained"}[e.Stage]
		if e.Stage == server.Off && (stages[e.Server] == server.Ready || stages[e.Server] == server.Starting || stages[e.Server] == server.Off) {
			what = "crashed"
		}
		stages[e.Server] = e.Stage
		all = append(all, result.Moment{AtNs: e.AtNs, Server: e.Server, What: what, Stage: e.Stage.String(), OutOfMemory: e.OutOfMemory})
	}
	speed := func(atNs int64, index int, factor float64) {
		all = append(all, result.Moment{AtNs: atNs, Server: index, What: "speed × " + format.Digits(factor)})
	}
	if v := spec.Servers.Capacity; v != nil {
		for _, s := range v.Speed {
			speed(int64(s.At), result.AllServers, s.Factor)
		}
	}
	for _, e := range spec.Events {
		if e.Speed != nil && e.Speed.Server != nil {
			speed(int64(e.At), *e.Speed.Server, e.Speed.Factor)
		} else if e.Speed != nil {
			speed(int64(e.At), result.AllServers, e.Speed.Factor)
		}
	}
	slices.SortStableFunc(all, func(a, b result.Moment) int { return cmp.Compare(a.AtNs, b.AtNs) })
	return all
}

// timeline compares what happened to servers with the timeline. What others know of them is in addition.
func (c *check) timeline() {
	var got []result.Moment
	for _, m := range c.ran.Result.Summary.Timeline {
		if m.Stage != "" || strings.HasPrefix(m.What, "speed") {
			m.Lost, m.Factor = 0, 0
			got = append(got, m)
		}
	}
	if want := c.moments(); !slices.Equal(got, want) {
		c.fail("timeline %+v, want %+v", got, want)
	}
}

// happened says in words what has happened to a server, "" if it causes no failures.
func happened(m *result.Moment) string {
	if strings.HasPrefix(m.What, "speed") {
		return "the change to " + m.What
	}
	return map[string]string{"stopped": "it was told to stop", "not accepting": "it no longer accepted requests", "gone": "its process had ended", "crashed": "it crashed"}[m.What]
}

func subjectOf(index int) string {
	if index == result.AllServers {
		return "all servers"
	}
	return fmt.Sprintf("server %d", index)
}

// failuresCauses checks which failures are put down to what happened to a server at most half a minute before they began:
// the eight with the most requests, whose counts and times failures checks.
func (c *check) failuresCauses(all *claims) {
	type caused struct {
		result.Failure
		by result.Moment
	}
	var want []caused
	moments := c.moments()
	for _, f := range c.ran.Result.Summary.Failures {
		for i := len(moments) - 1; i >= 0; i-- {
			if m := moments[i]; m.AtNs <= f.FromNs && happened(&m) != "" {
				if f.FromNs-m.AtNs <= 30e9 {
					want = append(want, caused{f, m})
				}
				break
			}
		}
	}
	slices.SortStableFunc(want, func(a, b caused) int {
		return cmp.Compare(b.Rejected+b.Refused+b.Lost, a.Rejected+a.Refused+a.Lost)
	})
	for _, f := range want[:min(8, len(want))] {
		var what, counts []string
		for _, k := range []struct {
			n             int64
			name, outcome string
		}{{f.Rejected, "rejections", "rejected"}, {f.Refused, "refusals", "refused"}, {f.Lost, "losses", "lost"}} {
			if k.n > 0 {
				what, counts = append(what, k.name), append(counts, format.Quantity(k.n)+" "+k.outcome)
			}
		}
		when := "when"
		if after := f.FromNs - f.by.AtNs; after > 0 {
			when = format.Duration(float64(after)) + " after"
		}
		all.expect(true, "Servers", subjectOf(f.by.Server), fmt.Sprintf("%s began %s %s (t = %s) and lasted %s: %s", strings.Join(what, " and "), when,
			happened(&f.by), format.Moment(f.by.AtNs), format.Duration(float64(f.ToNs-f.FromNs)), strings.Join(counts, ", ")))
	}
}

// servers checks what is said of servers: uneven shares of requests and connections, servers without clients, slow ones,
// and collapses.
func (c *check) servers(all *claims) {
	s := c.ran.Result.Summary
	n := len(s.Servers)
	if n == 0 {
		return
	}
	arrived, total := make([]float64, n), 0.0
	for i := range c.lines {
		if l := &c.lines[i]; l.ArrivalNs >= c.fromNs {
			arrived[l.Server]++
			total++
		}
	}
	series := c.ran.Result.ServerSeries
	connections, most := make([]int, len(series[0].Points)), 0
	for at := range connections {
		for i := range series {
			connections[at] += series[i].Points[at].Connections
		}
		most = max(most, connections[at])
	}
	last := len(connections) - 1
	for i := range s.Servers {
		name, points := subjectOf(i), series[i].Points
		uneven := n > 1 && total > 0 && arrived[i]/total*float64(n) >= 1.5
		all.expect(uneven, "Servers", name, " of all requests; an even share is ")

		share, slowNs, leastSpeed, inService := 0.0, int64(0), 1.0, 0
		for at := range points {
			p := &points[at]
			if p.EndNs <= c.fromNs {
				continue
			}
			if 2*connections[at] >= most && most > 0 {
				share = max(share, float64(p.Connections)/float64(connections[at]))
			}
			inService = max(inService, p.InService)
			if p.Speed > 0 {
				leastSpeed = min(leastSpeed, p.Speed)
			}
			if p.Speed > 0 && p.Speed < 0.5 && p.InService > 0 {
				slowNs += p.EndNs - max(p.StartNs, c.fromNs)
			}
		}
		all.expect(n > 1 && share*float64(n) >= 1.5, "Servers", name, format.Percent(share)+" of all connections at t = ")
		slow := "speed of execution below 50 % for "
		if slowNs > 0 {
			slow += fmt.Sprintf("%s, least %s; %s in service at most", format.Duration(float64(slowNs)), format.Percent(leastSpeed), result.RequestCount(int64(inService)))
		}
		all.expect(slowNs > 0, "Servers", name, slow)

		readyNs := int64(-1) // since when it is ready at the end, if it was not always
		for _, m := range c.ran.Seen.Stages {
			if m.Server == i {
				readyNs = -1
				if m.Stage == server.Ready {
					readyNs = m.AtNs
				}
			}
		}
		idle := readyNs >= 0 && most > 0 && c.toNs-readyNs >= 30e9 && 4*n*points[last].Connections <= connections[last]
		all.expect(idle, "Servers", name, " after it had become ready (t = ")
		c.collapse(all, i)
	}
}

// collapse recomputes the collapse of a server's throughput, of the series of the server that series compares with the log.
func (c *check) collapse(all *claims, index int) {
	type part struct {
		fromNs                                int64
		seconds, executed, offered, inService float64
		busy                                  bool
	}
	points := c.ran.Result.ServerSeries[index].Points
	each := (len(points) + 59) / 60
	var parts []part
	for ; len(points) >= each; points = points[each:] {
		p := part{fromNs: points[0].StartNs, seconds: float64(points[each-1].EndNs-points[0].StartNs) / 1e9, busy: true}
		for _, o := range points[:each] {
			p.executed += float64(o.Executed)
			p.offered += float64(o.Arrived + o.Refused)
			p.inService += float64(o.InService) / float64(each)
			p.busy = p.busy && o.InService > 0
		}
		if p.fromNs >= c.fromNs {
			parts = append(parts, p)
		}
	}
	var want *result.Collapse
	for i := 1; i < len(parts); i++ {
		after := parts[i]
		before := slices.MaxFunc(parts[:i], func(a, b part) int { return cmp.Compare(a.executed/a.seconds, b.executed/b.seconds) })
		a, b := after.executed/after.seconds, before.executed/before.seconds
		if (after.busy || after.offered/after.seconds >= before.offered/before.seconds) && before.inService > 0 && after.inService >= 2*before.inService && a <= 0.75*b &&
			fewerP(after.executed, after.seconds, before.executed, before.seconds)*float64(len(parts)*(len(parts)-1)/2) < 0.01 &&
			(want == nil || a < want.ExecutedPerSecond) {
			want = &result.Collapse{AtNs: after.fromNs, ExecutedPerSecond: a, InService: after.inService, BestAtNs: before.fromNs, BestExecutedPerSecond: b, BestInService: before.inService}
		}
	}
	got := c.ran.Result.Summary.Servers[index].Collapse
	if (got == nil) != (want == nil) || got != nil && *got != *want {
		c.fail("server %d: collapse %+v, want %+v", index, got, want)
	}
	all.expect(want != nil, "Servers", subjectOf(index), "throughput collapsed: ")
}

// fewerP returns how probable it is that at most n of n and other events fall into the first of two times in which they are
// equally frequent: the sum of the terms of a binomial distribution.
func fewerP(n, time, other, otherTime float64) (sum float64) {
	of := func(x float64) float64 { y, _ := math.Lgamma(x + 1); return y }
	p := time / (time + otherTime)
	for k := 0.0; k <= n; k++ {
		sum += math.Exp(of(n+other) - of(k) - of(n+other-k) + k*math.Log(p) + (n+other-k)*math.Log(1-p))
	}
	return sum
}
