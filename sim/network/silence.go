package network

import "apfsim/sim/server"

// How long a client takes to find out that the node of a server is gone, which answers nothing.
const (
	// An HTTP/2 client that has received nothing for the first of these sends a ping, and closes the
	// connection when there is no answer after the second (apimachinery util/net/http.go).
	readIdleNs    = 30_000_000_000
	pingTimeoutNs = 15_000_000_000

	// A connection of HTTP/1.1 ends when nine probes of TCP, 15 s apart, have had no answer; the first
	// is sent after 30 s (client-go transport/cache.go; Go net/dial.go).
	keepAliveNs = 30_000_000_000 + 9*15_000_000_000

	// Without pings, a connection of HTTP/2 on which a client goes on sending ends when the kernel has repeated a
	// segment 15 times (Linux, net.ipv4.tcp_retries2).
	retransmitNs = 924_600_000_000

	// A connection that nobody accepts or refuses is given up (client-go transport/cache.go).
	dialTimeoutNs = 30_000_000_000
)

// silence marks a connection as silent, and schedules when its client will notice.
func (n *Network) silence(nowNs int64, id int32, c *connection) {
	switch {
	case c.once:
		c.noticeNs = nowNs + keepAliveNs
	case c.client.noPings:
		c.noticeNs = nowNs + retransmitNs
	default:
		// Idle connections have had a ping, and its answer, at every multiple of readIdleNs.
		c.noticeNs = nowNs - (nowNs-c.answeredNs)%readIdleNs + readIdleNs + pingTimeoutNs
	}
	c.notice = n.schedule(c.noticeNs, notices, id)
}

// notice closes a silent connection when its client detects the silence.
func (n *Network) notice(id int32) {
	c := &n.connections[id]
	c.notice = 0
	if c.isOpen { // else the client has closed it
		n.cut(id, c)
	}
}

// lose handles a request that gets no response because its server is unreachable. Its client learns that at atNs, by an
// event of the kind by, or at its own timeout if that is earlier.
func (n *Network) lose(nowNs int64, r *server.Request, atNs int64, by int16) {
	if d := r.Details; d != nil && d.ClientTimeoutNs > 0 && nowNs+d.ClientTimeoutNs < atNs {
		atNs, by = nowNs+d.ClientTimeoutNs, hangsUp
	}
	h := n.runState.Events.Schedule(atNs, uint8(server.Connect), server.Event{Kind: server.Connect, Owner: by, Request: r})
	if r.Details != nil {
		r.Details.Notice = h
	}
}
