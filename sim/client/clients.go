// Package client is the clients: who sends what and when, what they do while they wait
// and when they are rejected.
//
// Every client draws from random streams of its own, one for each purpose, so that what
// becomes of its requests at the server does not change which it sends (open loop).
package client

import (
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Behaviour is what one client does of itself, and upon the responses to its requests.
type Behaviour interface {
	// Start is called once, at the beginning of the run. It schedules the first Wake, if there is
	// to be one.
	Start(nowNs int64)
	// Wake is called at each time that the client has scheduled.
	Wake(nowNs int64)
	// Responded is called with the response to a request of the client: always if the request was
	// rejected, and otherwise if the workload is awaitsResponses. The client must not keep r.
	Responded(nowNs int64, r *server.Request, response server.Response)

	// join and send are those of client, which all behaviours have.
	join(w *workload, index int)
	send(nowNs int64, r *server.Request)
}

// Clients are all clients of a run.
type Clients struct {
	shared    *server.Shared
	servers   []*server.Server
	choose    func(workload, client int) int // see ChooseServer; nil for server 0
	workloads []*workload
	anyAwaits bool // one of them awaitsResponses
	err       error
}

// New returns the clients of a scenario. Close must be called in the end.
func New(sc *scenario.Scenario, shared *server.Shared) *Clients {
	c := &Clients{shared: shared}
	for i := range sc.Spec.Workload {
		w := newWorkload(sc, i, c)
		c.workloads = append(c.workloads, w)
		c.anyAwaits = c.anyAwaits || w.awaitsResponses
	}
	return c
}

// ChooseServer makes choose say to which server a client of a workload sends its next request, by
// the server's index. Without it, all requests go to server 0. It must be called before Begin.
func (c *Clients) ChooseServer(choose func(workload, client int) int) { c.choose = choose }

// Begin starts the clients, which send to the servers from now on.
func (c *Clients) Begin(servers []*server.Server) error {
	c.servers = servers
	for _, w := range c.workloads {
		for i := range w.Clients {
			if w.clients.at(i).Start(0); c.err != nil {
				return c.err
			}
		}
	}
	return nil
}

// Close closes the traces, and returns what went wrong in reading them.
func (c *Clients) Close() error {
	for _, w := range c.workloads {
		for i := range w.Clients {
			if r, ok := w.clients.at(i).(*replay); ok && r.reader != nil {
				r.reader.Close()
			}
		}
	}
	return c.err
}

// Err returns what went wrong in reading a trace; the results of the run are then not valid.
func (c *Clients) Err() error { return c.err }

// Wake carries out the event server.ClientActs.
func (c *Clients) Wake(nowNs int64, e server.Event) {
	c.workloads[e.Of].clients.at(int(e.Index)).Wake(nowNs)
}

// Responded implements server.Clients.
func (c *Clients) Responded(nowNs int64, r *server.Request, response server.Response) {
	if response.Status == server.StatusOK && !c.anyAwaits {
		return // without a look at the request's template, which is not in the processor's cache
	}
	w := c.workloads[r.Workload]
	if response.Status == server.StatusOK && !w.awaitsResponses {
		return
	}
	w.clients.at(r.Client).Responded(nowNs, r, response)
}

// Resend sends a rejected request again, by way of the client's rate limiter.
func (c *Clients) Resend(nowNs int64, r *server.Request) {
	c.workloads[r.Workload].clients.at(r.Client).send(nowNs, r)
}
