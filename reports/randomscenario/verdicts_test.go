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
	arrived, lost, unsure int     // lost ones are those that were not served; of the unsure ones the log does not tell
	waits                 []int64 // of those that were dispatched, and of those that were queued at the end
}

func (c *check) servedOf(counted func(*Line) bool) (s served) {
	for i := range c.lines {
		l := &c.lines[i]
		if l.ArrivalNs < c.fromNs || !counted(l) {
			continue
		}
		s.arrived++
		unfinished, may := c.unfinished(l)
		switch {
		case slices.Contains([]string{"rejected", "refused", "lost"}, l.Outcome), unfinished,
			!l.open() && (l.Status == 0 || l.Status == 429 || l.Status >= 500):
			s.lost++
		case may:
			s.unsure++
		}
		if l.DispatchNs != nil {
			s.waits = append(s.waits, *l.DispatchNs-l.ArrivalNs)
		}
		if l.Outcome == "waiting" {
			s.waits = append(s.waits, c.toNs-l.ArrivalNs)
		}
	}
	return s
}

// limitedFlows returns the flows that were limited, by their demands, fair shares and what became of them.
func (c *check) limitedFlows() map[string]bool {
	demands := map[string][]float64{}
	for i := range c.ran.Flows {
		if f := &c.ran.Flows[i]; f.DemandSeatSeconds > 0 {
			demands[f.PriorityLevel] = append(demands[f.PriorityLevel], f.DemandSeatSeconds)
		}
	}
	limited := map[string]bool{}
	for i := range c.ran.Flows {
		f := &c.ran.Flows[i]
		all := demands[f.PriorityLevel]
		if len(all) == 0 { // nobody asked for anything
			if f.Limited {
				c.fail("the flow %s of %s is limited and asked for nothing", f.Name, f.PriorityLevel)
			}
			continue
		}
		slices.Sort(all)
		cut := f.Rejected > 0 || f.Waiting > 0 || f.Wait != nil && f.Wait.MaxNs > 0
		much := f.DemandSeatSeconds > 2*all[(len(all)-1)/2] && cut
		surely := f.DemandSeatSeconds*(1-2/math.Sqrt(float64(f.Arrived))) > 2*all[(len(all)-1)/2]
		if f.Limited && !much || !f.Limited && much && surely && f.DemandSeatSeconds > 1.01*f.FairShareSeatSeconds {
			c.fail("the flow %s of %s is limited: %v; it asked for %v seat-seconds of %v, the median of %d flows %v", f.Name, f.PriorityLevel, f.Limited,
				f.DemandSeatSeconds, f.FairShareSeatSeconds, len(all), all[(len(all)-1)/2])
		}
		limited[flowKey(f.PriorityLevel, f.Name)] = f.Limited
	}
	return limited
}

// sharesFlows says whether several workloads send requests of a flow of this one.
func (c *check) sharesFlows(workload string) bool {
	of := map[string]string{}
	for i := range c.lines {
		l := &c.lines[i]
		key := flowKey(l.PriorityLevel, l.Flow)
		if other := of[key]; other != "" && other != l.Workload && (other == workload || l.Workload == workload) {
			return true
		}
		of[key] = l.Workload
	}
	return false
}

// marks checks that a workload or a level has a check mark only if all was well, and a cross if and only if victims were
// harmed, by the log as far as it tells.
func (c *check) marks(all *claims) {
	s := c.ran.Result.Summary
	limited := c.limitedFlows()
	look := func(group string, g *result.Group, counted func(*Line) bool, stallNs int64, grows bool) {
		every := c.servedOf(counted)
		victims := c.servedOf(func(l *Line) bool { return counted(l) && !limited[flowKey(l.PriorityLevel, l.Flow)] })
		f := all.expect(group == "Workloads" || every.arrived > 0 || c.peakSeats(g.Name) > 0, group, g.Name, "")
		if f == nil {
			return
		}
		if every.arrived == 0 {
			if f.Judgement != judge.Neutral {
				c.fail("%s %s is judged %s, and no request arrived", group, g.Name, f.Judgement)
			}
			return
		}
		longestNs := slices.Max(append(victims.waits, 0))
		if group == "Workloads" && (c.sharesFlows(g.Name) || c.waitsForItself(g.Name)) {
			return // whose victims they are is not known, or it is its own
		}
		n := float64(victims.lost)
		least, most := n, n+float64(victims.unsure)
		surely := victims.lost >= 3 && least-1.645*math.Sqrt(least) >= 0.001*float64(victims.arrived)
		maybe := most >= 3 && most >= 0.001*float64(victims.arrived) || longestNs >= 999e6 || stallNs >= 5e9
		if good := f.Judgement == judge.Good; good && (every.lost > 0 || stallNs > 1e9) ||
			!good && every.lost+every.unsure == 0 && slices.Max(append(every.waits, 0)) <= 99e6 && stallNs <= 1e9 && !grows {
			c.fail("%s %s: a check mark is %v; %d of %d were not served, stalled for %d ns", group, g.Name, good, every.lost, every.arrived, stallNs)
		}
		if bad := f.Judgement == judge.Bad; bad && !maybe || !bad && surely {
			c.fail("%s %s: a cross is %v; %d of %d of victims were not served, waited %d ns at most, stalled for %d ns", group, g.Name, bad, victims.lost, victims.arrived, longestNs, stallNs)
		}
	}
	for i := range s.Workloads {
		g := &s.Workloads[i]
		look("Workloads", g, func(l *Line) bool { return l.Workload == g.Name }, stallOf(g), false)
	}
	for i := range s.PriorityLevels {
		p := &s.PriorityLevels[i]
		stallNs := stallOf(&p.Group)
		if p.Starvation != nil {
			stallNs = max(stallNs, p.Starvation.MaxNs)
		}
		look("Priority levels", &p.Group, func(l *Line) bool { return l.PriorityLevel == p.Name }, stallNs, true)
	}
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
