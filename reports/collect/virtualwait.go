package collect

import (
	"container/heap"
	"math"
	"slices"

	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/random"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// probesPerWorkload is the number of random moments of the window at which a workload is probed.
const probesPerWorkload = 1000

// Probes measures the virtual waiting time of each workload: the wait of requests that would have been
// sent at random moments. It uses probes, which change no decision (queueset.Probe). A client that
// waits for a response sends nothing meanwhile, so the waits of the requests that were sent do not
// show how long such a time was (coordinated omission). The moments of the probes do not depend
// on the clients.
//
// A probe is made for a client that is drawn from those that have sent a request, and is a copy of
// that client's latest request, at the server which that was sent to. If that server no longer listens,
// the client would connect anew: the probe is at a random server that does. If there is none, the probe
// is refused. A probe that would still be queued at the end of the run is censored: its wait is at least the
// time until then. One whose server ends counts as if it had not been made.
type Probes struct {
	servers   []*server.Server
	fromNs    int64 // the window
	toNs      int64
	workloads []virtualWorkload
	due       dueProbes
	pending   []pendingProbe // those that are first in their queues; there are few
	changed   []changedSet   // the queue sets with pending probes
}

// dueProbes are the workloads by their next probes: those that are due at the same time in the order of the scenario. It is a heap,
// because a run of thousands of workloads has a thousand times as many moments.
type dueProbes []*virtualWorkload

func (d dueProbes) Len() int { return len(d) }
func (d dueProbes) Less(i, j int) bool {
	return d[i].nextNs < d[j].nextNs || d[i].nextNs == d[j].nextNs && d[i].index < d[j].index
}
func (d dueProbes) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d dueProbes) Push(any)      { panic("the number of workloads is fixed") }
func (d dueProbes) Pop() any      { panic("the number of workloads is fixed") }

// virtualWorkload is the probes of one workload.
type virtualWorkload struct {
	index          int
	startNs, endNs int64              // within which it sends
	latest         []*server.Template // by client; nil before its first request
	sentTo         []int16            // by client: the server of that request
	seen           []int32            // the clients that have sent a request
	moments        random.Stream
	next           int   // index of the next probe
	nextNs         int64 // when it is due; math.MaxInt64 after the last one
	probes         int64
	rejected       int64
	refused        int64
	waits          measure.Histogram
	ended          []int64 // the waits, as well
	censored       []int64 // the waits until the end of the run of those that still waited
	timedOut       []int64 // the waits of those that timed out
}

type pendingProbe struct {
	queueset.Probe
	workload int
	server   int16
	fromNs   int64
	limitNs  int64 // when it would time out
}

// changedSet is the time of the latest event at a queue set.
type changedSet struct {
	set   *queueset.QueueSet
	atNs  int64
	limit int // of the seats, since atNs
	n     int // pending probes, behind others or not

	// behind are the probes that requests are ahead of, in the order in which they began. Each dispatch looks at those that are
	// first only, because thousands of workloads have tens of thousands of probes in long queues.
	behind map[queueset.QueueKey][]pendingProbe
}

// newProbes returns the probes for a run of sc on the servers.
func newProbes(sc *scenario.Scenario, servers []*server.Server) *Probes {
	v := &Probes{servers: servers, fromNs: int64(sc.Spec.Warmup.Duration), toNs: int64(sc.Spec.Duration)}
	v.workloads = make([]virtualWorkload, len(sc.Spec.Workload))
	for i := range v.workloads {
		w, settings := &v.workloads[i], &sc.Spec.Workload[i]
		w.startNs, w.endNs = int64(settings.Start), sc.Spec.EndNs(settings)
		w.latest, w.sentTo = make([]*server.Template, settings.Clients), make([]int16, settings.Clients)
		w.waits.Precision = measure.FinePrecision
		w.moments.Open(sc.Spec.Seed, settings.Name, 0, "probes")
	}
	v.begin()
	return v
}

