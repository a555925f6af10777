package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/reports/result"
)

// mechanism is a way in which a level has less seats, or more work, than is configured. Fields that do not apply are
// nil or 0.
type mechanism struct {
	kind  result.Kind
	part  func(*step) float64 // of the work that would be left without it
	seats func(*step) float64 // without it
	lost  []lostPart          // that would not be lost
	tell  func(c *cause) string
}

// without returns the harm without mechanisms.
func (f *fluid) without(all ...mechanism) harm {
	part := func(s *step) float64 {
		part := 1.0
		for i := range all {
			if all[i].part != nil {
				part *= all[i].part(s)
			}
		}
		return part
	}
	return f.run(part, func(s *step) float64 {
		seats, kept := s.limit, 1.0
		for i := range all {
			if all[i].seats != nil {
				seats = max(seats, all[i].seats(s))
			}
			for _, why := range all[i].lost {
				kept -= s.lost[why]
			}
		}
		return seats * min(1, s.rate/max(kept, 1e-9))
	})
}

// lostWhileFull returns the part of the level's seat time that a mechanism took while requests waited or were rejected.
func (f *fluid) lostWhileFull(parts []lostPart) float64 {
	lost, used := 0.0, 0.0
	for i := range f.steps {
		s := &f.steps[i]
		if s.waiting == 0 && s.rejected == 0 {
			continue
		}
		used += s.used * s.seconds
		for _, why := range parts {
			lost += s.used * s.seconds * s.lost[why]
		}
	}
	if used == 0 {
		return 0
	}
	return lost / used
}

// atLevel returns the causes of harm at a priority level, the first one first.
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
	f := d.newFluid(points, l.Response == "Queue", d.Evidence.LevelNamed(s, l.Name), demand)
	base, seen := f.without(), f.observed()
	fromNs, toNs := d.whenFull(points)

	made := func(kind result.Kind, share float64) cause {
		return cause{Cause: result.Cause{Kind: kind, Level: l.Name, FromNs: fromNs, ToNs: toNs},
			notServed: share * float64(l.Rejected+unfinishedWaiting(l)), waitedNs: share * waitedNs(&l.Group), share: share}
	}
	explained := 0.0
	if base.sum() > 0 {
		explained = min(1, base.sum()/max(seen.sum(), base.sum()/100))
	}
	var used []mechanism
	unexplained := 0.0
	for _, m := range d.mechanisms(index, f) {
		without := f.without(m)
		relief := base.relief(without) * explained
		if lost := f.lostWhileFull(m.lost); lost > mostLost { // chance has made requests wait, which the fluid does not know
			relief += (1 - explained) * lost
			unexplained = max(unexplained, (1-explained)*lost)
		}
		if relief < leastShare || m.kind == result.ByRetries && !f.storm(base, without) {
			continue
		}
		used = append(used, m)
		c := made(m.kind, relief)
		c.Sentence = m.tell(&c)
		c.Workloads, c.Flows = d.makersAt(m.kind, l.Name), d.causeFlows(l, flows, demand)
		found = append(found, c)
	}
	rest := 1.0
	if len(used) > 0 {
		rest = max(0, 1-base.relief(f.without(used...))*explained-unexplained)
	}
	if wide, share := d.wide(index, flows, f, explained); wide != nil && min(share, rest) > 0 {
		share = min(share, rest)
		c := made(result.ByWideLists, share)
		c.Sentence, c.Figures, c.Flows, c.Workloads = wide.Sentence, wide.Figures, wide.Flows, wide.Workloads
		found = append(found, c)
		rest -= share
	}
	if h := d.hand(l, flows); h != nil {
		if share := min(h.waitedNs, rest); share >= leastShare/10 {
			c := made(result.ByHand, share)
			c.Sentence, c.Figures, c.Flows, c.Workloads = h.Sentence, h.Figures, h.Flows, h.Workloads
			found = append(found, c)
			rest -= share
		}
	}
	first := slices.MinFunc(append(found, cause{}), firstOf)
	if len(found) == 0 || rest >= leastShare && !(first.share >= mostLost && elsewhere(first.Kind)) {
		c := made(result.ByDemand, rest)
		d.tellDemand(&c, l, flows, demand)
		found = append(found, c)
	}
	d.order(found)
	if at := min(1, len(found)-1); first.share >= mostLost && elsewhere(first.Kind) && (found[0].Kind != result.ByRetries || elsewhere(found[at].Kind)) {
		found = slices.DeleteFunc(found, func(c cause) bool { return !elsewhere(c.Kind) }) // the seats are full because of it
	}
	for i := range found {
		found[i].Sentence = startsSentence(found[i].Sentence)
	}
	found[0].main = true
	return found
}

