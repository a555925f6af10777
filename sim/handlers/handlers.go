// Package handlers connects simulated servers to the store: each server has a registry, which executes its
// requests for resources.
package handlers

import (
	"slices"

	"apfsim/core/estimate"
	"apfsim/sim/api"
	"apfsim/sim/registry"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/cluster"
	"apfsim/sim/server"
	"apfsim/sim/store"
	"apfsim/sim/workload"
)

// Handlers execute the requests for resources of the servers of a run. It implements server.Handlers.
type Handlers struct {
	spec     *scenario.Spec
	shared   *server.Shared
	receiver server.Receiver
	store    *store.Store
	costs    registry.Costs
	hosts    []*host // by server
	calls    calls
	known    map[api.Resource]bool // which some request has asked for
	handling []*handling           // by Details.Handling, from 1
	free     []*handling
}

// handling is a request that is handled.
type handling struct {
	index   int32
	op      *registry.Operation
	request *server.Request
	counted int64 // initial events of objects that are only counted
}

// host is one server, as its registry sees it.
type host struct {
	all       *Handlers
	server    *server.Server
	registry  *registry.Registry
	compactor *store.Compactor
	ended     []*registry.Registry // those of processes that have ended
	before    Sent                 // the window
	sent      Sent                 // within it
}

// New returns the handlers of a run of a scenario, which must have a store, and lets the servers use them. The
// receiver receives the events of watches.
func New(sc *scenario.Scenario, shared *server.Shared, receiver server.Receiver, servers []*server.Server) *Handlers {
	spec := &sc.Spec
	h := &Handlers{spec: spec, shared: shared, receiver: receiver, costs: costsOf(&spec.Store.Costs), known: map[api.Resource]bool{}, handling: []*handling{nil}}
	settings := store.Settings{
		Seed: spec.Seed, Read: spec.Store.Read, Write: spec.Store.Write, WriteCapacity: spec.Store.WriteCapacity,
		EventTTLNs: int64(spec.Store.EventTTL), CompactionIntervalNs: int64(spec.Store.CompactionInterval),
	}
	for _, r := range spec.Resources {
		settings.Counts = append(settings.Counts, store.Count{Resource: api.Resource{Group: r.Group, Name: r.Resource}, Objects: r.Objects, AverageBytes: r.AverageBytes})
	}
	h.store = store.New(shared.StoreAlarms(), settings)
	for _, s := range servers {
		of := &host{all: h, server: s, compactor: h.store.NewCompactor()}
		of.registry = h.newRegistry(of)
		of.registry.Open()
		of.compactor.Start(0)
		h.hosts = append(h.hosts, of)
	}
	for _, r := range spec.Resources {
		h.know(0, api.Resource{Group: r.Group, Name: r.Resource})
	}
	shared.SetHandlers(h)
	if spec.Warmup > 0 {
		shared.StoreAlarms().Set(int64(spec.Warmup), (*windowBegins)(h))
	}
	return h
}

// Store returns the store of the run.
func (h *Handlers) Store() *store.Store { return h.store }

// registries returns the registries that a server has had, the present one last.
func (of *host) registries() []*registry.Registry {
	all := slices.Clone(of.ended)
	if n := len(all); n == 0 || all[n-1] != of.registry {
		all = append(all, of.registry)
	}
	return all
}

// Sent returns what a server has sent to watches.
func (h *Handlers) Sent(server int) Sent { return h.hosts[server].sent }

func costsOf(c *cluster.Costs) registry.Costs {
	costs := registry.DefaultCosts()
	costs.RequestNs = int64(c.Request)
	costs.WalkNs, costs.MatchNs = int64(c.WalkedObject), int64(c.MatchedObject)
	costs.EncodePsPerByte, costs.CompressPsPerByte = int64(c.EncodedKilobyte), int64(c.CompressedKilobyte)
	costs.FetchNs, costs.FetchPsPerByte = int64(c.EtcdObject), int64(c.EtcdKilobyte)
	costs.InitialNs, costs.InitialWalkNs = int64(c.InitialEvent), int64(c.InitialWalk)
	costs.RangeNs = int64(c.RangedObject)
	costs.EventNs, costs.EventLatencyNs = int64(c.WatchEvent), int64(c.EventLatency)
	return costs
}

// newRegistry returns the registry of a process of a server.
func (h *Handlers) newRegistry(of *host) *registry.Registry {
	cache := &h.spec.Store.WatchCache
	s := registry.Settings{
		Rules: of.server.Rules(), Costs: h.costs, NoCache: cache.Off,
		FeedLagNs: h.costs.EventLatencyNs, ProgressNs: h.costs.EventLatencyNs, NotifyEveryNs: notifyNs,
		MinRequestTimeoutNs: minRequestTimeoutNs, CountEveryNs: int64(h.spec.Store.CountInterval),
		Seed: h.spec.Seed, Server: of.server.Index(),
	}
	for _, name := range cache.Without {
		group, resource := workload.SplitResource(name)
		s.Uncached = append(s.Uncached, api.Resource{Group: group, Name: resource})
	}
	return registry.New(h.shared.StoreAlarms(), h.store, of, s)
}

const (
	// notifyNs is how often etcd reports its progress, as kubeadm and kube-up set it.
	notifyNs = 5_000_000_000
	// minRequestTimeoutNs is the default of --min-request-timeout.
	minRequestTimeoutNs = 1_800_000_000_000
)

