// Package openmetrics records the metrics that kube-apiserver would expose during a run, in the
// OpenMetrics format.
package openmetrics

import (
	"apfsim/core/config"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/reports/observe"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/server"

	"io"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// Recorder keeps the metrics that kube-apiserver would have exposed in a run, sampled
// as if it were scraped, and writes them with the time of each sample. It implements
// server.HeldBackObserver. Memory grows with the number of changes between two samples: with
// samples and series, not with requests.
//
// docs/guides/prometheus.md says which metrics there are.
type Recorder struct {
	scenario   *scenario.Scenario
	of         observe.Levels
	startMs    int64 // since 1970: the time 0 of the run
	intervalNs int64
	atMs       []int64 // the samples

	families *families
	levels   map[string]*levelMetrics
	flows    []*schemaMetrics // by server.Flow.Index
	schemas  map[schemaKey]*schemaMetrics
	kinds    [2]kindMetrics // mutating, read-only

	arriving int64 // number of the request that arrived last; 0 once it is queued
	left     []int // the queues from which requests have been dispatched since its arrival
}

type schemaKey struct{ level, schema string }

// schemaMetrics are those of one FlowSchema at one priority level.
type schemaMetrics struct {
	level  *levelMetrics
	labels []string // priority level and FlowSchema

	dispatched, heldBack                                  *timeSeries
	estimatedSeats, watchers, queueLength                 *timeSeries
	inQueueRequests, inQueueSeats                         *timeSeries
	executingRequests, executingSeats                     *timeSeries
	waitExecuted, waitRejected, execution, watchExecution *timeSeries
	rejected                                              [queueset.Rejections]*timeSeries
}

// levelMetrics are those of a priority level.
type levelMetrics struct {
	name   string
	exempt bool
	of     *flowcontrol.Level // the last one of that name, which may be gone

	dispatchR, latestS             *timeSeries
	minS, maxS                     *timeSeries
	minDiscountedS, maxDiscountedS *timeSeries

	queueLengthLimit int32 // the last one there was
	inUse, wanted    int   // seats in use; seats that the server counts as waiting
	seatRatio        ratio
	demandRatio      ratio
	waiting          ratio // requests
	executing        ratio
}

// kindMetrics are those of the read-only requests of all levels, or of the mutating ones.
type kindMetrics struct {
	waiting, executing ratio
	second             int64 // the second under way
	most               int   // requests waiting in it, at any change
	shown              *timeSeries
}

// ratio is a number that changes over time, over one that does so now and then, as a
// histogram of what it was at the end of every nanosecond
// (k8s.io/apiserver, util/flowcontrol/metrics/timing_ratio_histogram.go).
type ratio struct {
	histogram *timeSeries
	part      int
	whole     float64
	sinceNs   int64
}

func (r *ratio) advance(nowNs int64) {
	if d := nowNs - r.sinceNs; d > 0 {
		r.histogram.observe(float64(r.part)/r.whole, uint64(d))
		r.sinceNs = nowNs
	}
}

func (r *ratio) set(nowNs int64, part int) {
	r.advance(nowNs)
	r.part = part
}

func (r *ratio) of(nowNs int64, whole float64) {
	r.advance(nowNs)
	r.whole = whole
}

// ScrapeInterval returns how far apart the samples of OpenMetrics are in a run of that
// length: as far as the points of its series, and 10 s at most, so that usual windows of
// rates hold several.
func ScrapeInterval(durationNs int64) int64 { return min(result.Interval(durationNs), 10_000_000_000) }

// New returns the metrics of a run of sc whose time 0 is the given one. They
// are sampled every intervalNs and at the end.
func New(sc *scenario.Scenario, of observe.Levels, start time.Time, intervalNs int64) *Recorder {
	m := &Recorder{scenario: sc, of: of, startMs: start.UnixMilli(), intervalNs: intervalNs,
		families: newFamilies(), levels: map[string]*levelMetrics{}, schemas: map[schemaKey]*schemaMetrics{}}
	for i, kind := range []string{"mutating", "readOnly"} {
		m.kinds[i] = kindMetrics{
			waiting:   ratio{histogram: m.families.readsWrite.with("waiting", kind), whole: 1},
			executing: ratio{histogram: m.families.readsWrite.with("executing", kind), whole: 1},
			shown:     m.families.inQueueByKind.with(kind),
		}
	}
	m.Adjusted(0) // the first sample comes before anything happens
	return m
}

// Arrived implements server.Observer.
func (m *Recorder) Arrived(_ int64, r *server.Request) {
	if r.Flow == nil {
		return
	}
	m.arriving, m.left = r.Number, m.left[:0]
	s := m.schemaOf(r.Flow)
	if s.estimatedSeats == nil {
		s.estimatedSeats = m.families.estimatedSeats.with(s.labels...)
	}
	s.estimatedSeats.observe(float64(r.SeatsAsked), 1)
	if watchers, ok := r.Watchers(); ok {
		if s.watchers == nil {
			s.watchers = m.families.watchers.with(s.labels...)
		}
		s.watchers.observe(float64(watchers), 1)
	}
}

// Queued implements server.Observer.
func (m *Recorder) Queued(nowNs int64, r *server.Request) {
	m.arriving = 0
	s := m.schemaOf(r.Flow)
	m.enqueue(nowNs, r, s, r.Level.Queues().QueueLength(r.Queue()))
}

// enqueue counts a request that has joined its queue. Those that have been dispatched since
// were still in the queue then.
func (m *Recorder) enqueue(nowNs int64, r *server.Request, s *schemaMetrics, length int) {
	for _, queue := range m.left {
		if queue == r.Queue() {
			length++
		}
	}
	if s.queueLength == nil {
		s.queueLength = m.families.queueLength.with(s.labels...)
		s.inQueueRequests = m.families.inQueueRequests.with(s.labels...)
		s.inQueueSeats = m.families.inQueueSeats.with(s.labels...)
	}
	s.queueLength.observe(float64(length), 1)
	m.waits(nowNs, r, s, +1, int(r.SeatsAsked))
}

// waits counts requests and seats that begin or cease to wait.
func (m *Recorder) waits(nowNs int64, r *server.Request, s *schemaMetrics, requests, seats int) {
	s.inQueueRequests.add(float64(requests))
	s.inQueueSeats.add(float64(seats))
	l := s.level
	l.waiting.set(nowNs, l.waiting.part+requests)
	l.wanted += seats
	l.demandRatio.set(nowNs, l.inUse+l.wanted)
	k := m.kindOf(r)
	k.roll(nowNs)
	k.waiting.set(nowNs, k.waiting.part+requests)
	k.most = max(k.most, k.waiting.part)
}

// HeldBack implements server.HeldBackObserver.
func (m *Recorder) HeldBack(_ int64, r *server.Request) {
	s := m.schemaOf(r.Flow)
	if s.heldBack == nil {
		s.heldBack = m.families.heldBack.with(s.labels...)
	}
	s.heldBack.add(1)
}

// Dispatched implements server.Observer.
func (m *Recorder) Dispatched(nowNs int64, r *server.Request) {
	if r.Flow == nil {
		return
	}
	s := m.schemaOf(r.Flow)
	l := s.level
	if r.Queue() >= 0 {
		queues := r.Level.Queues()
		if r.Number == m.arriving { // it was the last one in its queue, and left it at once
			m.enqueue(nowNs, r, s, queues.QueueLength(r.Queue())+1)
		}
		m.left = append(m.left, r.Queue())
		// Dispatch may have narrowed the request. The rest of what it asked for goes on
		// waiting, here as at the server.
		m.waits(nowNs, r, s, -1, -r.Seats())
		m.starts(l, queues, r)
	}
	if s.dispatched == nil {
		s.dispatched = m.families.dispatched.with(s.labels...)
		s.executingRequests = m.families.executingRequests.with(s.labels...)
		s.executingSeats = m.families.executingSeats.with(s.labels...)
	}
	s.dispatched.add(1)
	if !l.exempt {
		m.waited(s, true, nowNs-r.ArrivalNs)
	}
	m.executes(nowNs, r, s, +1)
	m.holds(nowNs, s, r.Seats())
}

// starts shows when the request that has just been dispatched, and those it was chosen from,
// were due to start.
func (m *Recorder) starts(l *levelMetrics, queues flowcontrol.QueuesView, r *server.Request) {
	if l.dispatchR == nil {
		f := m.families
		l.dispatchR, l.latestS = f.dispatchR.with(l.name), f.latestS.with(l.name)
		l.minS, l.maxS = f.nextS.with(l.name, "min"), f.nextS.with(l.name, "max")
		l.minDiscountedS, l.maxDiscountedS = f.nextDiscountedS.with(l.name, "min"), f.nextDiscountedS.with(l.name, "max")
	}
	starts := queues.Starts(r.InQueue())
	l.dispatchR.setReading(queues.R())
	l.latestS.setReading(starts.Chosen)
	l.minS.setReading(starts.Min)
	l.maxS.setReading(starts.Max)
	l.minDiscountedS.setReading(starts.DiscountedMin)
	l.maxDiscountedS.setReading(starts.DiscountedMax)
}

// waited enters a wait. At the server even a time-out counts as one that ends in execution.
func (m *Recorder) waited(s *schemaMetrics, execute bool, ns int64) {
	h, label := &s.waitRejected, "false"
	if execute {
		h, label = &s.waitExecuted, "true"
	}
	if *h == nil {
		*h = m.families.wait.with(append(s.labels[:2:2], label)...)
	}
	(*h).observe(toSeconds(ns), 1)
}

func toSeconds(ns int64) float64 { return time.Duration(ns).Seconds() }

func (m *Recorder) executes(nowNs int64, r *server.Request, s *schemaMetrics, requests int) {
	s.executingRequests.add(float64(requests))
	s.level.executing.set(nowNs, s.level.executing.part+requests)
	k := m.kindOf(r)
	k.executing.set(nowNs, k.executing.part+requests)
}

func (m *Recorder) holds(nowNs int64, s *schemaMetrics, seats int) {
	s.executingSeats.add(float64(seats))
	s.level.inUse += seats
	s.level.seatRatio.set(nowNs, s.level.inUse)
	s.level.demandRatio.set(nowNs, s.level.inUse+s.level.wanted)
}

// Rejected implements server.Observer.
func (m *Recorder) Rejected(nowNs int64, r *server.Request) {
	s := m.schemaOf(r.Flow)
	timedOut := r.Rejection == queueset.TimedOut
	if timedOut {
		m.waits(nowNs, r, s, -1, -int(r.SeatsAsked))
	}
	m.waited(s, timedOut, nowNs-r.ArrivalNs)
	c := &s.rejected[r.Rejection]
	if *c == nil {
		*c = m.families.rejected.with(append(s.labels[:2:2], r.Rejection.String())...)
	}
	(*c).add(1)
}

// Executed implements server.Observer.
func (m *Recorder) Executed(nowNs int64, r *server.Request) {
	if r.Flow == nil {
		return
	}
	s := m.schemaOf(r.Flow)
	m.executes(nowNs, r, s, -1)
	h, kind := &s.execution, "regular"
	if r.Attributes.Verb == "watch" {
		h, kind = &s.watchExecution, "watch"
	}
	if *h == nil {
		*h = m.families.execution.with(append(s.labels[:2:2], kind)...)
	}
	(*h).observe(toSeconds(nowNs-r.DispatchNs), 1)
}

// Released implements server.Observer.
func (m *Recorder) Released(nowNs int64, r *server.Request) {
	if r.Flow != nil {
		m.holds(nowNs, m.schemaOf(r.Flow), -r.Seats())
	}
}

// Adjusted implements server.Observer.
func (m *Recorder) Adjusted(nowNs int64) {
	waiting, executing := 0, 0
	for _, of := range m.of.Levels() {
		m.measure(nowNs, m.levelOf(nowNs, of), of)
		executing += of.Limits().Nominal
		if q := of.Spec().Queuing(); q != nil {
			waiting += int(q.Queues) * int(q.QueueLengthLimit)
		}
	}
	for i := range m.kinds {
		m.kinds[i].waiting.of(nowNs, float64(waiting))
		m.kinds[i].executing.of(nowNs, float64(executing))
	}
}

// adjustment shows what the last adjustment found, and what it made of it.
func (m *Recorder) adjustment() {
	f, levels := m.families, m.of.Levels()
	// The target that the server shows of the exempt level is some other one's, whichever its
	// map of levels happens to bring first.
	other := levels[slices.IndexFunc(levels, func(l *flowcontrol.Level) bool { return !l.Seats().Exempt })].Seats()
	f.fairFraction.with().set(other.FairFraction)
	for name, l := range m.levels { // in any order: they do not touch each other
		s, target := l.of.Seats(), other
		if !s.Exempt {
			target = s
		}
		f.nominalLimit.with(name).set(float64(s.Nominal))
		f.lowerLimit.with(name).set(float64(s.Min))
		f.upperLimit.with(name).set(float64(s.Max))
		f.currentLimit.with(name).set(float64(s.Current))
		f.demandHigh.with(name).set(float64(s.High))
		f.demandAverage.with(name).set(s.Average)
		f.demandDeviation.with(name).set(s.Deviation)
		f.demandSmoothed.with(name).set(s.Smoothed)
		f.target.with(name).set(target.Target())
	}
}

// measure takes in what a level's requests and seats are measured against.
func (m *Recorder) measure(nowNs int64, l *levelMetrics, of *flowcontrol.Level) {
	limit := float64(of.CurrentLimit())
	if limit == 0 {
		servers := &m.scenario.Spec.Servers
		limit = max(1, math.Round(float64(servers.MaxRequestsInflight+servers.MaxMutatingRequestsInflight)/10))
	}
	l.seatRatio.of(nowNs, limit)
	l.demandRatio.of(nowNs, limit)
	l.executing.of(nowNs, limit)
	queues := int32(1) // as the server has it when requests still wait at a level that ceases to queue
	if q := of.Spec().Queuing(); q != nil {
		queues, l.queueLengthLimit = q.Queues, q.QueueLengthLimit
	}
	l.waiting.of(nowNs, float64(max(1, l.queueLengthLimit))*float64(queues))
}

// Tick implements server.Observer.
func (m *Recorder) Tick(nowNs int64) (nextNs int64) {
	m.adjustment()
	for _, l := range m.levels {
		queues := l.of.Queues()
		m.families.currentR.with(l.name).setReading(queues.R())
		m.wound(l.name, "true", queues.Epochs().Succeeded)
		m.wound(l.name, "false", queues.Epochs().Failed)
		for _, r := range []*ratio{&l.seatRatio, &l.demandRatio, &l.waiting, &l.executing} {
			r.advance(nowNs)
		}
	}
	for i := range m.kinds {
		k := &m.kinds[i]
		k.roll(nowNs)
		k.waiting.advance(nowNs)
		k.executing.advance(nowNs)
	}
	for _, f := range m.families.all {
		for _, metric := range f.metrics {
			metric.sample(len(m.atMs))
		}
	}
	// A run may end within a millisecond of the sample before.
	m.atMs = append(m.atMs, m.startMs+(nowNs+999_999)/1_000_000)
	return nowNs + m.intervalNs
}

// wound shows how often R was wound back, if it was.
func (m *Recorder) wound(level, success string, times int) {
	if times > 0 {
		m.families.epochs.with(level, success).set(float64(times))
	}
}

// roll shows what the second that is over has seen, and begins the next.
func (k *kindMetrics) roll(nowNs int64) {
	switch now := nowNs / 1_000_000_000; now - k.second {
	case 0:
		return
	case 1:
		k.shown.set(float64(k.most))
		k.second = now
	default: // no change during the last one
		k.shown.set(0)
		k.second = now
	}
	k.most = 0
}

// Write writes all samples so far in the OpenMetrics text format.
func (m *Recorder) Write(w io.Writer) error {
	pair := func(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }
	extra := []*dto.LabelPair{pair("job", "apiserver"), pair("instance", m.scenario.Metadata.Name)}
	for _, f := range m.families.all {
		if err := f.write(w, extra, m.atMs); err != nil {
			return err
		}
	}
	_, err := expfmt.FinalizeOpenMetrics(w)
	return err
}

func (m *Recorder) kindOf(r *server.Request) *kindMetrics {
	if r.Attributes.ReadOnly() {
		return &m.kinds[1]
	}
	return &m.kinds[0]
}

func (m *Recorder) schemaOf(f *server.Flow) *schemaMetrics {
	if f.Index < len(m.flows) && m.flows[f.Index] != nil {
		return m.flows[f.Index]
	}
	for len(m.flows) <= f.Index {
		m.flows = append(m.flows, nil)
	}
	key := schemaKey{f.Level, f.Schema.Name}
	s := m.schemas[key]
	if s == nil {
		s = &schemaMetrics{level: m.levels[f.Level], labels: []string{f.Level, f.Schema.Name}}
		m.schemas[key] = s
	}
	m.flows[f.Index] = s
	return s
}

func (m *Recorder) levelOf(nowNs int64, of *flowcontrol.Level) *levelMetrics {
	l := m.levels[of.Name()]
	if l == nil {
		from := func(histogram *timeSeries) ratio { return ratio{histogram: histogram, whole: 1, sinceNs: nowNs} }
		f, name := m.families, of.Name()
		l = &levelMetrics{
			name: name, exempt: of.Spec().Type == config.TypeExempt,
			seatRatio:   from(f.seatUtilization.with(name, "executing")),
			demandRatio: from(f.demand.with(name)),
			waiting:     from(f.requestUtilization.with("waiting", name)),
			executing:   from(f.requestUtilization.with("executing", name)),
		}
		m.levels[name] = l
	}
	l.of = of
	return l
}
