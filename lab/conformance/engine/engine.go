// Package engine lets the flow control of k8s.io/apiserver, unmodified, decide about the requests of a simulation: its
// filter, its controller, its estimator, its watch tracker and its queue sets. Clients, network, machines, stores and
// statistics are those of apfsim.
//
// The simulation is one goroutine of a testing/synctest bubble. It sleeps until the time of its next event. Each request that is at a server has a goroutine of its own, in upstream's filter. It stands still in
// a queue, or in the handler at the end of the filters until the simulation says that the execution has ended; whatever
// the simulation does, it waits until all of them stand still again.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	endpointfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	fqs "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/filter"
	ours "apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/core/seats"
	"apfsim/lab/conformance/upstream"
	"apfsim/sim"
	"apfsim/sim/server"
	"apfsim/sim/trace"
)

// Simulate calls run in a bubble, with the option by which upstream's flow control decides in the run that it makes.
func Simulate(t *testing.T, run func(engine sim.Option)) {
	synctest.Test(t, func(*testing.T) {
		b := newBubble()
		defer b.close()
		run(sim.FlowControl(b.begin))
	})
}

// ahead is by how much the requests are received and due later than they are: no timer of upstream's ends a wait, but the
// events of the simulation do, which are in order.
const ahead = 10000 * time.Hour

// bubble is what the servers of a run have in common.
type bubble struct {
	startAt time.Time // time 0 of the run
	nowNs   int64     // of the run
	all     []*engine
	closed  bool
	running sync.WaitGroup

	// What has been made of objects, so that the servers have the same.
	endless map[*config.PriorityLevel]*config.PriorityLevel
	levels  map[*config.PriorityLevel]*flowcontrolv1.PriorityLevelConfiguration
	schemas map[*config.FlowSchema]*flowcontrolv1.FlowSchema
}

func newBubble() *bubble {
	// The rejections are counted by whole seconds.
	return &bubble{startAt: time.Now().Truncate(time.Second).Add(2 * time.Duration(ours.AdjustmentPeriodNs)),
		endless: map[*config.PriorityLevel]*config.PriorityLevel{}, levels: map[*config.PriorityLevel]*flowcontrolv1.PriorityLevelConfiguration{},
		schemas: map[*config.FlowSchema]*flowcontrolv1.FlowSchema{}}
}

// at returns the time of the bubble at a time of the run.
func (b *bubble) at(ns int64) time.Time { return b.startAt.Add(time.Duration(ns)) }

// advance lets the bubble reach a time of the run.
func (b *bubble) advance(nowNs int64) {
	b.nowNs = nowNs
	if d := time.Until(b.at(nowNs)); d > 0 {
		time.Sleep(d)
		synctest.Wait()
	}
}

// close ends all that goes on.
func (b *bubble) close() {
	b.closed = true
	for _, e := range b.all {
		for _, c := range e.calls {
			c.end(context.Canceled)
			close(c.proceed)
		}
		if e.stop == nil { // the end of Run ends the goroutines of the constructor, too
			e.runAfter(0)
		}
		e.Freeze()
	}
	b.running.Wait()
}

// engine is the flow control of one process of a server.
type engine struct {
	*bubble
	server.Beginning
	control  flowcontrol.Interface
	handler  http.Handler
	objects  *objects
	stop     chan struct{} // nil while the controllers do not run
	frozen   bool
	stored   map[string]storage.Stats
	calls    map[*filter.Request]*call
	requests map[*server.Template]*http.Request
	finished *call // whose execution ends now

	mu         sync.Mutex
	notes      []note
	configured bool // the limits may have changed since the simulation last looked

	// shadow classifies requests, and holds those that wait in upstream's queues: its limit is 0. So observers
	// find them there.
	shadow *filter.Filter
	levels []level                 // as upstream has them, by name
	hands  map[int][]queueset.Hand // by number of queues: that of each queue alone
}

// note is that a request has entered or left a queue, or has been dispatched without one.
type note struct {
	call *call
	what change
}

type change uint8

