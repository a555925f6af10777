package collect

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// workloadSeries collects the series of all workloads. Memory grows with the number of intervals and
// workloads. The wait counts of an interval are needed only as long as requests that
// arrived in it are queued; then another interval uses them.
type workloadSeries struct {
	perNs     float64          // intervals a nanosecond
	starts    []int64          // of the intervals
	current   int              // index of the current interval, the last one
	now       []intervalCounts // by workload
	workloads []workloadWaits
	spare     []*waitCounts // not in use, with capacity for all that were allocated
	allocated int           // wait counts
	limits    []markedLimit // in the order of their first values
}

type workloadWaits struct {
	points []result.WorkloadPoint
	waits  []waitsOfInterval // by the interval in which the requests arrived
	oldest int               // no request that arrived in an interval before this one is queued
}

// intervalCounts counts what happens to the requests of a workload in the current interval. The counts
// of all workloads are together in memory, because every request changes them.
type intervalCounts struct {
	arrived      int64
	dispatched   int64 // on arrival
	afterWaiting int64 // dispatched later
}

// waitsOfInterval is the waits of the requests of a workload that arrived in an interval.
type waitsOfInterval struct {
	waiting int64       // not yet dispatched or rejected; in the current interval, minus the arrivals
	zeros   int64       // dispatched without a wait
	others  *waitCounts // the other waits; nil if there are none, and after they have been summarized
}

// markedLimit is the current limit of a level at a server and the marks of its changes.
type markedLimit struct {
	level  string
	server int
	limit  int // unknownLimit if the server is off
	marks  []limitMark
}

const unknownLimit = -1

// limitMark is a change of a limit. Changes in the same interval are combined.
type limitMark struct {
	atNs     int64
	interval int
	from, to int
}

// newWorkloadSeries returns a collector for a run of so many workloads, whose series have a point every
// intervalNs.
func newWorkloadSeries(workloads int, intervalNs, durationNs int64) *workloadSeries {
	c := &workloadSeries{perNs: 1 / float64(intervalNs), starts: []int64{0}, now: make([]intervalCounts, workloads), workloads: make([]workloadWaits, workloads)}
	room := int(min(durationNs/intervalNs+2, 1000))
	for i := range c.workloads {
		w := &c.workloads[i]
		w.points = append(make([]result.WorkloadPoint, 0, room), result.WorkloadPoint{})
		w.waits = append(make([]waitsOfInterval, 0, room), waitsOfInterval{})
	}
	return c
}

// Arrived is called when a request of a workload arrives.
func (c *workloadSeries) Arrived(workload int) { c.now[workload].arrived++ }

// Dispatched is called when a request is dispatched.
func (c *workloadSeries) Dispatched(nowNs int64, r *server.Request) {
	if nowNs == r.ArrivalNs {
		c.now[r.Workload].dispatched++
	} else {
		c.dispatchedLate(nowNs, r)
	}
}

func (c *workloadSeries) dispatchedLate(nowNs int64, r *server.Request) {
	w := &c.workloads[r.Workload]
	c.now[r.Workload].afterWaiting++
	interval := c.intervalOf(r.ArrivalNs)
	waits := &w.waits[interval]
	if waits.others == nil {
		waits.others = c.waitCounts()
	}
	waits.others.record(nowNs - r.ArrivalNs)
	c.dequeue(w, interval)
}

// Rejected is called when a request is rejected.
func (c *workloadSeries) Rejected(nowNs int64, r *server.Request) {
	w := &c.workloads[r.Workload]
	w.points[c.current].Rejected[r.Rejection]++
	c.dequeue(w, c.intervalOf(r.ArrivalNs))
}

// Refused is called when a request has not reached flow control.
func (c *workloadSeries) Refused(r *server.Request) {
	c.workloads[r.Workload].points[c.current].Refused++
}

// Failed is called when a request turns out not to be served that was neither rejected nor refused.
func (c *workloadSeries) Failed(r *server.Request) {
	c.workloads[r.Workload].points[c.current].Failed++
}

// GivenUp is called when the server of a request has ended while the request was queued.
func (c *workloadSeries) GivenUp(r *server.Request) {
	c.dequeue(&c.workloads[r.Workload], c.intervalOf(r.ArrivalNs))
}

