package record

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/core/rules"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// serverMetrics are the metrics of one server. Memory grows with the number of samples and time series, not with the
// number of requests.
type serverMetrics struct {
	instance   string
	scenario   *scenario.Scenario
	source     server.Levels
	startMs    int64 // start of the run, since 1970
	intervalNs int64
	atMs       []int64 // the times of the samples, since 1970

	families *families
	past     []*families // of processes of the server that have ended
	off      bool        // it has no process
	// uncounted are series that are not written: those of the exempt level in releases that do not
	// count its requests, apart from those of dispatched requests and of executions.
	uncounted *families
	rules     *rules.Rules

	levels  map[string]*levelMetrics
	flows   []*schemaMetrics // by server.Flow.Index
	schemas map[schemaKey]*schemaMetrics
	kinds   [2]kindMetrics // mutating, read-only
	answers map[answer]*timeSeries

	arriving           int64 // number of the latest request, until it is queued; then 0
	queuesOfDispatched []int // the queues of the requests dispatched since its arrival
}

type schemaKey struct{ level, schema string }

// schemaMetrics are the metrics of one FlowSchema at one priority level. A series is nil until its
// first value.
type schemaMetrics struct {
	level  *levelMetrics
	labels []string // priority level and FlowSchema

	dispatched, heldBack                                  *timeSeries
	estimatedSeats, watchers, queueLength                 *timeSeries
	inQueueRequests, inQueueSeats                         *timeSeries
	executingRequests, executingSeats, inUse              *timeSeries
	waitExecuted, waitRejected, execution, watchExecution *timeSeries
	rejected                                              [queueset.Rejections]*timeSeries
}

// levelMetrics are the metrics of a priority level.
type levelMetrics struct {
	name   string
	exempt bool
	level  *flowcontrol.Level // the latest level with this name, which may have been removed

	dispatchR, latestS             *timeSeries
	minS, maxS                     *timeSeries
	minDiscountedS, maxDiscountedS *timeSeries

	queueLengthLimit int32 // the latest; kept if the level no longer has queues
	inUse, wanted    int   // seats in use; seats of waiting requests, as the server counts them
	seatRatio        ratio
	demandRatio      ratio
	waiting          ratio // requests
	executing        ratio
}

// kindMetrics are the metrics of the mutating or of the read-only requests of all levels.
type kindMetrics struct {
	waiting, executing ratio
	second             int64 // the current second of the run
	maxWaiting         int   // maximum number of waiting requests in this second
	maxInSecond        *timeSeries
}

// ratio is part / whole, where part changes often and whole rarely. Its histogram counts the value at
// the end of every nanosecond (k8s.io/apiserver, util/flowcontrol/metrics/timing_ratio_histogram.go).
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

func (r *ratio) setPart(nowNs int64, part int) {
	r.advance(nowNs)
	r.part = part
}

func (r *ratio) setWhole(nowNs int64, whole float64) {
	r.advance(nowNs)
	r.whole = whole
}

// ScrapeInterval returns the time between samples for a run of this length, in nanoseconds: the
// interval of its series, but at most 10 s, so that the usual windows of rate() contain several
// samples.
func ScrapeInterval(durationNs int64) int64 { return min(result.Interval(durationNs), 10_000_000_000) }

// begin begins the metrics of a new process of the server, which has a release.
func (m *serverMetrics) begin(nowNs int64, version server.Version) {
	release, err := m.scenario.Spec.Servers.RulesFor(version)
	if err != nil {
		panic("record: a scenario that is not valid: " + err.Error())
	}
	m.off = false
	m.rules, m.families, m.uncounted = release, newFamilies(release), newFamilies(release)
	m.families.begin = len(m.atMs)
	m.levels, m.flows, m.schemas = map[string]*levelMetrics{}, nil, map[schemaKey]*schemaMetrics{}
	m.answers = map[answer]*timeSeries{}
	for i, kind := range []string{"mutating", "readOnly"} {
		m.kinds[i] = kindMetrics{
			waiting:     ratio{histogram: m.families.readsWrite.with("waiting", kind), whole: 1},
			executing:   ratio{histogram: m.families.readsWrite.with("executing", kind), whole: 1},
			maxInSecond: m.families.inQueueByKind.with(kind),
		}
		for _, r := range []*ratio{&m.kinds[i].waiting, &m.kinds[i].executing} {
			r.sinceNs = nowNs
		}
		m.kinds[i].second = nowNs / 1_000_000_000
	}
	m.adjusted(nowNs, nil) // the levels must exist before the first sample
}

