package workload

import (
	"slices"

	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/server"
)

// An exchange is a request with all its attempts, until it is answered for good (k8s.io/client-go, rest/request.go):
//
//  1. It passes the client's rate limiter (pass).
//  2. An attempt is sent (attempt, sendNow).
//  3. The response ends the exchange, or another attempt follows after a while, from 1 on (retryAfter).
//
// Those of loops, replays and callbacks are not more than their requests, of which again makes the next attempt.

// send passes a request through the client's rate limiter.
func (cl *sender) send(nowNs int64, r *server.Request) {
	if r.Attempt == 1 {
		r.WantedNs = nowNs
	}
	if atNs := cl.pass(nowNs); atNs > nowNs {
		cl.all.runState.Events.Schedule(atNs, uint8(server.Arrive), server.Event{Kind: server.Arrive, Request: r})
		return
	}
	cl.sendNow(nowNs, r)
}

// pass takes a token from the client's rate limiter, and returns when what it is for may be sent. How long that takes is known
// now, and noted as of then, so that it counts for the window in which the request arrives.
func (cl *sender) pass(nowNs int64) (atNs int64) {
	if cl.optional == nil || cl.limiter == nil {
		return nowNs
	}
	atNs = cl.limiter.Take(nowNs)
	sentNs := min(atNs, int64(cl.all.Duration))
	cl.note(sentNs, Note{Event: metric.Limited, Ns: sentNs - nowNs})
	if atNs >= int64(cl.all.Duration) && sentNs-nowNs >= metric.NeverSentNs {
		cl.note(sentNs, Note{Event: metric.NeverSent, Ns: sentNs - nowNs})
	}
	return atNs
}

// attempt returns the first attempt of an exchange, with what is drawn for it.
func (cl *sender) attempt(t *server.Template, id server.TemplateID, execution quantity.Distribution) *server.Request {
	r := cl.all.runState.NewRequest()
	r.Template, r.TemplateID, r.ID, r.Attempt = t, id, server.Unnumbered, 1
	r.ExecutionNs, r.WatchNs = 0, 0
	if execution.IsSet() {
		r.ExecutionNs = execution.Sample(&cl.execution.Rand)
	}
	if r.Details != nil {
		cl.detail(r.Details)
		r.GiveExecution(execution.IsSet())
	}
	return r
}

// detail draws the details of the client's next request.
func (cl *sender) detail(d *server.Details) {
	d.DelayNs, d.ClientTimeoutNs = 0, 0
	if cl.Delay.IsSet() {
		d.DelayNs = cl.Delay.Sample(&cl.delay.Rand)
	}
	if cl.ClientTimeout.IsSet() {
		d.ClientTimeoutNs = max(1, cl.ClientTimeout.Sample(&cl.timeout.Rand))
	}
}

// sendNow sends a request without its way through the rate limiter.
func (cl *sender) sendNow(nowNs int64, r *server.Request) {
	if n := cl.all.network; n != nil {
		n.Send(nowNs, r, cl.group.index, int(cl.index))
		return
	}
	cl.all.server.Arrive(nowNs, r)
}

// exchange is that of a machine, which waits for the answer for some time over all attempts, and may hang up before.
type exchange struct {
	client    *scriptedClient
	asked     APIRequest
	body      api.Body // of asked, if it has one
	template  *server.Template
	id        int64 // of its requests
	attempt   int32 // from 1; 0 before the first
	wantedNs  int64 // when the client wanted to send it
	givesUpNs int64 // when the client does not wait any longer; 0 for never, or before the first attempt

	sent      *server.Request // the attempt that is under way; nil for none
	throttled bool            // the next attempt passes the rate limiter
	hungUp    bool
	wake      clock.AlarmID
}

// exchanges are those that have ended, and can be used again, and what the next one is made of.
type exchanges struct {
	free    []*exchange
	request APIRequest
	body    api.Body
}

// scratch returns an empty request and an empty body.
func (all *exchanges) scratch() (*APIRequest, *api.Body) {
	all.request, all.body = APIRequest{}, api.Body{}
	return &all.request, &all.body
}

// open returns an exchange for a request, of which it has a copy.
func (all *exchanges) open(c *scriptedClient, q *APIRequest) *exchange {
	var x *exchange
	if n := len(all.free); n > 0 {
		x = all.free[n-1]
		all.free = all.free[:n-1]
	} else {
		x = new(exchange)
	}
	*x = exchange{client: c, asked: *q, id: server.Unnumbered, throttled: !q.Unlimited}
	if q.Call.Body != nil {
		x.body = *q.Call.Body
		x.asked.Call.Body = &x.body
	}
	return x
}