const (
	enters change = iota
	leaves
	starts
)

// begin implements server.Deps.FlowControl.
func (b *bubble) begin(x server.Beginning) server.OtherFlowControl {
	s := &x.Settings
	if s.Mode != filter.PriorityAndFairness {
		return nil
	}
	e := &engine{bubble: b, Beginning: x, stored: map[string]storage.Stats{}, calls: map[*filter.Request]*call{}, requests: map[*server.Template]*http.Request{},
		hands: map[int][]queueset.Hand{}}
	b.all = append(b.all, e)
	for r, stats := range s.Store {
		e.Update(r, stats)
	}
	shadowed := *s
	shadowed.MaxRequestsInFlight, shadowed.MaxMutatingRequestsInFlight, shadowed.Adjusted, shadowed.Objects = 0, 0, nil, b.endlessQueues(s.Objects)
	e.shadow = filter.New(x.Now(), shadowed, nobody{})

	e.objects = &objects{}
	clock := clock{e}
	e.control = flowcontrol.NewTestable(flowcontrol.TestableConfig{
		Name: "Controller", Clock: clock, AsFieldManager: flowcontrol.ConfigConsumerAsFieldManager,
		FoundToDangling: func(found bool) bool { return !found }, InformerFactory: e.objects, FlowcontrolClient: client{},
		ServerConcurrencyLimit: s.MaxRequestsInFlight + s.MaxMutatingRequestsInFlight,
		ReqsGaugeVec:           metrics.PriorityLevelConcurrencyGaugeVec, ExecSeatsGaugeVec: metrics.PriorityLevelExecutionSeatsGaugeVec,
		QueueSetFactory: factory{fqs.NewQueueSetFactory(clock), e},
	})
	estimator := workestimate.NewWorkEstimator(e.count, e.control.GetInterestedWatchCount, workestimate.DefaultWorkEstimatorConfig(), e.control.GetMaxSeats)
	timeout := time.Duration(s.RequestTimeoutNs)
	e.handler = endpointfilters.WithRequestDeadline(filters.WithPriorityAndFairness(http.HandlerFunc(e.execute), upstream.LongRunning, e.control, estimator, timeout/4),
		nil, nil, upstream.LongRunning, nil, timeout)
	if x.Controls {
		e.objects.set(b, s.Objects)
		// Its tickers begin so that one tick is just after the first periodic adjustment. The clock stands at 0 before.
		e.runAfter(time.Until(b.at(x.PhaseNs - ours.AdjustmentPeriodNs + 1)))
	}
	return e
}

// runAfter lets the controllers run after some time.
func (e *engine) runAfter(d time.Duration) {
	e.stop = make(chan struct{})
	e.running.Go(func() {
		time.Sleep(d)
		if err := e.control.Run(e.stop); err != nil && !e.closed {
			panic("engine: " + err.Error())
		}
	})
	e.objects.changed()
}

// Freeze implements server.OtherFlowControl.
func (e *engine) Freeze() {
	if e.stop != nil && !e.frozen {
		e.frozen = true
		close(e.stop)
	}
}

// NewKind implements server.FlowControl.
func (e *engine) NewKind(a *classify.Attributes, query string) (filter.Kind, error) {
	return e.shadow.NewKind(a, query)
}

// Receive implements server.FlowControl. The request goes through the filters up to its queue set, and stands still there.
func (e *engine) Receive(r *filter.Request, k *filter.Kind) (rerouted bool) {
	e.advance(e.Now())
	rerouted = e.shadow.Receive(r, k)
	c := &call{engine: e, r: r, header: http.Header{}, proceed: make(chan struct{}), done: make(chan struct{})}
	c.Context = request.WithReceivedTimestamp(e.template(r).Context(), e.at(e.nowNs).Add(ahead))
	e.calls[r] = c
	e.running.Go(func() {
		e.handler.ServeHTTP(c, e.template(r).WithContext(c))
		c.stage = over
	})
	synctest.Wait()
	if c.stage != received {
		return rerouted
	}
	route := k.Route()
	if route.Level.Name() != c.level || route.Schema.Name != c.schema || route.Distinguisher != c.distinguisher {
		*route = e.route(c)
		rerouted = true
	}
	r.Level = route.Level
	r.Work = c.estimate()
	return rerouted
}