// know fills the caches of a resource at all servers, as if they had been there, when it is first asked for.
func (h *Handlers) know(nowNs int64, r api.Resource) {
	if h.known[r] {
		return
	}
	h.known[r] = true
	for _, of := range h.hosts {
		of.registry.Know(nowNs, r)
	}
}

// Stored implements server.Handlers.
func (h *Handlers) Stored(r api.Resource) estimate.Stats {
	data := h.store.Resource(r)
	return estimate.Stats{Objects: data.Len(), AverageBytes: data.AverageBytes()}
}

// Started implements server.Handlers.
func (h *Handlers) Started(nowNs int64, s *server.Server) (cachesNs int64) {
	of := h.hosts[s.Index()]
	before := of.registry
	of.registry = h.newRegistry(of)
	of.registry.KeepWork(before)
	of.registry.Open()
	for _, r := range h.store.Resources() {
		if h.known[r.Name()] {
			cachesNs = max(cachesNs, of.registry.Fill(nowNs, r.Name(), int64(h.spec.Servers.Startup.Caches)))
		}
	}
	of.compactor.Start(nowNs)
	return cachesNs
}

// Ended implements server.Handlers.
func (h *Handlers) Ended(nowNs int64, s *server.Server) {
	of := h.hosts[s.Index()]
	of.registry.Stop(nowNs)
	of.compactor.Stop()
	of.ended = append(of.ended, of.registry)
}

// Begin implements server.Handlers.
func (h *Handlers) Begin(nowNs int64, s *server.Server, r *server.Request) (handled bool) {
	a := &r.Attributes
	if !a.IsResource() || a.LongRunning() && a.Verb != "watch" {
		return false
	}
	of := h.hosts[s.Index()]
	h.know(nowNs, estimate.Resource{Group: a.APIGroup, Name: a.Resource})
	x := h.newHandling()
	x.request = r
	r.Details.Handling = x.index
	op := of.registry.NewOperation()
	x.op = op
	op.Verb, op.Subresource, op.Namespace, op.Name = a.Verb, a.Subresource, a.Namespace, a.Name
	op.Resource = api.Resource{Group: a.APIGroup, Name: a.Resource}
	if r.Details.Asked == nil {
		r.Details.Asked = h.calls.of(nowNs, r, h.store)
	}
	op.Call, op.ReadNs, op.GivenNs = r.Details.Asked, r.Details.ReadNs, -1
	if r.Details.Execution {
		op.GivenNs = r.Details.GivenNs
	}
	op.Seats, op.FinalSeats, op.AdditionalNs = int32(r.Work.InitialSeats), int32(r.Work.FinalSeats), r.Work.AdditionalLatencyNs
	op.Request = x
	of.registry.Begin(nowNs, op)
	return true
}

func (h *Handlers) newHandling() *handling {
	if n := len(h.free); n > 0 {
		x := h.free[n-1]
		h.free = h.free[:n-1]
		return x
	}
	x := &handling{index: int32(len(h.handling))}
	h.handling = append(h.handling, x)
	return x
}

// release forgets a request that is over.
func (h *Handlers) release(x *handling) {
	*x = handling{index: x.index}
	h.free = append(h.free, x)
}

// Served implements server.Handlers.
func (h *Handlers) Served(nowNs int64, _ *server.Server, r *server.Request) {
	h.handling[r.Details.Handling].op.Served(nowNs)
}

// Abandon implements server.Handlers.
func (h *Handlers) Abandon(nowNs int64, _ *server.Server, r *server.Request, _ bool) {
	x := h.handling[r.Details.Handling]
	op := x.op
	h.release(x)
	op.Abandon(nowNs)
}

// Serve implements registry.Host.
func (of *host) Serve(nowNs int64, op *registry.Operation, demandNs int64) {
	of.server.Serve(nowNs, op.Request.(*handling).request, demandNs)
}

// Done implements registry.Host.
func (of *host) Done(nowNs int64, op *registry.Operation) (open bool) {
	x := op.Request.(*handling)
	r := x.request
	r.Details.Answer = op.Answer
	if open = of.server.Complete(nowNs, r); !open {
		of.all.release(x)
	}
	return open
}

// Received implements registry.Host.
func (of *host) Received(nowNs int64, op *registry.Operation, e *api.Event) {
	x := op.Request.(*handling)
	if e.InitialEnd && x.counted > 0 {
		with := *e
		with.Counted, x.counted = x.counted, 0
		e = &with
	}
	of.all.receiver.Received(nowNs, x.request, e)
}

// Counted implements registry.Host.
func (of *host) Counted(_ int64, op *registry.Operation, n int64) {
	op.Request.(*handling).counted += n
}

// Ended implements registry.Host.
func (of *host) Ended(nowNs int64, op *registry.Operation) {
	x := op.Request.(*handling)
	r := x.request
	of.all.release(x)
	of.server.EndWatch(nowNs, r)
}

// Known implements registry.Host.
func (of *host) Known(r api.Resource, stats estimate.Stats) { of.server.Know(r, stats) }

// Dispatched implements registry.Host.
func (of *host) Dispatched(nowNs int64, e *api.Event, watchers int) {
	of.server.CountEvents(int64(watchers))
	if e != nil {
		of.sent.add(nowNs, e, watchers)
	}
}
