package workload

import (
	"slices"

	"apfsim/sim/quantity"
	"apfsim/sim/random"
	"apfsim/sim/server"
)

// ClosedArrivals keep a number of requests in progress: when one is answered, the client sends the
// next after the think time.
type ClosedArrivals struct {
	Concurrency int                   `json:"concurrency,omitempty" jsonschema:"default=1,minimum=1" document:"maximum=100000000" jsonschema_description:"Number of requests of one client that are in progress or in their think time."`
	Think       quantity.Distribution `json:"think,omitempty" jsonschema:"default=0s" jsonschema_description:"Time from an answer to the next request; without it, 0s."`
}

func (c *checker) closed(path string, a *ClosedArrivals, w *Workload) {
	if a.Concurrency > 0 && w.Clients > mostAtOnce/a.Concurrency {
		c.Fail(path+".concurrency", "%d times %d clients: want at most %d requests at once",
			a.Concurrency, w.Clients, mostAtOnce)
	}
	if w.Order != Once && a.Think.MeanNs() == 0 && len(w.Requests) > 0 && w.meanExecutionNs() == 0 && leastCycleNs(w) == 0 {
		c.Fail(path, "execution and think both take 0s, so that a client would send without end at one time; want more than 0s for one of them")
	}
}

// storedNs is about how long a request takes at least whose execution follows from the store: the default of
// spec.store.costs.request.
const storedNs = 200_000

// leastCycleNs returns a lower bound of the time between two requests of a closed workload if executions follow
// from the store, 0 if they are given.
func leastCycleNs(w *Workload) float64 {
	if slices.ContainsFunc(w.Requests, func(r WeightedRequest) bool { return !r.Execution.IsSet() }) {
		return storedNs
	}
	return 0
}

// turnaroundNs is the least time from a failure to the next request of a closed loop: a client that does
// not think would otherwise be rejected, or its connections refused, again and again in the same instant.
const turnaroundNs = 1_000_000

// closedLoop is a client with a number of concurrent users, each of whom thinks, sends a request
// and waits for its response.
type closedLoop struct{ sender }

// Start implements source.
func (c *closedLoop) Start(int64) {
	c.open()
	for i := range c.Arrivals.Closed.Concurrency {
		if i%startedTogether == startedTogether-1 && c.all.isCut() {
			return
		}
		c.thinkFrom(c.startNs, 0)
	}
}

// thinkFrom lets one of the users think, for a given time at least, and then send.
func (c *closedLoop) thinkFrom(nowNs, leastNs int64) {
	thinkNs := int64(0)
	if think := c.Arrivals.Closed.Think.Distribution; think != nil {
		thinkNs = think.Sample(&c.think.Rand)
	}
	if at := nowNs + max(thinkNs, leastNs); at < c.endNs {
		c.wakeAt(at)
	}
}

// Wake implements source.
func (c *closedLoop) Wake(nowNs int64) {
	if !c.finished() {
		c.send(nowNs, c.request())
	}
}

// Responded implements source.
func (c *closedLoop) Responded(nowNs int64, r *server.Request, response server.Response) {
	if !ended(r, response) && c.retry(nowNs, r, response) {
		return
	}
	c.noteAttempts(nowNs, r, response)
	switch {
	case ended(r, response):
		c.thinkFrom(nowNs, 0)
	case c.all.network != nil && isWatch(r):
		c.thinkFrom(nowNs, c.opensAgainNs(nowNs))
	default:
		c.thinkFrom(nowNs, turnaroundNs)
	}
}

// reflector is what a client knows as one that watches.
type reflector struct {
	reflectorBackoff
	chance random.Stream
}

// opensAgainNs returns how long the client waits after it has failed to open a watch.
func (cl *sender) opensAgainNs(nowNs int64) int64 {
	if cl.reflector == nil {
		cl.reflector = &reflector{reflectorBackoff: newReflectorBackoff(cl.startNs, false)}
		cl.stream(&cl.reflector.chance, "reflector")
	}
	return cl.reflector.Next(nowNs, &cl.reflector.chance.Rand)
}

// isWatch says whether a request is a watch, also one that no server has received.
func isWatch(r *server.Request) bool {
	return r.Attributes.Verb == "watch" && r.Attributes.IsResource()
}

// ended says whether a request has ended as its client wants: it was executed, or it was a watch that had
// begun. For a reflector, a watch of which the connection breaks has ended like any other.
func ended(r *server.Request, response server.Response) bool {
	return response.Succeeded() || response.Failure == server.BrokenConnection && r.FinishNs >= 0 && isWatch(r)
}