// route is where upstream sends a request that core would send elsewhere.
func (e *engine) route(c *call) ours.Route {
	for _, l := range e.shadow.Levels() {
		if l.Name() == c.level {
			return ours.Route{Level: l, Schema: e.Settings.Objects.FlowSchema(c.schema), Distinguisher: c.distinguisher, Hash: c.hash, Hand: l.Queues().Hand(c.hash)}
		}
	}
	panic("engine: upstream has a priority level that is not configured: " + c.level)
}

// template returns the request of a template, without what differs between those of one template.
func (e *engine) template(r *filter.Request) *http.Request {
	t := r.Owner().(*server.Request).Template
	h := e.requests[t]
	if h != nil {
		return h
	}
	a := t.Attributes
	if a.Path == "" {
		a.Path = trace.ResourcePath(&a)
	}
	if a.Verb == "create" && a.Subresource == "" { // its name is in the object
		a.Name = ""
	}
	query := t.Query
	if a.Verb == "watch" && a.IsResource() && !strings.Contains(query, "watch=") {
		query = strings.TrimSuffix("watch=true&"+query, "&")
	}
	h, err := upstream.HTTPRequest(&a, query)
	if err != nil {
		panic("engine: " + err.Error())
	}
	h = h.WithContext(request.WithUser(h.Context(), &user.DefaultInfo{Name: a.User, Groups: a.Groups}))
	e.requests[t] = h
	return h
}

// WaitLimitNs implements server.FlowControl.
func (e *engine) WaitLimitNs(r *filter.Request) int64 { return e.calls[r].waitLimitNs }

// Arrive implements server.FlowControl.
func (e *engine) Arrive(nowNs int64, r *filter.Request) (rejection queueset.Rejection, retryAfterSeconds int) {
	c := e.calls[r]
	if c.stage != received { // it is not limited
		e.Host.Dispatched(r)
		return queueset.NotRejected, 0
	}
	r.Request.Request = queueset.Request{Work: r.Work, Owner: r.Request.Request.Owner}
	if c.estimate() != r.Work {
		c.width.InitialSeats, c.width.FinalSeats, c.width.AdditionalLatency = uint64(r.Work.InitialSeats), uint64(r.Work.FinalSeats), time.Duration(r.Work.AdditionalLatencyNs)
	}
	c.stage = waits
	c.continues()
	e.tell(nowNs)
	if c.rejection != queueset.NotRejected {
		delete(e.calls, r)
		return c.rejection, c.retryAfterSeconds()
	}
	return queueset.NotRejected, 0
}

// TimeOut implements server.FlowControl.
func (e *engine) TimeOut(nowNs int64, r *filter.Request) (rejection queueset.Rejection, retryAfterSeconds int) {
	return e.leave(nowNs, r, context.DeadlineExceeded)
}

// Cancel implements server.FlowControl.
func (e *engine) Cancel(nowNs int64, r *filter.Request) (rejection queueset.Rejection, retryAfterSeconds int) {
	if !r.Waiting() {
		return queueset.NotRejected, 0
	}
	return e.leave(nowNs, r, context.Canceled)
}

// leave ends the context of a request that waits.
func (e *engine) leave(nowNs int64, r *filter.Request, why error) (rejection queueset.Rejection, retryAfterSeconds int) {
	e.advance(nowNs)
	c := e.calls[r]
	c.left = true
	c.end(why)
	synctest.Wait()
	e.tell(nowNs)
	if c.stage != over {
		panic("engine: a request whose wait has ended is still there")
	}
	delete(e.calls, r)
	return queueset.TimedOut, c.retryAfterSeconds()
}

// Dropped implements server.FlowControl: no release that the engine runs has lazy wait limits.
func (e *engine) Dropped(int64, *filter.Request) int { panic("engine: a request that is overdue") }