// close takes back an exchange that has been answered, unless a server can still be at work on what was asked: on an
// earlier attempt, or on one that has taken too long.
func (all *exchanges) close(x *exchange, a *api.Answer) {
	if a.Failure == api.NoFailure && a.Status < 500 && x.attempt == 1 && x.asked.Verb != "watch" {
		all.free = append(all.free, x)
	}
}

func (x *exchange) wakeAt(atNs int64) { x.wake = x.client.Alarms().Set(atNs, x) }

// Ring implements clock.Alarm: it is time to send, or to hang up.
func (x *exchange) Ring(nowNs int64) {
	x.wake = clock.AlarmID{}
	c := x.client
	switch {
	case x.hungUp:
		c.left = slices.DeleteFunc(c.left, func(l *exchange) bool { return l == x })
		if x.sent != nil {
			c.all.hangUp(nowNs, x.sent)
		}
		return
	case x.givesUpNs > 0 && nowNs >= x.givesUpNs:
		x.end(nowNs, &api.Answer{Failure: api.ClientTimedOut, Items: -1})
		return
	case x.throttled:
		x.throttled = false
		if atNs := c.pass(nowNs); atNs > nowNs {
			x.wakeAt(x.before(atNs))
			return
		}
	}
	x.transmit(nowNs)
}

// before returns a time, or when the client gives up if that is earlier.
func (x *exchange) before(atNs int64) int64 {
	if x.givesUpNs > 0 {
		return min(atNs, x.givesUpNs)
	}
	return atNs
}

// transmit sends the next attempt. The client's own time begins to run with the first one.
func (x *exchange) transmit(nowNs int64) {
	c, q := x.client, &x.asked
	if x.attempt == 0 {
		x.template = c.templates.get(c, q)
		if q.TimeoutNs > 0 {
			x.givesUpNs = nowNs + q.TimeoutNs
		}
	}
	x.attempt++
	r := c.sender.attempt(x.template, x.template.TemplateID, c.Execution)
	r.ID, r.Attempt = x.id, x.attempt
	d := r.Details
	if q.Verb == "watch" { // a time-out would end it
		d.ClientTimeoutNs = 0
	}
	if x.givesUpNs > 0 {
		d.ClientTimeoutNs = x.givesUpNs - nowNs
	}
	d.Asked, d.Token, d.ReadNs = &q.Call, q.Token, q.ReadNs
	x.sent = r
	c.sendNow(nowNs, r)
}

// responded is called when an attempt is over: the client sends another one, or the request is.
func (x *exchange) responded(nowNs int64, r *server.Request, response server.Response) {
	x.sent, x.id = nil, r.ID
	if waitNs, again := x.client.retryAfter(r, response); again {
		x.throttled = true
		x.wakeAt(x.before(nowNs + waitNs))
		return
	}
	x.end(nowNs, answered(r, response))
}

// answered returns what the client receives at last. That a watch had begun is not forgotten when its
// connection breaks.
func answered(r *server.Request, response server.Response) *api.Answer {
	a := &r.Details.Answer
	begun := response.Failure == server.BrokenConnection && isWatch(r) && r.FinishNs >= 0
	if begun || response.Status != 0 && response.Status == a.Status {
		a.Failure = response.Failure
		return a
	}
	return &api.Answer{Status: response.Status, Failure: response.Failure, RetryAfterSeconds: int64(response.RetryAfterSeconds), Items: -1}
}

// end passes the answer on to the machine.
func (x *exchange) end(nowNs int64, a *api.Answer) {
	c, token := x.client, x.asked.Token
	c.exchanges[token] = nil
	x.noteAnswerTime(nowNs, a.Failure == api.NoFailure && a.Status < 500 && a.Status != server.StatusTooManyRequests)
	c.all.exchanges.close(x, a)
	c.machine.Answered(nowNs, token, a)
}

// noteAnswerTime notes how long the client has waited for the answer, if it limits its rate. A watch is answered long before its end.
func (x *exchange) noteAnswerTime(nowNs int64, answered bool) {
	if x.client.limiter == nil && x.client.RateLimit == nil || x.asked.Verb == "watch" {
		return
	}
	event := metric.GaveUp
	if answered {
		event = metric.Answered
	}
	x.client.note(nowNs, Note{Event: event, N: int64(x.attempt), Ns: nowNs - x.wantedNs})
}
