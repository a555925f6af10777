// Package sim runs one scenario: it drives the clients and the servers, event by event, until the
// scenario's duration has elapsed. It has the only event loop.
package sim

import (
	"context"
	"slices"

	"apfsim/document"
	"apfsim/sim/calls"
	"apfsim/sim/client"
	"apfsim/sim/handlers"
	"apfsim/sim/network"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// Run is a scenario about to be simulated.
type Run struct {
	Scenario *scenario.Scenario
	Server   *server.Server // the first of servers

	servers     []*server.Server
	shared      *server.Shared
	clients     *client.Clients
	network     *network.Network
	calls       *calls.Calls // nil if no request has any
	maintenance *maintenance // nil without one
	operations  *operations
	handlers    *handlers.Handlers // nil without a store
}

// New returns a run at time 0.
func New(sc *scenario.Scenario) *Run {
	r := &Run{Scenario: sc, shared: server.NewShared()}
	r.shared.Detailed = detailed(&sc.Spec)
	r.clients = client.New(sc, r.shared)
	var clients server.Clients = r.clients
	if network.Needed(sc) {
		r.network = network.New(sc, r.shared, r.clients)
		clients = r.network
	}
	r.maintenance = newMaintenance(sc, r.shared)
	for range sc.Spec.Servers.Replicas {
		r.servers = append(r.servers, server.New(sc, r.shared, clients))
	}
	if r.network != nil {
		r.network.Connect(sc, r.servers)
	}
	r.Server = r.servers[0]
	if calls.Any(sc) {
		r.calls = calls.New(sc, r.shared, r.clients, r.servers)
	}
	if sc.Spec.Store != nil {
		r.handlers = handlers.New(sc, r.shared, r.clients, r.servers)
	}
	r.operations = newOperations(sc, r.shared, r.servers)
	if r.maintenance != nil {
		r.maintenance.begin(r.servers)
	}
	return r
}

// Servers returns the servers of the run, by index.
func (r *Run) Servers() []*server.Server { return r.servers }

// Handlers returns what executes requests by what they ask for, nil without a store.
func (r *Run) Handlers() *handlers.Handlers { return r.handlers }

// OnNote makes f be called with what happens to clients that behave. It must be called before Execute.
func (r *Run) OnNote(f func(nowNs int64, workload, client int, n workload.Note)) {
	r.clients.OnNote(f)
}

// Network returns what is between the clients and the servers, nil if that is nothing: there is one
// server, and it is always there.
func (r *Run) Network() *network.Network { return r.network }

// Calls returns what the servers call while they execute requests, nil if they call nobody.
func (r *Run) Calls() *calls.Calls { return r.calls }

// detailed says whether requests need server.Details.
func detailed(spec *scenario.Spec) bool {
	return spec.Store != nil || spec.Servers.Handover.Given() || spec.Servers.Capacity != nil || spec.Servers.Memory != nil || slices.ContainsFunc(spec.Workload, func(w workload.Workload) bool {
		return w.Delay.Given() || w.ClientTimeout.Given()
	})
}

// IgnoreDeadlines lets executions go on after their deadlines, as in a server that has flow control alone, and
// not the filter for timeouts that ends them. The servers must have neither a capacity nor a handover, and
// make no calls. It must be called before Execute.
func (r *Run) IgnoreDeadlines() { r.shared.NoDeadlines = true }

// Observe attaches an observer to all servers of the run. It must be done before Execute.
func (r *Run) Observe(o server.Observer) { r.shared.Observe(o) }

// Writes returns all writes to the flow-control objects so far, if the servers maintain them.
func (r *Run) Writes() []Write {
	if r.maintenance == nil {
		return nil
	}
	return r.maintenance.writes
}

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
	r.clients.Begin(ctx, r.servers[0], r.network)
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
		case server.Maintain:
			r.maintenance.handle(now, e)
		case server.ClientActs:
			r.clients.Wake(now, e)
		case server.StoreAlarm, server.ClientAlarm:
			r.shared.Alarm(now, e)
		case server.Connect:
			r.network.Handle(now, e)
		case server.Arrive:
			r.clients.Send(now, e.Request)
		case server.Resend:
			r.clients.Resend(now, e.Request)
		case server.Lifecycle:
			if e.Of == ofNoServer {
				r.operations.handle(now, e)
			} else {
				r.servers[e.Of].Handle(now, e)
			}
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