// Finish implements server.FlowControl.
func (e *engine) Finish(nowNs int64, r *filter.Request) (additionalNs int64) {
	e.advance(nowNs)
	c := e.calls[r]
	if c.stage == over { // upstream's filters have answered it before flow control
		delete(e.calls, r)
		return 0
	}
	e.finished = c
	c.continues()
	e.finished = nil
	e.tell(nowNs)
	if c.stage == over && c.release == nil {
		delete(e.calls, r)
	}
	return c.additionalNs
}

// Release implements server.FlowControl.
func (e *engine) Release(nowNs int64, r *filter.Request) {
	e.advance(nowNs)
	c := e.calls[r]
	delete(e.calls, r)
	c.release(e.at(nowNs))
	synctest.Wait()
	e.tell(nowNs)
}

// EndWatch implements server.FlowControl.
func (e *engine) EndWatch(r *filter.Request) {
	e.advance(e.Now())
	if c := e.calls[r]; c != nil {
		c.continues()
	}
	delete(e.calls, r)
}

// Configure implements server.FlowControl.
func (e *engine) Configure(nowNs int64, held config.Objects) {
	e.advance(nowNs)
	e.Settings.Objects = held
	e.shadow.Configure(nowNs, e.endlessQueues(held))
	e.objects.set(e.bubble, held)
	if e.stop == nil {
		e.runAfter(0)
	} else {
		e.objects.changed()
	}
	synctest.Wait()
	e.tell(nowNs)
}

// Adjust implements server.FlowControl. The ticker of the controller is one nanosecond later, by the time of the bubble.
func (e *engine) Adjust(nowNs int64) {
	e.advance(nowNs)
	time.Sleep(time.Until(e.at(nowNs + 1)))
	synctest.Wait()
	if !e.tell(nowNs) {
		e.adjusted(nowNs)
	}
}

// Update implements server.FlowControl.
func (e *engine) Update(r estimate.Resource, stats estimate.Stats) {
	name := r.Name
	if r.Group != "" {
		name += "." + r.Group
	}
	e.stored[name] = storage.Stats{ObjectCount: stats.Objects, EstimatedAverageObjectSizeBytes: stats.AverageBytes}
	if stats.Stale {
		e.stored[name] = storage.Stats{ObjectCount: stale}
	}
	if e.shadow != nil {
		e.shadow.Update(r, stats)
	}
}

const stale = math.MinInt64

// count is what the estimator knows of what is stored.
func (e *engine) count(resource string) (storage.Stats, error) {
	switch stats, ok := e.stored[resource]; {
	case !ok:
		return stats, workestimate.ObjectCountNotFoundErr
	case stats.ObjectCount == stale:
		return stats, workestimate.ObjectCountStaleErr
	default:
		return stats, nil
	}
}

// Probe implements server.FlowControl. Nobody can look into upstream's queues.
func (e *engine) Probe(int64, *filter.Kind) (p queueset.Probe, rejection queueset.Rejection, waits bool) {
	panic("engine: a probe")
}

// Levels implements server.FlowControl.
func (e *engine) Levels() []*ours.Level { return e.shadow.Levels() }

// EachLevel implements server.OtherFlowControl.
func (e *engine) EachLevel(yield func(server.LevelState) bool) {
	e.advance(e.Now())
	if e.configured {
		e.readLevels()
	}
	for _, l := range e.levels {
		if !yield(l) {
			return
		}
	}
}

// level is a server.LevelState.
type level struct {
	name   string
	spec   *config.PriorityLevelSpec
	limits seats.Limits
	limit  int
	queues *queueset.QueueSet // of the shadow
}

func (l level) Name() string                    { return l.name }
func (l level) Spec() *config.PriorityLevelSpec { return l.spec }
func (l level) Limits() seats.Limits            { return l.limits }
func (l level) CurrentLimit() int               { return l.limit }
func (l level) Queues() *queueset.QueueSet      { return l.queues }

