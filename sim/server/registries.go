package server

import (
	"slices"

	"apfsim/core/estimate"
	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/registry"
	"apfsim/sim/store"
)

// Handlers execute the requests for resources of the servers of a run if there is a store: each server has a registry.
// Without a store, an execution takes as long as the request says.
type Handlers struct {
	deps       *Deps
	runState   *RunState
	receiver   Receiver
	store      *store.Store
	hosts      []*registryHost // by server
	calls      templateCalls
	known      map[api.Resource]bool // which some request has asked for
	operations []*registryOp         // by Details.RegistryOp, from 1
	free       []*registryOp
}

// registryOp is a request that the registry of its server executes. Details.RegistryOp is its index while it does.
type registryOp struct {
	index   int32
	op      *registry.Operation
	request *Request
	counted int64 // initial events of objects that are only counted
}

// registryHost is the registry.Host of one server.
type registryHost struct {
	all       *Handlers
	server    *Server
	registry  *registry.Registry
	compactor *store.Compactor
	ended     []*registry.Registry // those of processes that have ended
	before    WatchTraffic         // the window
	sent      WatchTraffic         // within it
}

// Receiver receives the events of watches in the name of clients.
type Receiver interface {
	// Received is called with an event of an open watch, or of one that is about to be open. It must keep
	// neither, but may keep the objects.
	Received(nowNs int64, r *Request, e *api.Event)
}

// newHandlers returns the handlers of the servers of a run, which have a store.
func newHandlers(d *Deps) *Handlers {
	runState := d.RunState
	h := &Handlers{deps: d, runState: runState, receiver: d.Receiver, known: map[api.Resource]bool{}, operations: []*registryOp{nil}}
	h.store = store.New(runState.StoreAlarms(), d.Store.Settings, d.Seed, d.Resources)
	for _, s := range runState.servers {
		host := &registryHost{all: h, server: s, compactor: h.store.NewCompactor()}
		host.registry = h.newRegistry(host)
		host.registry.Open()
		host.compactor.Start(0)
		h.hosts = append(h.hosts, host)
	}
	for _, c := range d.Resources {
		h.fillCaches(0, c.Resource)
	}
	if d.WindowNs > 0 {
		runState.StoreAlarms().Set(d.WindowNs, (*windowBegins)(h))
	}
	return h
}

// Handlers returns what executes requests by what they ask for, nil without a store.
func (s *RunState) Handlers() *Handlers { return s.handlers }

// Store returns the store of the run.
func (h *Handlers) Store() *store.Store { return h.store }

// registries returns the registries that a server has had, the present one last.
func (host *registryHost) registries() []*registry.Registry {
	all := slices.Clone(host.ended)
	if n := len(all); n == 0 || all[n-1] != host.registry {
		all = append(all, host.registry)
	}
	return all
}

// Sent returns what a server has sent to watches within the window.
func (h *Handlers) Sent(server int) WatchTraffic { return h.hosts[server].sent }

// newRegistry returns the registry of a process of a server.
func (h *Handlers) newRegistry(host *registryHost) *registry.Registry {
	cache := &h.deps.Store.WatchCache
	feedLagNs := int64(h.deps.Store.Costs.EventLatency)
	s := registry.Settings{
		Rules: host.server.Rules(), Costs: h.deps.Store.Costs, NoCache: cache.Off,
		FeedLagNs: feedLagNs, ProgressNs: feedLagNs, NotifyEveryNs: notifyNs,
		MinRequestTimeoutNs: minRequestTimeoutNs, CountEveryNs: int64(h.deps.Store.CountInterval),
		Seed: h.deps.Seed, Server: host.server.Index(),
	}
	for _, name := range cache.Without {
		group, resource := request.SplitResource(name)
		s.Uncached = append(s.Uncached, api.Resource{Group: group, Name: resource})
	}
	return registry.New(h.runState.StoreAlarms(), h.store, host, s)
}

const (
	// notifyNs is how often etcd reports its progress, as kubeadm and kube-up set it.
	notifyNs = 5_000_000_000
	// minRequestTimeoutNs is the default of --min-request-timeout.
	minRequestTimeoutNs = 1_800_000_000_000
)

// fillCaches fills the caches of a resource at all servers when it is first asked for. They are complete at once, as if they
// had been filled before the run.
func (h *Handlers) fillCaches(nowNs int64, r api.Resource) {
	if h.known[r] {
		return
	}
	h.known[r] = true
	for _, host := range h.hosts {
		host.registry.Know(nowNs, r)
	}
}

// stored returns how many objects of a resource are stored, and how large they are.
func (h *Handlers) stored(r api.Resource) estimate.Stats {
	data := h.store.Resource(r)
	return estimate.Stats{Objects: data.Len(), AverageBytes: data.AverageBytes()}
}

// started is called when a process of a server starts during the run. It returns how long its watch caches need until they
// are complete.
func (h *Handlers) started(nowNs int64, s *Server) (cachesNs int64) {
	host := h.hosts[s.Index()]
	before := host.registry
	host.registry = h.newRegistry(host)
	host.registry.KeepWork(before)
	host.registry.Open()
	for _, r := range h.store.Resources() {
		if h.known[r.Name()] {
			cachesNs = max(cachesNs, host.registry.Fill(nowNs, r.Name(), int64(h.deps.Process.Startup.Caches)))
		}
	}
	host.compactor.Start(nowNs)
	return cachesNs
}

