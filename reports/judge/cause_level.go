package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/reports/result"
)

// fluid is the work at a priority level over time, in seat-seconds, as the series of a run has it. With other seats or
// other work, it says how much would have had to wait or to be rejected: a queue of a fluid, which forgets all chance.
type fluid struct {
	before float64 // work that waited when the window began
	steps  []step
	room   float64 // work that can wait before more is rejected; +Inf if nothing was rejected
}

// step is one interval of a fluid.
type step struct {
	seconds        float64
	work           float64 // that arrived
	arrived        float64 // requests
	limit, nominal float64 // seats
	borrowed       float64 // the greatest ratio of the limit to the nominal one up to now
	rejected       float64 // work
	waiting        float64 // work, at the end
	used           float64 // seats in use, on average
	speed          float64 // of the machines themselves; 1 if they have none
}

// newFluid returns the work of a level.
func (d *diagnosis) newFluid(points []result.Point, queues bool) *fluid {
	f := &fluid{room: math.Inf(1)}
	left, most, rejected, borrowed := 0.0, 0.0, int64(0), 1.0
	for i := range points {
		p := &points[i]
		// What is left of requests that execute is half of them, on average.
		waiting := 0.0
		if p.WaitingSeats > 0 {
			waiting = p.LeftSeatSeconds * p.WaitingSeats / (p.WaitingSeats + p.SeatsInUse/2)
		}
		before := left
		left = p.LeftSeatSeconds
		if p.EndNs <= d.Summary.WarmupNs {
			f.before = waiting
			continue
		}
		if p.NominalLimit >= 1 {
			borrowed = max(borrowed, p.CurrentLimit/p.NominalLimit)
		}
		s := step{seconds: p.Seconds(), work: max(0, p.AskedSeatSeconds-before), limit: p.CurrentLimit, nominal: p.NominalLimit,
			borrowed: borrowed, waiting: waiting, used: p.SeatsInUse, arrived: float64(p.Arrived), speed: d.speedAt(i)}
		if n := p.RejectedTotal(); n > 0 {
			s.rejected = max(0, p.AskedSeatSeconds-p.SeatsInUse*s.seconds-left)
			rejected += n
		}
		most = max(most, waiting)
		f.steps = append(f.steps, s)
	}
	if rejected > 0 {
		f.room = 0
		if queues {
			f.room = most
		}
	}
	return f
}

// speedAt returns the speed of the machines themselves in an interval of the series, weighted with the requests in service.
func (d *diagnosis) speedAt(i int) float64 {
	sum, n := 0.0, 0.0
	for _, s := range d.ServerSeries {
		if p := &s.Points[i]; p.InService > 0 && p.Factor > 0 {
			sum, n = sum+float64(p.InService)*p.Factor, n+float64(p.InService)
		}
	}
	if n == 0 {
		return 1
	}
	return sum / n
}

// harm is what a fluid says: the work that is rejected, and the work that waits, in seat-seconds and times seconds.
type harm struct{ over, area float64 }

// run returns the harm with a part of the work and with other seats.
func (f *fluid) run(part, seats func(*step) float64) (h harm) {
	backlog := f.before
	for i := range f.steps {
		s := &f.steps[i]
		backlog = max(0, backlog+part(s)*s.work-seats(s)*s.seconds)
		if backlog > f.room {
			h.over += backlog - f.room
			backlog = f.room
		}
		h.area += backlog * s.seconds
	}
	return h
}

// correct makes the work that arrives the demand of all flows. Of requests whose executions follow from what servers do, the series
// has what was expected of them when they arrived, and the demand has what it became. If that is far from it, the work
// arrives as the requests do.
func (f *fluid) correct(demand float64) {
	work, arrived := 0.0, 0.0
	for i := range f.steps {
		work, arrived = work+f.steps[i].work, arrived+f.steps[i].arrived
	}
	if work == 0 || arrived == 0 {
		return
	}
	expected := math.Abs(demand/work-1) < 0.2
	for i := range f.steps {
		if s := &f.steps[i]; expected {
			s.work *= demand / work
		} else {
			s.work = demand * s.arrived / arrived
		}
	}
}

