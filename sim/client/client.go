package client

import (
	"math"

	"apfsim/sim/random"
	"apfsim/sim/server"
)

// client is what the clients of all behaviours have, in as few bytes as possible: there may be
// hundreds of thousands, and each is read from main memory when its turn comes.
type client struct {
	*workload
	*rest           // nil where it is not needed
	index     int32 // within the workload
	execution random.Stream
}

// rest is what only some clients need.
type rest struct {
	limiter                       *limiter
	choice, watch, think, backoff random.Stream
}

// join makes the client one of a workload's.
func (cl *client) join(w *workload, index int) { cl.workload, cl.index = w, int32(index) }

// open opens the client's streams.
func (cl *client) open() {
	cl.stream(&cl.execution, "execution")
	if cl.needsRest {
		cl.rest = &rest{}
		cl.stream(&cl.choice, "request")
		cl.stream(&cl.watch, "watch")
		cl.stream(&cl.think, "think")
		cl.stream(&cl.backoff, "backoff")
	}
	if cl.RateLimit != nil {
		cl.limiter = newLimiter(cl.RateLimit)
	}
}

// stream opens one of the client's streams.
func (cl *client) stream(s *random.Stream, purpose string) {
	s.Open(cl.seed, cl.Name, int(cl.index), purpose)
}

// wakeAt schedules the next Wake of the client.
func (cl *client) wakeAt(atNs int64) {
	cl.all.shared.Events.Schedule(atNs, uint8(server.ClientActs), server.Event{Kind: server.ClientActs, Of: int16(cl.workload.index), Index: cl.index})
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
		attributes, query := cl.Requests[kind].Request.Attributes(&cl.As, int(cl.index))
		t.Template = cl.all.shared.NewTemplate(cl.workload.index, int(cl.index), attributes, query)
		t.id = t.TemplateID
	}
	r := cl.all.shared.NewRequest()
	r.Template, r.TemplateID, r.ID, r.Attempt = t.Template, t.id, server.Unnumbered, 1
	r.ExecutionNs = cl.Requests[kind].Execution.Sample(&cl.execution.Rand)
	r.WatchNs = 0
	if watch := cl.Requests[kind].Watch; watch != nil {
		r.WatchNs = watch.Duration.Sample(&cl.watch.Rand)
	}
	return r
}

// send passes a request through the client's rate limiter to a server of the client's choice.
func (cl *client) send(nowNs int64, r *server.Request) {
	r.Server = cl.chooseServer()
	if cl.rest != nil && cl.limiter != nil {
		if at := cl.limiter.take(nowNs); at > nowNs {
			cl.all.shared.Events.Schedule(at, uint8(server.Arrive), server.Event{Kind: server.Arrive, Of: r.Server, Request: r})
			return
		}
	}
	cl.all.servers[r.Server].Arrive(nowNs, r)
}

// chooseServer returns the index of the server that the client's next request goes to.
func (cl *client) chooseServer() int16 {
	if cl.all.choose == nil {
		return 0
	}
	return int16(cl.all.choose(cl.workload.index, int(cl.index)))
}

// retry sends a rejected request again, after as long as its Retry-After says or the client's own
// back-off, unless that was the last attempt or there is neither: client-go does not send a request
// again whose response has no Retry-After. It returns whether it does.
func (cl *client) retry(nowNs int64, r *server.Request, response server.Response) bool {
	if int(r.Attempt) > cl.Retry.MaxRetries || response.RetryAfterSeconds == 0 && cl.Retry.Backoff == nil {
		return false
	}
	waitNs := int64(response.RetryAfterSeconds) * second
	if b := cl.Retry.Backoff; b != nil {
		wait := float64(b.Initial) * math.Pow(b.Factor, float64(r.Attempt-1))
		if b.Max > 0 {
			wait = min(wait, float64(b.Max))
		}
		if b.Jitter > 0 {
			wait *= 1 + b.Jitter*cl.backoff.Float64()
		}
		waitNs = int64(min(wait, random.LongestNs))
	}
	again := cl.all.shared.NewRequest()
	again.Template, again.TemplateID, again.ID, again.Attempt = r.Template, r.TemplateID, r.ID, r.Attempt+1
	again.ExecutionNs, again.WatchNs = r.ExecutionNs, r.WatchNs
	cl.all.shared.Events.Schedule(nowNs+waitNs, uint8(server.Resend), server.Event{Kind: server.Resend, Request: again})
	return true
}
