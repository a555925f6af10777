// Package network simulates what is between the clients and the servers of a run: a load balancer, the endpoints
// of the Service kubernetes, and the connections that clients keep. Clients send requests to a Network, which
// chooses the server of each, answers those that reach none, and passes the responses of the servers on.
//
// Nothing takes time there, except to find out that a server is gone.
package network

import (
	"slices"

	"apfsim/sim/metric"
	"apfsim/sim/random"
	"apfsim/sim/server"
)

// Network is between the clients and the servers. Its methods are called by the run's event loop, in
// order of time.
type Network struct {
	runState *server.RunState
	clients  server.Clients
	servers  []*server.Server
	balancer balancer
	service  *endpoints // nil if no workload connects through it

	seed         uint64
	goawayChance float64
	workloads    []workload

	connections []connection // number 0 is no connection
	free        int32        // first of the unused numbers, which are linked by next
	dialled     int64        // connections so far
	counts      []counts     // by server
}

// counts are what is counted of one server.
type counts struct {
	connections  int // that are open
	dials        int64
	refusedDials int64
}

// workload is what the clients of a workload have in common.
type workload struct {
	Workload
	clients []client
}

// client is the network's side of a client.
type client struct {
	opened  bool  // the streams are
	noPings bool  // it sends none on connections of HTTP/2
	first   int32 // of its connections that take another request, in the order in which they were dialled
	all     int32 // how many connections it has
	choice  random.Stream
	goaway  *random.Stream // nil without a chance of it
}

// Deps are the arguments of New: what a network needs.
type Deps struct {
	LoadBalancer *LoadBalancer // nil without one: each connection is to a server that listens, at random
	GoawayChance float64       // the probability that a request makes its client connect anew
	Workloads    []Workload
	Seed         uint64

	RunState *server.RunState
	Clients  server.Clients
	// Servers makes the servers of the run, whose server.Deps.Clients and Network are n.
	Servers func(n *Network) []*server.Server
}

// Workload is how the clients of a workload connect.
type Workload struct {
	Name       string
	Clients    int
	PerRequest bool // each request has a connection of its own
	Service    bool // connections are through the Service kubernetes, and not the load balancer
	NoPings    bool // clients send no pings on connections of HTTP/2
}

// New returns the network of a run, and its servers.
func New(d Deps) *Network {
	n := &Network{runState: d.RunState, clients: d.Clients, seed: d.Seed, goawayChance: d.GoawayChance, connections: make([]connection, 1)}
	for _, w := range d.Workloads {
		n.workloads = append(n.workloads, workload{Workload: w, clients: make([]client, w.Clients)})
	}
	n.servers = d.Servers(n)
	n.counts = make([]counts, len(n.servers))
	n.balancer = newBalancer(d.LoadBalancer, n)
	if slices.ContainsFunc(n.workloads, func(w workload) bool { return w.Service }) {
		n.service = newEndpoints(n)
	}
	return n
}

// Servers returns the servers of the run, by index.
func (n *Network) Servers() []*server.Server { return n.servers }

// Connections returns how many connections clients have to a server.
func (n *Network) Connections(server int) int { return n.counts[server].connections }

// Dials returns how many connections to a server clients have tried to open so far, and how many of
// these attempts have failed.
func (n *Network) Dials(server int) (all, failed int64) {
	return n.counts[server].dials, n.counts[server].refusedDials
}

// Send sends a request of a client of a workload to a server, on a connection that the client has or
// on a new one.
func (n *Network) Send(nowNs int64, r *server.Request, workload, index int) {
	w := &n.workloads[workload]
	cl := n.client(w, index)
	id := cl.first
	if id == 0 {
		if id = n.connect(nowNs, r, w, cl); id == 0 {
			return
		}
	}
	c := &n.connections[id]
	n.begin(id, c)
	r.Connection, r.Server = id, c.server
	goaway := cl.goaway != nil && cl.goaway.Float64() < n.goawayChance
	switch {
	case c.noticeNs > 0:
		n.lose(nowNs, r, c.noticeNs, breaks)
		return
	case goaway:
		n.retire(id, c)
	}
	n.servers[c.server].Arrive(nowNs, r)
}

// SendTo sends a request of a client of a workload to a certain server, on a connection of its own.
func (n *Network) SendTo(nowNs int64, r *server.Request, workload, index int, to int16) {
	if id := n.dial(nowNs, r, n.client(&n.workloads[workload], index), to, true, true); id != 0 {
		n.begin(id, &n.connections[id])
		r.Connection, r.Server = id, to
		n.servers[to].Arrive(nowNs, r)
	}
}

// SetReady says whether the pod of a server is ready, as its readiness probe has found.
func (n *Network) SetReady(server int, ready bool) {
	n.balancer.setReady(n.runState.Events.NowNs(), server, ready)
}

// HangUp is called when the client of a request has gone that has not been answered. If no server has it, the
// client still notices later what has become of the connection.
func (n *Network) HangUp(nowNs int64, r *server.Request) { n.servers[r.Server].HangUp(nowNs, r) }

// CloseConnections closes the connections of a client of a workload: those without a request in progress, or all. After
// the latter, a call of Break is owed for each request of the client that has not been responded to.
func (n *Network) CloseConnections(workload, index int, idle bool) {
	cl := n.client(&n.workloads[workload], index)
	closed := int32(0)
	for id := cl.first; id != 0; {
		c := &n.connections[id]
		next := c.next
		switch {
		case idle && c.streams > 0:
		case idle:
			n.retire(id, c)
		default:
			n.cut(id, c)
		}
		id, closed = next, closed+1
	}
	if idle || closed == cl.all { // those with requests that are not in the list cannot be idle
		return
	}
	for id := range n.connections {
		if c := &n.connections[id]; c.client == cl && c.isOpen {
			n.cut(int32(id), c)
		}
	}
}

