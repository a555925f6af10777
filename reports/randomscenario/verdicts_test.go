package randomscenario

import (
	"cmp"
	"math"
	"slices"

	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// verdicts compares what a run is judged by: what was not served, demands, fair shares and indexes, stalls and starvation,
// freezes, limits of 0 seats, the times of failures, collapses, and the findings, check marks and crosses that follow from
// them. Each finding must be one that is expected.
func (c *check) verdicts() {
	c.notServed()
	c.overall()
	c.fairness()
	all := claimsOf(c)
	c.stalls(all)
	c.freezes(all)
	c.noSeats(all)
	c.failures()
	c.timeline()
	c.failuresCauses(all)
	c.servers(all)
	c.clients(all)
	c.marks(all)
	c.levelTexts(all)
	c.underserved(all)
	c.overDemanding(all)
	all.failUnclaimed()
}

// longest returns the longest time, in the window, in which requests with a property wait and none of them is dispatched.
func (c *check) longest(counted func(*Line) bool) (ns int64) {
	waiting, sinceNs := map[int64]bool{}, int64(0)
	for _, e := range c.ran.Seen.Requests {
		if !counted(&c.lines[e.Line]) || e.What != Arrived && !waiting[e.Line] {
			continue
		}
		switch e.What {
		case Arrived:
			if len(waiting) == 0 {
				sinceNs = e.AtNs
			}
			waiting[e.Line] = true
		case Dispatched, Rejected, Lost:
			delete(waiting, e.Line)
			if e.What == Dispatched || len(waiting) == 0 {
				ns = max(ns, e.AtNs-max(sinceNs, c.fromNs))
				sinceNs = e.AtNs
			}
		}
	}
	if len(waiting) > 0 {
		ns = max(ns, c.toNs-max(sinceNs, c.fromNs))
	}
	return ns
}

// stalls compares the longest stalls and starvations with the log, and what is said of stalls.
func (c *check) stalls(all *claims) {
	s := c.ran.Result.Summary
	for i := range s.Workloads {
		g := &s.Workloads[i]
		if want := c.longest(func(l *Line) bool { return l.Workload == g.Name }); g.Stall.MaxNs != want {
			c.fail("workload %s: longest stall %d ns, of the log %d ns", g.Name, g.Stall.MaxNs, want)
		}
		all.expect(g.Arrived > 0 && g.Stall.MaxNs >= result.StallNs, "Stalls", g.Name, "no request was dispatched for ")
	}
	for i := range c.ran.Flows {
		f := &c.ran.Flows[i]
		if want := c.longest(func(l *Line) bool { return l.Flow == f.Name && l.PriorityLevel == f.PriorityLevel }); f.StarvationNs != want {
			c.fail("flow %s: starved for %d ns, in the log for %d ns", f.Name, f.StarvationNs, want)
		}
	}
}

func (l *Line) longRunning() bool {
	return l.Verb == "proxy" || slices.Contains([]string{"attach", "exec", "log", "portforward", "proxy"}, l.Subresource)
}

// failures compares the times of failures with the log.
func (c *check) failures() {
	if c.steady {
		return
	}
	type failure struct {
		atNs int64
		what string
	}
	var all []failure
	for i := range c.lines {
		switch l := &c.lines[i]; l.Outcome {
		case "rejected", "refused":
			all = append(all, failure{c.waitedUntilNs(l), l.Outcome})
		}
	}
	for _, e := range c.ran.Seen.Requests {
		if e.What == Lost {
			all = append(all, failure{e.AtNs, "lost"})
		}
	}
	slices.SortStableFunc(all, func(a, b failure) int { return cmp.Compare(a.atNs, b.atNs) })
	var want []result.Failure
	for _, f := range all {
		if n := len(want); n == 0 || f.atNs-want[n-1].ToNs >= result.FailurePauseNs(c.toNs) {
			want = append(want, result.Failure{FromNs: f.atNs})
		}
		one := &want[len(want)-1]
		one.ToNs = f.atNs
		*map[string]*int64{"rejected": &one.Rejected, "refused": &one.Refused, "lost": &one.Lost}[f.what]++
	}
	if got := c.ran.Result.Summary.Failures; !slices.Equal(got, want) {
		c.fail("failures %+v, of the log %+v", got, want)
	}
}

// served is what became of the requests of a group that arrived in the window, by the log.
type served struct {
	arrived, lost    int     // lost ones are those that were not served
	waits, queuedFor []int64 // of those that were dispatched, and of those that were queued at the end
}

func (c *check) servedOf(counted func(*Line) bool) (s served) {
	for i := range c.lines {
		l := &c.lines[i]
		if l.ArrivalNs < c.fromNs || !counted(l) {
			continue
		}
		s.arrived++
		switch {
		case slices.Contains([]string{"rejected", "refused", "lost"}, l.Outcome), c.unfinished(l),
			!l.open() && (l.Status == 0 || l.Status == 429 || l.Status >= 500):
			s.lost++
		}
		if l.DispatchNs != nil {
			s.waits = append(s.waits, *l.DispatchNs-l.ArrivalNs)
		}
		if l.Outcome == "waiting" {
			s.queuedFor = append(s.queuedFor, c.toNs-l.ArrivalNs)
		}
	}
	return s
}

// worst returns the 99th percentile and the longest of some waits, 0 without any.
func worst(waits []int64) (p99 float64, most int64) {
	if n := len(waits); n > 0 {
		slices.Sort(waits)
		p99, most = float64(waits[max(0, int(math.Ceil(0.99*float64(n)-1e-9))-1)]), waits[n-1]
	}
	return p99, most
}

// enough is how many waits a p99 must be of to be judged.
const enough = 1000

// others are the figures by which a group is judged that are checked elsewhere: durations, and shares.
type others struct {
	stallNs, starvedNs, noSeatsNs, virtualP99Ns int64
	virtualRejected, shortfall                  float64
}

func (o *others) well() bool {
	return o.stallNs <= 1e9 && o.starvedNs <= 1e9 && o.noSeatsNs == 0 && o.virtualP99Ns <= 100e6 && o.virtualRejected == 0 && o.shortfall <= 0.05
}

func (o *others) bad() bool {
	return o.stallNs >= 5e9 || o.starvedNs >= 5e9 || o.noSeatsNs >= 1e9 || o.virtualP99Ns >= 1e9 || o.virtualRejected >= 0.01 || o.shortfall >= 0.5
}

// marks checks that a workload or a level has a check mark if and only if all was well, and a cross if and only if
// something was bad, by the log as far as it tells.
func (c *check) marks(all *claims) {
	s := c.ran.Result.Summary
	look := func(group string, g *result.Group, counted func(*Line) bool, other others) {
		seen := c.servedOf(counted)
		lost, queued, arrived, dispatched, waits := seen.lost, len(seen.queuedFor), seen.arrived, len(seen.waits), append(seen.waits, seen.queuedFor...)
		f := all.expect(group == "Workloads" || arrived > 0 || c.peakSeats(g.Name) > 0, group, g.Name, "")
		if arrived == 0 {
			if f != nil && f.Judgement != judge.Neutral {
				c.fail("%s %s is judged %s, and no request arrived", group, g.Name, f.Judgement)
			}
			return
		}
		p99, most := worst(waits)
		if len(waits) < enough {
			p99 = 0
		}
		const below = 1 - 1./1024 // percentiles are at most that much too high
		share := func(n int) float64 { return float64(n) / float64(arrived) }
		well := lost == 0 && dispatched > 0 && share(queued) <= 0.01 && most <= 1e9 && other.well()
		bad := share(lost) >= 0.001 || dispatched == 0 || share(queued) >= 0.1 || most >= 10e9 || other.bad()
		ticked, crossed := f != nil && f.Judgement == judge.Good, f != nil && f.Judgement == judge.Bad
		if ticked && (!well || p99 > 100e6) || !ticked && well && p99 <= 100e6*below || crossed && !bad && p99 < 1e9*below || !crossed && (bad || p99 >= 1e9) {
			c.fail("%s %s: a check mark is %v and a cross %v; %d of %d were not served, %d queued, wait p99 %v, max %d ns, and else %+v", group, g.Name, ticked, crossed, lost, arrived, queued, p99, most, other)
		}
	}
	for i := range s.Workloads {
		g := &s.Workloads[i]
		look("Workloads", g, func(l *Line) bool { return l.Workload == g.Name }, othersOfWorkload(g))
	}
	for i := range s.PriorityLevels {
		p := &s.PriorityLevels[i]
		look("Priority levels", &p.Group, func(l *Line) bool { return l.PriorityLevel == p.Name }, othersOfLevel(p))
	}
}

func othersOfWorkload(g *result.Group) others {
	o := others{stallNs: stallOf(g)}
	if v := g.VirtualWait; v != nil {
		o.virtualRejected = v.RejectedRate()
		if v.Wait != nil && v.Wait.Count >= enough {
			o.virtualP99Ns = v.Wait.P99Ns
		}
	}
	return o
}

func othersOfLevel(p *result.Level) others {
	o := others{stallNs: stallOf(&p.Group)}
	if p.Starvation != nil {
		o.starvedNs = p.Starvation.MaxNs
	}
	if p.NoSeats != nil {
		o.noSeatsNs = p.NoSeats.TotalNs
	}
	if p.Fairness != nil && (p.Rejected > 0 || p.Waiting > 0 || p.Wait != nil && p.Wait.MaxNs > 0) {
		o.shortfall = 1 - p.Fairness.LeastRatio
	}
	return o
}

// stallOf returns the longest stall or freeze, which stalls and freezes check.
func stallOf(g *result.Group) (ns int64) {
	if g.Stall != nil {
		ns = g.Stall.MaxNs
	}
	if g.Freeze != nil {
		ns = max(ns, g.Freeze.MaxNs)
	}
	return ns
}

// peakSeats returns the largest number of seats of a level that were occupied in the window, 0 if there is no such level.
func (c *check) peakSeats(level string) int {
	for i := range c.ran.Result.Summary.PriorityLevels {
		if p := &c.ran.Result.Summary.PriorityLevels[i]; p.Name == level {
			return p.PeakSeats
		}
	}
	return 0
}
