// Package calibrate measures the capacity of a server: how its throughput grows with the number of clients that each
// send one request after the other.
//
//  1. Closed loops of 1, 2, 4, ... clients run for some seconds each, until the throughput has stopped growing or a bound
//     is reached, and once more in the opposite order (Run). The differences between the two passes show how much the
//     throughput varies for other reasons.
//  2. The law of the capacity, v(n) = min(1, c/n) / (1 + σ·(n-1) + κ·n·(n-1)), is fitted to the curve (Fit). A client that
//     is between two requests is a delay: the throughput of such a closed network is known exactly.
//  3. A scenario takes the result as spec.servers.capacity (Law).
package calibrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/stat"

	"apfsim/live/load"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/reports/scrape"
)

// Options say how to measure.
type Options struct {
	// Send sends a request of a client, whose requests are numbered from 0, and returns its answer. It returns soon after
	// the context has ended.
	Send func(ctx context.Context, client, number int) load.Answer
	// Observe returns what the server has counted of these requests since its start; nil if that is unknown.
	Observe func(context.Context) (Counters, error)
	// Began is called before each step; may be nil.
	Began func(clients int)

	Step        time.Duration // length of a step
	MaxLatency  time.Duration // at the 99th percentile; nothing more is sent when it is exceeded
	MaxClients  int
	MaxRequests int64
}

// Counters are what a server has counted since its start.
type Counters struct {
	Requests         float64 // that were dispatched
	ExecutionSeconds float64 // of them
	WaitSeconds      float64 // in the queues of flow control
}

// Step is what was measured with a number of clients. The window begins after a fifth of the step.
type Step struct {
	Clients   int                 `json:"clients"`
	Sent      int64               `json:"sent"`
	Requests  int64               `json:"requests"`       // that were answered with success, and of which a part lies in the window
	PerSecond float64             `json:"perSecond"`      // of these
	Error     float64             `json:"perSecondError"` // its standard error, from tenths of the window
	Latency   result.Distribution `json:"latency"`
	Execution *float64            `json:"executionNs"` // mean, from the metrics of the server; null if unknown
	Wait      *float64            `json:"waitNs"`      // mean, in the queues of flow control; null if unknown
	Failed    int64               `json:"failed"`      // answers with status 429 or 5xx, and requests without an answer
	Unused    string              `json:"unused"`      // why the capacity is not fitted to the step; "" if it is
}

// Curve is the result of a measurement.
type Curve struct {
	Steps   []Step   `json:"steps"`   // in the order of time
	Stopped string   `json:"stopped"` // why there are no steps with more clients
	Notes   []string `json:"notes"`   // what is not known
}

// Errors that end a measurement before its bounds say that it is complete.
var (
	ErrInterrupted = errors.New("interrupted")
	ErrFailed      = errors.New("the server answers with errors")
	ErrRefused     = errors.New("the server refuses the request")
)

const (
	settling   = 5    // the window begins after this part of a step
	parts      = 10   // of the window, of whose throughputs the error is computed
	grown      = 1.05 // ratio of throughputs below which the throughput has not grown
	mostFlat   = 2    // steps without growth after which it has stopped
	mostWait   = 0.05 // share of the latency: a server that makes requests wait longer shows its limits, not its capacity
	mostFailed = 0.01 // share of the requests of a step
	leastCount = 3    // of failed or slow requests, from which on a share means something
)