// Break tells the client of a request that its connection is closed, which it has closed itself.
func (n *Network) Break(nowNs int64, r *server.Request) {
	lost := r.Details.Notice != 0 && r.Unserved()
	if r.Details.Notice != 0 {
		n.runState.Events.Cancel(r.Details.Notice)
		r.Details.Notice = 0
	}
	if lost {
		n.runState.Refuse(nowNs, r, metric.ConnectionReset, n, server.Response{Failure: server.BrokenConnection})
		return
	}
	n.servers[r.Server].HangUpAll(nowNs, r)
}

// client returns the state of a workload's client, whose random streams are open.
func (n *Network) client(w *workload, index int) *client {
	cl := &w.clients[index]
	if !cl.opened {
		cl.opened, cl.noPings = true, w.NoPings
		cl.choice.Open(n.seed, w.Name, index, "connection")
		if n.goawayChance > 0 && !w.PerRequest {
			cl.goaway = &random.Stream{}
			cl.goaway.Open(n.seed, w.Name, index, "goaway")
		}
	}
	return cl
}

// connect opens a connection of a client for a request, to a server that is chosen for it. If it fails, it
// answers the request, and returns 0.
func (n *Network) connect(nowNs int64, r *server.Request, w *workload, cl *client) (id int32) {
	if w.Service {
		to, listed := n.service.choose(&cl.choice)
		return n.dial(nowNs, r, cl, to, w.PerRequest, listed)
	}
	return n.dial(nowNs, r, cl, n.balancer.choose(&cl.choice), w.PerRequest, true)
}

// dial opens a connection to a server for a request of a client, and possibly for that one only. If the server is not
// listed, nothing is there to connect to. If it fails, it answers the request, and returns 0.
func (n *Network) dial(nowNs int64, r *server.Request, cl *client, to int16, once, listed bool) (id int32) {
	n.counts[to].dials++
	s := n.servers[to]
	if listed && s.Listens() {
		return n.open(nowNs, to, cl, once)
	}
	n.counts[to].refusedDials++
	r.Server, r.Connection = to, 0
	if listed && s.Unreachable() {
		n.lose(nowNs, r, nowNs+dialTimeoutNs, dialTimesOut)
	} else {
		n.refuse(nowNs, r)
	}
	return 0
}

// refuse answers a request for which there is no connection.
func (n *Network) refuse(nowNs int64, r *server.Request) {
	n.runState.Refuse(nowNs, r, metric.ConnectionRefused, n.clients, server.Response{Failure: server.FailedToConnect})
}

// Responded implements server.Clients: it passes the response on to the client.
func (n *Network) Responded(nowNs int64, r *server.Request, response server.Response) {
	if id := r.Connection; id != 0 {
		c := &n.connections[id]
		r.Connection = 0
		n.end(nowNs, id, c, response.CloseConnection)
	}
	n.clients.Responded(nowNs, r, response)
}

// Disconnect implements server.Network.
func (n *Network) Disconnect(nowNs int64, s *server.Server, how server.Disconnection) {
	index := int16(s.Index())
	for i := range n.connections {
		c := &n.connections[i]
		if !c.isOpen || c.server != index || c.noticeNs > 0 { // or of a process before
			continue
		}
		switch how {
		case server.GoAway:
			n.goAway(nowNs, int32(i), c)
		case server.Reset:
			n.cut(int32(i), c)
		case server.Silence:
			n.silence(nowNs, int32(i), c)
		}
	}
}

// Open implements server.Network.
func (n *Network) Open(_ int64, s *server.Server) int { return n.Connections(s.Index()) }

// Silenced implements server.Network.
func (n *Network) Silenced(nowNs int64, r *server.Request) {
	atNs := n.connections[r.Connection].noticeNs
	if givesUpNs, ok := r.GivesUpNs(); ok {
		atNs = min(atNs, givesUpNs)
	}
	r.Details.Notice = n.runState.Events.Schedule(max(atNs, nowNs), uint8(server.Connect), server.Event{Kind: server.Connect, Owner: silenced, Request: r})
}

// What an event of the kind server.Connect is, by its Owner. Its Index is the number of a connection.
const (
	probes       int16 = iota // the load balancer probes the servers
	renews                    // a server renews its lease; the Index is that of the server
	idles                     // a connection may be closed because it has been idle
	notices                   // a client notices that a connection is silent
	silenced                  // it gives up a request on it that was in flight
	breaks                    // it gives up a request on it that has not reached the server
	dialTimesOut              // it gives up a connection that cannot be opened because nobody answers
	hangsUp                   // its time-out for one of these two is over
)

// Handle carries out an event of the kind server.Connect.
func (n *Network) Handle(nowNs int64, e server.Event) {
	if e.Request != nil && e.Request.Details != nil {
		e.Request.Details.Notice = 0
	}
	switch e.Owner {
	case probes:
		n.balancer.probe(nowNs)
	case renews:
		n.service.renew(nowNs, int(e.Index))
	case idles:
		n.closeIdle(nowNs, e.Index)
	case notices:
		n.notice(e.Index)
	case silenced:
		n.servers[e.Request.Server].Break(nowNs, e.Request)
	case breaks:
		n.runState.Refuse(nowNs, e.Request, metric.ConnectionReset, n, server.Response{Failure: server.BrokenConnection})
	case hangsUp:
		n.runState.Refuse(nowNs, e.Request, metric.ConnectionReset, n, server.Response{Failure: server.ClientTimedOut})
	case dialTimesOut:
		n.refuse(nowNs, e.Request)
	default:
		panic("network: an event that is not the network's")
	}
}
