package workload

import (
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/metric"
	"apfsim/sim/random"
	"apfsim/sim/server"
)

// scriptedClient is a client whose workload has a behaviour. For its machine it is the Client: the client-go below a
// controller or a kubelet. It passes requests through the rate limiter and sends them again.
//
// What the machine wants is done by events at the same instant: it may be called in the middle of what a
// server does, when no server may be called.
type scriptedClient struct {
	sender
	machine   Machine
	begun     bool
	user      string
	groups    []string
	exchanges []*exchange // that are under way, by token; nil for none
	left      []*exchange // that the client has hung up, but a server still knows
	templates templates
}

// Start implements source.
func (c *scriptedClient) Start(int64) {
	c.open()
	if l := c.group.Behaviour.rateLimit(); c.RateLimit == nil && l != nil {
		c.limiter = newBucket(l.QPS, l.Burst)
	}
	c.user, c.groups = c.As.For(int(c.index))
	c.machine = c.group.Behaviour.machine(c)
	c.wakeAt(c.startNs)
}

// Wake implements source: the workload begins, or ends before the run does.
func (c *scriptedClient) Wake(nowNs int64) {
	if !c.begun {
		c.begun = true
		if c.endNs < int64(c.all.Duration) {
			c.wakeAt(c.endNs)
		}
		c.machine.Start(nowNs)
		return
	}
	for token := range c.exchanges {
		c.HangUp(nowNs, int32(token))
	}
}

// Responded implements source.
func (c *scriptedClient) Responded(nowNs int64, r *server.Request, response server.Response) {
	if x := c.exchange(r); x != nil {
		x.responded(nowNs, r, response)
		return
	}
	for _, x := range c.left {
		if x.sent == r {
			x.sent = nil
		}
	}
}

// received passes an event on to the machine.
func (c *scriptedClient) received(nowNs int64, r *server.Request, e *api.Event) {
	if x := c.exchange(r); x != nil {
		c.machine.Received(nowNs, x.asked.Token, e)
	}
}

// exchange returns what a request is an attempt of, nil if the client has hung it up.
func (c *scriptedClient) exchange(r *server.Request) *exchange {
	if x := c.exchanges[r.Details.Token]; x != nil && x.sent == r {
		return x
	}
	return nil
}

// Send implements Client.
func (c *scriptedClient) Send(nowNs int64, q *APIRequest) {
	if nowNs >= c.endNs {
		return
	}
	for int(q.Token) >= len(c.exchanges) {
		c.exchanges = append(c.exchanges, nil)
	}
	if c.exchanges[q.Token] != nil {
		panic("workload: a machine has two requests of one token")
	}
	x := c.all.exchanges.open(c, q)
	c.exchanges[q.Token] = x
	x.wantedNs = nowNs
	x.wakeAt(nowNs)
}

// Scratch implements Client.
func (c *scriptedClient) Scratch() (*APIRequest, *api.Body) { return c.all.exchanges.scratch() }

// HangUp implements Client.
func (c *scriptedClient) HangUp(nowNs int64, token int32) {
	if int(token) >= len(c.exchanges) || c.exchanges[token] == nil {
		return
	}
	x := c.exchanges[token]
	c.exchanges[token] = nil
	c.Alarms().Cancel(&x.wake)
	if nowNs < c.endNs { // at the end it is cut off
		x.noteAnswerTime(nowNs, false)
	}
	if x.sent != nil {
		x.hungUp = true
		c.left = append(c.left, x)
		x.wakeAt(nowNs)
	}
}

// CloseConnections implements Client. Without a network there is one server that is always there, and no connections.
func (c *scriptedClient) CloseConnections(nowNs int64, idle bool) {
	switch {
	case c.all.network == nil:
	case idle:
		c.Alarms().Set(nowNs, (*closeIdle)(c))
	default:
		c.Alarms().Set(nowNs, (*closeAll)(c))
	}
}

// The alarms by which a client closes connections.
type (
	closeIdle scriptedClient
	closeAll  scriptedClient
)

// Ring implements clock.Alarm.
func (c *closeIdle) Ring(int64) {
	c.all.network.CloseConnections(c.group.index, int(c.index), true)
}

// Ring implements clock.Alarm.
func (c *closeAll) Ring(nowNs int64) {
	n := c.all.network
	n.CloseConnections(c.group.index, int(c.index), false)
	for _, x := range c.exchanges {
		if x != nil && x.sent != nil {
			n.Break(nowNs, x.sent)
		}
	}
}

// Alarms implements Client.
func (c *scriptedClient) Alarms() *clock.Alarms { return c.all.runState.ClientAlarms() }

// Stream implements Client.
func (c *scriptedClient) Stream(s *random.Stream, purpose string) { c.stream(s, purpose) }

// Workload implements Client.
func (c *scriptedClient) Workload() string { return c.Name }

// Node implements Client.
func (c *scriptedClient) Node() string { return c.As.NodeOf(int(c.index)) }

// Index implements Client.
func (c *scriptedClient) Index() int { return int(c.index) }

// EndNs implements Client.
func (c *scriptedClient) EndNs() int64 { return c.endNs }

// Note implements Client.
func (c *scriptedClient) Note(nowNs int64, n Note) { c.note(nowNs, n) }

// note tells those who want to know it what has happened to the client.
func (cl *sender) note(nowNs int64, n Note) {
	for _, noted := range cl.all.noted {
		noted(nowNs, cl.group.index, int(cl.index), n)
	}
}

// noteAttempts notes the end of a request, after its last attempt. A watch is answered long before its end.
func (cl *sender) noteAttempts(nowNs int64, r *server.Request, response server.Response) {
	if !cl.timed || isWatch(r) {
		return
	}
	event := metric.GaveUp
	if ended(r, response) {
		event = metric.Answered
	}
	cl.note(nowNs, Note{Event: event, N: int64(r.Attempt), Ns: nowNs - r.WantedNs})
}

// OnNote makes f be called with what happens to clients that behave, or that limit their rate, from now on, and to which client of which
// workload. The run calls it only before it executes, because f would not know what has happened earlier.
func (c *Clients) OnNote(f func(nowNs int64, workload, client int, n Note)) {
	c.noted = append(c.noted, f)
}

// Received implements server.Receiver.
func (c *Clients) Received(nowNs int64, r *server.Request, e *api.Event) {
	if b, ok := c.workloads[r.Workload].clients.clientAt(r.Client).(*scriptedClient); ok {
		b.received(nowNs, r, e)
	}
}