// work returns the work that arrived, or a part of it.
func (f *fluid) work(part func(*step) float64) (sum float64) {
	for i := range f.steps {
		sum += part(&f.steps[i]) * f.steps[i].work
	}
	return sum
}

// observed returns the harm as it was.
func (f *fluid) observed() (h harm) {
	for i := range f.steps {
		s := &f.steps[i]
		h.over += s.rejected
		h.area += s.waiting * s.seconds
	}
	return h
}

// rejectionSeconds is the wait that a rejection counts as: the longest that a request waits by default.
const rejectionSeconds = 15

// sum returns both as one number, in seat-seconds times seconds.
func (h harm) sum() float64 { return h.area + rejectionSeconds*h.over }

// relief returns which part of the harm is gone, from 0 to 1.
func (h harm) relief(without harm) float64 {
	if h.sum() <= 0 {
		return 0
	}
	return min(1, max(0, 1-without.sum()/h.sum()))
}

func limitOf(s *step) float64 { return s.limit }

func all(*step) float64 { return 1 }

// only returns the same part of the work of all steps.
func only(part float64) func(*step) float64 { return func(*step) float64 { return part } }

// mechanism is a reason why a level has less seats, or more work, than it is configured for.
type mechanism struct {
	kind  result.Kind
	part  func(*step) float64   // of the work that would be left without it
	seats func(*step) float64   // without it
	tell  func(c *cause) string // its sentence; it adds the figures
}

// atLevel returns the causes of harm at a priority level.
func (d *diagnosis) atLevel(index int) (found []cause) {
	s := d.Summary
	l := &s.PriorityLevels[index]
	if l.Arrived == 0 || l.Type == "Exempt" || l.Rejected+unfinishedWaiting(l) == 0 && !waitedLong(l) {
		return nil
	}
	points := d.pointsOf(l.Name)
	flows, demand := d.flowsOf(l.Name)
	if len(points) == 0 || demand == 0 {
		return nil
	}
	f := d.newFluid(points, l.Response == "Queue")
	f.correct(demand)
	base, seen := f.run(all, limitOf), f.observed()
	fromNs, toNs := d.whenFull(points)

	add := func(kind result.Kind, share float64) *cause {
		c := cause{Cause: result.Cause{Kind: kind, Level: l.Name, FromNs: fromNs, ToNs: toNs},
			notServed: share * float64(l.Rejected+unfinishedWaiting(l)), waitedNs: share * waitedNs(&l.Group)}
		found = append(found, c)
		return &found[len(found)-1]
	}
	explained := 0.0
	if base.sum() > 0 {
		explained = min(1, base.sum()/max(seen.sum(), base.sum()/100))
	}
	part, seats, relieved := all, limitOf, 0.0
	for _, m := range d.mechanisms(index, f) {
		without := f.run(m.part, m.seats)
		relief := base.relief(without) * explained
		if relief < leastShare || m.kind == result.ByRetries && without.over > (1-enough)/2*f.work(m.part) {
			continue
		}
		beforePart, otherPart := part, m.part
		part = func(s *step) float64 { return beforePart(s) * otherPart(s) }
		before, other := seats, m.seats
		seats = func(s *step) float64 { return max(before(s), other(s)) }
		c := add(m.kind, relief)
		c.Sentence = m.tell(c)
		c.Workloads, c.Flows = d.workloadsAt(l.Name), d.causeFlows(l, flows, demand)
	}
	if len(found) > 0 {
		relieved = base.relief(f.run(part, seats)) * explained
	}
	rest := 1 - relieved
	if wide, share := d.wide(index, flows, f, explained); wide != nil && min(share, rest) > 0 {
		share = min(share, rest)
		c := add(result.ByWideLists, share)
		c.Sentence, c.Figures, c.Flows, c.Workloads = wide.Sentence, wide.Figures, wide.Flows, wide.Workloads
		rest -= share
	}
	if h := d.hand(l, flows); h != nil {
		share := min(h.waitedNs, rest)
		if share >= leastShare/10 {
			c := add(result.ByHand, share)
			c.Sentence, c.Figures, c.Flows, c.Workloads = h.Sentence, h.Figures, h.Flows, h.Workloads
			rest -= share
		}
	}
	if rest >= leastShare || len(found) == 0 {
		c := add(result.ByDemand, rest)
		d.tellDemand(c, l, flows, demand)
	}
	first := 0
	for i := range found {
		if a, b := &found[i], &found[first]; a.notServed > b.notServed || a.notServed == b.notServed && a.waitedNs > b.waitedNs {
			first = i
		}
	}
	found[first].main = true
	return found
}