// begin draws the first probe of each workload.
func (v *Probes) begin() {
	for i := range v.workloads {
		w := &v.workloads[i]
		w.index = i
		v.draw(w)
		v.due = append(v.due, w)
	}
	heap.Init(v.due)
}

// draw draws the moment of the workload's next probe. The window has as many equal parts as the workload has probes,
// with one probe in each.
func (v *Probes) draw(w *virtualWorkload) {
	if w.next == probesPerWorkload {
		w.nextNs = math.MaxInt64
		return
	}
	length := float64(v.toNs-v.fromNs) / probesPerWorkload
	w.nextNs = v.fromNs + int64(length*(float64(w.next)+w.moments.Float64()))
	w.next++
}

// Observer returns what the probes observe of a run.
func (v *Probes) Observer() server.Observer {
	return server.Observer{
		Arrived: v.arrived, Dispatched: v.dispatched, Rejected: v.rejected, Executed: v.ended, Released: v.ended, GivenUp: v.givenUp,
		Adjusted: v.adjusted, Changed: v.stageChanged, Tick: v.tick,
	}
}

// tick makes the probes that are due, and returns the time of the next one.
func (v *Probes) tick(nowNs int64, _ []*server.Server) (nextNs int64) {
	for len(v.due) > 0 && v.due[0].nextNs <= nowNs {
		w := v.due[0]
		v.probe(nowNs, w.index)
		v.draw(w)
		heap.Fix(v.due, 0)
	}
	if len(v.due) == 0 {
		return v.toNs
	}
	return min(v.toNs, v.due[0].nextNs)
}

func (v *Probes) probe(nowNs int64, workload int) {
	w := &v.workloads[workload]
	if len(w.seen) == 0 || nowNs < w.startNs || nowNs >= w.endNs {
		return
	}
	client := w.seen[w.moments.IntN(len(w.seen))]
	template := w.latest[client]
	w.probes++
	at := v.serverFor(w, client)
	if at == nil {
		w.refused++
		return
	}
	p, rejection, waits := at.Probe(nowNs, template)
	switch {
	case rejection != queueset.NotRejected:
		w.rejected++
	case !waits:
		w.record(0)
	default:
		c := v.setOf(p.Set())
		c.behind[p.QueueKey()] = append(c.behind[p.QueueKey()], pendingProbe{p, workload, int16(at.Index()), nowNs, nowNs + at.WaitLimitNs(template)})
		v.advance(c, p.QueueKey())
		c.n++
		c.happens(nowNs)
	}
}

// serverFor returns the server that a client would send a request to, nil if none listens.
func (v *Probes) serverFor(w *virtualWorkload, client int32) *server.Server {
	if latest := v.servers[w.sentTo[client]]; latest.Listens() {
		return latest
	}
	var listening []*server.Server
	for _, s := range v.servers {
		if s.Listens() {
			listening = append(listening, s)
		}
	}
	if len(listening) == 0 {
		return nil
	}
	return listening[w.moments.IntN(len(listening))]
}

// setOf returns the entry of a queue set, and adds one if there is none.
func (v *Probes) setOf(set *queueset.QueueSet) *changedSet {
	if c := v.entry(set); c != nil {
		return c
	}
	v.changed = append(v.changed, changedSet{set: set, behind: map[queueset.QueueKey][]pendingProbe{}})
	return &v.changed[len(v.changed)-1]
}

func (v *Probes) entry(set *queueset.QueueSet) *changedSet {
	for i := range v.changed {
		if v.changed[i].set == set {
			return &v.changed[i]
		}
	}
	return nil
}

// advance drops the probes of a queue that no request is ahead of any more from behind.
func (v *Probes) advance(c *changedSet, queue queueset.QueueKey) {
	behind := c.behind[queue]
	n := 0
	for n < len(behind) && behind[n].First() {
		n++
	}
	if n > 0 {
		v.pending = append(v.pending, behind[:n]...)
		c.behind[queue] = slices.Delete(behind, 0, n)
	}
}

