package workload

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/core/classify"
	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/quantity"
	"apfsim/sim/server"
	"apfsim/sim/trace"
)

// played is a run with one client that behaves, and a server of the test.
type played struct {
	clients  *Clients
	runState *server.RunState
	client   *scriptedClient
	begin    func(nowNs int64)                    // what the client does at the start
	serve    func(nowNs int64, r *server.Request) // what the server does
	log      []string
}

// rings is an alarm that calls a function.
type rings func(nowNs int64)

func (f rings) Ring(nowNs int64) { f(nowNs) }

// play makes a run of one minute with the workload; change may change the workload before.
func play(change func(w *Workload)) *played {
	w := Workload{Name: "one", Clients: 1, As: Identity{User: "ann"}, Behaviour: &Behaviour{Informer: &Informer{}}, Retry: Retry{MaxRetries: 10}}
	if change != nil {
		change(&w)
	}
	p := &played{runState: server.NewRunState(server.Options{NeedsDetails: true})}
	p.clients = NewClients(Settings{Duration: quantity.Duration(time.Minute), Workloads: []Workload{w}, Decided: make([]Decided, 1)}, p.runState)
	p.client = p.clients.workloads[0].clients.clientAt(0).(*scriptedClient)
	return p
}

func (p *played) run() {
	p.clients.Begin(context.Background(), p, nil, nil)
	p.client.machine = p
	for {
		e, ok := p.runState.Events.Next()
		now := p.runState.Events.NowNs()
		switch {
		case !ok || now > int64(time.Minute):
			return
		case e.Kind == server.ClientActs:
			p.clients.Wake(now, e)
		default:
			p.runState.Alarm(now, e)
		}
	}
}

func (p *played) note(nowNs int64, format string, a ...any) {
	p.log = append(p.log, fmt.Sprintf("%v ", time.Duration(nowNs))+fmt.Sprintf(format, a...))
}

func (p *played) at(atNs int64, do func(nowNs int64)) { p.runState.StoreAlarms().Set(atNs, rings(do)) }

// The behaviour of the client.

func (p *played) Start(nowNs int64) { p.begin(nowNs) }

func (p *played) Answered(nowNs int64, token int32, a *api.Answer) {
	p.note(nowNs, "answer %d: %d %v", token, a.Status, a.Failure)
}

func (p *played) Received(nowNs int64, token int32, e *api.Event) {
	p.note(nowNs, "event %d: %v %d", token, e.Type, e.Version)
}

// Arrive and HangUp are those of the server.

func (p *played) Arrive(nowNs int64, r *server.Request) {
	r.FinishNs = -1
	p.note(nowNs, "attempt %d of %s %s", r.Attempt, r.Attributes.Verb, cmp.Or(r.Attributes.Path, trace.ResourcePath(&r.Attributes)))
	p.serve(nowNs, r)
}

func (p *played) HangUp(nowNs int64, r *server.Request) { p.note(nowNs, "hung up") }

// answer returns a server that answers each request at once.
func (p *played) answer(response server.Response) func(int64, *server.Request) {
	return func(nowNs int64, r *server.Request) {
		r.Details.Answer = api.Answer{Status: response.Status}
		p.clients.Responded(nowNs, r, response)
	}
}

func (p *played) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(p.log, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(p.log, "\n"), strings.Join(want, "\n"))
	}
}

func get(name string) *APIRequest {
	return &APIRequest{Verb: "get", Resource: "pods", Namespace: "default", Name: name}
}

// A rejected request is sent again after each Retry-After; the answer is that of the last attempt.
func TestBehavingClientRetries(t *testing.T) {
	p := play(func(w *Workload) { w.Retry.MaxRetries = 2 })
	p.begin = func(nowNs int64) { p.client.Send(nowNs, get("a")) }
	p.serve = p.answer(server.Response{Status: 429, RetryAfterSeconds: 1})
	p.run()
	p.want(t,
		"0s attempt 1 of get /api/v1/namespaces/default/pods/a",
		"1s attempt 2 of get /api/v1/namespaces/default/pods/a",
		"2s attempt 3 of get /api/v1/namespaces/default/pods/a",
		"2s answer 0: 429 0")
}

