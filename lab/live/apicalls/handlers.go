package apicalls

import (
	"fmt"
	"strconv"

	"apfsim/core/estimate"
	"apfsim/core/request"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/lab/live/apiserver"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/quantity"
	"apfsim/sim/registry"
	"apfsim/sim/store"
	"apfsim/sim/trace"
)

// Handle replays calls at the handlers of a simulated server alone, without clients and flow control. So it also
// returns what a request log does not have: UIDs, all revisions and the events of watches. Calls are sent as a sequence sends them,
// each when the one before it has been answered, but not before its time.
func Handle(calls []Call) ([]Answer, error) {
	h, err := newHandlers(calls)
	if err != nil {
		return nil, err
	}
	for _, group := range Groups(calls) {
		if err := h.send(group); err != nil {
			return nil, err
		}
	}
	answers := make([]Answer, len(calls))
	for i, c := range h.all {
		answers[i] = c.result()
	}
	return answers, nil
}

// handlers are the registry of one server, and its host.
type handlers struct {
	registry *registry.Registry
	queue    clock.Queue[int32]
	alarms   *clock.Alarms
	answered map[int64]trace.Answered
	all      []*handled
	made     []int64 // revisions that the calls being sent have made
}

// handled is a call.
type handled struct {
	call     *Call
	op       *registry.Operation
	answer   api.Answer
	events   []Event
	made     []int64 // revisions
	answered bool
	open     bool // a watch that lasts
}

func newHandlers(calls []Call) (*handlers, error) {
	v, err := rules.For(apiserver.Version[1:5])
	if err != nil {
		return nil, err
	}
	h := &handlers{answered: map[int64]trace.Answered{}}
	h.alarms = clock.NewAlarms(func(atNs int64, slot int32) clock.Handle { return h.queue.Schedule(atNs, 0, slot) }, h.queue.Cancel)
	s := store.New(h.alarms, store.Settings{Read: quantity.Constant(quantity.Duration(readLatency)), Write: quantity.Constant(quantity.Duration(writeLatency)),
		EventTTL: 3600e9, CompactionInterval: quantity.Duration(compactionInterval(calls))}, 1, nil)
	s.NewCompactor().Start(0)
	var resources []api.Resource
	for _, r := range Resources {
		resource := api.Resource{Group: r.Group, Name: r.Name}
		resources = append(resources, resource)
		s.Resource(resource).OnCommit(func(_ int64, e *api.Event) { h.made = append(h.made, e.Version) })
	}
	settings := registry.Settings{Rules: v, ProgressNs: int64(readLatency), MinRequestTimeoutNs: 1800e9, Seed: 1}
	document.SetDefaults(&settings.Costs)
	h.registry = registry.New(h.alarms, s, h, settings)
	h.registry.Open()
	for _, r := range resources {
		h.registry.Fill(0, r, 0)
	}
	h.runTo(1e9)
	return h, nil
}

// send sends calls at once and lets time pass until they are answered and their watches have been read.
func (h *handlers) send(calls []Call) error {
	// The caches are filled in the first second, which the trace does not have.
	h.runTo(max(h.queue.NowNs(), calls[0].ArrivalNs+1e9))
	group := make([]*handled, len(calls))
	for i := range calls {
		c, err := h.begin(&calls[i])
		if err != nil {
			return err
		}
		group[i] = c
	}
	for _, c := range group {
		for !c.answered {
			slot, ok := h.queue.Next()
			if !ok {
				return fmt.Errorf("call %d is not answered", c.call.ID)
			}
			h.alarms.Ring(h.queue.NowNs(), slot)
		}
		h.answered[c.call.ID] = trace.Answered{Version: c.answer.Version, UID: c.answer.UID, Continue: c.answer.Continue}
	}
	for _, c := range group {
		if c.call.WatchNs > 0 {
			h.runTo(h.queue.NowNs() + c.call.WatchNs)
		}
		if c.open {
			c.open = false
			c.op.Abandon(h.queue.NowNs())
		}
	}
	group[0].made, h.made = h.made, nil // of calls that were sent together, as a sequence does it
	h.all = append(h.all, group...)
	return nil
}