// end resolves the probes of a queue set that would be dispatched now: in the current state or, if next is the request
// that is being dispatched, before it.
func (v *Probes) end(nowNs int64, c *changedSet, next *server.Request) {
	for i := 0; i < len(v.pending); {
		p := &v.pending[i]
		switch {
		case p.Set() != c.set:
			i++
		case nowNs >= p.limitNs:
			v.workloads[p.workload].timeOut(p)
			v.remove(i, c)
		case next == nil && p.Ready(), next != nil && p.Precedes(next.InQueue(), next.ArrivalNs >= p.fromNs):
			v.workloads[p.workload].record(nowNs - p.fromNs)
			v.remove(i, c)
		default:
			i++
		}
	}
}

// remove removes a pending probe. The last one takes its index.
func (v *Probes) remove(i int, c *changedSet) {
	last := len(v.pending) - 1
	v.pending[i] = v.pending[last]
	v.pending = v.pending[:last]
	c.n--
}

// pendingAt returns the entry of the queue set of a request's level; nil if no probe is pending
// there.
func (v *Probes) pendingAt(r *server.Request, level *flowcontrol.Level) *changedSet {
	if r.Flow == nil {
		return nil
	}
	c := v.entry(level.Queues())
	if c == nil || c.n == 0 {
		return nil
	}
	return c
}

// change ends the probes that would have been dispatched in the state of the queue set since its
// latest event, and records that an event happens now.
func (v *Probes) change(nowNs int64, c *changedSet) {
	if c == nil {
		return
	}
	v.settle(nowNs, c)
	c.happens(nowNs)
}

// settle ends the probes that would have been dispatched after the latest event of the queue set. Nothing but its limit
// may have changed since.
func (v *Probes) settle(nowNs int64, c *changedSet) {
	if c.n > 0 && c.atNs < nowNs && c.set.SeatsInUse() < c.limit {
		v.end(c.atNs, c, nil)
	}
}

// happens records an event of the queue set.
func (c *changedSet) happens(nowNs int64) { c.atNs, c.limit = nowNs, c.set.Limit() }

// arrived is called when a request arrives.
func (v *Probes) arrived(nowNs int64, r *server.Request) {
	w := &v.workloads[r.Workload]
	if w.latest[r.Client] == nil {
		w.seen = append(w.seen, int32(r.Client))
	}
	w.latest[r.Client], w.sentTo[r.Client] = r.Template, r.Server
	v.change(nowNs, v.pendingAt(r, r.Level))
}

// dispatched is called when a request is dispatched.
func (v *Probes) dispatched(nowNs int64, r *server.Request) {
	c := v.pendingAt(r, r.Level)
	if c == nil {
		return
	}
	v.advance(c, r.InQueue().QueueKey())
	v.end(nowNs, c, r)
	c.happens(nowNs)
}

// rejected is called when a request is rejected.
func (v *Probes) rejected(nowNs int64, r *server.Request) {
	c := v.pendingAt(r, r.Level)
	if c == nil {
		return
	}
	queue := r.InQueue().QueueKey()
	if r.Rejection == queueset.TimedOut {
		for _, probes := range [][]pendingProbe{v.pending, c.behind[queue]} {
			for i := range probes {
				if p := &probes[i]; p.fromNs <= r.ArrivalNs && p.QueueKey() == queue {
					p.TimedOutBehind(r.InQueue())
				}
			}
		}
	}
	v.advance(c, queue)
	v.change(nowNs, c)
}

// ended is called when a request's execution ends, and when its seats are released.
func (v *Probes) ended(nowNs int64, r *server.Request) {
	v.change(nowNs, v.pendingAt(r, r.Level))
}

// givenUp is called when the server of a request has ended.
func (v *Probes) givenUp(nowNs int64, r *server.Request) {
	if r.InFlight() {
		v.ended(nowNs, r)
	}
}