// An exchange is used again for the next request when it has been answered, unless a server can still be at work on
// one of its attempts. What is sent is a copy: the behaviour uses its request and body again at once.
func TestExchangesAreUsedAgain(t *testing.T) {
	for _, test := range []struct {
		first server.Response // of the first attempt, if it is not the last one
		last  int
		again bool
	}{
		{last: 200, again: true},
		{last: 409, again: true},
		{last: 504},
		{first: server.Response{Status: 504, RetryAfterSeconds: 1}, last: 200},
		{first: server.Response{Failure: server.BrokenConnection}, last: 200},
	} {
		p := play(nil)
		p.begin = func(nowNs int64) {
			q, body := p.client.Scratch()
			*q = *get("a")
			q.Call.Body, body.Stamp = body, 7
			p.client.Send(nowNs, q)
			p.client.Scratch()
		}
		p.serve = func(nowNs int64, r *server.Request) {
			if r.Details.Asked.Body.Stamp != 7 {
				t.Errorf("the body has changed: %+v", r.Details.Asked.Body)
			}
			response := server.Response{Status: test.last}
			if r.Attempt == 1 && test.first != (server.Response{}) {
				response = test.first
			}
			p.answer(response)(nowNs, r)
		}
		p.run()
		if again := len(p.clients.exchanges.free) == 1; again != test.again || !strings.Contains(p.log[len(p.log)-1], fmt.Sprint("answer 0: ", test.last)) {
			t.Errorf("%+v: used again %v; %v", test, again, p.log)
		}
	}
}

// A conflict is an answer, and so is a failure without Retry-After.
func TestBehavingClientDoesNotRetryAnswers(t *testing.T) {
	for _, status := range []int{409, 410, 500, 504} {
		p := play(nil)
		p.begin = func(nowNs int64) { p.client.Send(nowNs, get("a")) }
		p.serve = p.answer(server.Response{Status: status})
		p.run()
		p.want(t, "0s attempt 1 of get /api/v1/namespaces/default/pods/a", fmt.Sprintf("0s answer 0: %d 0", status))
	}
}

// The client's own time-out spans all attempts, begins with the first one, and is sent along.
func TestBehavingClientTimesOut(t *testing.T) {
	p := play(func(w *Workload) { w.RateLimit = &RateLimit{QPS: 0.5, Burst: 1} })
	p.begin = func(nowNs int64) {
		p.client.Send(nowNs, &APIRequest{Verb: "get", Resource: "nodes", Token: 1})
		q := get("a")
		q.TimeoutNs = 10e9
		p.client.Send(nowNs, q)
	}
	p.serve = func(nowNs int64, r *server.Request) {
		if r.Attributes.Resource == "nodes" {
			p.answer(server.Response{Status: 200})(nowNs, r)
			return
		}
		p.note(nowNs, "%s, waits %v", r.Query, time.Duration(r.Details.ClientTimeoutNs))
		p.answer(server.Response{Status: 429, RetryAfterSeconds: 4})(nowNs, r)
	}
	p.run()
	p.want(t,
		"0s attempt 1 of get /api/v1/nodes",
		"0s answer 1: 200 0",
		"2s attempt 1 of get /api/v1/namespaces/default/pods/a",
		"2s timeout=10s, waits 10s",
		"6s attempt 2 of get /api/v1/namespaces/default/pods/a",
		"6s timeout=10s, waits 6s",
		"10s attempt 3 of get /api/v1/namespaces/default/pods/a",
		"10s timeout=10s, waits 2s",
		"12s answer 0: 0 3")
}

// A bucket of 10 that gains 5 a second lets 10 of 20 requests pass at once, and then one each 200 ms. Watches do
// not pass it.
func TestBehavingClientIsThrottled(t *testing.T) {
	p := play(func(w *Workload) { w.RateLimit = &RateLimit{QPS: 5, Burst: 10} })
	p.begin = func(nowNs int64) {
		for i := range int32(20) {
			q := get("a")
			q.Token = i
			p.client.Send(nowNs, q)
		}
		p.client.Send(nowNs, &APIRequest{Verb: "watch", Resource: "pods", Token: 20, Unlimited: true})
	}
	var times []time.Duration
	p.serve = func(nowNs int64, r *server.Request) { times = append(times, time.Duration(nowNs)) }
	p.run()
	if len(times) != 21 || times[10] != 0 || times[11] != 200*time.Millisecond || times[20] != 2*time.Second {
		t.Errorf("requests are sent at %v", times)
	}
}

