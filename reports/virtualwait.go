package reports

import (
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/sim/random"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// probesPerWorkload is how many random moments of the window a workload is probed at.
const probesPerWorkload = 1000

// virtualWaits measures what requests would have met that were sent at random moments: for each
// workload the virtual waiting time, by probes that change nothing (queueset.Probe). Clients that
// wait for an answer before they send again send nothing while they wait, so the waits of the
// requests that were sent do not show how long such a time was (coordinated omission); the
// moments of the probes do not depend on the clients. The collector tells it what happens.
//
// A probe is for a client drawn among those that have sent a request, and like the latest of
// these. One that would still wait when the run ends counts with what it has waited by then.
type virtualWaits struct {
	server    *server.Server
	fromNs    int64 // the window
	toNs      int64
	workloads []virtualWorkload
	pending   []pendingProbe
	changed   []changedSet // the queue sets with pending probes
}

// virtualWorkload is the probes of one workload.
type virtualWorkload struct {
	startNs, endNs int64              // within which it sends
	latest         []*server.Template // by client; nil before its first request
	seen           []int32            // the clients that have sent a request
	moments        random.Stream
	next           int   // probe
	nextNs         int64 // when it is due
	probes         int64
	rejected       int64
	waits          histogram[uint64]
}

type pendingProbe struct {
	queueset.Probe
	workload int
	fromNs   int64
	limitNs  int64 // when it would time out
}

// changedSet says when something last happened at a queue set.
type changedSet struct {
	set  flowcontrol.QueuesView
	atNs int64
	n    int // pending probes
}

func newVirtualWaits(sc *scenario.Scenario, of *server.Server) *virtualWaits {
	v := &virtualWaits{server: of, fromNs: int64(sc.Spec.Warmup), toNs: int64(sc.Spec.Duration)}
	v.workloads = make([]virtualWorkload, len(sc.Spec.Workload))
	for i := range v.workloads {
		w, of := &v.workloads[i], &sc.Spec.Workload[i]
		w.startNs, w.endNs = int64(of.Start), sc.Spec.EndNs(of)
		w.latest = make([]*server.Template, of.Clients)
		w.waits.precision = finePrecision
		w.moments.Open(sc.Spec.Seed, of.Name, 0, "probes")
		v.draw(w)
	}
	return v
}

// draw draws the moment of the workload's next probe: one in each of equal parts of the window.
func (v *virtualWaits) draw(w *virtualWorkload) {
	length := float64(v.toNs-v.fromNs) / probesPerWorkload
	w.nextNs = v.fromNs + int64(length*(float64(w.next)+w.moments.Float64()))
	w.next++
}

// tick probes what is due, and returns when it wants to be called next.
func (v *virtualWaits) tick(nowNs int64) (nextNs int64) {
	nextNs = v.toNs
	for i := range v.workloads {
		w := &v.workloads[i]
		for w.nextNs <= nowNs && w.next <= probesPerWorkload {
			v.probe(nowNs, i)
			v.draw(w)
		}
		if w.next <= probesPerWorkload {
			nextNs = min(nextNs, w.nextNs)
		}
	}
	return nextNs
}

func (v *virtualWaits) probe(nowNs int64, workload int) {
	w := &v.workloads[workload]
	if len(w.seen) == 0 || nowNs < w.startNs || nowNs >= w.endNs {
		return
	}
	template := w.latest[w.seen[w.moments.IntN(len(w.seen))]]
	p, rejection, waits := v.server.Probe(nowNs, template)
	w.probes++
	switch {
	case rejection != queueset.NotRejected:
		w.rejected++
	case !waits:
		w.waits.record(0)
	default:
		v.pending = append(v.pending, pendingProbe{p, workload, nowNs, nowNs + template.WaitLimitNs()})
		c := v.setOf(p.Set())
		c.n++
		c.atNs = nowNs
	}
}

// setOf returns the entry of a queue set, which is made if there is none.
func (v *virtualWaits) setOf(set flowcontrol.QueuesView) *changedSet {
	if c := v.entry(set); c != nil {
		return c
	}
	v.changed = append(v.changed, changedSet{set: set})
	return &v.changed[len(v.changed)-1]
}

func (v *virtualWaits) entry(set flowcontrol.QueuesView) *changedSet {
	for i := range v.changed {
		if v.changed[i].set == set {
			return &v.changed[i]
		}
	}
	return nil
}

// end ends the probes of a queue set that would be dispatched now: in its present state or, if next
// is the request that is being dispatched, no later than that.
func (v *virtualWaits) end(nowNs int64, c *changedSet, next *server.Request) {
	for i := 0; i < len(v.pending); {
		p := &v.pending[i]
		switch {
		case p.Set() != c.set:
			i++
		case nowNs >= p.limitNs:
			v.workloads[p.workload].rejected++
			v.remove(i, c)
		case next == nil && p.Ready(), next != nil && p.Precedes(next.InQueue(), next.ArrivalNs >= p.fromNs):
			v.workloads[p.workload].waits.record(nowNs - p.fromNs)
			v.remove(i, c)
		default:
			i++
		}
	}
}

// remove takes a pending probe off; the last takes its place.
func (v *virtualWaits) remove(i int, c *changedSet) {
	last := len(v.pending) - 1
	v.pending[i] = v.pending[last]
	v.pending = v.pending[:last]
	c.n--
}

// about returns the entry of the queue set of a level that a request is at, nil if no probe waits
// there.
func (v *virtualWaits) about(r *server.Request, level *flowcontrol.Level) *changedSet {
	if r.Flow == nil {
		return nil
	}
	c := v.entry(level.Queues())
	if c == nil || c.n == 0 {
		return nil
	}
	return c
}

// change ends the probes that would have been dispatched in the state that the queue set has had
// since something last happened there, and notes that something happens now.
func (v *virtualWaits) change(nowNs int64, c *changedSet) {
	if c == nil {
		return
	}
	if c.atNs < nowNs && c.set.SeatsInUse() < c.set.Limit() {
		v.end(c.atNs, c, nil)
	}
	c.atNs = nowNs
}

func (v *virtualWaits) arrived(nowNs int64, r *server.Request) {
	w := &v.workloads[r.Workload]
	if w.latest[r.Client] == nil {
		w.seen = append(w.seen, int32(r.Client))
	}
	w.latest[r.Client] = r.Template
	if len(v.pending) > 0 {
		v.change(nowNs, v.about(r, r.Level))
	}
}

func (v *virtualWaits) dispatched(nowNs int64, r *server.Request) {
	if len(v.pending) == 0 {
		return
	}
	c := v.about(r, r.Level)
	if c == nil {
		return
	}
	v.end(nowNs, c, r)
	c.atNs = nowNs
}

func (v *virtualWaits) rejected(nowNs int64, r *server.Request) {
	if len(v.pending) == 0 {
		return
	}
	c := v.about(r, r.Level)
	if r.Rejection == queueset.TimedOut && c != nil {
		for i := range v.pending {
			if p := &v.pending[i]; p.fromNs <= r.ArrivalNs && p.Set() == r.Level.Queues() {
				p.TimedOutBehind(r.InQueue())
			}
		}
	}
	v.change(nowNs, c)
}

// ended is called when a request's execution ends, and when its seats are released.
func (v *virtualWaits) ended(nowNs int64, r *server.Request) {
	if len(v.pending) > 0 {
		v.change(nowNs, v.about(r, r.Level))
	}
}

// adjusted is called when the limits have changed. The probes of a level that has gone are of no
// more use.
func (v *virtualWaits) adjusted(nowNs int64) {
	if len(v.pending) == 0 {
		return
	}
	there := map[flowcontrol.QueuesView]bool{}
	for _, l := range v.server.Levels() {
		there[l.Queues()] = true
	}
	kept := v.pending[:0]
	for _, p := range v.pending {
		if there[p.Set()] {
			kept = append(kept, p)
		} else {
			v.workloads[p.workload].probes--
		}
	}
	v.pending = kept
	for i := range v.changed {
		c := &v.changed[i]
		v.end(nowNs, c, nil)
		c.atNs = nowNs
	}
}

// finish ends the probes that are still pending: the run is over.
func (v *virtualWaits) finish() {
	for i := range v.changed {
		v.change(v.toNs, &v.changed[i])
	}
	for i := range v.pending {
		p := &v.pending[i]
		w := &v.workloads[p.workload]
		if v.toNs >= p.limitNs {
			w.rejected++
		} else {
			w.waits.record(v.toNs - p.fromNs)
		}
	}
	v.pending = nil
}

// result returns what the probes of a workload met, nil when there was none.
func (v *virtualWaits) result(workload int) *VirtualWait {
	if v == nil || v.workloads[workload].probes == 0 {
		return nil
	}
	w := &v.workloads[workload]
	return &VirtualWait{Probes: w.probes, Rejected: w.rejected, Wait: distribution(&w.waits)}
}

// rejectedRate is the part of the probes that would have been rejected.
func (v *VirtualWait) rejectedRate() float64 { return float64(v.Rejected) / float64(v.Probes) }
