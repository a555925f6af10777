package collect

import (
	"math"
	"strings"

	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/server"
)

// evidence collects what the verdict needs to find causes.
type evidence struct {
	workloads []result.WorkloadEvidence
}

// fail adds the time of a request that was answered too late or with an error to the evidence.
func (e *evidence) fail(nowNs int64, r *server.Request, how *counter) {
	w := &e.workloads[r.Workload]
	w.FailedRequests++
	if how == otherError && r.Status == server.StatusTooManyRequests {
		w.NotReady++
		return
	}
	before := w.Failed.CallsNs
	addSpent(&w.Failed, nowNs, r, 1)
	if calls := w.Failed.CallsNs - before; how == otherError && calls > 0 || 2*calls > float64(nowNs-r.DispatchNs) {
		w.FailedByCall++
	}
}

// spentBy returns how a request that has been dispatched has spent its time until now.
func spentBy(nowNs int64, r *server.Request) (spent result.Spent) {
	s := r.Spent(nowNs)
	total := nowNs - r.DispatchNs
	spent = result.Spent{TotalNs: float64(total), CallsNs: float64(s.CallsNs), ServedNs: float64(s.ServedNs), SlowNs: float64(s.SlowNs), SlowSentNs: float64(s.SlowSentNs)}
	if d := r.Details; d != nil && (d.RegistryOp != 0 || d.Answer.Status != 0) && !d.Execution {
		spent.StoredNs = float64(total - s.CallsNs - s.ServedNs - s.SentNs)
	}
	return spent
}

// addSpent adds how a request has spent its time until now, times a weight.
func addSpent(to *result.Spent, nowNs int64, r *server.Request, weight float64) {
	if r.DispatchNs >= 0 {
		spent := spentBy(nowNs, r)
		to.Add(&spent, weight)
	}
}

// step returns the counters of the level in the interval that contains atNs.
func (l *level) step(atNs, intervalNs int64) *result.LevelStep {
	i := int(atNs / intervalNs)
	for len(l.steps) <= i {
		l.steps = append(l.steps, result.LevelStep{})
	}
	return &l.steps[i]
}

// spend adds how a request has spent its time until now to the intervals of the level in which it has executed.
func (l *level) spend(nowNs, intervalNs int64, r *server.Request, spent *result.Spent) {
	seats, totalNs := float64(r.SeatsHeld()), nowNs-r.DispatchNs
	if last := int64(len(l.steps) - 1); r.DispatchNs >= last*intervalNs && nowNs < (last+1)*intervalNs { // without divisions
		l.steps[last].Spent.Add(spent, seats)
		return
	}
	for fromNs := r.DispatchNs; fromNs < nowNs; {
		toNs := min(nowNs, fromNs-fromNs%intervalNs+intervalNs)
		l.step(fromNs, intervalNs).Spent.Add(spent, seats*float64(toNs-fromNs)/float64(totalNs))
		fromNs = toNs
	}
}

// wideRequestWait measures how long a level's next request waited because it needed more seats than were free, while
// some were free.
type wideRequestWait struct {
	request *server.Request
	sinceNs int64
	ns      int64
}

func (c *Collector) heldBack(nowNs int64, r *server.Request) {
	h := &c.flowOf(r).level.wideWait
	if h.request == nil {
		h.request, h.sinceNs = r, max(nowNs, c.fromNs)
	}
}

// end closes the measurement: the request was dispatched or rejected, or another one was dispatched instead.
func (h *wideRequestWait) end(nowNs int64) {
	if h.request != nil {
		h.ns += max(0, nowNs-h.sinceNs)
		h.request = nil
	}
}

// configured returns the greatest and the least nominal limit that configurations gave the level in the window, and
// when the limit was reduced to the least; 0 if it was not. Servers that are down make no difference.
func (l *level) configured() (most, least int, reducedNs int64) {
	given, seen := 0, false
	for i, s := range l.limitSteps {
		if i == 0 || s.by == result.ByConfiguration || s.by == "" && s.nominal > given && !seen {
			given = s.nominal
		}
		if s.removed || i+1 < len(l.limitSteps) && l.limitSteps[i+1].atNs <= l.fromNs {
			continue
		}
		if !seen {
			most, least, seen = given, given, true
		}
		if given < least {
			reducedNs = s.atNs
		}
		most, least = max(most, given), min(least, given)
	}
	return most, least, reducedNs
}

// evidenceOf returns the evidence, after Result.
func (c *Collector) evidenceOf() *result.Evidence {
	e := &result.Evidence{Workloads: c.evidence.workloads}
	spent := map[*level]result.Spent{}
	for i := range e.Workloads {
		spec, w := &c.scenario.Spec.Workload[i], &e.Workloads[i]
		w.Recorded = spec.Arrivals.Trace != nil
		w.Limit = limitOf(spec, &c.wishes[i])
		if b := spec.Behaviour; b != nil && b.Controller != nil {
			w.Workers = spec.Clients * b.Controller.Workers
		}
		if outer, _, is := strings.Cut(spec.Name, "/"); is {
			w.Callbacks = outer
		}
		for _, p := range c.inGroups[i] {
			if p == nil {
				continue
			}
			at := result.WorkloadLevel{Level: p.group.level.name, Arrived: p.Arrived, Seats: p.seats, NotServed: p.Counted.NotServed(),
				WaitedNs: p.Timed[measure.Wait].SumNs() + p.Queued.SumNs(), Retries: p.Counted.Retries, Spent: p.spent}
			w.Add(at)
			of := spent[p.group.level]
			of.Add(&p.spent, 1)
			spent[p.group.level] = of
		}
	}
	for _, l := range c.levels { // by name since Result
		if l.name == "" {
			continue
		}
		own := result.LevelEvidence{Grows: l.known && !l.exempt() && growthOf(l.batched()) != nil, HeldBackNs: l.wideWait.ns, Spent: spent[l],
			Executed: l.allKinds.measured, Steps: l.steps, RejectedByWidth: l.rejectedByWidth}
		own.MostConfigured, own.LeastConfigured, own.ReducedNs = l.configured()
		e.Levels = append(e.Levels, own)
	}
	c.addVictims(e)
	if c.handlers != nil {
		writes, reads := c.handlers.Store().Transactions(), c.handlers.Store().Reads()
		e.EtcdTookNs, e.EtcdAloneNs = writes.TookNs+reads.TookNs, writes.AloneNs+reads.AloneNs
		e.EtcdReads = reads.TookNs > 0
	}
	for _, s := range c.servers {
		for i := range s.points {
			p := &s.points[i]
			if p.StartNs < c.fromNs || p.InService == 0 || p.Speed == 0 {
				continue
			}
			weight := float64(p.InService) * p.Seconds()
			e.SlowBySpeed += weight * max(0, -math.Log(p.Factor))
			e.SlowBySharing += weight * max(0, math.Log(p.Factor/p.Speed))
		}
	}
	return e
}
