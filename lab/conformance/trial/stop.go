package trial

import (
	"time"

	"apfsim/sim/server"
)

// Stop is a stop of one server, and what clients send to it before and after. Times count from the signal
// that tells the server to stop; what is before it is negative, and not earlier than [Before].
type Stop struct {
	Shutdown       server.Shutdown // without KillAfter and Audit
	RequestTimeout time.Duration
	Objects        Objects // of flow control
	Seats          int
	Clients        []Client
}

// Before is how long a server is observed before it is told to stop.
const Before = 10 * time.Second

// Client sends requests to a server that stops, on one connection of HTTP/2 that it keeps as long as it can.
type Client struct {
	Name       string
	Path       string        // of a GET that is no resource; "" for one of a pod
	Watch      bool          // of pods, without an end
	Log        bool          // of a pod, for as long as Execution says
	Own        bool          // the server's own client: it is called kube-apiserver
	Execution  time.Duration // of a GET
	PerRequest bool          // it connects for each request
	HTTP1      bool          // its connection is of HTTP/1.1, which apfsim does not distinguish
	At         time.Duration // when it sends
	Every      time.Duration // when it sends again; 0 for never
	Until      time.Duration // when it does not any more
}

// Times returns when the client sends.
func (c *Client) Times() (all []time.Duration) {
	for at := c.At; ; at += c.Every {
		all = append(all, at)
		if c.Every == 0 || at+c.Every > c.Until {
			return all
		}
	}
}

// Seen is the result of a stop for one client, or for the process.
type Seen struct {
	At   time.Duration
	Who  string // the name of a client, or Process
	What string
}

// Process is the server itself in Seen.
const Process = "process"

// What can be seen, besides the statuses of responses.
const (
	Refused = "refused" // the connection
	Broken  = "broken"  // the connection, before the end of the response
	Ends    = "ends"    // a watch, in order
	Drained = "drained" // the process: nothing that it waits for is in flight
	Gone    = "gone"    // the process
)