// Run measures the curve. The context interrupts it. What was measured until then is returned also with an error.
func Run(ctx context.Context, o Options) (*Curve, error) {
	c := &Curve{}
	sent := int64(0)
	most, flat := 0.0, 0
	up := true
	var descending []int
	for clients := 1; ; {
		if o.Began != nil {
			o.Began(clients)
		}
		s, err := o.step(ctx, clients, &sent)
		if err != nil {
			c.Stopped = err.Error()
			return c, err
		}
		c.Steps = append(c.Steps, *s)
		switch {
		case s.Unused != "":
			c.Stopped = s.Unused
		case s.Latency.P99Ns > int64(o.MaxLatency):
			c.Stopped = fmt.Sprintf("the latency at p99 is more than %v", o.MaxLatency)
		case sent >= o.MaxRequests:
			c.Stopped = fmt.Sprintf("%d requests were sent", sent)
			return c, nil
		}
		if !up {
			if len(descending) == 0 {
				return c, nil
			}
			clients, descending = descending[0], descending[1:]
			continue
		}
		if s.PerSecond < grown*most {
			flat++
		} else {
			flat = 0
		}
		most = max(most, s.PerSecond)
		if c.Stopped == "" {
			switch {
			case flat == mostFlat:
				c.Stopped = "the throughput does not grow any more"
			case 2*clients > o.MaxClients:
				c.Stopped = fmt.Sprintf("%d clients are the most that are allowed", o.MaxClients)
			}
		}
		if c.Stopped == "" {
			descending = append([]int{clients}, descending...)
			clients *= 2
			continue
		}
		up = false
		if s.Unused == "" && s.Latency.P99Ns <= int64(o.MaxLatency) {
			descending = append([]int{clients}, descending...)
		}
		if len(descending) == 0 {
			return c, nil
		}
		clients, descending = descending[0], descending[1:]
	}
}

// sample is one request of a step, in times since its start.
type sample struct{ from, to time.Duration }

// stepping is the state that the clients of a step share.
type stepping struct {
	*Options
	cancel context.CancelFunc
	start  time.Time

	mu       sync.Mutex
	sent     *int64
	requests int64 // of this step
	failed   int64
	slow     int64
	samples  []sample
	last     load.Answer // that failed
	err      error
}

// step measures one number of clients. The error says why nothing more is sent.
func (o *Options) step(ctx context.Context, clients int, sent *int64) (*Step, error) {
	before, beforeErr := o.observe(ctx)
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &stepping{Options: o, cancel: cancel, start: time.Now(), sent: sent}
	var sending sync.WaitGroup
	for client := range clients {
		sending.Go(func() { p.loop(running, client) })
	}
	sending.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ErrInterrupted
	case p.err != nil:
		return nil, p.err
	}
	s := &Step{Clients: clients, Sent: p.requests, Failed: p.failed}
	if running.Err() != nil {
		s.Unused = fmt.Sprintf("requests took longer than the latency allowed, %v", o.MaxLatency)
	}
	if err := s.measure(p.samples, o.Step); err != nil {
		return nil, err
	}
	after, afterErr := o.observe(ctx)
	if ctx.Err() != nil {
		return nil, ErrInterrupted
	}
	if beforeErr == nil && afterErr == nil {
		s.add(after, before, p.requests)
	}
	return s, nil
}

// observe returns what the server has counted, if it is known.
func (o *Options) observe(ctx context.Context) (Counters, error) {
	if o.Observe == nil {
		return Counters{}, errors.ErrUnsupported
	}
	return o.Observe(ctx)
}

// loop is one client. It sends until the step is over.
func (p *stepping) loop(ctx context.Context, client int) {
	for number := 0; time.Since(p.start) < p.Step && p.allowed(ctx); number++ {
		// The server may not answer at all.
		limited, cancel := context.WithTimeout(ctx, 2*p.MaxLatency)
		from := time.Since(p.start)
		answer := p.Send(limited, client, number)
		cancel()
		p.answered(ctx, sample{from, time.Since(p.start)}, answer)
	}
}

// allowed returns whether one more request may be sent.
func (p *stepping) allowed(ctx context.Context) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil || *p.sent >= p.MaxRequests {
		return false
	}
	*p.sent++
	p.requests++
	return true
}

// answered takes note of an answer, and ends the step if there are too many bad ones.
func (p *stepping) answered(ctx context.Context, s sample, a load.Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ctx.Err() != nil && a.Err != nil: // it was cancelled
		return
	case a.Status >= 400 && a.Status < 500 && a.Status != 429:
		p.stop(fmt.Errorf("%w: status %d: %s", ErrRefused, a.Status, a.Refused))
		return
	case a.Status == 0 || a.Err != nil || a.Status == 429 || a.Status >= 500:
		p.failed++
		p.last = a
		if tooMany(p.failed, float64(p.requests)) {
			p.stop(fmt.Errorf("%w: %d of %d requests failed, the last one with %s", ErrFailed, p.failed, p.requests, described(&a)))
		}
		return
	}
	p.samples = append(p.samples, s)
	if s.to-s.from > p.MaxLatency {
		p.slow++
		// Whatever comes, the 99th percentile of the step will be above the latency allowed.
		if tooMany(p.slow, float64(p.requests)*max(1, float64(p.Step)/float64(s.to))) {
			p.cancel()
		}
	}
}

