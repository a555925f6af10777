// Package sim is one run: it lets a scenario's clients loose on its server, event by
// event, until the scenario's duration is over. It is the only event loop there is.
package sim

import (
	"context"

	"apfsim/sim/client"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Run is a scenario about to be simulated.
type Run struct {
	Scenario *scenario.Scenario
	Server   *server.Server

	events  *server.Events
	clients *client.Clients
}

// New returns a run at time 0. Observers are attached to its Server.
func New(sc *scenario.Scenario) *Run {
	events := &server.Events{}
	clients := client.New(sc, events)
	return &Run{Scenario: sc, Server: server.New(sc, events, clients), events: events, clients: clients}
}

// Progress is told every now and then, and at the end, how far a run is: its time and how
// many events there have been.
type Progress func(nowNs int64, events uint64)

// progressEvery is how many events pass between two looks at the context.
const progressEvery = 1 << 14

// Execute simulates to the end of the scenario, or until the context is cancelled. progress may
// be nil.
func (r *Run) Execute(ctx context.Context, progress Progress) (err error) {
	endNs := int64(r.Scenario.Spec.Duration)
	defer func() {
		if closeErr := r.clients.Close(); err == nil {
			err = closeErr
		}
	}()
	if err := r.clients.Begin(r.Scenario, r.Server); err != nil {
		return err
	}
	r.events.Schedule(endNs, uint8(server.End), server.Event{Kind: server.End})
	for events := uint64(1); ; events++ {
		e, _ := r.events.Next() // there is one: the end
		now := r.events.NowNs()
		switch e.Kind {
		case server.End:
			r.Server.Handle(now, e)
			if progress != nil {
				progress(now, events)
			}
			return nil
		case server.ClientActs:
			r.clients.Act(now, e.Index)
		case server.Resend:
			r.clients.Resend(now, e.Request)
		default:
			r.Server.Handle(now, e)
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