// dequeue counts a request that arrived in the interval and is no longer queued.
func (c *workloadSeries) dequeue(w *workloadWaits, interval int) {
	waits := &w.waits[interval]
	waits.waiting--
	if waits.waiting == 0 && interval < c.current {
		c.summarize(w, interval)
	}
}

// intervalOf returns the interval of a time that is not in the future. Intervals are shorter than the
// sampling interval where another observer asks for an earlier tick.
func (c *workloadSeries) intervalOf(ns int64) int {
	i := min(int(float64(ns)*c.perNs), c.current)
	for c.starts[i] > ns {
		i--
	}
	for i < c.current && c.starts[i+1] <= ns {
		i++
	}
	return i
}

func (c *workloadSeries) waitCounts() *waitCounts {
	if n := len(c.spare); n > 0 {
		h := c.spare[n-1]
		c.spare = c.spare[:n-1]
		return h
	}
	c.allocated++
	c.spare = slices.Grow(c.spare, c.allocated)
	return &waitCounts{}
}

// summarize computes the percentiles of an interval's waits, to which no further wait will be added.
func (c *workloadSeries) summarize(w *workloadWaits, interval int) {
	waits, p := &w.waits[interval], &w.points[interval]
	p.Waits = waits.zeros
	if waits.others == nil {
		return
	}
	p.Waits += waits.others.n
	p.WaitP50Ns, p.WaitP99Ns = waits.others.percentile(waits.zeros, 50), waits.others.percentile(waits.zeros, 99)
	*waits.others = waitCounts{}
	c.spare = append(c.spare, waits.others)
	waits.others = nil
}

// waitCounts counts waits in the buckets of a histogram of measure.CoarsePrecision. It lacks the sum and
// the minimum of a histogram, because every request that is queued is recorded here.
type waitCounts struct {
	n, mostNs int64
	buckets   [(65 - measure.CoarsePrecision) << measure.CoarsePrecision]uint32
}

func (w *waitCounts) record(ns int64) {
	octave := max(0, bits.Len64(uint64(ns))-measure.CoarsePrecision)
	shift := max(0, octave-1)
	// The first two octaves have buckets of 1 ns; the others begin in the middle of their powers of two.
	w.buckets[(uint64(shift)<<measure.CoarsePrecision+uint64(ns)>>shift)%uint64(len(w.buckets))]++
	w.mostNs = max(w.mostNs, ns)
	w.n++
}

// percentile returns a percentile, by nearest rank, of so many zeros together with the waits
// counted.
func (w *waitCounts) percentile(zeros int64, percent float64) (ns int64) {
	rank := int64(measure.Rank(percent, float64(zeros+w.n))) - zeros
	if rank <= 0 {
		return 0
	}
	for i, n := range &w.buckets {
		if rank -= int64(n); rank > 0 {
			continue
		}
		shift := max(0, i>>measure.CoarsePrecision-1)
		return min(int64(uint64(i-shift<<measure.CoarsePrecision+1)<<shift)-1, w.mostNs)
	}
	return w.mostNs
}

// CloseInterval ends the current interval and begins the next, unless the run is over.
func (c *workloadSeries) CloseInterval(nowNs int64, over bool) {
	for i := range c.workloads {
		w, n := &c.workloads[i], &c.now[i]
		p, waits := &w.points[c.current], &w.waits[c.current]
		p.EndNs, p.Arrived, p.Dispatched = nowNs, n.arrived, n.dispatched+n.afterWaiting
		waits.waiting += n.arrived - n.dispatched
		waits.zeros = n.dispatched
		*n = intervalCounts{}
		for w.oldest < c.current && w.waits[w.oldest].waiting == 0 {
			w.oldest++
		}
		if w.waits[w.oldest].waiting > 0 {
			p.OldestWaitNs = nowNs - w.points[w.oldest].EndNs
		}
		if over {
			for k := range w.waits {
				if k == c.current || w.waits[k].waiting > 0 {
					c.summarize(w, k)
				}
			}
			continue
		}
		if waits.waiting == 0 {
			c.summarize(w, c.current)
		}
		w.points = append(w.points, result.WorkloadPoint{StartNs: nowNs})
		w.waits = append(w.waits, waitsOfInterval{})
	}
	if !over {
		c.current++
		c.starts = append(c.starts, nowNs)
	}
}

