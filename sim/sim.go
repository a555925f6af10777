// Package sim runs one scenario: it drives the clients and the servers, event by event, until the
// scenario's duration has elapsed. It has the only event loop.
package sim

import (
	"context"

	"apfsim/document"
	"apfsim/sim/client"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Run is a scenario about to be simulated.
type Run struct {
	Scenario *scenario.Scenario
	Server   *server.Server // the first of servers

	servers []*server.Server
	shared  *server.Shared
	clients *client.Clients
}

// New returns a run at time 0.
func New(sc *scenario.Scenario) *Run { return newRun(sc, 1) }

// newRun returns a run with so many servers.
func newRun(sc *scenario.Scenario, servers int) *Run {
	r := &Run{Scenario: sc, shared: server.NewShared()}
	r.clients = client.New(sc, r.shared)
	for range servers {
		r.servers = append(r.servers, server.New(sc, r.shared, r.clients))
	}
	r.Server = r.servers[0]
	return r
}

// Observe attaches an observer to all servers of the run. It must be done before Execute.
func (r *Run) Observe(o server.Observer) { r.shared.Observe(o) }

// Warnings returns what is probably not intended about the traces that were replayed. It must be called
// after Execute has returned without an error.
func (r *Run) Warnings() document.Errors { return r.clients.Warnings(r.Scenario.Spec.Duration) }

// Progress is called now and then, and at the end, with the time that a run has reached and the
// number of events so far.
type Progress func(nowNs int64, events uint64)

// progressEvery is how many events pass between two looks at the context.
const progressEvery = 1 << 14

// Execute simulates to the end of the scenario, or until the context is cancelled. progress may
// be nil. If traces that are replayed have errors, the error is document.Errors, with all of them.
func (r *Run) Execute(ctx context.Context, progress Progress) (err error) {
	endNs := int64(r.Scenario.Spec.Duration)
	defer func() {
		if closeErr := r.clients.Close(); closeErr != nil {
			err = closeErr
		}
	}()
	targets := make([]client.Server, len(r.servers))
	for i, s := range r.servers {
		targets[i] = s
	}
	r.clients.Begin(ctx, targets)
	if err := r.clients.Err(); err != nil {
		return err
	}
	queue := &r.shared.Events
	queue.Schedule(endNs, uint8(server.End), server.Event{Kind: server.End})
	for events := uint64(1); ; events++ {
		e, _ := queue.Next() // there is one: the end
		now := queue.NowNs()
		switch e.Kind {
		case server.End:
			r.shared.End(now)
			if progress != nil {
				progress(now, events)
			}
			return nil
		case server.Sample:
			r.shared.Sample(now, e)
		case server.ClientActs:
			r.clients.Wake(now, e)
		case server.Resend:
			r.clients.Resend(now, e.Request)
		default:
			r.servers[e.Of].Handle(now, e)
		}
		if events%progressEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := r.clients.Err(); err != nil {
				return err
			}
			if progress != nil {
				progress(now, events)
			}
		}
	}
}
