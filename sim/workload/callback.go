package workload

import (
	"apfsim/sim/clock"
	"apfsim/sim/server"
)

// Callbacks receives the responses to callbacks, which are sent in the course of other
// requests. Package calls implements it.
type Callbacks interface {
	// Sending is called when r is about to be sent.
	Sending(r *server.Request)
	// Responded is called with the response to r. It must not keep r.
	Responded(nowNs int64, r *server.Request, response server.Response)
}

// callback is a client that sends nothing by itself.
type callback struct{ sender }

// Start implements source.
func (c *callback) Start(int64) { c.open() }

// Wake implements source.
func (c *callback) Wake(int64) { panic("workload: a client of callbacks wakes") }

// Responded implements source.
func (c *callback) Responded(nowNs int64, r *server.Request, response server.Response) {
	c.all.callbacks.Responded(nowNs, r, response)
}

// send implements source.
func (c *callback) send(nowNs int64, r *server.Request) {
	c.all.callbacks.Sending(r)
	c.sender.send(nowNs, r)
}

// Callback returns the next request of a client of callbacks, which Resend sends.
func (c *Clients) Callback(workload, client int) *server.Request {
	return c.callback(workload, client).request()
}

// RetryCallback returns the request that is sent instead of one that has not succeeded, and the event of
// sending it, or nil if the client gives up.
func (c *Clients) RetryCallback(nowNs int64, r *server.Request, response server.Response) (*server.Request, clock.Handle) {
	return c.callback(r.Workload, r.Client).again(nowNs, r, response)
}

func (c *Clients) callback(workload, client int) *callback {
	return c.workloads[workload].clients.clientAt(client).(*callback)
}