// stop ends the step. The first reason counts.
func (p *stepping) stop(err error) {
	if p.err == nil {
		p.err = err
	}
	p.cancel()
}

// tooMany returns whether so many requests out of others end the measurement.
func tooMany(n int64, of float64) bool { return n >= leastCount && float64(n) > mostFailed*of }

func described(a *load.Answer) string {
	var failed *url.Error // whose address the user knows
	switch {
	case errors.As(a.Err, &failed):
		return "the error " + failed.Err.Error()
	case a.Err != nil:
		return "the error " + a.Err.Error()
	}
	return fmt.Sprintf("status %d", a.Status)
}

// measure sets what the clients saw of a step. A request counts for each tenth of the window with the part of its time that
// lies there, so that few requests do not make the throughput vary.
func (s *Step) measure(samples []sample, length time.Duration) error {
	var last time.Duration
	for _, r := range samples {
		last = max(last, r.to)
	}
	end := min(last, length) // it may have been ended early
	begin := end / settling
	tenth := (end - begin) / parts
	counts := make([]float64, parts)
	h := measure.Histogram{Precision: measure.FinePrecision}
	for _, r := range samples {
		if r.to <= begin || r.from >= end {
			continue
		}
		s.Requests++
		h.Record(int64(r.to - r.from))
		took := float64(max(r.to-r.from, 1))
		for k := range counts {
			from := begin + time.Duration(k)*tenth
			if both := min(r.to, from+tenth) - max(r.from, from); both > 0 {
				counts[k] += float64(both) / took
			}
		}
	}
	d := result.NewDistribution(&h)
	if d == nil {
		return fmt.Errorf("no request was answered in a step of %v with %d clients; use a longer --step", length, s.Clients)
	}
	s.Latency = *d
	mean, deviation := stat.MeanStdDev(counts, nil)
	s.PerSecond = mean / tenth.Seconds()
	s.Error = deviation / math.Sqrt(parts) / tenth.Seconds()
	return nil
}

// add sets what the server has counted during a step, in which so many requests were sent. If it has counted others, of
// other clients or another server, it says nothing about these.
func (s *Step) add(after, before Counters, sent int64) {
	n := after.Requests - before.Requests
	if n <= 0 || math.Abs(n-float64(sent)) > 0.05*float64(sent)+2 {
		return
	}
	execution := 1e9 * (after.ExecutionSeconds - before.ExecutionSeconds) / n
	wait := 1e9 * (after.WaitSeconds - before.WaitSeconds) / n
	s.Execution, s.Wait = &execution, &wait
	if wait > mostWait*float64(s.Latency.MeanNs) {
		s.Unused = "flow control makes the requests wait: their priority level has not more seats"
	}
}

// used returns the steps to which a capacity can be fitted.
func (c *Curve) used() []Step {
	return slices.DeleteFunc(slices.Clone(c.Steps), func(s Step) bool { return s.Unused != "" || s.PerSecond <= 0 })
}

// Best returns the greatest throughput of a step, per second; 0 without steps.
func (c *Curve) Best() (most float64) {
	for _, s := range c.used() {
		most = max(most, s.PerSecond)
	}
	return most
}

// ReadCounters reads the counters of some FlowSchemas from the text of /metrics.
func ReadCounters(text []byte, of func(schema string) bool) (c Counters, err error) {
	s, err := scrape.Read("/metrics", bytes.NewReader(text))
	if err != nil {
		return c, err
	}
	all, err := scrape.Between(nil, s)
	if err != nil {
		return c, err
	}
	for i := range all.Schemas {
		if g := &all.Schemas[i]; of(g.Name) {
			c.Requests += g.Execution.Count
			c.ExecutionSeconds += g.Execution.Sum
			c.WaitSeconds += g.Waits.Sum
		}
	}
	return c, nil
}
