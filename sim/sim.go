// Package sim runs one scenario: it makes the parts of a run, and drives clients and servers, event by event, until
// the scenario's duration has elapsed. It has the only event loop. A caller makes a Run of a scenario, attaches
// observers to it, and executes it.
//
// The way of a request, with the package of each step:
//
//  1. A client draws the time, the kind and the execution of its next request from random streams of its own, and sends
//     it, possibly later, as its rate limiter allows (sim/workload, sim/random). Until then, and wherever
//     something happens later, an event is in the queue of the run (sim/clock).
//  2. The network chooses the server and the connection. It answers a request that reaches no server (sim/network). A
//     run with one server that is always there has no network.
//  3. The server receives the request, or turns it away because it starts or stops (sim/server, Server.Arrive).
//  4. Flow control finds the FlowSchema and the flow (core/classify), estimates the seats (core/estimate), and rejects
//     the request, lets it wait in a queue, or dispatches it (core/filter, core/flowcontrol, core/queueset).
//  5. The server executes a request that is dispatched: the handover, then the calls of webhooks and aggregated servers
//     (sim/calls), whose callbacks begin at step 1.
//  6. Without a store, the execution takes what the workload says. With one, the registry of the server reads from the
//     watch cache (sim/watchcache) or from etcd (sim/store), writes in transactions, and makes the answer
//     (sim/registry). Either takes its share of the server's processor (sim/machine).
//  7. At its end, or at the deadline, the server answers. The seats are free then, or after the additional latency; a
//     watch stays open, and the watch cache sends events to its client (sim/server, sim/watchcache).
//  8. The network passes the response on, and the client goes on, sends the request again, or gives up (sim/network,
//     sim/workload).
//
// Observers are told of each of these steps (server.Observer). What happens to the servers themselves, by events of the
// scenario or by the maintenance of the flow-control objects, is in this package.
package sim

import (
	"context"
	"slices"

	"apfsim/document"
	"apfsim/sim/calls"
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
	runState    *server.RunState
	clients     *workload.Clients
	network     *network.Network
	calls       *calls.Calls // nil if no request has any
	maintenance *maintenance // nil without one
	operations  *operations
	executing   bool
	probes      bool
}

// Option is a property of a run that a scenario does not have.
type Option func(*options)

type options struct {
	ignoreDeadlines bool
	flowControl     func(server.Beginning) server.OtherFlowControl
}

// IgnoreDeadlines lets executions go on after their deadlines, as in a server that has flow control alone, and
// not the filter for timeouts that ends them. The servers must have neither a capacity nor a handover, and
// make no calls.
func IgnoreDeadlines(o *options) { o.ignoreDeadlines = true }

// FlowControl lets begin make the flow control of the processes of servers, see [server.Deps]. Dumps and metrics
// know nothing of it, and there are no probes.
func FlowControl(begin func(server.Beginning) server.OtherFlowControl) Option {
	return func(o *options) { o.flowControl = begin }
}

// New returns a run at time 0.
func New(sc *scenario.Scenario, options ...Option) *Run {
	return newRun(sc, func(c *workload.Clients) server.Receiver { return c }, options...)
}

// newRun is New with a function that returns the receiver of watch events.
func newRun(sc *scenario.Scenario, receiver func(*workload.Clients) server.Receiver, set ...Option) *Run {
	var o options
	for _, s := range set {
		s(&o)
	}
	spec := &sc.Spec
	r := &Run{Scenario: sc, probes: o.flowControl == nil}
	deps := server.Deps{
		Settings: &spec.Servers.Settings, Process: &spec.Servers.Process, Seed: spec.Seed, Objects: sc.Objects, Resources: spec.Counts(), ServersMayEnd: spec.ServersEnd(),
		Store: spec.Store, WindowNs: int64(spec.Warmup.Duration), FlowControl: o.flowControl,
	}
	for i := range spec.Events {
		if e := &spec.Events[i]; e.Apply != nil {
			deps.Changes = append(deps.Changes, server.Change{AtNs: int64(e.At), Objects: e.Objects})
		}
	}
	if calls.Any(spec.Workload) {
		deps.Calls = func(servers []*server.Server) server.Calls {
			r.calls = calls.New(calls.Deps{Servers: servers, Made: &deps, Clients: r.clients, Workloads: spec.Workload})
			return r.calls
		}
	}
	var objects storedObjects
	if spec.Servers.Maintenance {
		objects = newStoredObjects(sc)
		deps.Stored = objects.read
	}
	r.runState = server.NewRunState(server.Options{NeedsDetails: deps.NeedsDetails() || ClientsNeedDetails(spec), NoDeadlines: o.ignoreDeadlines})
	r.clients = workload.NewClients(sc.Clients(), r.runState)
	deps.RunState, deps.Clients, deps.Receiver = r.runState, r.clients, receiver(r.clients)
	if needsNetwork(spec) {
		r.network = network.New(network.Deps{
			LoadBalancer: spec.Servers.LoadBalancer, GoawayChance: spec.Servers.GoawayChance, Workloads: connections(spec), Seed: spec.Seed,
			RunState: r.runState, Clients: r.clients,
			Servers: func(n *network.Network) []*server.Server {
				deps.Clients, deps.Network = n, n
				return server.New(deps)
			},
		})
		r.servers = r.network.Servers()
	} else {
		r.servers = server.New(deps)
	}
	r.Server = r.servers[0]
	r.operations = newOperations(sc, r.runState, r.servers)
	if spec.Servers.Maintenance {
		r.maintenance = newMaintenance(spec, r.runState, objects, r.servers)
	}
	return r
}