// A request can be hung up while it waits for the rate limiter, while the server has it, and while it waits for
// its next attempt. Nothing is heard of it again, and its token is free.
func TestBehavingClientHangsUp(t *testing.T) {
	p := play(func(w *Workload) { w.RateLimit = &RateLimit{QPS: 1, Burst: 2} })
	p.begin = func(nowNs int64) {
		for i := range int32(3) {
			q := get(string(rune('a' + i)))
			q.Token = i
			p.client.Send(nowNs, q)
		}
		p.at(5e8, func(nowNs int64) {
			for i := range int32(3) {
				p.client.HangUp(nowNs, i)
			}
			p.client.Send(nowNs, get("d"))
		})
	}
	p.serve = func(nowNs int64, r *server.Request) {
		switch r.Attributes.Name {
		case "a": // is answered too late
			p.at(6e8, func(nowNs int64) { p.answer(server.Response{Status: 200})(nowNs, r) })
		default:
			p.answer(server.Response{Status: 429, RetryAfterSeconds: 1})(nowNs, r)
		}
	}
	p.clients.workloads[0].Retry.MaxRetries = 1
	p.run()
	p.want(t,
		"0s attempt 1 of get /api/v1/namespaces/default/pods/a",
		"0s attempt 1 of get /api/v1/namespaces/default/pods/b",
		"500ms hung up",
		"2s attempt 1 of get /api/v1/namespaces/default/pods/d",
		"3s attempt 2 of get /api/v1/namespaces/default/pods/d",
		"3s answer 0: 429 0")
}

// The connection of a watch breaks before it has begun: it is sent again. Afterwards it has ended, and its client
// knows that it had begun.
func TestBehavingClientWatches(t *testing.T) {
	p := play(nil)
	p.begin = func(nowNs int64) {
		p.client.Send(nowNs, &APIRequest{Verb: "watch", Resource: "pods", Unlimited: true, Call: api.Call{Options: request.Options{Version: request.At(7)}}})
	}
	p.serve = func(nowNs int64, r *server.Request) {
		if r.Attempt == 1 {
			p.answer(server.Response{Failure: server.BrokenConnection})(nowNs, r)
			return
		}
		r.FinishNs, r.Details.Answer.Status = nowNs, 200
		p.at(nowNs+1e9, func(nowNs int64) { p.clients.Received(nowNs, r, &api.Event{Type: api.Modified, Version: 8}) })
		p.at(nowNs+2e9, func(nowNs int64) {
			p.clients.Responded(nowNs, r, server.Response{Failure: server.BrokenConnection})
		})
	}
	p.run()
	p.want(t,
		"0s attempt 1 of watch /api/v1/pods",
		"1s attempt 2 of watch /api/v1/pods",
		"2s event 0: MODIFIED 8",
		"3s answer 0: 200 2")
}

// When the workload ends before the run does, its client hangs up and sends no more.
func TestBehavingClientEnds(t *testing.T) {
	p := play(func(w *Workload) {
		w.Start, w.Stop = quantity.Duration(5*time.Second), quantity.Duration(20*time.Second)
	})
	p.begin = func(nowNs int64) {
		p.client.Send(nowNs, get("a"))
		p.at(30e9, func(nowNs int64) {
			q := get("b")
			q.Token = 1
			p.client.Send(nowNs, q)
		})
	}
	p.serve = func(int64, *server.Request) {}
	p.run()
	p.want(t, "5s attempt 1 of get /api/v1/namespaces/default/pods/a", "20s hung up")
}

// Requests that are alike share their template. When the query or the name changes, or the kinds are too many,
// templates are replaced, and there are no more IDs than before.
func TestBehavingClientReusesTemplates(t *testing.T) {
	p := play(nil)
	var ids []server.TemplateID
	send := func(q *APIRequest) *server.Template {
		tp := p.client.templates.get(p.client, q)
		if !slices.Contains(ids, tp.TemplateID) {
			ids = append(ids, tp.TemplateID)
		}
		return tp
	}
	first := send(get("a"))
	if send(get("a")) != first {
		t.Error("the same request has another template")
	}
	versioned := get("a")
	versioned.Call.Options.Version = request.At(5)
	if again := send(versioned); again == first || again.TemplateID != first.TemplateID || again.Query != "resourceVersion=5" {
		t.Errorf("a request with another query has the template %+v", again)
	}
	if named := send(get("b")); named.TemplateID != first.TemplateID || named.Attributes.Name != "b" {
		t.Errorf("a request with another name has the template %+v", named)
	}
	for i := range 1000 {
		q := get("a")
		q.Namespace = fmt.Sprint(i)
		send(q)
	}
	if len(ids) != mostTemplates {
		t.Errorf("%d templates, want %d", len(ids), mostTemplates)
	}
}