// mostLost is the part of the harm from which on a cause is the one that counts.
const mostLost = 0.5

// elsewhere says whether a cause lies outside flow control, so that more seats do not help.
func elsewhere(kind result.Kind) bool {
	switch kind {
	case result.ByExecution, result.ByCores, result.ByEtcd, result.ByWebhook, result.ByNetwork, result.ByRetries:
		return true
	}
	return false
}

// firstOf compares causes at a level by their shares of its harm. A cause outside flow control that explains half of
// the harm comes first, because it is why the seats are full.
func firstOf(a, b cause) int {
	lost := func(c *cause) int { return map[bool]int{true: 1}[c.share >= mostLost && elsewhere(c.Kind)] }
	return cmp.Or(-cmp.Compare(lost(&a), lost(&b)), -cmp.Compare(a.share, b.share))
}

// order orders the causes at a level by their shares of its harm. Retries come first, although what triggered them is also a cause: it
// may be over before most of the harm is done. Their sentence names it.
func (d *diagnosis) order(found []cause) {
	slices.SortStableFunc(found, firstOf)
	at := slices.IndexFunc(found, func(c cause) bool { return c.Kind == result.ByRetries })
	if at < 0 {
		return
	}
	retries := found[at]
	copy(found[1:at+1], found[:at])
	if before := d.slowBefore(); before != "" {
		retries.Sentence += before
	} else if len(found) > 1 && elsewhere(found[1].Kind) {
		retries.Sentence += " It began with this: " + found[1].Sentence
	}
	found[0] = retries
}

// trigger introduces what triggered retries, or that requests hinder each other.
const trigger = " It began when "

// storm says whether retries make the harm that they are part of: they are a quarter of the work, and without them, a much smaller
// part of it is rejected.
func (f *fluid) storm(with, without harm) bool {
	if f.work(first) > f.work(all)*(1-leastOfStorm) {
		return false
	}
	if with.over == 0 {
		return without.area < with.area*(1-mostLost)
	}
	return without.over/f.work(first) < leastOfStorm*with.over/f.work(all)
}

// leastOfStorm is which part of the work are retries, and which part of the rejections may be left without them, for these to be a storm.
const leastOfStorm = 0.25