// SetLimit is called with the current limit of a priority level at a server when limits have changed. A
// change of 5 % or more is marked.
func (c *workloadSeries) SetLimit(nowNs int64, level string, at, limit int) {
	m := c.limitOf(level, at)
	if m == nil {
		c.limits = append(c.limits, markedLimit{level: level, server: at, limit: limit})
		return
	}
	if m.limit != unknownLimit && limit != m.limit && math.Abs(float64(limit-m.limit)) >= 0.05*float64(m.limit) {
		if n := len(m.marks); n > 0 && m.marks[n-1].interval == c.current {
			m.marks[n-1].to = limit
		} else {
			m.marks = append(m.marks, limitMark{nowNs, c.current, m.limit, limit})
		}
	}
	m.limit = limit
}

// limitOf returns the limit of a level at a server, nil if it has never had one.
func (c *workloadSeries) limitOf(level string, at int) *markedLimit {
	i := slices.IndexFunc(c.limits, func(m markedLimit) bool { return m.level == level && m.server == at })
	if i < 0 {
		return nil
	}
	return &c.limits[i]
}

// RemoveLimit is called when a server no longer has a priority level.
func (c *workloadSeries) RemoveLimit(nowNs int64, level string, at int) {
	if m := c.limitOf(level, at); m != nil && m.limit != unknownLimit {
		c.SetLimit(nowNs, level, at, 0)
	}
}

// ForgetLimits is called when a server is off. The limits that it has when it starts again are no changes.
func (c *workloadSeries) ForgetLimits(at int) {
	for i := range c.limits {
		if c.limits[i].server == at {
			c.limits[i].limit = unknownLimit
		}
	}
}

// Series returns the series of all workloads. A workload that sent requests to a level has the marks
// of its limit. The marks of the timeline are those of servers.
func (c *workloadSeries) Series(sc *scenario.Scenario, timeline []result.Moment, sentTo func(workload int, level string) bool) []*result.WorkloadSeries {
	var all []*result.WorkloadSeries
	for i := range c.workloads {
		s := &result.WorkloadSeries{Workload: sc.Spec.Workload[i].Name, Points: c.workloads[i].points}
		for k := range sc.Spec.Events {
			if sc.Spec.Events[k].Apply == nil {
				continue
			}
			s.Marks = append(s.Marks, result.Mark{AtNs: int64(sc.Spec.Events[k].At), Event: true, Text: eventText(&sc.Spec.Events[k])})
		}
		s.Marks = append(s.Marks, result.TimelineMarks(timeline)...)
		for k := range c.limits {
			limit := &c.limits[k]
			if !sentTo(i, limit.level) {
				continue
			}
			name := format.Printable(limit.level)
			if sc.Spec.Servers.Replicas > 1 {
				name += fmt.Sprintf(" at server %d", limit.server)
			}
			for _, m := range limit.marks {
				s.Marks = append(s.Marks, result.Mark{AtNs: m.atNs, Text: fmt.Sprintf("limit of %s: %d → %d seats", name, m.from, m.to)})
			}
		}
		slices.SortStableFunc(s.Marks, func(a, b result.Mark) int { return cmp.Compare(a.AtNs, b.AtNs) })
		all = append(all, s)
	}
	return all
}

// eventText describes an event of the scenario.
func eventText(e *scenario.Event) string {
	var actions []string
	for _, o := range e.Apply.Objects.FlowSchemas {
		actions = append(actions, "apply FlowSchema "+o.Name)
	}
	for _, o := range e.Apply.Objects.PriorityLevels {
		actions = append(actions, "apply PriorityLevelConfiguration "+o.Name)
	}
	for _, file := range e.Apply.Files {
		actions = append(actions, "apply "+file)
	}
	for _, o := range e.Apply.Remove {
		actions = append(actions, "remove "+o.Kind+" "+o.Name)
	}
	return "event: " + format.Shorten(format.Printable(strings.Join(actions, ", ")), 120)
}