// waitedLong says whether requests of a level waited for longer than is good. Of too few waits for a p99, a lower percentile may
// have enough: the p99 is no less.
func waitedLong(l *result.Level) bool {
	p99Ns, n, _ := l.WaitP99Ns()
	maxNs, _ := l.WaitMaxNs()
	if measure.Enough(99, n) && p99Ns > GoodWaitNs || maxNs > result.StallNs || l.Starvation != nil && l.Starvation.MaxNs > result.StallNs {
		return true
	}
	w := l.Wait
	return w != nil && (measure.Enough(90, w.Count) && w.P90Ns > GoodWaitNs || measure.Enough(50, w.Count) && w.P50Ns > GoodWaitNs)
}

// unfinishedWaiting returns how many of the unfinished requests of a level were still queued.
func unfinishedWaiting(l *result.Level) int64 {
	if l.NotServed == nil {
		return 0
	}
	return min(l.NotServed.Unfinished, l.Waiting)
}

// flowsOf returns the listed flows of a level, and the seat-seconds that all its flows asked for.
func (d *diagnosis) flowsOf(level string) (flows []*result.Flow, demand float64) {
	s := d.Summary
	for i := range s.Flows {
		if f := &s.Flows[i]; f.PriorityLevel == level {
			flows = append(flows, f)
			demand += f.DemandSeatSeconds
		}
	}
	for i := range s.OtherFlows {
		if o := &s.OtherFlows[i]; o.PriorityLevel == level {
			demand += o.DemandSeatSeconds
		}
	}
	return flows, demand
}

// whenFull returns from when to when requests were rejected at a level or, if none was, were queued.
func (d *diagnosis) whenFull(points []result.Point) (fromNs, toNs int64) {
	s := d.Summary
	for _, full := range []func(*result.Point) bool{
		func(p *result.Point) bool { return p.RejectedTotal() > 0 },
		func(p *result.Point) bool { return p.WaitingRequests > 0 },
	} {
		fromNs = -1
		for i := range points {
			if p := &points[i]; p.EndNs > s.WarmupNs && full(p) {
				if fromNs < 0 {
					fromNs = max(p.StartNs, s.WarmupNs)
				}
				toNs = p.EndNs
			}
		}
		if fromNs >= 0 {
			return fromNs, toNs
		}
	}
	return s.WarmupNs, s.DurationNs
}