// changed is called when the server has another stage. A process begins with all metrics at 0; when it
// ends, its series end.
func (m *serverMetrics) changed(nowNs int64, s *server.Server) {
	switch {
	case s.Stage() == server.Off && !m.off:
		m.off = true
		m.families.end = len(m.atMs)
		m.past, m.families = append(m.past, m.families), nil
	case s.Stage() != server.Off && m.off:
		m.begin(nowNs, server.Version(s.Rules().Version))
	}
}

func (m *serverMetrics) observer() server.Observer {
	return server.Observer{
		Arrived:    m.arrived,
		Queued:     m.queued,
		Dispatched: m.dispatched,
		Rejected:   m.rejected,
		Executed:   m.executed,
		Released:   m.released,
		Adjusted:   m.adjusted,
		Tick:       m.tick,
		HeldBack:   m.heldBack,
		Answered:   m.answered,
		Changed:    m.changed,
	}
}

func (m *serverMetrics) arrived(_ int64, r *server.Request) {
	if r.Flow == nil {
		return
	}
	m.arriving, m.queuesOfDispatched = r.Number, m.queuesOfDispatched[:0]
	s := m.schemaOf(r.Flow)
	if s.estimatedSeats == nil {
		s.estimatedSeats = m.familiesOf(s.level).estimatedSeats.with(s.labels...)
	}
	s.estimatedSeats.observe(float64(r.SeatsAsked), 1)
	if watchers, ok := r.Watchers(); ok {
		if s.watchers == nil {
			s.watchers = m.familiesOf(s.level).watchers.with(s.labels...)
		}
		s.watchers.observe(float64(watchers), 1)
	}
}

func (m *serverMetrics) queued(nowNs int64, r *server.Request) {
	m.arriving = 0
	s := m.schemaOf(r.Flow)
	m.enqueue(nowNs, r, s, r.Level.Queues().QueueLength(r.Queue()))
}

