package collect

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/histogram"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// workloadCourses collects the series of all workloads. Memory grows with the number of
// intervals and workloads. The counts of waits are needed for an interval only as
// long as requests that arrived in it wait; then they are used again.
type workloadCourses struct {
	perNs     float64          // intervals a nanosecond
	starts    []int64          // of the intervals
	current   int              // index of the interval under way, the last one
	now       []intervalCounts // by workload
	workloads []workloadCourse
	spare     []*waitCounts // with room for all that were made
	Made      int
	limits    []markedLimit // in the order in which the collector meets levels
}

type workloadCourse struct {
	points []result.WorkloadPoint
	waits  []waitsOfInterval // by the interval in which the requests arrived
	oldest int               // no request that arrived in an interval before this one waits
}

// intervalCounts is what happens to the requests of a workload in the interval under way. It is apart
// from all else, as every request touches it.
type intervalCounts struct {
	arrived      int64
	dispatched   int64 // as they arrived
	afterWaiting int64 // dispatched otherwise
}

// waitsOfInterval is the waits of the requests of a workload that arrived in an interval.
type waitsOfInterval struct {
	waiting int64       // not yet dispatched or rejected; of the interval under way, less those that arrived
	zeros   int64       // dispatched without a wait
	others  *waitCounts // of the other waits; nil if there are none, and when they are summarized
}

// markedLimit is what is remembered of a level's current limit.
type markedLimit struct {
	level *level
	known bool
	limit int
	marks []limitMark
}

// limitMark says that a limit has moved. Moves in the same interval are one.
type limitMark struct {
	atNs     int64
	interval int
	from, to int
}

func newWorkloadCourses(workloads int, intervalNs, durationNs int64) *workloadCourses {
	c := &workloadCourses{perNs: 1 / float64(intervalNs), starts: []int64{0}, now: make([]intervalCounts, workloads), workloads: make([]workloadCourse, workloads)}
	room := int(min(durationNs/intervalNs+2, 1000))
	for i := range c.workloads {
		w := &c.workloads[i]
		w.points = append(make([]result.WorkloadPoint, 0, room), result.WorkloadPoint{})
		w.waits = append(make([]waitsOfInterval, 0, room), waitsOfInterval{})
	}
	return c
}

func (c *workloadCourses) arrived(workload int) { c.now[workload].arrived++ }

func (c *workloadCourses) dispatched(nowNs int64, r *server.Request) {
	if nowNs == r.ArrivalNs {
		c.now[r.Workload].dispatched++
	} else {
		c.dispatchedLate(nowNs, r)
	}
}

func (c *workloadCourses) dispatchedLate(nowNs int64, r *server.Request) {
	w := &c.workloads[r.Workload]
	c.now[r.Workload].afterWaiting++
	interval := c.intervalOf(r.ArrivalNs)
	of := &w.waits[interval]
	if of.others == nil {
		of.others = c.waitCounts()
	}
	of.others.record(nowNs - r.ArrivalNs)
	c.leave(w, interval)
}

func (c *workloadCourses) rejected(nowNs int64, r *server.Request) {
	w := &c.workloads[r.Workload]
	w.points[c.current].Rejected[r.Rejection]++
	c.leave(w, c.intervalOf(r.ArrivalNs))
}

// leave notes that a request that arrived in the interval waits no more.
func (c *workloadCourses) leave(w *workloadCourse, interval int) {
	of := &w.waits[interval]
	of.waiting--
	if of.waiting == 0 && interval < c.current {
		c.summarize(w, interval)
	}
}

// intervalOf returns the interval in which a time up to now lies. Intervals may be shorter than the
// sampling interval, where another observer wants to be asked more often.
func (c *workloadCourses) intervalOf(ns int64) int {
	i := min(int(float64(ns)*c.perNs), c.current)
	for c.starts[i] > ns {
		i--
	}
	for i < c.current && c.starts[i+1] <= ns {
		i++
	}
	return i
}

func (c *workloadCourses) waitCounts() *waitCounts {
	if n := len(c.spare); n > 0 {
		h := c.spare[n-1]
		c.spare = c.spare[:n-1]
		return h
	}
	c.Made++
	c.spare = slices.Grow(c.spare, c.Made)
	return &waitCounts{}
}

// summarize takes the percentiles of an interval's waits, which are complete or as complete as they
// will ever be.
func (c *workloadCourses) summarize(w *workloadCourse, interval int) {
	of, p := &w.waits[interval], &w.points[interval]
	p.Waits = of.zeros
	if of.others == nil {
		return
	}
	p.Waits += of.others.n
	p.WaitP50Ns, p.WaitP99Ns = of.others.percentileBehind(of.zeros, 50), of.others.percentileBehind(of.zeros, 99)
	*of.others = waitCounts{}
	c.spare = append(c.spare, of.others)
	of.others = nil
}

