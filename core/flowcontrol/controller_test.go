package flowcontrol

import (
	"maps"
	"slices"
	"testing"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/queueset"
	"apfsim/core/rules"
)

// host notes who starts.
type host struct {
	queueset.Host // TimedOut is not called
	started       []string
}

func (h *host) HeldBack(*queueset.Request) {}

func (h *host) Dispatched(r *queueset.Request) { h.started = append(h.started, r.Owner.(string)) }

func alice() *classify.Attributes {
	return &classify.Attributes{
		User: "system:serviceaccount:default:alice", Groups: []string{"system:serviceaccounts", "system:authenticated"},
		Verb: "get", Resource: "pods", Namespace: "default", Name: "x",
	}
}

func request(name string) *Request {
	r := &Request{}
	r.Owner, r.Work = name, estimate.Work{InitialSeats: 1}
	return r
}

// arrive lets a request of alice arrive.
func arrive(c *Controller, nowNs int64) *Request {
	r, route := request("r"), c.Route(alice())
	c.Arrive(nowNs, r, &route)
	return r
}

// limits returns the levels' current limits by name.
func limits(c *Controller) map[string]int {
	current := map[string]int{}
	for _, l := range c.Levels() {
		current[l.Name()] = l.CurrentLimit()
	}
	return current
}

// An idle server with 600 seats. What the levels cannot lend adds up to 258 seats, and all
// 602 nominal ones are divided in that proportion: workload-low, which keeps 24 for
// itself, gets 24·602/258 = 56.
func TestIdleLimits(t *testing.T) {
	got := limits(New(0, rules.Latest(), 600, config.Suggested(rules.Latest()), nil, nil))
	want := map[string]int{
		"catch-all":       30,  // of 13
		"exempt":          0,   // of 0
		"global-default":  56,  // of 24
		"leader-election": 58,  // of 25
		"node-high":       170, // of 73
		"system":          117, // of 50
		"workload-high":   114, // of 49
		"workload-low":    56,  // of 24
	}
	if !maps.Equal(got, want) {
		t.Errorf("current limits %v, want %v", got, want)
	}
}

func TestRoute(t *testing.T) {
	c := New(0, rules.Latest(), 600, config.Suggested(rules.Latest()), nil, nil)
	r := c.Route(alice())
	if r.Schema.Name != "service-accounts" || r.Level.Name() != "workload-low" || r.Distinguisher != "system:serviceaccount:default:alice" {
		t.Errorf("routed to %s, %s, %q", r.Schema.Name, r.Level.Name(), r.Distinguisher)
	}
	if want := classify.FlowHash("service-accounts", "system:serviceaccount:default:alice"); r.Hash != want {
		t.Errorf("hash %x, want %x", r.Hash, want)
	}
	// catch-all does not tell flows apart: it has no queues.
	nobody := &classify.Attributes{User: "nobody", Verb: "get", Path: "/"}
	if r := c.Route(nobody); r.Level.Name() != "catch-all" || r.Hash != 0 || r.Distinguisher != "" {
		t.Errorf("nobody is routed to %s with hash %x and %q, want catch-all, 0 and nothing", r.Level.Name(), r.Hash, r.Distinguisher)
	}
}

// A level that is taken out of the configuration while it is at work gets no more
// requests, keeps its seats until the last one has finished, and then is gone.
func TestLevelDrains(t *testing.T) {
	h := &host{}
	c := New(0, rules.Latest(), 600, config.Suggested(rules.Latest()), h, nil)
	busy := arrive(c, 0)

	without := config.Suggested(rules.Latest())
	without.PriorityLevels = slices.DeleteFunc(without.PriorityLevels, func(l *config.PriorityLevel) bool { return l.Name == "workload-low" })
	generation := c.Generation()
	c.Configure(1, without)
	if c.Generation() == generation {
		t.Error("routes found before are still taken for valid")
	}
	l := c.level("workload-low")
	if l == nil || !l.Draining() || l.CurrentLimit() == 0 {
		t.Fatal("the level is not kept, with seats, while a request executes")
	}
	// Its FlowSchema refers to a level that is not configured, and is ignored.
	if to := c.Route(alice()).Level.Name(); to != "global-default" {
		t.Errorf("a new request goes to %s, want global-default", to)
	}
	c.Finish(2, busy)
	if c.level("workload-low") != nil {
		t.Error("the level is still there when nothing executes")
	}
	if got := c.level("global-default").Limits().Nominal; got != 83 { // ⌈600·20/145⌉
		t.Errorf("the others divide all seats: nominal limit of global-default is %d, want 83", got)
	}
}

// A level that drains is gone when its last waiting request times out, though a request in its additional latency still
// has the seats.
func TestLevelDrainsByATimeOut(t *testing.T) {
	with, without := config.Mandatory(rules.Latest()), config.Mandatory(rules.Latest())
	with.PriorityLevels = append(with.PriorityLevels, &config.PriorityLevel{Name: "one", Spec: config.PriorityLevelSpec{Type: config.TypeLimited,
		Limited: &config.LimitedSpec{NominalConcurrencyShares: new(int32(1)), BorrowingLimitPercent: new(int32(0)),
			LimitResponse: config.LimitResponse{Type: config.ResponseQueue, Queuing: &config.Queuing{Queues: 1, HandSize: 1, QueueLengthLimit: 2}}}}})
	c := New(0, rules.Latest(), 1, with, &host{}, nil)
	arrive := func() *Request {
		r, route := request("r"), c.Route(alice())
		route.Level = c.level("one")
		route.Hand = route.Level.queues.Hand(0)
		r.Work.FinalSeats, r.Work.AdditionalLatencyNs = 1, second
		c.Arrive(0, r, &route)
		return r
	}
	first, other := arrive(), arrive()
	if c.Finish(1, first) != second || !other.Waiting() {
		t.Fatal("the second request does not wait while the first one keeps the seat")
	}
	c.Configure(2, without)
	if l := c.level("one"); l == nil || !l.Draining() {
		t.Fatal("the level does not drain")
	}
	c.TimeOut(3, other)
	if c.level("one") != nil {
		t.Error("the level is still there, though nothing waits or executes")
	}
	c.Release(second+1, first)
}