// ended is called when a process of a server has ended, after abandon for all of its requests.
func (h *Handlers) ended(nowNs int64, s *Server) {
	host := h.hosts[s.Index()]
	host.registry.Stop(nowNs)
	host.compactor.Stop()
	host.ended = append(host.ended, host.registry)
}

// begin is called when the handler of r begins, and returns whether r is one that the registry executes. If so, a call of
// Server.complete is owed, unless abandon comes before. It is called by the event loop, so that it may do anything.
func (h *Handlers) begin(nowNs int64, s *Server, r *Request) (handled bool) {
	a := &r.Attributes
	if !a.IsResource() || a.LongRunning() && a.Verb != "watch" {
		return false
	}
	host := h.hosts[s.Index()]
	h.fillCaches(nowNs, estimate.Resource{Group: a.APIGroup, Name: a.Resource})
	x := h.newRegistryOp()
	x.request = r
	r.Details.RegistryOp = x.index
	op := host.registry.NewOperation()
	x.op = op
	op.Verb, op.Subresource, op.Namespace, op.Name = a.Verb, a.Subresource, a.Namespace, a.Name
	op.Resource = api.Resource{Group: a.APIGroup, Name: a.Resource}
	op.Accept = r.Accept
	if r.Details.Asked == nil {
		r.Details.Asked = h.calls.call(nowNs, r, h.store)
	}
	op.Call, op.ReadNs, op.GivenNs = r.Details.Asked, r.Details.ReadNs, -1
	if r.Details.Execution {
		op.GivenNs = r.Details.GivenNs
	}
	op.Seats, op.FinalSeats, op.AdditionalNs = int32(r.Work.InitialSeats), int32(r.Work.FinalSeats), r.Work.AdditionalLatencyNs
	op.Request = x
	host.registry.Begin(nowNs, op)
	return true
}

func (h *Handlers) newRegistryOp() *registryOp {
	if n := len(h.free); n > 0 {
		x := h.free[n-1]
		h.free = h.free[:n-1]
		return x
	}
	x := &registryOp{index: int32(len(h.operations))}
	h.operations = append(h.operations, x)
	return x
}

// release frees the slot of a request that is over.
func (h *Handlers) release(x *registryOp) {
	*x = registryOp{index: x.index}
	h.free = append(h.free, x)
}

// served is called when the work that Server.serve or Server.send began is done.
func (h *Handlers) served(nowNs int64, r *Request) {
	h.operations[r.Details.RegistryOp].op.Served(nowNs)
}

// abandon is called when the execution of r ends before a call of Server.complete, or an open watch before a call of
// Server.closeWatch. The server may have crashed, so that it is not called back.
func (h *Handlers) abandon(nowNs int64, r *Request) {
	x := h.operations[r.Details.RegistryOp]
	op := x.op
	h.release(x)
	op.Abandon(nowNs)
}

// Serve implements registry.Host.
func (host *registryHost) Serve(nowNs int64, op *registry.Operation, demandNs int64) {
	host.server.serve(nowNs, op.Request.(*registryOp).request, demandNs)
}

// ServeBehind implements registry.Host.
func (host *registryHost) ServeBehind(nowNs, demandNs int64) {
	host.server.serveBehind(nowNs, demandNs)
}

// Send implements registry.Host.
func (host *registryHost) Send(nowNs int64, op *registry.Operation, bytes int64) (takesTime bool) {
	return host.server.send(nowNs, op.Request.(*registryOp).request, bytes)
}

// Done implements registry.Host.
func (host *registryHost) Done(nowNs int64, op *registry.Operation) (open bool) {
	x := op.Request.(*registryOp)
	r := x.request
	r.Details.Answer = op.Answer
	if open = host.server.complete(nowNs, r); !open {
		host.all.release(x)
	}
	return open
}

// Received implements registry.Host.
func (host *registryHost) Received(nowNs int64, op *registry.Operation, e *api.Event) {
	x := op.Request.(*registryOp)
	if e.InitialEnd && x.counted > 0 {
		with := *e
		with.Counted, x.counted = x.counted, 0
		e = &with
	}
	host.all.receiver.Received(nowNs, x.request, e)
}

// Counted implements registry.Host.
func (host *registryHost) Counted(_ int64, op *registry.Operation, n int64) {
	op.Request.(*registryOp).counted += n
}

// Ended implements registry.Host.
func (host *registryHost) Ended(nowNs int64, op *registry.Operation) {
	x := op.Request.(*registryOp)
	r := x.request
	host.all.release(x)
	host.server.closeWatch(nowNs, r)
}

// Known implements registry.Host.
func (host *registryHost) Known(r api.Resource, stats estimate.Stats) {
	host.server.filter.Update(r, stats)
}

// Dispatched implements registry.Host.
func (host *registryHost) Dispatched(nowNs int64, e *api.Event, watchers int, compressionNs int64) {
	host.server.countEvents(nowNs, int64(watchers), compressionNs)
	if e != nil {
		host.sent.record(nowNs, e, watchers)
	}
}