// waitCounts counts waits in the buckets of a histogram of coarsePrecision. It does without the sum
// and the bounds of a histogram, as all requests that wait come by.
type waitCounts struct {
	n, mostNs int64
	buckets   [(65 - histogram.CoarsePrecision) << histogram.CoarsePrecision]uint32
}

func (w *waitCounts) record(ns int64) {
	octave := max(0, bits.Len64(uint64(ns))-histogram.CoarsePrecision)
	shift := max(0, octave-1)
	// The first two octaves have buckets of 1 ns; the others begin in the middle of their powers of two.
	w.buckets[(uint64(shift)<<histogram.CoarsePrecision+uint64(ns)>>shift)%uint64(len(w.buckets))]++
	w.mostNs = max(w.mostNs, ns)
	w.n++
}

// percentileBehind returns a percentile, by nearest rank, of so many zeros and the waits counted
// together.
func (w *waitCounts) percentileBehind(zeros int64, percent float64) (ns int64) {
	// The factor is explained at histogram.rank.
	rank := int64(math.Ceil(percent/100*float64(zeros+w.n)*(1-1e-12))) - zeros
	if rank <= 0 {
		return 0
	}
	for i, n := range &w.buckets {
		if rank -= int64(n); rank > 0 {
			continue
		}
		shift := max(0, i>>histogram.CoarsePrecision-1)
		return min(int64(uint64(i-shift<<histogram.CoarsePrecision+1)<<shift)-1, w.mostNs)
	}
	return w.mostNs
}

// closeInterval ends the interval under way and begins the next, unless the run is over.
func (c *workloadCourses) closeInterval(nowNs int64, over bool) {
	for i := range c.workloads {
		w, n := &c.workloads[i], &c.now[i]
		p, of := &w.points[c.current], &w.waits[c.current]
		p.EndNs, p.Arrived, p.Dispatched = nowNs, n.arrived, n.dispatched+n.afterWaiting
		of.waiting += n.arrived - n.dispatched
		of.zeros = n.dispatched
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
		if of.waiting == 0 {
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

// adjusted notes which current limits have moved by 5 % or more.
func (c *workloadCourses) adjusted(nowNs int64, levels []*level) {
	for i := len(c.limits); i < len(levels); i++ {
		c.limits = append(c.limits, markedLimit{level: levels[i]})
	}
	for i, l := range levels {
		m := &c.limits[i]
		if !l.known || l.exempt() {
			continue
		}
		if m.known && math.Abs(float64(l.limit-m.limit)) >= 0.05*float64(m.limit) && l.limit != m.limit {
			if n := len(m.marks); n > 0 && m.marks[n-1].interval == c.current {
				m.marks[n-1].to = l.limit
			} else {
				m.marks = append(m.marks, limitMark{nowNs, c.current, m.limit, l.limit})
			}
		}
		m.known, m.limit = true, l.limit
	}
}

// series returns the series of all workloads. Those whose requests were at a level have the marks
// of its limit.
func (c *workloadCourses) series(sc *scenario.Scenario, at func(workload int, l *level) bool) []*result.WorkloadSeries {
	var all []*result.WorkloadSeries
	for i := range c.workloads {
		s := &result.WorkloadSeries{Workload: sc.Spec.Workload[i].Name, Points: c.workloads[i].points}
		for k := range sc.Spec.Events {
			s.Marks = append(s.Marks, result.Mark{AtNs: int64(sc.Spec.Events[k].At), Event: true, Text: eventText(&sc.Spec.Events[k])})
		}
		for k := range c.limits {
			if !at(i, c.limits[k].level) {
				continue
			}
			for _, m := range c.limits[k].marks {
				s.Marks = append(s.Marks, result.Mark{AtNs: m.atNs, Text: fmt.Sprintf("limit of %s: %d → %d seats", format.Printable(c.limits[k].level.name), m.from, m.to)})
			}
		}
		slices.SortStableFunc(s.Marks, func(a, b result.Mark) int { return cmp.Compare(a.AtNs, b.AtNs) })
		all = append(all, s)
	}
	return all
}

// eventText says what an event of the scenario does.
func eventText(e *scenario.Event) string {
	var done []string
	for _, o := range e.Apply.Objects.FlowSchemas {
		done = append(done, "apply FlowSchema "+o.Name)
	}
	for _, o := range e.Apply.Objects.PriorityLevels {
		done = append(done, "apply PriorityLevelConfiguration "+o.Name)
	}
	for _, file := range e.Apply.Files {
		done = append(done, "apply "+file)
	}
	for _, o := range e.Apply.Remove {
		done = append(done, "remove "+o.Kind+" "+o.Name)
	}
	return "event: " + format.Shorten(format.Printable(strings.Join(done, ", ")), 120)
}

// sent says whether requests of a workload arrived at a level.
func (c *Collector) sent(workload int, l *level) bool {
	for _, cl := range c.cells[workload] {
		if cl != nil && cl.group.level == l {
			return true
		}
	}
	return false
}