// withoutSeats returns the cause of harm at a level that has executed nothing, so that it is unknown what its requests would have
// taken: it had no seats.
func (d *diagnosis) withoutSeats(l *result.Level, points []result.Point) []cause {
	if l.NoSeats == nil {
		return nil
	}
	fromNs, toNs := d.whenFull(points)
	c := cause{Cause: result.Cause{Kind: result.BySeats, Level: l.Name, FromNs: fromNs, ToNs: toNs, Workloads: d.makersAt(result.BySeats, l.Name)},
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

// makersAt returns the workloads that contribute materially to a cause at a level, the greatest contribution first.
func (d *diagnosis) makersAt(kind result.Kind, level string) []string {
	if d.Evidence == nil {
		return nil
	}
	part := func(w *result.WorkloadLevel) float64 {
		switch s := &w.Spent; kind {
		case result.ByWebhook:
			return s.CallsNs
		case result.ByCores, result.ByExecution:
			return s.ServedNs
		case result.ByEtcd:
			return s.StoredNs
		case result.ByNetwork:
			return s.SlowSentNs
		case result.ByRetries:
			return float64(w.Retries)
		}
		return 0
	}
	parts := make([]float64, len(d.Evidence.Workloads))
	for i := range d.Evidence.Workloads {
		levels := d.Evidence.Workloads[i].Levels
		for k := range levels {
			if l := &levels[k]; everywhere(kind) || level == "" || l.Level == level {
				parts[i] += part(l)
			}
		}
	}
	if names := d.mostOf(parts); len(names) > 0 {
		return names
	}
	above := d.askedAbove(level)
	return d.mostOf(above)
}

// everywhere says whether a cause lies in a part of the servers that the requests of all levels share.
func everywhere(kind result.Kind) bool {
	return kind == result.ByCores || kind == result.ByEtcd || kind == result.ByNetwork
}

// askedAbove returns the demand of each workload above its flows' fair shares at a level or, if there is none, its
// whole demand.
func (d *diagnosis) askedAbove(level string) []float64 {
	above, asked := make([]float64, len(d.Summary.Workloads)), make([]float64, len(d.Summary.Workloads))
	sum := 0.0
	for i := range d.Summary.Flows {
		f := &d.Summary.Flows[i]
		at := slices.IndexFunc(d.Summary.Workloads, func(g result.Group) bool { return g.Name == f.Workload })
		if f.PriorityLevel != level || at < 0 {
			continue
		}
		if OverDemanding(f) {
			above[at] += excess(f)
			sum += excess(f)
		}
		asked[at] += f.DemandSeatSeconds
	}
	if sum == 0 {
		above = asked
	}
	if d.Evidence == nil || slices.ContainsFunc(above, func(part float64) bool { return part > 0 }) {
		return above
	}
	for i := range d.Evidence.Workloads { // its flows are of several workloads
		for _, l := range d.Evidence.Workloads[i].Levels {
			if l.Level == level {
				above[i] += float64(l.Seats) * meanExecution(&d.Summary.Workloads[i])
			}
		}
	}
	return above
}

func meanExecution(g *result.Group) float64 {
	if g.Execution == nil {
		return 1
	}
	return max(1, float64(g.Execution.MeanNs))
}

// leastMade is the part of the first workload's contribution to a cause from which on another workload is named as
// well.
const leastMade = 0.2

// mostOf returns the workloads with the greatest parts of something.
func (d *diagnosis) mostOf(parts []float64) (names []string) {
	most := slices.Max(append([]float64{0}, parts...))
	order := []int{}
	for i, part := range parts {
		if part > 0 && part >= leastMade*most {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return -cmp.Compare(parts[a], parts[b]) })
	for _, i := range order {
		names = append(names, d.Summary.Workloads[i].Name)
	}
	return names
}

// excess returns the seat-seconds that a flow asked for above its fair share.
func excess(f *result.Flow) float64 { return max(0, f.DemandSeatSeconds-f.FairShareSeatSeconds) }

// causeFlows returns the flows whose user is known that asked for most: above their fair share or, if none did, at all.
func (d *diagnosis) causeFlows(l *result.Level, flows []*result.Flow, demand float64) []result.CauseFlow {
	flows = slices.DeleteFunc(slices.Clone(flows), func(f *result.Flow) bool { return !f.HasUser() })
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

// tellDemand writes what the flows of a level asked for. If all ask alike and for more than there is, none of them is the cause: the
// level has too few seats.
func (d *diagnosis) tellDemand(c *cause, l *result.Level, flows []*result.Flow, demand float64) {
	over, seats := []*result.Flow{}, d.SeatSeconds(l.Name)
	for _, f := range flows {
		if OverDemanding(f) {
			over = append(over, f)
		}
	}
	c.Flows = d.causeFlows(l, flows, demand)
	c.Workloads = d.mostOf(d.askedAbove(l.Name))
	c.Figures = []result.Figure{figure("demandSeatSeconds", demand), figure("serviceSeatSeconds", l.ServiceSeatSeconds), figure("overDemandingFlows", float64(len(over)))}
	if seats > 0 {
		c.Figures = append(c.Figures, figure("ofSeats", demand/seats))
	}
	switch {
	case len(c.Flows) == 0:
		c.Sentence = fmt.Sprintf("The requests of %s asked for %s of its seats.", l.Name, format.Percent(demand/max(seats, 1)))
	case seats == 0:
		c.Sentence = fmt.Sprintf("%s asked for %s seat-seconds of %s, which had no seats.", d.groupOf(flows), format.Number(demand), l.Name)
		c.Kind = result.BySeats
	case demand > seats && len(over) > 0 && d.alike(flows):
		c.Kind = result.BySeats
		c.Sentence = fmt.Sprintf("%s asked for %s of the seats of %s, none for much more than the others: it has too few seats.", d.groupOf(flows), format.Percent(demand/seats), l.Name)
	case len(over) > 0:
		sum := 0.0
		for _, f := range over {
			sum += f.DemandSeatSeconds
		}
		if demand > seats {
			c.Sentence = fmt.Sprintf("%s asked for %s of the seats of %s", d.groupOf(over), format.Percent(sum/seats), l.Name)
		} else {
			c.Sentence = fmt.Sprintf("%s asked for %s of all seat-seconds of %s", d.groupOf(over), format.Percent(sum/demand), l.Name)
		}
		if len(over) == 1 {
			c.Sentence += fmt.Sprintf(", %s of its fair share.", format.Percent(c.Flows[0].OfFairShare))
		} else {
			c.Sentence += ", above their fair shares."
		}
	case c.Flows[0].ShareOfDemand > 0.5:
		c.Sentence = fmt.Sprintf("%s asked for %s of all seat-seconds of %s.", c.Flows[0].Name, format.Percent(c.Flows[0].ShareOfDemand), l.Name)
	default:
		c.Sentence = fmt.Sprintf("%s asked for %s seat-seconds of %s, most of it within a short time.", d.groupOf(flows), format.Number(demand), l.Name)
	}
}

// alike says whether all flows of a level that were harmed ask for about the same: none for less than half of what another one does,
// and neither do those of each workload together.
func (d *diagnosis) alike(flows []*result.Flow) bool {
	if len(flows) < 2 { // one that is alone asked for too much
		return false
	}
	largest := 0.0
	for _, f := range flows {
		largest = max(largest, surelyAsked(f))
	}
	for _, f := range flows {
		if 2*f.DemandSeatSeconds < largest && (f.Rejected > 0 || Waited(&f.Group)) {
			return false
		}
	}
	groups, total := d.groups(flows)
	return groups[0].demand >= oneGroup*total || len(groups) > 1 && groups[0].demand < 2*groups[len(groups)/2].demand
}

// oneGroup is the part of the demand of a level from which on a group of flows stands for the whole demand.
const oneGroup = 0.95

// flowGroup is flows of one workload or, of recorded ones, with one pattern of names.
type flowGroup struct {
	name   string
	flows  int
	demand float64
}

// groups returns the groups of flows by decreasing demand, and their total demand.
func (d *diagnosis) groups(flows []*result.Flow) (groups []flowGroup, total float64) {
	for _, f := range flows {
		name := f.Workload
		if at := slices.IndexFunc(d.Summary.Workloads, func(g result.Group) bool { return g.Name == name }); at < 0 || d.recorded(at) {
			name = result.Pattern(f.ShortName())
		}
		at := slices.IndexFunc(groups, func(g flowGroup) bool { return g.name == name })
		if at < 0 {
			at = len(groups)
			groups = append(groups, flowGroup{name: name})
		}
		groups[at].flows++
		groups[at].demand += f.DemandSeatSeconds
		total += f.DemandSeatSeconds
	}
	slices.SortStableFunc(groups, func(a, b flowGroup) int { return -cmp.Compare(a.demand, b.demand) })
	return groups, total
}

// groupOf names flows: one of them, or how many and what they have in common. Those with most of the demand come first.
func (d *diagnosis) groupOf(flows []*result.Flow) string {
	if len(flows) == 1 {
		return flows[0].ShortName()
	}
	groups, total := d.groups(flows)
	if groups[0].demand < mainShare*total {
		return fmt.Sprintf("%s flows, %d of them of %s,", format.Whole(int64(len(flows))), groups[0].flows, groups[0].name)
	}
	if groups[0].flows < len(flows) {
		return fmt.Sprintf("%s flows, most of %s,", format.Whole(int64(len(flows))), groups[0].name)
	}
	return fmt.Sprintf("the %s flows of %s", format.Whole(int64(len(flows))), groups[0].name)
}

// asGood is the part of a wider mechanism's relief from which on a narrower mechanism is named instead.
const asGood = 0.7

// lentFigure is the name of the figure that a cause by lending has if the level had lent its own seats.
const lentFigure = "lentSeats"

// mechanisms returns what took seats from a level, or made its requests hold them for longer.
func (d *diagnosis) mechanisms(index int, f *fluid) (found []mechanism) {
	l := &d.Summary.PriorityLevels[index]
	if d.Evidence != nil {
		found = d.configured(index, f)
	}
	could := func(s *step) float64 { return max(s.limit, s.nominal*s.borrowed) }
	lent, least, whole, nominal, most := 0.0, 0.0, 0.0, 0.0, 0.0
	for i := range f.steps { // when it did most harm: what was lent while nobody needed it harmed nobody
		s := &f.steps[i]
		if did := (could(s) - s.limit) * (harm{s.rejected, s.waiting * s.seconds}).sum(); s.limit > 0 && did > most {
			lent, least, whole, nominal, most = could(s)-s.limit, s.limit, could(s), s.nominal, did
		}
	}
	if lent > 0.01*whole {
		found = append(found, mechanism{kind: result.ByLending, seats: could, tell: func(c *cause) string {
			c.Figures = []result.Figure{figure("seats", least), figure("seatsMissing", lent), figure("nominalSeats", nominal)}
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
	takes := func(kind result.Kind, sentence string, parts ...lostPart) *mechanism {
		spent := d.lost(&e.Spent, 1)
		share := 0.0
		for _, why := range parts {
			share += spent[why]
		}
		if share < lostLeast {
			return nil
		}
		found = append(found, mechanism{kind: kind, lost: parts, tell: func(c *cause) string {
			c.Figures = []result.Figure{figure("shareOfSeatSeconds", share)}
			return fmt.Sprintf(sentence, format.Percent(share), l.Name)
		}})
		return &found[len(found)-1]
	}
	takes(result.ByWebhook, "%s of the seat-seconds of %s passed while the server waited for a webhook or an aggregated server.", lostCalls)
	if m := d.slowMachine(f, l.Name); m != nil {
		found = append(found, *m)
	} else {
		takes(result.ByCores, "Executions shared the processor: %s of the seat-seconds of %s are more than they take alone."+strings.ReplaceAll(d.slowBefore(), "%", "%%"), lostSharing, lostSpeed)
	}
	takes(result.ByNetwork, "Answers shared the network of the server: %s of the seat-seconds of %s are more than they take alone.", lostSending)
	calls := "Transactions of etcd"
	if d.Evidence.EtcdReads {
		calls = "Calls to etcd"
	}
	takes(result.ByEtcd, calls+" hindered each other, which took %s of the seat-seconds of %s.", lostEtcd)
	if share := float64(l.Retries) / float64(l.Arrived); share > 0.05 {
		found = append(found, mechanism{kind: result.ByRetries, part: first, tell: func(c *cause) string {
			c.Figures = []result.Figure{figure("shareOfRequests", share)}
			return fmt.Sprintf("%s of the requests of %s were retries, without which its seats would have been enough for nearly all others.", format.Percent(share), l.Name)
		}})
	}
	return found
}

// configured returns the mechanisms by which a configuration, or servers that were away, gave a level few seats.
func (d *diagnosis) configured(index int, f *fluid) (found []mechanism) {
	l, e := &d.Summary.PriorityLevels[index], &d.Evidence.Levels[index]
	most := 0.0
	for i := range f.steps {
		most = max(most, f.steps[i].nominal)
	}
	switch configured := float64(e.MostConfigured); {
	case e.MostConfigured == 0:
		found = append(found, mechanism{kind: result.BySeats, seats: func(*step) float64 { return math.MaxInt32 }, tell: func(c *cause) string {
			c.Figures = []result.Figure{figure("nominalSeats", 0)}
			return fmt.Sprintf("%s has no seats: it executes at most one request at a time.", l.Name)
		}})
	case float64(e.LeastConfigured) < 0.9*configured:
		found = append(found, mechanism{kind: result.BySeats, seats: func(s *step) float64 { return max(s.limit, configured) }, tell: func(c *cause) string {
			c.Figures = []result.Figure{figure("nominalSeats", float64(e.LeastConfigured)), figure("mostNominalSeats", configured)}
			if e.ReducedNs > 0 {
				return fmt.Sprintf("A change of the configuration at %s gave %s only %s nominal seats, which had %s before.",
					d.Summary.StartNs.Moment(e.ReducedNs), l.Name, format.Number(float64(e.LeastConfigured)), format.Number(configured))
			}
			return fmt.Sprintf("The configuration gave %s only %s nominal seats at first, and up to %s later.",
				l.Name, format.Number(float64(e.LeastConfigured)), format.Number(configured))
		}})
	case d.wentAway() != "" && len(d.Summary.Servers) > 1: // others serve its requests
		found = append(found, mechanism{kind: result.ByStoppedServer, seats: func(s *step) float64 { return max(s.limit, most) }, tell: func(c *cause) string {
			c.Figures = []result.Figure{figure("mostNominalSeats", most)}
			return fmt.Sprintf("%s, and its seats of %s were missing.", d.wentAway(), l.Name)
		}})
	}
	return found
}

// wentAway says which server was away first, and since when; "" if none was in the window.
func (d *diagnosis) wentAway() string {
	for i := range d.Summary.Timeline {
		m := &d.Summary.Timeline[i]
		if (m.What == result.Crashed || m.What == result.Stopped) && !m.OutOfMemory && m.AtNs >= d.Summary.WarmupNs && m.AtNs < d.Summary.DurationNs {
			how := map[bool]string{true: "crashed", false: "was stopped"}[m.What == result.Crashed]
			return fmt.Sprintf("Server %d %s at %s", m.Server, how, d.Summary.StartNs.Moment(m.AtNs))
		}
	}
	return ""
}

// slowMachine returns the mechanism that machines were slow by themselves for some time; nil if all slow executions
// together explain the harm better.
func (d *diagnosis) slowMachine(f *fluid, level string) *mechanism {
	lost := []lostPart{lostSpeed}
	base := f.without()
	whole := base.relief(f.without(mechanism{lost: []lostPart{lostSpeed, lostSharing}}))
	if f.lostWhileFull(lost) == 0 || f.harmWhileSlow() < mostLost && (whole == 0 || base.relief(f.without(mechanism{lost: lost})) < asGood*whole) {
		return nil
	}
	lowest, seconds := 1.0, 0.0
	for i := range d.Summary.Timeline {
		if m := &d.Summary.Timeline[i]; m.Factor > 0 {
			lowest = min(lowest, m.Factor)
		}
	}
	for i := range f.steps {
		if s := &f.steps[i]; s.lost[lostSpeed] > 0 {
			seconds += s.seconds
		}
	}
	return &mechanism{kind: result.ByExecution, lost: []lostPart{lostSpeed}, tell: func(c *cause) string {
		c.Figures = []result.Figure{figure("speed", lowest), durationFigure("slow", seconds*1e9)}
		return fmt.Sprintf("Executions of %s were slow: %s.", level, d.slowdown())
	}}
}

// harmWhileSlow returns which part of the harm was done while machines were slow by themselves.
func (f *fluid) harmWhileSlow() float64 {
	slow, all := 0.0, 0.0
	for i := range f.steps {
		s := &f.steps[i]
		done := harm{s.rejected, s.waiting * s.seconds}.sum()
		all += done
		if s.lost[lostSpeed] >= lostLeast {
			slow += done
		}
	}
	if all == 0 {
		return 0
	}
	return slow / all
}

// slowdown says when machines were slow by themselves, and how much: at the lowest speed that the scenario states. It is "" without.
func (d *diagnosis) slowdown() string {
	s := d.Summary
	var slowest *result.Moment
	endNs := s.DurationNs
	for i := range s.Timeline {
		m := &s.Timeline[i]
		switch {
		case m.Factor == 0:
		case m.Factor < 1 && (slowest == nil || m.Factor < slowest.Factor):
			slowest, endNs = m, s.DurationNs
		case slowest != nil && endNs == s.DurationNs && m.Factor > slowest.Factor && (m.Server == slowest.Server || m.Server == result.AllServers):
			endNs = m.AtNs
		}
	}
	if slowest == nil {
		return ""
	}
	who := "the machines"
	if slowest.Server != result.AllServers {
		who = fmt.Sprintf("the machine of server %d", slowest.Server)
	}
	when := "from " + s.StartNs.Moment(slowest.AtNs) + " on"
	if endNs < s.DurationNs {
		when = "from " + s.StartNs.Moment(slowest.AtNs) + " to " + s.StartNs.Moment(endNs)
	}
	return fmt.Sprintf("%s ran at %s of their speed %s", who, strings.TrimSpace(format.Percent(slowest.Factor)), when)
}

// slowBefore is a sentence about a slowdown of machines that has ended, after which requests still hinder each other; "" without.
func (d *diagnosis) slowBefore() string {
	if text := d.slowdown(); text != "" {
		return trigger + text + "."
	}
	return ""
}

// startsSentence begins a text with a capital letter, unless it begins with a name.
func startsSentence(text string) string {
	if rest, article := strings.CutPrefix(text, "the "); article {
		return "The " + rest
	}
	return text
}
