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
	if len(points) == 0 {
		return nil
	}
	if demand == 0 {
		return d.withoutSeats(l, points)
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

// withoutSeats returns the cause of harm at a level that has executed nothing, so that it is unknown what its requests would have
// taken: it had no seats.
func (d *diagnosis) withoutSeats(l *result.Level, points []result.Point) []cause {
	if l.NoSeats == nil {
		return nil
	}
	fromNs, toNs := d.whenFull(points)
	c := cause{Cause: result.Cause{Kind: result.BySeats, Level: l.Name, FromNs: fromNs, ToNs: toNs, Workloads: d.workloadsAt(l.Name)},
		notServed: float64(l.Rejected + unfinishedWaiting(l)), waitedNs: waitedNs(&l.Group), main: true}
	if nominal := float64(l.NoSeats.NominalLimit); nominal > 0 {
		c.Kind = result.ByLending
		c.Figures = []result.Figure{figure("seats", 0), figure("seatsMissing", nominal), figure(lentFigure, nominal)}
		c.Sentence = fmt.Sprintf("%s executed nothing, because it had lent its %s nominal %s for %s.", l.Name, format.Number(nominal), format.Plural(l.NoSeats.NominalLimit, "seat"), format.Duration(float64(l.NoSeats.TotalNs)))
	} else {
		c.Figures = []result.Figure{figure("nominalSeats", 0)}
		c.Sentence = fmt.Sprintf("%s executed nothing, because it has no seats.", l.Name)
	}
	return []cause{c}
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
	takes(result.ByNetwork, e.Spent.SlowSentNs, "Answers shared the network of the server: %s of the seat-seconds of %s are more than they take alone.")
	if ev := d.Evidence; ev.EtcdTookNs > ev.EtcdAloneNs {
		calls := "Transactions of etcd"
		if ev.EtcdReads {
			calls = "Calls to etcd"
		}
		takes(result.ByEtcd, e.Spent.StoredNs*(1-float64(ev.EtcdAloneNs)/float64(ev.EtcdTookNs)), calls+" hindered each other, which took %s of the seat-seconds of %s.")
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
