package client

import "apfsim/sim/server"

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
func (c *closedLoop) Wake(nowNs int64) { c.send(nowNs, c.request()) }

// Responded implements source.
func (c *closedLoop) Responded(nowNs int64, r *server.Request, response server.Response) {
	switch {
	case ended(r, response):
		c.thinkFrom(nowNs, 0)
	case c.retry(nowNs, r, response):
	case c.all.network != nil && isWatch(r):
		c.thinkFrom(nowNs, c.opensAgainNs(nowNs))
	default:
		c.thinkFrom(nowNs, turnaroundNs)
	}
}