// workloadsAt returns the workloads with requests at a level, in the order of what was harmed of them.
func (d *diagnosis) workloadsAt(level string) []string {
	if d.Evidence == nil {
		return nil
	}
	type at struct {
		name string
		*result.WorkloadLevel
	}
	var all []at
	for i := range d.Evidence.Workloads {
		levels := d.Evidence.Workloads[i].Levels
		for k := range levels {
			if levels[k].Level == level && levels[k].Arrived > 0 {
				all = append(all, at{d.Summary.Workloads[i].Name, &levels[k]})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b at) int {
		return cmp.Or(-cmp.Compare(a.NotServed, b.NotServed), -cmp.Compare(a.WaitedNs, b.WaitedNs))
	})
	var names []string
	for _, a := range all {
		names = append(names, a.name)
	}
	return names
}

// excess returns the seat-seconds that a flow asked for above its fair share.
func excess(f *result.Flow) float64 { return max(0, f.DemandSeatSeconds-f.FairShareSeatSeconds) }

// causeFlows returns the flows that asked for most: above their fair share or, if none did, at all.
func (d *diagnosis) causeFlows(l *result.Level, flows []*result.Flow, demand float64) []result.CauseFlow {
	flows = slices.Clone(flows)
	slices.SortStableFunc(flows, func(a, b *result.Flow) int {
		return cmp.Or(-cmp.Compare(excess(a), excess(b)), -cmp.Compare(a.DemandSeatSeconds, b.DemandSeatSeconds))
	})
	all := []result.CauseFlow{}
	for _, f := range flows[:min(len(flows), result.MostCauseFlows)] {
		if f.DemandSeatSeconds == 0 {
			break
		}
		c := result.CauseFlow{Flow: f.Name, Name: f.ShortName(), ShareOfDemand: f.DemandSeatSeconds / demand, Rejected: f.Rejected}
		if f.FairShareSeatSeconds > 0 {
			c.OfFairShare = f.DemandSeatSeconds / f.FairShareSeatSeconds
		}
		all = append(all, c)
	}
	return all
}

// tellDemand writes what the flows of a level asked for.
func (d *diagnosis) tellDemand(c *cause, l *result.Level, flows []*result.Flow, demand float64) {
	c.Flows = d.causeFlows(l, flows, demand)
	above := map[string]float64{}
	for _, f := range flows {
		above[f.Workload] += cmp.Or(excess(f), f.DemandSeatSeconds/1e6)
	}
	c.Workloads = d.workloadsAt(l.Name)
	slices.SortStableFunc(c.Workloads, func(a, b string) int { return -cmp.Compare(above[a], above[b]) })
	seats := 0.0
	if seconds := float64(d.Summary.DurationNs-d.Summary.WarmupNs) / 1e9; seconds > 0 {
		seats = demand / seconds
	}
	over := 0
	for _, f := range flows {
		if OverDemanding(f) {
			over++
		}
	}
	c.Figures = []result.Figure{figure("demandSeatSeconds", demand), figure("serviceSeatSeconds", l.ServiceSeatSeconds), figure("overDemandingFlows", float64(over))}
	if len(c.Flows) == 0 {
		c.Sentence = fmt.Sprintf("The requests of %s asked for %s seats on average.", l.Name, format.Number(seats))
		return
	}
	first := &c.Flows[0]
	what := fmt.Sprintf("%s asked for %s of all seat-seconds of %s", first.Name, format.Percent(first.ShareOfDemand), l.Name)
	switch {
	case over > 1:
		sum := 0.0
		for _, f := range flows {
			if OverDemanding(f) {
				sum += f.DemandSeatSeconds
			}
		}
		c.Sentence = fmt.Sprintf("%s flows, such as %s, asked for %s of all seat-seconds of %s, above their fair shares.",
			format.Whole(int64(over)), first.Name, format.Percent(sum/demand), l.Name)
	case over == 0 && first.ShareOfDemand > 0.5:
		c.Sentence = what + "."
	case first.OfFairShare > OverDemandingRatio:
		c.Sentence = fmt.Sprintf("%s, %s of its fair share.", what, format.Percent(first.OfFairShare))
	default:
		c.Sentence = fmt.Sprintf("%s flows asked for %s seat-seconds of %s, most of it within a short time.", format.Whole(int64(len(flows))), format.Number(demand), l.Name)
	}
}

// asGood is the part of the relief of a wider mechanism from which on a narrower one is named instead.
const asGood = 0.7

// enough is the relief from which on a mechanism explains all.
const enough = 0.9

// lentFigure is the name of the figure that a cause by lending has if the level had lent its own seats.
const lentFigure = "lentSeats"

// mechanisms returns what took seats from a level, or made its requests hold them for longer.
func (d *diagnosis) mechanisms(index int, f *fluid) (found []mechanism) {
	l := &d.Summary.PriorityLevels[index]
	could := func(s *step) float64 { return max(s.limit, s.nominal*s.borrowed) }
	lent, least, whole, nominal := 0.0, 0.0, 0.0, 0.0
	for i := range f.steps {
		if s := &f.steps[i]; s.limit > 0 && could(s)-s.limit > lent {
			lent, least, whole, nominal = could(s)-s.limit, s.limit, could(s), s.nominal
		}
	}
	if lent > 0.01*whole {
		found = append(found, mechanism{result.ByLending, all, could, func(c *cause) string {
			c.Figures = []result.Figure{figure("seats", least), figure("seatsMissing", lent)}
			if nominal-least >= lent/2 {
				c.Figures = append(c.Figures, figure(lentFigure, nominal-least))
				return fmt.Sprintf("%s had only %s of its %s nominal seats for some time, because it had lent the others.", l.Name, format.Number(least), format.Number(nominal))
			}
			return fmt.Sprintf("%s had %s seats less than before for some time, because it had to give back what it had borrowed.", l.Name, format.Number(lent))
		}})
	}
	if d.Evidence == nil {
		return found
	}
	e := &d.Evidence.Levels[index]
	switch configured := float64(e.MostConfigured); {
	case e.MostConfigured == 0:
		found = append(found, mechanism{result.BySeats, all, func(*step) float64 { return math.Inf(1) }, func(c *cause) string {
			c.Figures = []result.Figure{figure("nominalSeats", 0)}
			return fmt.Sprintf("%s has no seats: it executes at most one request at a time.", l.Name)
		}})
	case float64(e.LeastConfigured) < 0.9*configured:
		found = append(found, mechanism{result.BySeats, all, func(s *step) float64 { return max(s.limit, configured) }, func(c *cause) string {
			c.Figures = []result.Figure{figure("nominalSeats", float64(e.LeastConfigured)), figure("mostNominalSeats", configured)}
			return fmt.Sprintf("The configuration gave %s only %s nominal seats for some time, and up to %s otherwise.",
				l.Name, format.Number(float64(e.LeastConfigured)), format.Number(configured))
		}})
	}
	takes := func(kind result.Kind, ns float64, sentence string) {
		share := ns / e.Spent.TotalNs
		if e.Spent.TotalNs == 0 || share < 0.05 {
			return
		}
		found = append(found, mechanism{kind, only(1 - share), limitOf, func(c *cause) string {
			c.Figures = []result.Figure{figure("shareOfSeatSeconds", share)}
			return fmt.Sprintf(sentence, format.Percent(share), l.Name)
		}})
	}
	takes(result.ByWebhook, e.Spent.CallsNs, "%s of the seat-seconds of %s passed while the server waited for a webhook or an aggregated server.")
	if m := d.slowMachine(e, f, l.Name); m != nil {
		found = append(found, *m)
	} else {
		takes(result.ByCores, e.Spent.SlowNs, "Executions shared the processor: %s of the seat-seconds of %s are more than they take alone.")
	}
	if ev := d.Evidence; ev.EtcdTookNs > ev.EtcdAloneNs {
		takes(result.ByEtcd, e.Spent.StoredNs*(1-float64(ev.EtcdAloneNs)/float64(ev.EtcdTookNs)), "Transactions of etcd hindered each other, which took %s of the seat-seconds of %s.")
	}
	if share := float64(l.Retries) / float64(l.Arrived); share > 0.05 {
		found = append(found, mechanism{result.ByRetries, only(1 - share), limitOf, func(c *cause) string {
			c.Figures = []result.Figure{figure("shareOfRequests", share)}
			return fmt.Sprintf("%s of the requests of %s were retries, without which its seats would have been enough.", format.Percent(share), l.Name)
		}})
	}
	return found
}

// slowMachine returns the mechanism that machines were slow by themselves for some time; nil if that does not explain the harm
// as well as all that makes executions slow.
func (d *diagnosis) slowMachine(e *result.LevelEvidence, f *fluid, level string) *mechanism {
	if e.Spent.TotalNs == 0 {
		return nil
	}
	served, slow := e.Spent.ServedNs/e.Spent.TotalNs, e.Spent.SlowNs/e.Spent.TotalNs
	part := func(s *step) float64 { return 1 - served*max(0, 1-s.speed) }
	lowest, seconds := 1.0, 0.0
	for i := range f.steps {
		if s := &f.steps[i]; s.speed < 0.99 {
			lowest, seconds = min(lowest, s.speed), seconds+s.seconds
		}
	}
	base := f.run(all, limitOf)
	if seconds == 0 || base.relief(f.run(part, limitOf)) < asGood*base.relief(f.run(only(1-slow), limitOf)) {
		return nil
	}
	return &mechanism{result.ByExecution, part, limitOf, func(c *cause) string {
		c.Figures = []result.Figure{figure("speed", lowest), durationFigure("slow", seconds*1e9)}
		return fmt.Sprintf("Executions of %s were slow: machines ran at %s of their speed at worst, and below it for %s.", level, format.Percent(lowest), format.Duration(seconds*1e9))
	}}
}

// heldShare is the part of the time with queued requests from which on it matters that a wide one was next and did not fit.
const heldShare = 0.2

// fullLoad is the load of a level from which on requests wait because of it, whatever their seats are.
const fullLoad = 0.95

// leastWidth is the mean number of seats from which on requests are wide.
const leastWidth = 1.5

// wide returns the cause that requests of many seats held up others, and its part of the harm; nil without. explained is the
// part that follows from the work and the seats alone.
func (d *diagnosis) wide(index int, flows []*result.Flow, f *fluid, explained float64) (c *cause, share float64) {
	if d.Evidence == nil {
		return nil, 0
	}
	l := &d.Summary.PriorityLevels[index]
	var widest *result.WorkloadLevel
	name := ""
	for i := range d.Evidence.Workloads {
		levels := d.Evidence.Workloads[i].Levels
		for k := range levels {
			w := &levels[k]
			if w.Level != l.Name || w.Arrived == 0 || w.Width() < leastWidth {
				continue
			}
			// Those that are held back wait themselves. Others may ask for more seats in the whole window, when there are enough.
			if widest == nil || cmp.Or(cmp.Compare(w.WaitedNs, widest.WaitedNs), cmp.Compare(w.Seats, widest.Seats)) > 0 {
				widest, name = w, d.Summary.Workloads[i].Name
			}
		}
	}
	if widest == nil {
		return nil, 0
	}
	waiting, most, work, used, seats := 0.0, 0.0, 0.0, 0.0, 0.0
	for i := range f.steps {
		if s := &f.steps[i]; s.waiting > 0 {
			waiting += s.seconds
			work, used, seats = work+s.work, used+s.used*s.seconds, seats+s.limit*s.seconds
		}
		most = max(most, f.steps[i].limit)
	}
	held := 0.0
	if waiting > 0 {
		held = min(1, float64(d.Evidence.Levels[index].HeldBackNs)/1e9/waiting)
	}
	tooWide := widest.Width() > most && float64(l.PeakSeats) > most
	if !tooWide && (held < heldShare || work > fullLoad*seats) {
		return nil, 0
	}
	var narrow, all float64 // how long requests waited that are not wide
	for i := range d.Evidence.Workloads {
		for _, w := range d.Evidence.Workloads[i].Levels {
			if w.Level == l.Name {
				all += w.WaitedNs
				if w.Width() < widest.Width()/2 {
					narrow += w.WaitedNs
				}
			}
		}
	}
	c = &cause{}
	c.Workloads = []string{name}
	var own []*result.Flow
	demand := 0.0
	for _, flow := range flows {
		demand += flow.DemandSeatSeconds
		if flow.Workload == name {
			own = append(own, flow)
		}
	}
	c.Flows = d.causeFlows(l, own, demand)
	c.Figures = []result.Figure{figure("seatsOfARequest", widest.Width()), figure("heldBackShare", held), figure("limit", most)}
	if tooWide {
		c.Sentence = fmt.Sprintf("A request of %s takes %s seats, more than the %s of %s: while it executes, no other request of the level does.",
			name, format.Number(widest.Width()), format.Number(most), l.Name)
	} else {
		c.Sentence = fmt.Sprintf("For %s of the time with queued requests, the next request of %s needed more seats than were free, though some were; those of %s take %s seats.",
			format.Percent(held), l.Name, name, format.Number(widest.Width()))
		share = held * narrow / max(all, 1) // they waited behind wide ones
		if used < (1-leastShare)*seats {    // and all waited for seats that were free
			share = max(share, min(held, 1-explained))
		}
		return c, share
	}
	return c, 1
}

// hand returns the cause that flows waited behind others in the queues of their hands although they asked for no more than
// their fair share; nil without. Its waitedNs is the share of the level's harm.
func (d *diagnosis) hand(l *result.Level, flows []*result.Flow) *cause {
	var overServed []*result.Flow
	var total, harmed float64
	weight := func(f *result.Flow) float64 {
		if l.Rejected > 0 {
			return float64(f.Rejected)
		}
		return waitedNs(&f.Group)
	}
	for _, f := range flows {
		total += weight(f)
		if OverDemanding(f) && f.Arrived >= int64(len(f.Hand)) { // fewer requests cannot be in all queues of a hand
			overServed = append(overServed, f)
		}
	}
	if total == 0 || len(overServed) == 0 {
		return nil
	}
	c := &cause{}
	by := map[*result.Flow]bool{}
	count := 0
	for _, f := range flows {
		if len(f.Hand) == 0 || OverDemanding(f) || weight(f) == 0 || f.Rejected == 0 && (f.Wait == nil || f.Wait.P50Ns < GoodWaitNs/10) {
			continue
		}
		var together []*result.Flow
		for _, g := range overServed {
			if g != f && QueuedTogether(g, f) {
				together = append(together, g)
			}
		}
		cover := CoverOf(f.Hand, together)
		if cover == nil {
			continue
		}
		harmed += weight(f)
		count++
		for _, g := range cover {
			by[g] = true
		}
		if len(c.Flows) < result.MostCauseFlows {
			c.Flows = append(c.Flows, d.causeFlows(l, []*result.Flow{f}, max(f.DemandSeatSeconds, l.ServiceSeatSeconds))...)
		}
		if f.Workload != "" && !slices.Contains(c.Workloads, f.Workload) {
			c.Workloads = append(c.Workloads, f.Workload)
		}
	}
	if count == 0 || len(c.Flows) == 0 {
		return nil
	}
	c.waitedNs = harmed / total
	c.Figures = []result.Figure{figure("flows", float64(count)), figure("coveredBy", float64(len(by))), figure("shareOfHarm", c.waitedNs)}
	c.Sentence = fmt.Sprintf("%s of %s asked for no more than %s fair share, and %s with flows that asked for more: %s.",
		format.Counted(count, "flow"), l.Name, map[bool]string{true: "its", false: "their"}[count == 1],
		map[bool]string{true: "shares all queues of its hand", false: "share all queues of their hands"}[count == 1], c.Flows[0].Name)
	return c
}

// CoverOf returns flows whose hands together contain all queues, nil if there are none. It is greedy:
// each step takes the flow with the most queues that are not covered yet and, of several such flows,
// the one with the greatest service.
func CoverOf(queues []int, flows []*result.Flow) []*result.Flow {
	missing := slices.Clone(queues)
	var cover []*result.Flow
	for len(missing) > 0 {
		var best *result.Flow
		most := 0
		for _, f := range flows {
			n := 0
			for _, q := range missing {
				if slices.Contains(f.Hand, q) {
					n++
				}
			}
			if n > most || n > 0 && n == most && cmp.Compare(f.ServiceSeatSeconds, best.ServiceSeatSeconds) > 0 {
				best, most = f, n
			}
		}
		if best == nil {
			return nil
		}
		cover = append(cover, best)
		missing = slices.DeleteFunc(missing, func(q int) bool { return slices.Contains(best.Hand, q) })
	}
	return cover
}