// enqueue counts a request that was added to its queue. Requests that were dispatched after that are
// added to the length, because they were still in the queue.
func (m *serverMetrics) enqueue(nowNs int64, r *server.Request, s *schemaMetrics, length int) {
	for _, queue := range m.queuesOfDispatched {
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
	m.addWaiting(nowNs, r, s, +1, int(r.SeatsAsked))
}

// addWaiting changes the number of waiting requests and of the seats that they need.
func (m *serverMetrics) addWaiting(nowNs int64, r *server.Request, s *schemaMetrics, requests, seats int) {
	s.inQueueRequests.add(float64(requests))
	s.inQueueSeats.add(float64(seats))
	l := s.level
	l.waiting.setPart(nowNs, l.waiting.part+requests)
	l.wanted += seats
	l.demandRatio.setPart(nowNs, l.inUse+l.wanted)
	k := m.kindOf(r)
	k.closeSecond(nowNs)
	k.waiting.setPart(nowNs, k.waiting.part+requests)
	k.maxWaiting = max(k.maxWaiting, k.waiting.part)
}

func (m *serverMetrics) heldBack(_ int64, r *server.Request) {
	s := m.schemaOf(r.Flow)
	if s.heldBack == nil {
		s.heldBack = m.families.heldBack.with(s.labels...)
	}
	s.heldBack.add(1)
}

func (m *serverMetrics) dispatched(nowNs int64, r *server.Request) {
	if r.Flow == nil {
		return
	}
	s := m.schemaOf(r.Flow)
	l := s.level
	if r.Queue() >= 0 {
		queues := r.Level.Queues()
		if r.Number == m.arriving { // it was dispatched immediately, as the last one of its queue
			m.enqueue(nowNs, r, s, queues.QueueLength(r.Queue())+1)
		}
		m.queuesOfDispatched = append(m.queuesOfDispatched, r.Queue())
		// Dispatch may have reduced the seats of the request. As in the server, the difference stays in
		// the number of waiting seats.
		m.addWaiting(nowNs, r, s, -1, -r.Seats())
		m.recordStarts(l, queues, r)
	}
	if s.dispatched == nil {
		s.dispatched = m.families.dispatched.with(s.labels...)
		families := m.familiesOf(s.level)
		s.executingRequests = families.executingRequests.with(s.labels...)
		s.executingSeats, s.inUse = families.executingSeats.with(s.labels...), families.inUse.with(s.labels...)
	}
	s.dispatched.add(1)
	if !l.exempt {
		m.observeWait(s, true, nowNs-r.ArrivalNs)
	}
	m.addExecuting(nowNs, r, s, +1)
	m.addSeats(nowNs, s, r.Seats())
}

// recordStarts sets the gauges of R: when the request that was just dispatched, and the oldest
// requests of the other queues, were due to start.
func (m *serverMetrics) recordStarts(l *levelMetrics, queues *queueset.QueueSet, r *server.Request) {
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

// observeWait counts a wait. As in the server, a time-out counts as a wait that ends with execution.
func (m *serverMetrics) observeWait(s *schemaMetrics, execute bool, ns int64) {
	h, label := &s.waitRejected, "false"
	if execute {
		h, label = &s.waitExecuted, "true"
	}
	if *h == nil {
		*h = m.families.wait.with(append(s.labels[:2:2], label)...)
	}
	(*h).observe(metricSeconds(ns), 1)
}

func metricSeconds(ns int64) float64 { return time.Duration(ns).Seconds() }

func (m *serverMetrics) addExecuting(nowNs int64, r *server.Request, s *schemaMetrics, requests int) {
	s.executingRequests.add(float64(requests))
	s.level.executing.setPart(nowNs, s.level.executing.part+requests)
	k := m.kindOf(r)
	k.executing.setPart(nowNs, k.executing.part+requests)
}

func (m *serverMetrics) addSeats(nowNs int64, s *schemaMetrics, seats int) {
	s.executingSeats.add(float64(seats))
	s.inUse.add(float64(seats))
	s.level.inUse += seats
	s.level.seatRatio.setPart(nowNs, s.level.inUse)
	s.level.demandRatio.setPart(nowNs, s.level.inUse+s.level.wanted)
}

func (m *serverMetrics) rejected(nowNs int64, r *server.Request) {
	s := m.schemaOf(r.Flow)
	timedOut := r.Rejection == queueset.TimedOut
	if timedOut {
		m.addWaiting(nowNs, r, s, -1, -int(r.SeatsAsked))
	}
	m.observeWait(s, timedOut, nowNs-r.ArrivalNs)
	why := r.Rejection
	if r.AtDeadline() {
		// The release says that the request was cancelled, or counts it nowhere.
		if why = queueset.Cancelled; m.rules.Within("", "1.23") {
			return
		}
	}
	c := &s.rejected[why]
	if *c == nil {
		*c = m.families.rejected.with(append(s.labels[:2:2], why.String())...)
	}
	(*c).add(1)
}

func (m *serverMetrics) executed(nowNs int64, r *server.Request) {
	if r.Flow == nil {
		return
	}
	s := m.schemaOf(r.Flow)
	m.addExecuting(nowNs, r, s, -1)
	h, kind := &s.execution, "regular"
	if r.Attributes.Verb == "watch" {
		h, kind = &s.watchExecution, "watch"
	}
	if *h == nil {
		*h = m.families.execution.with(append(s.labels[:2:2], kind)[:len(m.families.execution.labels)]...)
	}
	(*h).observe(metricSeconds(nowNs-r.DispatchNs), 1)
}

// answer is what the answers to requests are counted by.
type answer struct {
	family                                    *family
	verb, group, resource, subresource, scope string
	code                                      int16
}

// answered counts the answers that the server has written. What flow control rejects counts in both families, and a time-out of the
// handler only among the terminations (endpoints/metrics, RecordDroppedRequest and RecordRequestTermination).
func (m *serverMetrics) answered(_ int64, r *server.Request) {
	if r.Status <= 0 || r.Refusal != metric.NotRefused || m.off {
		return // no answer, or not one of this server's handlers
	}
	a := &r.Attributes
	of := answer{verb: reportedVerb(a), group: a.APIGroup, resource: a.Resource, subresource: a.Subresource, scope: scopeOf(a), code: r.Status}
	rejected := r.Rejection != queueset.NotRejected
	if r.Status == server.StatusGatewayTimeout && !rejected {
		m.countAnswer(of, m.families.terminations)
		return
	}
	m.countAnswer(of, m.families.answers)
	if rejected {
		m.countAnswer(of, m.families.terminations)
	}
}

func (m *serverMetrics) countAnswer(of answer, in *family) {
	of.family = in
	c := m.answers[of]
	if c == nil {
		// Scenarios do not have versions of the API, nor dry runs.
		values := []string{of.verb, of.group, "v1", of.resource, of.subresource, of.scope, "apiserver", strconv.Itoa(int(of.code))}
		if of.resource == "" {
			values[2] = ""
		}
		if in == m.families.answers {
			values = slices.Insert(values, 1, "")
		}
		c = in.with(values...)
		m.answers[of] = c
	}
	c.add(1)
}

// scopeOf returns the label scope of a request (endpoints/metrics, CleanScope).
func scopeOf(a *classify.Attributes) string {
	switch {
	case a.Name != "" || a.Verb == "create":
		return "resource"
	case a.Namespace != "":
		return "namespace"
	case a.Resource != "":
		return "cluster"
	}
	return ""
}

// verbs are the labels of verbs.
var verbs = map[string]string{"create": "POST", "update": "PUT", "deletecollection": "DELETE", "head": "GET",
	"get": "GET", "list": "LIST", "watch": "WATCH", "patch": "PATCH", "apply": "APPLY", "delete": "DELETE", "post": "POST", "put": "PUT", "options": "OPTIONS"}

// reportedVerb returns the label verb of a request, which is the HTTP method, or LIST, WATCH and APPLY.
func reportedVerb(a *classify.Attributes) string {
	if a.Resource != "" && a.Subresource == "proxy" {
		return "CONNECT"
	}
	if label := verbs[a.Verb]; label != "" {
		return label
	}
	return strings.ToUpper(a.Verb)
}

func (m *serverMetrics) released(nowNs int64, r *server.Request) {
	if r.Flow != nil {
		m.addSeats(nowNs, m.schemaOf(r.Flow), -r.Seats())
	}
}

func (m *serverMetrics) adjusted(nowNs int64, _ *server.Server) {
	if m.off {
		return
	}
	waiting, executing := 0, 0
	for _, level := range m.source.Levels() {
		m.setCapacities(nowNs, m.levelOf(nowNs, level), level)
		executing += level.Limits().Nominal
		if q := level.Spec().Queuing(); q != nil {
			waiting += int(q.Queues) * int(q.QueueLengthLimit)
		}
	}
	for i := range m.kinds {
		m.kinds[i].waiting.setWhole(nowNs, float64(waiting))
		m.kinds[i].executing.setWhole(nowNs, float64(executing))
	}
}

// recordAdjustment sets the gauges of the last adjustment: demands, targets and limits.
func (m *serverMetrics) recordAdjustment() {
	levels := m.source.Levels()
	// The server shows the target of another level for the exempt level: the first one in the order
	// of its map. Here it is the first one by name.
	other := levels[slices.IndexFunc(levels, func(l *flowcontrol.Level) bool { return !l.Seats().Exempt })].Seats()
	m.families.fairFraction.with().set(other.FairFraction)
	for name, l := range m.levels { // in any order, because they are independent
		s, target := l.level.Seats(), other
		if !s.Exempt {
			target = s
		}
		f := m.familiesOf(l)
		f.limit.with(name).set(float64(s.Nominal))
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

// setCapacities sets the limits that the ratios of a level are relative to.
func (m *serverMetrics) setCapacities(nowNs int64, l *levelMetrics, level *flowcontrol.Level) {
	limit := float64(level.CurrentLimit())
	if limit == 0 {
		servers := &m.scenario.Spec.Servers
		limit = max(1, math.Round(float64(servers.MaxRequestsInflight+servers.MaxMutatingRequestsInflight)/10))
	}
	l.seatRatio.setWhole(nowNs, limit)
	l.demandRatio.setWhole(nowNs, limit)
	l.executing.setWhole(nowNs, limit)
	queues := int32(1) // as in the server, for requests that still wait after the level's queues were removed
	if q := level.Spec().Queuing(); q != nil {
		queues, l.queueLengthLimit = q.Queues, q.QueueLengthLimit
	}
	l.waiting.setWhole(nowNs, float64(max(1, l.queueLengthLimit))*float64(queues))
}

func (m *serverMetrics) tick(nowNs int64, _ []*server.Server) (nextNs int64) {
	if !m.off {
		m.scrape(nowNs)
	}
	// Rounding up keeps the times distinct if the run ends within a millisecond of the last sample.
	m.atMs = append(m.atMs, m.startMs+(nowNs+999_999)/1_000_000)
	return nowNs + m.intervalNs
}

// scrape takes a sample of all metrics.
func (m *serverMetrics) scrape(nowNs int64) {
	m.recordAdjustment()
	for _, l := range m.levels {
		queues := l.level.Queues()
		m.familiesOf(l).currentR.with(l.name).setReading(queues.R())
		m.setEpochs(l.name, "true", queues.Epochs().Succeeded)
		m.setEpochs(l.name, "false", queues.Epochs().Failed)
		for _, r := range []*ratio{&l.seatRatio, &l.demandRatio, &l.waiting, &l.executing} {
			r.advance(nowNs)
		}
	}
	for i := range m.kinds {
		k := &m.kinds[i]
		k.closeSecond(nowNs)
		k.waiting.advance(nowNs)
		k.executing.advance(nowNs)
	}
	for _, f := range m.families.all {
		for _, metric := range f.metrics {
			metric.sample(len(m.atMs))
		}
	}
}

// setEpochs sets the number of resets of R, unless it is 0.
func (m *serverMetrics) setEpochs(level, success string, times int) {
	if times > 0 {
		m.families.epochs.with(level, success).set(float64(times))
	}
}

// closeSecond sets the maximum of the last second, if it has ended, and begins the next one.
func (k *kindMetrics) closeSecond(nowNs int64) {
	switch now := nowNs / 1_000_000_000; now - k.second {
	case 0:
		return
	case 1:
		k.maxInSecond.set(float64(k.maxWaiting))
		k.second = now
	default: // there was no change during the last second
		k.maxInSecond.set(0)
		k.second = now
	}
	k.maxWaiting = 0
}

// familiesOf returns the metrics of a level's own series.
func (m *serverMetrics) familiesOf(l *levelMetrics) *families {
	if l.exempt && m.rules.Exempt == rules.ExemptAbsent {
		return m.uncounted
	}
	return m.families
}

func (m *serverMetrics) kindOf(r *server.Request) *kindMetrics {
	if r.Attributes.ReadOnly() {
		return &m.kinds[1]
	}
	return &m.kinds[0]
}

func (m *serverMetrics) schemaOf(f *server.Flow) *schemaMetrics {
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

func (m *serverMetrics) levelOf(nowNs int64, level *flowcontrol.Level) *levelMetrics {
	l := m.levels[level.Name()]
	if l == nil {
		from := func(histogram *timeSeries) ratio { return ratio{histogram: histogram, whole: 1, sinceNs: nowNs} }
		name := level.Name()
		l = &levelMetrics{name: name, exempt: level.Spec().Type == config.TypeExempt}
		f := m.familiesOf(l)
		l.seatRatio = from(f.seatUtilization.with(name, "executing"))
		l.demandRatio = from(f.demand.with(name))
		l.waiting = from(f.requestUtilization.with("waiting", name))
		l.executing = from(f.requestUtilization.with("executing", name))
		m.levels[name] = l
	}
	l.level = level
	return l
}