// readLevels reads the levels of upstream's controller. It has no method for that which tells the limits.
func (e *engine) readLevels() {
	e.configured = false
	before := e.levels
	e.levels = nil
	for states := field(reflect.ValueOf(e.control), "priorityLevelStates").MapRange(); states.Next(); {
		state := states.Value()
		l := level{name: states.Key().String(), limit: int(field(state, "currentCL").Int()), limits: seats.Limits{
			Nominal: int(field(state, "nominalCL").Int()), Min: int(field(state, "minCL").Int()), Max: int(field(state, "maxCL").Int())}}
		for _, b := range before {
			if b.name == l.name { // it may drain
				l.spec, l.queues = b.spec, b.queues
			}
		}
		for _, known := range e.shadow.Levels() {
			if known.Name() == l.name {
				l.spec, l.queues = known.Spec(), known.Queues()
			}
		}
		if o := e.Settings.Objects.PriorityLevel(l.name); o != nil {
			l.spec = &o.Spec
		}
		e.levels = append(e.levels, l)
	}
	slices.SortFunc(e.levels, func(a, b level) int { return cmp.Compare(a.name, b.name) })
}

// tell tells the host what has happened, and says whether the limits may have changed.
func (e *engine) tell(nowNs int64) (adjusted bool) {
	for _, n := range e.notes {
		r := n.call.r
		switch n.what {
		case enters:
			index, of := n.call.queue()
			if rejection := r.Level.Queues().Arrive(nowNs, &r.Request.Request, e.hand(nowNs, index, of)); rejection != queueset.NotRejected {
				panic("engine: a queue without an end is full")
			}
		case leaves:
			r.Level.Queues().TimeOut(nowNs, &r.Request.Request)
		}
		if n.what == starts || n.what == leaves && !n.call.left {
			r.Work = n.call.reshaped()
			e.Host.Dispatched(r)
		}
	}
	e.notes = e.notes[:0]
	if !e.configured {
		return false
	}
	e.adjusted(nowNs)
	return true
}

func (e *engine) adjusted(nowNs int64) {
	e.readLevels()
	if e.Settings.Adjusted != nil {
		e.Settings.Adjusted(nowNs)
	}
}

// hand returns the hand that has one queue of a number of queues.
func (e *engine) hand(nowNs int64, queue, of int) *queueset.Hand {
	hands := e.hands[of]
	if hands == nil {
		set := queueset.New(nowNs, e.Settings.Rules, queueset.Config{Queues: of, HandSize: 1, QueueLengthLimit: 1}, 0, nil)
		for i := range of {
			h := set.Hand(uint64(i))
			if dealt := h.Queues(); len(dealt) != 1 || dealt[0] != i {
				panic(fmt.Sprintf("engine: hand %d of %d is %v", i, of, dealt))
			}
			hands = append(hands, h)
		}
		e.hands[of] = hands
	}
	return &hands[queue]
}

// endlessQueues returns objects whose queues take any number of requests.
func (b *bubble) endlessQueues(held config.Objects) config.Objects {
	out := config.Objects{FlowSchemas: held.FlowSchemas}
	for _, l := range held.PriorityLevels {
		endless := b.endless[l]
		if endless == nil {
			endless = l
			if q := l.Spec.Queuing(); q != nil {
				queuing, limited, copied := *q, *l.Spec.Limited, *l
				queuing.QueueLengthLimit = math.MaxInt32
				limited.LimitResponse.Queuing = &queuing
				copied.Spec.Limited = &limited
				endless = &copied
			}
			b.endless[l] = endless
		}
		out.PriorityLevels = append(out.PriorityLevels, endless)
	}
	return out
}

// nobody is the host of the shadow, in which nothing is dispatched.
type nobody struct{}

func (nobody) Dispatched(*filter.Request)      { panic("engine: the shadow dispatches") }
func (nobody) HeldBack(*filter.Request)        {}
func (nobody) TimedOut(int64, *filter.Request) {}

var _ fq.QueueSetFactory = factory{}
