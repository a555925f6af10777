package client

import (
	"slices"

	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// exchange is a request of a behaviour with all its attempts, until it is answered for good or hung up
// (k8s.io/client-go, rest/request.go).
type exchange struct {
	client    *behaving
	asked     workload.APIRequest
	body      api.Body // of asked, if it has one
	template  *server.Template
	id        int64 // of its requests
	attempt   int32 // from 1; 0 before the first
	givesUpNs int64 // when the client does not wait any longer; 0 for never, or before the first attempt

	sent      *server.Request // the attempt that is under way; nil for none
	throttled bool            // the next attempt passes the rate limiter
	hungUp    bool
	wake      clock.AlarmID
}

// exchanges are those that have ended, and can be used again, and what the next one is made of.
type exchanges struct {
	free    []*exchange
	request workload.APIRequest
	body    api.Body
}

// scratch returns an empty request and an empty body.
func (all *exchanges) scratch() (*workload.APIRequest, *api.Body) {
	all.request, all.body = workload.APIRequest{}, api.Body{}
	return &all.request, &all.body
}

// open returns an exchange for a request, of which it has a copy.
func (all *exchanges) open(c *behaving, q *workload.APIRequest) *exchange {
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
		if c.limiter != nil {
			if atNs := c.limiter.Take(nowNs); atNs > nowNs {
				x.wakeAt(x.before(atNs))
				return
			}
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
		x.template = c.templates.of(c, q)
		if q.TimeoutNs > 0 {
			x.givesUpNs = nowNs + q.TimeoutNs
		}
	}
	x.attempt++
	r := c.all.shared.NewRequest()
	r.Template, r.TemplateID, r.ID, r.Attempt = x.template, x.template.TemplateID, x.id, x.attempt
	r.ExecutionNs, r.WatchNs = 0, 0
	if c.Execution.Given() {
		r.ExecutionNs = c.Execution.Sample(&c.execution.Rand)
	}
	d := r.Details
	c.detail(d)
	if q.Verb == "watch" { // a time-out would end it
		d.ClientTimeoutNs = 0
	}
	if x.givesUpNs > 0 {
		d.ClientTimeoutNs = x.givesUpNs - nowNs
	}
	d.Asked, d.Token, d.ReadNs = &q.Call, q.Token, q.ReadNs
	r.GiveExecution(c.Execution.Given())
	x.sent = r
	c.sendNow(nowNs, r)
}

// responded is called when an attempt is over: the client sends another one, or the request is.
func (x *exchange) responded(nowNs int64, r *server.Request, response server.Response) {
	x.sent, x.id = nil, r.ID
	if waitNs, again := x.client.waits(r, response); again {
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

// end passes the answer on to the behaviour.
func (x *exchange) end(nowNs int64, a *api.Answer) {
	c, token := x.client, x.asked.Token
	c.exchanges[token] = nil
	c.all.exchanges.close(x, a)
	c.machine.Answered(nowNs, token, a)
}