// ClientsNeedDetails says whether the clients of a scenario need server.Details, whatever the servers are.
func ClientsNeedDetails(spec *scenario.Spec) bool {
	return slices.ContainsFunc(spec.Workload, func(w workload.Workload) bool {
		return w.Delay.IsSet() || w.ClientTimeout.IsSet() || w.Behaviour != nil || w.Arrivals.Trace != nil && w.Arrivals.Trace.Decided != ""
	})
}

// needsNetwork says whether a run needs a network. Without one, all requests go to the only
// server, which is always there.
func needsNetwork(spec *scenario.Spec) bool {
	s := &spec.Servers
	return s.Replicas > 1 || s.LoadBalancer != nil || s.GoawayChance > 0 || spec.ServersEnd() || slices.ContainsFunc(spec.Workload, closesAll)
}

// closesAll says whether the clients of a workload close connections on which requests are in progress.
func closesAll(w workload.Workload) bool {
	return w.Behaviour != nil && w.Behaviour.Kubelet != nil && w.Behaviour.Kubelet.Closes == workload.CloseAll
}

// connections returns how the clients of each workload connect.
func connections(spec *scenario.Spec) []network.Workload {
	all := make([]network.Workload, len(spec.Workload))
	for i := range all {
		w := &spec.Workload[i]
		all[i] = network.Workload{
			Name: w.Name, Clients: w.Clients,
			// A trace does not say which of its requests share a connection.
			PerRequest: w.Connection == network.PerRequest || w.Arrivals.Trace != nil,
			Service:    w.Through == network.ThroughService,
			NoPings:    w.Behaviour != nil && w.Behaviour.Kubelet != nil && !w.Behaviour.Kubelet.PingsConnections(),
		}
	}
	return all
}

// Probes says whether [server.Server.Probe] can be called.
func (r *Run) Probes() bool { return r.probes }

// Servers returns the servers of the run, by index.
func (r *Run) Servers() []*server.Server { return r.servers }

// Handlers returns what executes requests by what they ask for, nil without a store.
func (r *Run) Handlers() *server.Handlers { return r.runState.Handlers() }

// OnNote makes f be called with what happens to clients that behave or limit their rate. It panics once the run executes.
func (r *Run) OnNote(f func(nowNs int64, workload, client int, n workload.Note)) {
	r.mustNotExecute()
	r.clients.OnNote(f)
}

// Clients returns those who send the requests of the run.
func (r *Run) Clients() *workload.Clients { return r.clients }

// OnAggregatedEvent makes f be called whenever something happens to a request at an aggregated server, of which
// [calls.Calls.AggregatedServers] has the names. f must not call back. It panics once the run executes.
func (r *Run) OnAggregatedEvent(f func(nowNs int64, p calls.AggregatedEvent)) {
	r.mustNotExecute()
	if r.calls != nil {
		r.calls.OnAggregatedEvent(f)
	}
}

// Network returns what is between the clients and the servers, nil if that is nothing: there is one
// server, and it is always there.
func (r *Run) Network() *network.Network { return r.network }

// Calls returns what the servers call while they execute requests, nil if they call nobody.
func (r *Run) Calls() *calls.Calls { return r.calls }

// Observe attaches an observer to all servers of the run. It panics once the run executes, as the observer would not know
// what has happened before.
func (r *Run) Observe(o server.Observer) {
	r.mustNotExecute()
	r.runState.Observe(o)
}

func (r *Run) mustNotExecute() {
	if r.executing {
		panic("sim: an observer is attached to a run that executes")
	}
}

// Writes returns all writes to the flow-control objects so far, if the servers maintain them.
func (r *Run) Writes() []Write {
	if r.maintenance == nil {
		return nil
	}
	return r.maintenance.writes
}

// Warnings returns what is probably not intended about the traces that were replayed. It must be called
// after Execute has returned without an error.
func (r *Run) Warnings() document.Errors { return r.clients.Warnings() }

// Progress is called now and then, and at the end, with the time that a run has reached and the
// number of events so far.
type Progress func(nowNs int64, events uint64)

// progressEvery is how many events pass between two looks at the context.
const progressEvery = 1 << 14

// Execute simulates to the end of the scenario, or until the context is cancelled. progress may
// be nil. If traces that are replayed have errors, the error is document.Errors, with all of them.
func (r *Run) Execute(ctx context.Context, progress Progress) (err error) {
	r.executing = true
	endNs := int64(r.Scenario.Spec.Duration)
	defer func() {
		if closeErr := r.clients.Close(); closeErr != nil {
			err = closeErr
		}
	}()
	var callbacks workload.Callbacks
	if r.calls != nil {
		callbacks = r.calls
	}
	r.clients.Begin(ctx, r.servers[0], r.network, callbacks)
	if err := r.clients.Err(); err != nil {
		return err
	}
	queue := &r.runState.Events
	queue.Schedule(endNs, uint8(server.End), server.Event{Kind: server.End})
	for events := uint64(1); ; events++ {
		e, _ := queue.Next() // there is one: the end
		now := queue.NowNs()
		switch e.Kind {
		case server.End:
			r.runState.End(now)
			if progress != nil {
				progress(now, events)
			}
			return nil
		case server.Sample:
			r.runState.Sample(now, e)
		case server.Maintain:
			r.maintenance.handle(now, e)
		case server.ClientActs:
			r.clients.Wake(now, e)
		case server.StoreAlarm, server.ClientAlarm:
			r.runState.Alarm(now, e)
		case server.Connect:
			r.network.Handle(now, e)
		case server.Arrive:
			r.clients.Send(now, e.Request)
		case server.Resend:
			r.clients.Resend(now, e.Request)
		case server.Lifecycle:
			if e.Owner == ofNoServer {
				r.operations.handle(now, e)
			} else {
				r.servers[e.Owner].Handle(now, e)
			}
		default:
			r.servers[e.Owner].Handle(now, e)
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