// begin sends a call, as a replay of a trace does.
func (h *handlers) begin(c *Call) (*handled, error) {
	answered := func(id int64) trace.Answered { return h.answered[id] }
	options, err := request.ParseOptions(c.Verb, trace.Query(c.Query, answered))
	if err != nil {
		return nil, fmt.Errorf("call %d: %w", c.ID, err)
	}
	asked := trace.Asked{BodyResourceVersion: c.BodyResourceVersion, BodyUID: c.BodyUID, Finalizers: c.Finalizers, DryRun: c.DryRun,
		FieldManager: c.FieldManager, Fields: c.Fields, PatchType: c.PatchType}
	if c.Preconditions != nil {
		asked.Preconditions.UID, asked.Preconditions.ResourceVersion = c.Preconditions.UID, c.Preconditions.ResourceVersion
	}
	body, preconditions := asked.Body(c.Verb, c.Name, answered)
	options.DryRun = options.DryRun || c.DryRun
	if c.FieldManager != "" {
		options.FieldManager = c.FieldManager
	}
	if c.Preconditions != nil {
		options.Preconditions = preconditions
	}
	op := h.registry.NewOperation()
	waiting := &handled{call: c, op: op}
	op.Verb, op.Resource, op.Namespace, op.Name, op.Request = c.Verb, api.Resource{Group: c.APIGroup, Name: c.Resource}, c.Namespace, c.Name, waiting
	op.Call = &api.Call{Options: options, Body: body}
	h.registry.Begin(h.queue.NowNs(), op)
	return waiting, nil
}

// runTo lets all happen that comes until a time.
func (h *handlers) runTo(untilNs int64) {
	for {
		atNs, ok := h.queue.NextNs()
		if !ok || atNs > untilNs {
			break
		}
		slot, _ := h.queue.Next()
		h.alarms.Ring(h.queue.NowNs(), slot)
	}
	if h.queue.NowNs() < untilNs { // time passes although nothing happens
		h.queue.Schedule(untilNs, 0, -1)
		h.queue.Next()
	}
}

// served resumes an operation whose CPU time has been served.
type served struct{ op *registry.Operation }

func (s served) Ring(nowNs int64) { s.op.Served(nowNs) }

// Serve implements registry.Host, for a machine that executes nothing else.
func (h *handlers) Serve(nowNs int64, op *registry.Operation, demandNs int64) {
	h.alarms.Set(nowNs+demandNs, served{op})
}

// Done implements registry.Host.
func (h *handlers) Done(_ int64, op *registry.Operation) bool {
	c := op.Request.(*handled)
	c.answer, c.answered = op.Answer, true
	c.open = op.Verb == "watch" && op.Answer.Status == 200
	return c.open
}

// Received implements registry.Host.
func (h *handlers) Received(_ int64, op *registry.Operation, e *api.Event) {
	c := op.Request.(*handled)
	received := Event{Type: e.Type.String(), Version: e.Version}
	if e.Object != nil {
		received.Name = e.Object.Name
	}
	if e.Failure != nil {
		received.Status, received.Version = e.Failure.Status, 0
	}
	c.events = append(c.events, received)
}

// ServeBehind implements registry.Host, for a machine that executes nothing else.
func (h *handlers) ServeBehind(int64, int64) {}

// Send implements registry.Host: the answers are compared, and not their times.
func (h *handlers) Send(int64, *registry.Operation, int64) bool { return false }

// Counted implements registry.Host.
func (h *handlers) Counted(int64, *registry.Operation, int64) {}

// Ended implements registry.Host.
func (h *handlers) Ended(_ int64, op *registry.Operation) { op.Request.(*handled).open = false }

// Dispatched implements registry.Host.
func (h *handlers) Dispatched(int64, *api.Event, int, int64) {}

// Known implements registry.Host.
func (h *handlers) Known(api.Resource, estimate.Stats) {}

// result returns the answer to a call.
func (c *handled) result() Answer {
	a := Answer{ID: c.call.ID, Status: c.answer.Status, StatusReason: c.answer.Reason, Continue: token(c.answer.Continue),
		RetryAfterSeconds: c.answer.RetryAfterSeconds, Wrote: c.answer.Wrote, Revisions: c.made, Events: c.events}
	if v := number(c.answer.Version); v != 0 {
		a.ResourceVersion = &v
	}
	if n := c.answer.Items; n >= 0 {
		a.Items = &n
	}
	if uid := c.answer.UID; uid != 0 {
		a.UID = token(strconv.FormatInt(uid, 10))
	}
	if c.call.Verb == "watch" && a.Events == nil {
		a.Events = []Event{} // compared: it has received none
	}
	return a
}
