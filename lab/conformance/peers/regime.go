package main

import (
	"embed"
	"fmt"
	"io/fs"
	"time"

	"apfsim/core/queueset"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

//go:embed *.yaml
var scenarios embed.FS

// regime is a load under which the peers are measured: a scenario file with some fields changed.
type regime struct {
	name     string
	about    string
	file     string
	set      []string // assignments of fields, as for apfsim run --set
	requests int      // in a measurement; 0 means peer.requests
	replay   bool     // what is measured is the replay of a request log of the scenario
	// perSecond is the rate of the requests, if that does not follow from the scenario because its clients have
	// behaviours. It is that of a run with the number of requests above.
	perSecond float64
	files     fs.FS // with the file; nil: scenarios
}

var regimes = []regime{
	{name: "A", about: "one level, 200 flows, load 0.9", file: "one-level.yaml", set: oneLevel(200, 0.9)},
	{name: "B", about: "one level, 200 flows, load 1.2", file: "one-level.yaml", set: oneLevel(200, 1.2)},
	{name: "C", about: "one level, 2,000 flows, load 1.05", file: "one-level.yaml", set: oneLevel(2000, 1.05)},
	{name: "D", about: "default configuration, 155,000 clients", file: "default-configuration.yaml", requests: 4_000_000},
	{name: "E", about: "one level, closed loop of 100,000 clients", file: "closed-loop.yaml", requests: 4_000_000},
	{name: "F", about: "three servers with capacity, 200 flows each, load 0.9", file: "one-level.yaml", set: servers(3), requests: 4_000_000},
	{name: "G", about: "a store, 5,000 kubelets and 400 informers", file: "store.yaml", requests: 750_000, perSecond: 1244},
	{name: "H", about: "replay of a request log of A", file: "one-level.yaml", set: oneLevel(200, 0.9), requests: 1_000_000, replay: true},
}

// oneLevel returns the assignments for a number of flows at a load, where 1 is the capacity of 100
// seats at 10 ms per request.
func oneLevel(flows int, load float64) []string {
	return []string{
		fmt.Sprintf("spec.workload[0].clients=%d", flows),
		fmt.Sprintf("spec.workload[0].arrivals.poisson.rate=%v/s", load*10_000/float64(flows)),
	}
}

// servers returns the assignments for a number of servers that each have the clients of A. A server has as many cores
// as seats, so that its requests share a capacity and take as long as without one.
func servers(n int) []string {
	return append(oneLevel(200*n, 0.9*float64(n)),
		fmt.Sprintf("spec.servers.replicas=%d", n),
		"spec.servers.capacity={cores: 100}",
		"spec.servers.loadBalancer={policy: RoundRobin}")
}

// load is the description of a regime for the peers that do not read scenarios.
type load struct {
	groups  []group
	closed  bool            // a client sends its next request only after the response to the previous one
	queuing queueset.Config // of the level named level; zero if the scenario has no such level
	servers int             // each has the level, and a part of the clients
	seats   int             // of all servers
	seed    uint64
}

// group is a number of identical clients.
type group struct {
	clients          int
	gapNs, serviceNs float64 // as in client
}

// rate returns the arrival rate per second if no request waits.
func (l *load) rate() float64 {
	rate := 0.0
	for _, g := range l.groups {
		cycleNs := g.gapNs
		if l.closed {
			cycleNs += g.serviceNs
		}
		rate += float64(g.clients) / cycleNs * 1e9
	}
	return rate
}

// utilisation returns the average number of seats that the requests need if each needs one,
// divided by the number of seats. It is for open loops only.
func (l *load) utilisation() float64 {
	seats := 0.0
	for _, g := range l.groups {
		seats += float64(g.clients) * g.serviceNs / g.gapNs
	}
	return seats / float64(l.seats)
}

// scenario returns the regime's scenario with the given duration, or with that of the file if
// duration is 0.
func (r *regime) scenario(duration time.Duration) (*scenario.Scenario, error) {
	set := r.set
	if duration > 0 {
		set = append(set[:len(set):len(set)], fmt.Sprintf("spec.duration=%v", duration))
	}
	files := r.files
	if files == nil {
		files = scenarios
	}
	loaded, errs := loader.Load(files, r.file, loader.Options{Set: assign.New("--set", set)})
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return loaded[0], nil
}

// load returns the load that the regime's scenario describes.
func (r *regime) load() (load, error) {
	sc, err := r.scenario(0)
	if err != nil {
		return load{}, err
	}
	spec := &sc.Spec.Servers
	l := load{seed: sc.Spec.Seed, closed: true, servers: spec.Replicas,
		seats: spec.Replicas * (spec.MaxRequestsInflight + spec.MaxMutatingRequestsInflight)}
	if level := sc.Objects.PriorityLevel("level"); level != nil {
		q := level.Spec.Queuing()
		l.queuing = queueset.Config{Queues: int(q.Queues), HandSize: int(q.HandSize), QueueLengthLimit: int(q.QueueLengthLimit)}
	}
	if r.perSecond > 0 {
		clients := 0
		for i := range sc.Spec.Workload {
			clients += sc.Spec.Workload[i].Clients
		}
		l.closed = false
		l.groups = []group{{clients: clients, gapNs: float64(clients) / r.perSecond * 1e9, serviceNs: 5e6}}
		return l, nil
	}
	for i := range sc.Spec.Workload {
		l.closed = l.closed && sc.Spec.Workload[i].Arrivals.Closed != nil
	}
	for i := range sc.Spec.Workload {
		w := &sc.Spec.Workload[i]
		g := group{clients: w.Clients}
		weights, watchNs := 0.0, 0.0
		for _, q := range w.Requests {
			weights += q.Weight
			g.serviceNs += q.Weight * q.Execution.MeanNs()
			if q.Watch != nil {
				watchNs += q.Weight * q.Watch.Duration.MeanNs()
			}
		}
		g.serviceNs /= weights
		watchNs /= weights
		switch a := &w.Arrivals; {
		case a.Poisson != nil:
			g.gapNs = 1e9 / float64(a.Poisson.Rate)
		case a.Closed != nil:
			g.clients *= a.Closed.Concurrency
			if a.Closed.Think.Distribution != nil {
				g.gapNs = a.Closed.Think.MeanNs()
			}
			if !l.closed { // replace the closed loop by an open one with the same rate
				g.gapNs += g.serviceNs + watchNs
			}
		default:
			return load{}, fmt.Errorf("%s: workload %s: want arrivals poisson or closed", r.file, w.Name)
		}
		l.groups = append(l.groups, g)
	}
	return l, nil
}