// The waits of a back-off double up to their limit, and each is longer by a random part, of a half at most here.
func TestBackoffOfAWorkload(t *testing.T) {
	p := play(func(w *Workload) {
		w.Retry.Backoff = &Backoff{Initial: quantity.Duration(time.Second), Factor: 2, Max: quantity.Duration(4 * time.Second), Jitter: 0.5}
	})
	p.begin = func(int64) {}
	p.run()
	for attempt, want := range map[int32]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 4 * time.Second} {
		different := map[int64]bool{}
		for range 100 {
			got := p.client.backOff(&server.Request{Sent: server.Sent{Attempt: attempt}})
			if got < int64(want) || got > int64(want)*3/2 {
				t.Fatalf("after attempt %d, it waits %v; want from %v to %v", attempt, time.Duration(got), want, want*3/2)
			}
			different[got] = true
		}
		if len(different) < 90 {
			t.Errorf("after attempt %d, %d of 100 waits are different", attempt, len(different))
		}
	}
}

// interrupted is a context that has been cancelled, and counts how often that is looked at.
type interrupted struct {
	context.Context
	n int
}

func (l *interrupted) Err() error {
	l.n++
	return context.Canceled
}

// Of many clients, and of many users of a client, only a thousand start when the run has been interrupted, and the
// context is not looked at for each of them.
func TestInterruptedStart(t *testing.T) {
	think := ClosedArrivals{Concurrency: 5000, Think: quantity.Constant(quantity.Duration(time.Second))}
	for name, w := range map[string]Workload{
		"clients": {Clients: 5000, Arrivals: Arrivals{Constant: &SteadyArrivals{Rate: 1}}},
		"users":   {Clients: 1, Arrivals: Arrivals{Closed: &think}},
	} {
		w.Name, w.As, w.Requests = name, Identity{User: "u"}, []WeightedRequest{{Request: Request{Verb: "get", Resource: "pods"}, Weight: 1}}
		runState := server.NewRunState(server.Options{})
		c := NewClients(Settings{Duration: quantity.Duration(time.Minute), Workloads: []Workload{w}, Decided: make([]Decided, 1)}, runState)
		l := &interrupted{Context: t.Context()}
		c.Begin(l, nil, nil, nil)
		started := 0
		for {
			if _, ok := runState.Events.Next(); !ok {
				break
			}
			started++
		}
		if started != startedTogether-1 || l.n != 1 || c.Err() == nil {
			t.Errorf("%d %s start after %d looks at the context, with the error %v; want %d after one", started, name, l.n, c.Err(), startedTogether-1)
		}
	}
}

// A replay remembers the latest answers, and no more of them.
func TestAnswersOfAReplay(t *testing.T) {
	var as answers
	for id := range int64(mostAnswers + 10) {
		as.keep(id, &api.Answer{Version: id + 5})
	}
	for id, want := range map[int64]int64{9: 0, 10: 15, mostAnswers: mostAnswers + 5, mostAnswers + 9: mostAnswers + 14} {
		if got := as.byID[id].Version; got != want {
			t.Errorf("the answer of request %d has the version %d, want %d", id, got, want)
		}
	}
	if len(as.byID) != 65_536 {
		t.Errorf("%d answers are remembered", len(as.byID))
	}
}

// What a request of a trace asks for beyond its query: who writes, and whether it is only tried. The query itself may say
// that, too.
func TestCallOfAReplay(t *testing.T) {
	var as answers
	patch := func(query string) *server.Template {
		return &server.Template{Query: query, Attributes: classify.Attributes{Verb: "patch", Resource: "pods", Name: "x"}}
	}
	if c := as.call(patch("fieldManager=a"), nil); c != nil {
		t.Errorf("without more than a query, it asks for %+v", c)
	}
	for _, c := range []struct {
		query   string
		asked   trace.Asked
		manager string
		dryRun  bool
	}{
		{"", trace.Asked{}, "", false},
		{"fieldManager=a", trace.Asked{}, "a", false},
		{"fieldManager=a", trace.Asked{FieldManager: "b"}, "b", false},
		{"", trace.Asked{FieldManager: "b", DryRun: true}, "b", true},
		{"dryRun=All", trace.Asked{}, "", true},
	} {
		o := &as.call(patch(c.query), &c.asked).Options
		if o.FieldManager != c.manager || o.DryRun != c.dryRun {
			t.Errorf("%q and %+v: %q writes, dry run %v; want %q, %v", c.query, c.asked, o.FieldManager, o.DryRun, c.manager, c.dryRun)
		}
	}
}