// A level distinguishes flows if it has two queues, and not if it has one.
func TestFlowsOfALevel(t *testing.T) {
	for queues, distinguished := range map[int32]bool{1: false, 2: true} {
		o := config.Suggested(rules.Latest())
		for _, l := range o.PriorityLevels {
			if l.Name == "workload-low" {
				l.Spec.Limited.LimitResponse.Queuing = &config.Queuing{Queues: queues, HandSize: 1, QueueLengthLimit: 50}
			}
		}
		c := New(0, rules.Latest(), 600, o, &host{}, nil)
		if r := c.Route(alice()); r.Level.Name() != "workload-low" || (r.Distinguisher != "") != distinguished || (r.Hash != 0) != distinguished {
			t.Errorf("%d queues: routed to %s with the flow %q and hash %x", queues, r.Level.Name(), r.Distinguisher, r.Hash)
		}
	}
}

// The FlowSchema that is chosen in the explanation of a request is that of its route.
func TestExplain(t *testing.T) {
	c := New(0, rules.Latest(), 600, config.Suggested(rules.Latest()), &host{}, nil)
	var chosen []string
	for _, v := range c.Explain(alice()) {
		if v.Chosen {
			chosen = append(chosen, v.FlowSchema)
		}
	}
	if want := []string{c.Route(alice()).Schema.Name}; !slices.Equal(chosen, want) {
		t.Errorf("%v are chosen, want %v", chosen, want)
	}
}

// Demand at one level is met at the next adjustment by what the others lend.
func TestBorrowing(t *testing.T) {
	h := &host{}
	c := New(0, rules.Latest(), 600, config.Suggested(rules.Latest()), h, nil)
	var last *Request
	for range 300 {
		route := c.Route(alice())
		route.Hand = route.Level.queues.Hand(uint64(len(h.started)) * 0x9e3779b97f4a7c15) // 300 flows
		last = request("r")
		c.Arrive(0, last, &route)
	}
	if got := len(h.started); got != c.level("workload-low").CurrentLimit() || !last.Waiting() {
		t.Fatalf("%d of 300 start at once, want as many as the idle limit", got)
	}
	c.Adjust(AdjustmentPeriodNs)
	if got := len(h.started); got != 300 {
		t.Errorf("%d of 300 have started after the adjustment, want all", got)
	}
	if got := c.level("workload-low").CurrentLimit(); got < 300 || got > c.level("workload-low").Limits().Max {
		t.Errorf("the limit is %d after the adjustment", got)
	}
}

// A time-out is a drop: it is answered with the level's Retry-After.
func TestTimeOut(t *testing.T) {
	h := &host{}
	c := New(0, rules.Latest(), 1, config.Mandatory(rules.Latest()), h, nil)
	objects := config.Suggested(rules.Latest())
	c.Configure(0, objects)
	var waits []*Request
	for range 4 {
		r := arrive(c, 0)
		if r.Request.Waiting() {
			waits = append(waits, r)
		}
	}
	if len(waits) != 4-c.level("workload-low").Queues().Executing() {
		t.Fatalf("%d wait", len(waits))
	}
	for i, r := range waits {
		if got := c.TimeOut(15*second, r); got != 1 {
			t.Errorf("time-out %d: retry after %d, want 1", i, got)
		}
	}
	if got := c.level("workload-low").Queues().Waiting(); got != 0 {
		t.Errorf("%d still wait", got)
	}
}

// What rejected clients are told depends on the drops of the last seconds, also when the
// level has gone and come back in between.
func TestRetryAfterOutlivesLevel(t *testing.T) {
	full, without := config.Mandatory(rules.Latest()), config.Mandatory(rules.Latest())
	shares := int32(0)
	full.PriorityLevels = append(full.PriorityLevels, &config.PriorityLevel{Name: "none", Spec: config.PriorityLevelSpec{
		Type:    config.TypeLimited,
		Limited: &config.LimitedSpec{NominalConcurrencyShares: &shares, BorrowingLimitPercent: &shares, LimitResponse: config.LimitResponse{Type: config.ResponseReject}},
	}})
	h := &host{}
	c := New(0, rules.Latest(), 10, full, h, nil)
	// The level has no seats: a lone request is admitted, as one that is wider than the
	// limit is, and all others are dropped.
	arrive := func(nowNs int64) (r *Request, retryAfterSeconds int) {
		route := c.Route(alice())
		route.Level = c.level("none")
		r = request("r")
		_, retryAfterSeconds = c.Arrive(nowNs, r, &route)
		return r, retryAfterSeconds
	}
	lone, _ := arrive(second)
	for range 3 {
		if _, got := arrive(second); got != 1 {
			t.Errorf("a first drop: retry after %d, want 1", got)
		}
	}
	c.Configure(second+1, without)
	c.Finish(second+2, lone)
	if c.level("none") != nil {
		t.Fatal("the level is still there")
	}
	c.Configure(second+3, full)
	arrive(second + 4)
	// Three drops in the second before double the advice.
	if _, got := arrive(2 * second); got != 2 {
		t.Errorf("a drop after the level has come back: retry after %d, want 2", got)
	}
}
