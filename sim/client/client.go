package client

import (
	"math"

	"apfsim/sim/clock"
	"apfsim/sim/random"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// client is what the clients of all behaviours have, in as few bytes as possible: there may be
// hundreds of thousands, and each is read from main memory when its turn comes.
type client struct {
	*group
	*rest           // nil where it is not needed
	index     int32 // within the workload
	searches  bool  // of an open loop: the next Wake sends nothing, see arrivals.Process
	execution random.Stream
}

// rest is what only some clients need. Streams that the workload does not need are nil.
type rest struct {
	choice                                random.Stream // of one of several kinds of requests; here, because most that have a rest need it
	limiter                               *workload.Bucket
	watch, think, backoff, delay, timeout *random.Stream
	reflector                             *reflector // nil before a watch has failed
}

// join makes the client one of a workload's.
func (cl *client) join(w *group, index int) { cl.group, cl.index = w, int32(index) }

// open opens the client's streams.
func (cl *client) open() {
	cl.stream(&cl.execution, "execution")
	if cl.needsRest {
		cl.rest = &rest{}
		if len(cl.Requests) > 1 {
			cl.stream(&cl.choice, "request")
		}
		for _, s := range []struct {
			stream  **random.Stream
			purpose string
			needed  bool
		}{
			{&cl.watch, "watch", cl.watches},
			{&cl.think, "think", cl.Arrivals.Closed != nil},
			{&cl.backoff, "backoff", cl.Retry.Backoff != nil},
			{&cl.delay, "delay", cl.Delay.Given()},
			{&cl.timeout, "clientTimeout", cl.ClientTimeout.Given()},
		} {
			if s.needed {
				*s.stream = &random.Stream{}
				cl.stream(*s.stream, s.purpose)
			}
		}
	}
	if cl.RateLimit != nil {
		cl.limiter = workload.NewBucket(cl.RateLimit.QPS, cl.RateLimit.Burst)
	}
}

// stream opens one of the client's streams.
func (cl *client) stream(s *random.Stream, purpose string) {
	s.Open(cl.seed, cl.Name, int(cl.index), purpose)
}

// wakeAt schedules the next Wake of the client.
func (cl *client) wakeAt(atNs int64) {
	cl.all.shared.Events.Schedule(atNs, uint8(server.ClientActs), server.Event{Kind: server.ClientActs, Owner: int16(cl.group.index), Index: cl.index})
}

// request draws the client's next request.
func (cl *client) request() *server.Request {
	kind := 0
	if len(cl.Requests) > 1 {
		x := cl.choice.Float64() * cl.weights[len(cl.weights)-1]
		for kind < len(cl.weights)-1 && x >= cl.weights[kind] {
			kind++
		}
	}
	t := &cl.templates[int(cl.index)*len(cl.Requests)+kind]
	if t.Template == nil {
		user, groups := cl.identity()
		attributes, query := cl.Requests[kind].Request.AttributesWithoutPath(user, groups, int(cl.index))
		t.Template = cl.all.shared.NewTemplate(cl.group.index, int(cl.index), attributes, query)
		t.Request = kind
		t.id = t.TemplateID
	}
	r := cl.all.shared.NewRequest()
	r.Template, r.TemplateID, r.ID, r.Attempt = t.Template, t.id, server.Unnumbered, 1
	execution := cl.Requests[kind].Execution
	if r.ExecutionNs = 0; execution.Given() {
		r.ExecutionNs = execution.Sample(&cl.execution.Rand)
	}
	r.WatchNs = 0
	if watch := cl.Requests[kind].Watch; watch != nil {
		r.WatchNs = watch.Duration.Sample(&cl.watch.Rand)
	}
	if r.Details != nil {
		cl.detail(r.Details)
		r.GiveExecution(execution.Given())
	}
	return r
}

// identity returns who the client is: the strings of one of its templates, if there is one.
func (cl *client) identity() (user string, groups []string) {
	n := len(cl.Requests)
	for _, t := range cl.templates[int(cl.index)*n : (int(cl.index)+1)*n] {
		if t.Template != nil {
			return t.Attributes.User, t.Attributes.Groups
		}
	}
	return cl.As.For(int(cl.index))
}

// detail draws the details of the client's next request.
func (cl *client) detail(d *server.Details) {
	d.DelayNs, d.ClientTimeoutNs = 0, 0
	if cl.Delay.Given() {
		d.DelayNs = cl.Delay.Sample(&cl.delay.Rand)
	}
	if cl.ClientTimeout.Given() {
		d.ClientTimeoutNs = max(1, cl.ClientTimeout.Sample(&cl.timeout.Rand))
	}
}

// send passes a request through the client's rate limiter.
func (cl *client) send(nowNs int64, r *server.Request) {
	if cl.rest != nil && cl.limiter != nil {
		if at := cl.limiter.Take(nowNs); at > nowNs {
			cl.all.shared.Events.Schedule(at, uint8(server.Arrive), server.Event{Kind: server.Arrive, Request: r})
			return
		}
	}
	cl.sendNow(nowNs, r)
}

// sendNow sends a request without its way through the rate limiter.
func (cl *client) sendNow(nowNs int64, r *server.Request) {
	if n := cl.all.network; n != nil {
		n.Send(nowNs, r, cl.group.index, int(cl.index))
		return
	}
	cl.all.server.Arrive(nowNs, r)
}

// retry sends a request again that has failed, if again does, and returns whether it does.
func (cl *client) retry(nowNs int64, r *server.Request, response server.Response) bool {
	request, _ := cl.again(nowNs, r, response)
	return request != nil
}

// again returns the request that is sent instead of one that has failed, and the event of sending it,
// unless that was the last attempt or the client gives up.
func (cl *client) again(nowNs int64, r *server.Request, response server.Response) (*server.Request, clock.Handle) {
	waitNs, again := cl.waits(r, response)
	if !again {
		return nil, 0
	}
	return cl.resend(nowNs+waitNs, r)
}

// waits returns after which time a request that has failed is sent again, if it is.
func (cl *client) waits(r *server.Request, response server.Response) (waitNs int64, again bool) {
	if int(r.Attempt) > cl.Retry.MaxRetries || ended(r, response) {
		return 0, false
	}
	if cl.Retry.Backoff != nil {
		return cl.backOff(r), true
	}
	return cl.clientGo(r, response)
}

const second = 1e9 // ns

// clientGo returns whether client-go sends a request again, and after which time: after Retry-After, if
// the response has it, and after 1 s if the connection broke and the request only reads. A connection that
// cannot be opened is an error to the caller (k8s.io/client-go, rest/request.go and rest/with_retry.go).
func (cl *client) clientGo(r *server.Request, response server.Response) (waitNs int64, again bool) {
	switch {
	case response.Failure == server.BrokenConnection:
		switch r.Attributes.Verb {
		case "get", "list", "watch":
			return second, true
		}
	case response.RetryAfterSeconds > 0:
		return int64(response.RetryAfterSeconds) * second, true
	}
	return 0, false
}

// backOff returns how long the client's own back-off waits after an attempt.
func (cl *client) backOff(r *server.Request) (waitNs int64) {
	b := cl.Retry.Backoff
	wait := float64(b.Initial) * math.Pow(b.Factor, float64(r.Attempt-1))
	if b.Max > 0 {
		wait = min(wait, float64(b.Max))
	}
	if b.Jitter > 0 {
		wait *= 1 + b.Jitter*cl.backoff.Float64()
	}
	return int64(min(wait, random.LongestNs))
}

// resend sends a request again at a time.
func (cl *client) resend(atNs int64, r *server.Request) (*server.Request, clock.Handle) {
	again := cl.all.shared.NewRequest()
	again.Template, again.TemplateID, again.ID, again.Attempt = r.Template, r.TemplateID, r.ID, r.Attempt+1
	again.ExecutionNs, again.WatchNs = r.ExecutionNs, r.WatchNs
	if r.Details != nil {
		again.Details.DelayNs, again.Details.ClientTimeoutNs = r.Details.DelayNs, r.Details.ClientTimeoutNs
		again.Details.Asked, again.Details.Execution, again.Details.GivenNs = r.Details.Asked, r.Details.Execution, r.Details.GivenNs
		if again.Details.Execution { // the other says how long it has executed, perhaps beside others
			again.ExecutionNs = again.Details.GivenNs
		}
		again.Details.Logged, again.Details.LoggedSeats = r.Details.Logged, r.Details.LoggedSeats
	}
	return again, cl.all.shared.Events.Schedule(atNs, uint8(server.Resend), server.Event{Kind: server.Resend, Request: again})
}
