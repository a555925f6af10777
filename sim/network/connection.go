package network

import (
	"apfsim/sim/clock"
	"apfsim/sim/server"
)

// connection is one between a client and a server, on which several requests can be in progress
// (streams of HTTP/2). Connections are numbered, and the numbers of those that are closed are used
// again.
//
// Invariant: a connection is in the list of its client if and only if it takes another request: it is
// neither full nor away. The list is in the order in which the connections were dialled, in which a
// Go client tries them (golang.org/x/net/http2, clientConnPool.getClientConn).
type connection struct {
	client     *client
	dialled    int64        // the ordinal number of the connection in the run
	answeredNs int64        // when the client has last received something
	noticeNs   int64        // when the client notices that the server is silent; 0 while it is not
	streams    int32        // requests in progress
	maxStreams int32        // streams that the server lets it have
	next, prev int32        // in the list of the client, in which 0 is before the first and behind the last; next also links unused numbers
	idle       clock.Handle // when it may be closed because it is idle; one without requests has it, others may have 0
	notice     clock.Handle // that of noticeNs
	server     int16
	once       bool // it is of HTTP/1.1, and for one request only
	isOpen     bool // it is counted as one of the server
	away       bool // it takes no more requests, and is over when its streams are
	full       bool // it has as many streams as it may have
}

// idleTimeoutNs is for how long a connection may have no stream: servers and clients alike close it
// then (apiserver server/secure_serving.go; net/http DefaultTransport, which client-go copies).
const idleTimeoutNs = 90_000_000_000

// open opens a connection of a client to a server. One that is for one request only is away from the
// beginning.
func (n *Network) open(nowNs int64, to int16, cl *client, once bool) (id int32) {
	if id = n.free; id != 0 {
		n.free = n.connections[id].next
	} else {
		id = int32(len(n.connections))
		n.connections = append(n.connections, connection{})
	}
	n.dialled++
	cl.all++
	n.counts[to].connections++
	c := &n.connections[id]
	*c = connection{client: cl, dialled: n.dialled, answeredNs: nowNs, server: to, once: once, isOpen: true, away: once}
	if !once {
		c.maxStreams = int32(n.servers[to].MaxStreams())
		n.link(id, c)
	}
	return id
}

// schedule schedules an event of a connection.
func (n *Network) schedule(atNs int64, what int16, id int32) clock.Handle {
	return n.runState.Events.Schedule(atNs, uint8(server.Connect), server.Event{Kind: server.Connect, Owner: what, Index: id})
}

// begin begins a request on a connection.
func (n *Network) begin(id int32, c *connection) {
	c.streams++
	if !c.away && c.streams == c.maxStreams {
		c.full = true
		n.unlink(id, c)
	}
}

// end ends a request on a connection. After it the connection may be another.
func (n *Network) end(nowNs int64, id int32, c *connection, goaway bool) {
	c.streams--
	c.answeredNs = nowNs
	switch {
	case c.away || goaway:
		n.retire(id, c)
	default:
		if c.full {
			c.full = false
			n.link(id, c)
		}
		if c.streams == 0 && c.idle == 0 {
			c.idle = n.schedule(nowNs+idleTimeoutNs, idles, id)
		}
	}
}

// retire makes a connection take no more requests, and closes it if none is in progress.
func (n *Network) retire(id int32, c *connection) {
	if !c.away {
		if !c.full {
			n.unlink(id, c)
		}
		c.away = true
	}
	if c.streams == 0 {
		n.close(id, c)
	}
}

// goAwayNs is for how long a server leaves an idle connection open after GOAWAY (golang.org/x/net/http2,
// goAwayTimeout).
const goAwayNs = 1_000_000_000

// goAway makes a connection take no more requests because its server stops. An idle one is closed by the
// server, later than a client does that whose last request ends.
func (n *Network) goAway(nowNs int64, id int32, c *connection) {
	if c.away || c.streams > 0 {
		n.retire(id, c)
		return
	}
	n.unlink(id, c)
	c.away = true
	n.runState.Events.Cancel(c.idle)
	c.idle = n.schedule(nowNs+goAwayNs, idles, id)
}

// cut breaks a connection. Its requests in progress end later, one by one.
func (n *Network) cut(id int32, c *connection) {
	c.isOpen = false
	n.counts[c.server].connections--
	n.retire(id, c)
}

// close forgets a connection without requests.
func (n *Network) close(id int32, c *connection) {
	if c.isOpen {
		n.counts[c.server].connections--
	}
	for _, h := range [...]clock.Handle{c.idle, c.notice} {
		if h != 0 {
			n.runState.Events.Cancel(h)
		}
	}
	c.client.all--
	*c = connection{next: n.free}
	n.free = id
}

// closeIdle closes a connection that has had no request for long enough. Otherwise it looks again when
// that can be, or when the last request has ended.
func (n *Network) closeIdle(nowNs int64, id int32) {
	c := &n.connections[id]
	c.idle = 0
	switch closeNs := c.answeredNs + idleTimeoutNs; {
	case c.streams > 0:
	case closeNs <= nowNs || c.away:
		n.retire(id, c)
	default:
		c.idle = n.schedule(closeNs, idles, id)
	}
}

// link puts a connection into the list of its client.
func (n *Network) link(id int32, c *connection) {
	after, before := int32(0), c.client.first
	for before != 0 && n.connections[before].dialled < c.dialled {
		after, before = before, n.connections[before].next
	}
	c.prev, c.next = after, before
	if after == 0 {
		c.client.first = id
	} else {
		n.connections[after].next = id
	}
	n.connections[before].prev = id
}

// unlink takes a connection out of the list of its client.
func (n *Network) unlink(id int32, c *connection) {
	if c.prev == 0 {
		c.client.first = c.next
	} else {
		n.connections[c.prev].next = c.next
	}
	n.connections[c.next].prev = c.prev
}