// adjusted is called when the limits have changed. The probes of a removed level are discarded.
func (v *Probes) adjusted(nowNs int64, _ *server.Server) {
	if !slices.ContainsFunc(v.changed, func(c changedSet) bool { return c.n > 0 }) {
		return
	}
	exists := map[*queueset.QueueSet]bool{}
	for _, s := range v.servers {
		for _, l := range s.Levels() {
			exists[l.Queues()] = true
		}
	}
	v.discard(func(p *pendingProbe) bool { return !exists[p.Set()] })
	for i := range v.changed {
		c := &v.changed[i]
		for queue := range c.behind {
			v.advance(c, queue)
		}
		v.settle(nowNs, c)
		v.end(nowNs, c, nil)
		c.happens(nowNs)
	}
}

// stageChanged is called when a server has another stage. The probes at one that has ended are discarded.
func (v *Probes) stageChanged(_ int64, s *server.Server) {
	if s.Stage() == server.Off {
		v.discard(func(p *pendingProbe) bool { return int(p.server) == s.Index() })
	}
}

// discard removes pending probes as if they had not been made.
func (v *Probes) discard(unwanted func(*pendingProbe) bool) {
	among := func(probes []pendingProbe) []pendingProbe {
		return slices.DeleteFunc(probes, func(p pendingProbe) bool {
			if !unwanted(&p) {
				return false
			}
			v.workloads[p.workload].probes--
			v.entry(p.Set()).n--
			return true
		})
	}
	v.pending = among(v.pending)
	for i := range v.changed {
		for queue, probes := range v.changed[i].behind {
			v.changed[i].behind[queue] = among(probes)
		}
	}
}

// Finish ends the probes that are still pending when the run ends. v may be nil.
func (v *Probes) Finish() {
	if v == nil {
		return
	}
	for i := range v.changed {
		v.change(v.toNs, &v.changed[i])
	}
	for i := range v.changed {
		for _, probes := range v.changed[i].behind {
			v.pending = append(v.pending, probes...)
		}
	}
	for i := range v.pending {
		p := &v.pending[i]
		w := &v.workloads[p.workload]
		if v.toNs >= p.limitNs {
			w.timeOut(p)
		} else {
			w.censored = append(w.censored, v.toNs-p.fromNs)
		}
	}
	v.pending, v.changed = nil, nil
}

// record counts the wait of a probe that would be dispatched.
func (w *virtualWorkload) record(ns int64) {
	w.waits.Record(ns)
	w.ended = append(w.ended, ns)
}

// timeOut counts a probe that would time out.
func (w *virtualWorkload) timeOut(p *pendingProbe) {
	w.rejected++
	w.timedOut = append(w.timedOut, p.limitNs-p.fromNs)
}

// survival returns the distribution of the waits, some of which are censored.
func (w *virtualWorkload) survival() *measure.Survival {
	return measure.NewSurvival(w.ended, w.censored, w.timedOut)
}

// PercentileNs returns a percentile of the waits that were measured for a workload, and whether it may be longer. It is not ok
// if there are none, also if v is nil.
func (v *Probes) PercentileNs(workload int, p float64) (ns int64, atLeast, ok bool) {
	switch {
	case v == nil:
		return 0, false, false
	case len(v.workloads[workload].censored) > 0:
		ns, atLeast = v.workloads[workload].survival().PercentileNs(p)
		return ns, atLeast, true
	}
	waits := &v.workloads[workload].waits
	if waits.N == 0 {
		return 0, false, false
	}
	return waits.PercentileNs(p), false, true
}

// Result returns the results of the probes of a workload; nil if there were none.
func (v *Probes) Result(workload int) *result.VirtualWait {
	if v == nil || v.workloads[workload].probes == 0 {
		return nil
	}
	w := &v.workloads[workload]
	out := &result.VirtualWait{Probes: w.probes, Rejected: w.rejected, Refused: w.refused, Wait: result.NewDistribution(&w.waits)}
	if n := len(w.censored); n > 0 {
		out.Censored = int64(n)
		out.Wait, out.AtLeast = result.NewCensored(w.survival(), int64(len(w.ended)+n), slices.Min(slices.Concat(w.ended, w.censored)))
	}
	return out
}
