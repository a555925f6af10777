// Package workloadtest runs machines in virtual time without a server: what they send is answered by
// the test.
package workloadtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/metric"
	"apfsim/sim/random"
	"apfsim/sim/workload"
)

// Client is a workload.Client for tests. Its rate limiter is unlimited.
type Client struct {
	// Serve is called with each request at the time at which it is sent. It calls Answer and Event, for now
	// or for later. A request that it does not answer stays open.
	Serve func(nowNs int64, r *workload.APIRequest)

	// Closed is called when the machine closes its connections, if it is not nil.
	Closed func(nowNs int64, idle bool)

	// NoJitter makes all random numbers 0.
	NoJitter bool
	Seed     uint64
	Number   int    // what Index returns
	Name     string // what Workload returns
	NodeName string // what Node returns
	UntilNs  int64  // what EndNs returns; 0 for never

	Sent   []Sent
	Noted  []Noted
	events clock.Queue[func(nowNs int64)]
	alarms *clock.Alarms
	open   map[int32]*workload.APIRequest
	runs   workload.Machine
}

// Sent is a request and when it was sent.
type Sent struct {
	AtNs int64
	*workload.APIRequest
}

// Noted is a note and when it was made.
type Noted struct {
	AtNs int64
	workload.Note
}

// New returns a client whose requests a function serves.
func New(serve func(nowNs int64, r *workload.APIRequest)) *Client {
	c := &Client{Serve: serve, open: map[int32]*workload.APIRequest{}}
	c.alarms = clock.NewAlarms(func(atNs int64, slot int32) clock.Handle {
		return c.events.Schedule(atNs, 1, func(nowNs int64) { c.alarms.Ring(nowNs, slot) })
	}, c.events.Cancel)
	return c
}

// Run starts a behaviour at 0 and lets it run up to a time, that time included. The time of the client goes
// on from there: a second Run needs the same behaviour, which is not started again.
func (c *Client) Run(b workload.Machine, untilNs int64) {
	if c.runs == nil {
		c.runs = b
		c.events.Schedule(0, 0, b.Start)
	}
	for {
		if nextNs, ok := c.events.NextNs(); !ok || nextNs > untilNs {
			return
		}
		act, _ := c.events.Next()
		act(c.events.NowNs())
	}
}

// At makes the test act at a time. Of what happens at one time, this comes first.
func (c *Client) At(atNs int64, act func(nowNs int64)) { c.events.Schedule(atNs, 0, act) }

// Answer ends the request that is now open with a token, at a time from now on, unless it has been hung up
// by then.
func (c *Client) Answer(atNs int64, token int32, a *api.Answer) {
	r := c.open[token]
	c.At(atNs, func(nowNs int64) {
		if c.open[token] == r && r != nil {
			delete(c.open, token)
			c.runs.Answered(nowNs, token, a)
		}
	})
}

// Event gives an event to the watch that is now open with a token, at a time from now on, unless it has
// ended or been hung up by then.
func (c *Client) Event(atNs int64, token int32, e *api.Event) {
	r := c.open[token]
	c.At(atNs, func(nowNs int64) {
		if c.open[token] == r && r != nil {
			c.runs.Received(nowNs, token, e)
		}
	})
}

// Open says whether a request with a token is under way.
func (c *Client) Open(token int32) bool { return c.open[token] != nil }

// NowNs returns the time.
func (c *Client) NowNs() int64 { return c.events.NowNs() }

// Send implements workload.Client.
func (c *Client) Send(nowNs int64, r *workload.APIRequest) {
	if nowNs != c.events.NowNs() {
		panic(fmt.Sprintf("workloadtest: Send with the time %d at %d", nowNs, c.events.NowNs()))
	}
	if c.open[r.Token] != nil {
		panic(fmt.Sprintf("workloadtest: a second request with token %d", r.Token))
	}
	sent := *r
	sent.Call = *r.Call.Clone()
	r = &sent
	c.open[r.Token] = r
	c.Sent = append(c.Sent, Sent{nowNs, r})
	c.Serve(nowNs, r)
}

// Scratch implements workload.Client.
func (c *Client) Scratch() (*workload.APIRequest, *api.Body) {
	return &workload.APIRequest{}, &api.Body{}
}

// HangUp implements workload.Client.
func (c *Client) HangUp(nowNs int64, token int32) { delete(c.open, token) }

// CloseConnections implements workload.Client: what is open ends as a connection that breaks.
func (c *Client) CloseConnections(nowNs int64, idle bool) {
	if c.Closed != nil {
		c.Closed(nowNs, idle)
	}
}

// Alarms implements workload.Client.
func (c *Client) Alarms() *clock.Alarms { return c.alarms }

// Stream implements workload.Client.
func (c *Client) Stream(s *random.Stream, purpose string) {
	s.Open(c.Seed, "test", c.Number, purpose)
	if c.NoJitter {
		s.Rand = *rand.New(zero{})
	}
}

// zero is a source of which all random numbers are 0.
type zero struct{}

func (zero) Uint64() uint64 { return 0 }

// Index implements workload.Client.
func (c *Client) Index() int { return c.Number }

// Workload implements workload.Client.
func (c *Client) Workload() string { return c.Name }

// Node implements workload.Client.
func (c *Client) Node() string { return c.NodeName }

// EndNs implements workload.Client.
func (c *Client) EndNs() int64 {
	if c.UntilNs == 0 {
		return math.MaxInt64
	}
	return c.UntilNs
}

// Note implements workload.Client.
func (c *Client) Note(nowNs int64, n workload.Note) { c.Noted = append(c.Noted, Noted{nowNs, n}) }

// Count returns how many notes of a kind there are.
func (c *Client) Count(k metric.Event) (n int) {
	for _, noted := range c.Noted {
		if noted.Event == k {
			n++
		}
	}
	return n
}

// String writes a request as a line: its time, its verb, what it is for, and its options that are given, of
// which timeoutSeconds depends on chance and is left out.
func (s Sent) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %s %s", time.Duration(s.AtNs), s.Verb, s.Resource)
	if s.Subresource != "" {
		b.WriteString("/" + s.Subresource)
	}
	if key := api.Key(s.Namespace, s.Name); key != "" {
		b.WriteString(" " + key)
	}
	b.WriteString(Options(&s.Call.Options))
	if body := s.Call.Body; body != nil && body.Version.Given {
		fmt.Fprintf(&b, " body=%d", body.Version.N)
	}
	return b.String()
}

// Options writes the options of a list or watch that are given, each after a space.
func Options(o *request.Options) string {
	var b strings.Builder
	if o.Version.Given {
		fmt.Fprintf(&b, " rv=%d", o.Version.N)
	}
	switch o.Match {
	case request.NotOlderThan:
		b.WriteString(" match=NotOlderThan")
	case request.Exact:
		b.WriteString(" match=Exact")
	}
	if o.SendInitialEventsGiven {
		fmt.Fprintf(&b, " initial=%v", o.SendInitialEvents)
	}
	if o.Bookmarks {
		b.WriteString(" bookmarks")
	}
	if o.Limit > 0 {
		fmt.Fprintf(&b, " limit=%d", o.Limit)
	}
	if o.Continue != "" {
		b.WriteString(" continue=" + o.Continue)
	}
	return b.String()
}

// Log writes all requests that were sent, one a line.
func (c *Client) Log() string {
	var b strings.Builder
	for _, s := range c.Sent {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}
