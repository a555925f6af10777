package workload

import (
	"apfsim/sim/random"
	"apfsim/sim/server"
)

// sender is what all clients have, in as few bytes as possible: there may be
// hundreds of thousands, and each is read from main memory when its turn comes.
type sender struct {
	*group
	*optional       // nil where it is not needed
	index     int32 // within the workload
	searches  bool  // of an open loop: the next Wake sends nothing, see arrivals.Process
	execution random.Stream
}

// optional is what only some clients need. Streams that the workload does not need are nil.
type optional struct {
	choice                                random.Stream // of one of several kinds of requests; here, because most that have something optional need it
	limiter                               *bucket
	sentInOrder                           int // how many requests the client has sent of a list that it sends in order
	watch, think, backoff, delay, timeout *random.Stream
	reflector                             *reflector // nil before a watch has failed
}

// join makes the client one of a workload's.
func (cl *sender) join(w *group, index int) { cl.group, cl.index = w, int32(index) }

// open opens the client's streams.
func (cl *sender) open() {
	cl.stream(&cl.execution, "execution")
	if cl.needsOptional {
		cl.optional = &optional{}
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
			{&cl.delay, "delay", cl.Delay.IsSet()},
			{&cl.timeout, "clientTimeout", cl.ClientTimeout.IsSet()},
		} {
			if s.needed {
				*s.stream = &random.Stream{}
				cl.stream(*s.stream, s.purpose)
			}
		}
	}
	if cl.RateLimit.limits() {
		cl.limiter = cl.newLimiter()
	}
}

// stream opens one of the client's streams.
func (cl *sender) stream(s *random.Stream, purpose string) {
	s.Open(cl.all.Seed, cl.Name, int(cl.index), purpose)
}

// wakeAt schedules the next Wake of the client.
func (cl *sender) wakeAt(atNs int64) {
	cl.all.runState.Events.Schedule(atNs, uint8(server.ClientActs), server.Event{Kind: server.ClientActs, Owner: int16(cl.group.index), Index: cl.index})
}

// request draws the client's next request.
func (cl *sender) request() *server.Request {
	kind := 0
	if cl.inOrder {
		kind = cl.sentInOrder % len(cl.Requests)
		cl.sentInOrder++
	} else if len(cl.Requests) > 1 {
		x := cl.choice.Float64() * cl.weights[len(cl.weights)-1]
		for kind < len(cl.weights)-1 && x >= cl.weights[kind] {
			kind++
		}
	}
	return cl.requestOf(kind)
}

// finished says whether the client has sent all that it ever sends.
func (cl *sender) finished() bool { return cl.once && cl.sentInOrder == len(cl.Requests) }

// requestOf draws the client's next request of a kind, by its index.
func (cl *sender) requestOf(kind int) *server.Request {
	t := &cl.templates[int(cl.index)*len(cl.Requests)+kind]
	if t.Template == nil {
		user, groups := cl.identity()
		attributes, query := cl.Requests[kind].Request.AttributesWithoutPath(user, groups, int(cl.index))
		t.Template = cl.all.runState.NewTemplate(cl.group.index, int(cl.index), attributes, query)
		t.Request, t.Accept, t.Matches = kind, cl.accept, cl.Requests[kind].Matches
		t.id = t.TemplateID
	}
	r := cl.attempt(t.Template, t.id, cl.Requests[kind].Execution)
	if watch := cl.Requests[kind].Watch; watch != nil {
		r.WatchNs = watch.Duration.Sample(&cl.watch.Rand)
	}
	return r
}

// identity returns who the client is: the strings of one of its templates, if there is one.
func (cl *sender) identity() (user string, groups []string) {
	n := len(cl.Requests)
	for _, t := range cl.templates[int(cl.index)*n : (int(cl.index)+1)*n] {
		if t.Template != nil {
			return t.Attributes.User, t.Attributes.Groups
		}
	}
	return cl.As.For(int(cl.index))
}
