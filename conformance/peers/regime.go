package main

import (
	"embed"
	"fmt"
	"time"

	"apfsim/core/queueset"
	"apfsim/sim/scenario"
)

//go:embed *.yaml
var scenarios embed.FS

// regime is a load that the peers are measured under: a scenario file, and what of it is
// another.
type regime struct {
	name     string
	about    string
	file     string
	set      []string
	requests int // in one measurement; 0: as many as the peer has
}

var regimes = []regime{
	{name: "A", about: "one level, 200 flows, load 0.9", file: "one-level.yaml", set: oneLevel(200, 0.9)},
	{name: "B", about: "one level, 200 flows, load 1.2", file: "one-level.yaml", set: oneLevel(200, 1.2)},
	{name: "C", about: "one level, 2,000 flows, load 1.05", file: "one-level.yaml", set: oneLevel(2000, 1.05)},
	{name: "D", about: "default configuration, 155,000 clients", file: "default-configuration.yaml", requests: 4_000_000},
	{name: "E", about: "one level, closed loop of 100,000 clients", file: "closed-loop.yaml", requests: 4_000_000},
}

// oneLevel returns what so many flows set that together ask for load times what 100 seats
// can serve at 10 ms a request.
func oneLevel(flows int, load float64) []string {
	return []string{
		fmt.Sprintf("spec.workload[0].clients=%d", flows),
		fmt.Sprintf("spec.workload[0].arrivals.poisson.rate=%v/s", load*10_000/float64(flows)),
	}
}

// load is a regime as the peers that read no scenario have it.
type load struct {
	groups  []group
	closed  bool            // a client sends its next request only after it has the answer
	queuing queueset.Config // of the level that a scenario of one level has
	seats   int
	seed    uint64
}

// group is clients that are alike.
type group struct {
	clients          int
	gapNs, serviceNs float64 // means; the gap as in client
}

// rate returns how many requests arrive a second when none waits.
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

// utilisation returns the share of the seats that requests of one seat ask for.
func (l *load) utilisation() float64 {
	seats := 0.0
	for _, g := range l.groups {
		seats += float64(g.clients) * g.serviceNs / g.gapNs
	}
	return seats / float64(l.seats)
}

// scenario returns the regime's scenario, lasting for the duration, or for as long as the
// file says if that is 0.
func (r *regime) scenario(duration time.Duration) (*scenario.Scenario, error) {
	set := r.set
	if duration > 0 {
		set = append(set[:len(set):len(set)], fmt.Sprintf("spec.duration=%v", duration))
	}
	loaded, mistakes := scenario.Load(scenarios, r.file, scenario.Options{Set: scenario.Assignments("--set", set)})
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	return loaded[0], nil
}

// load reads the regime's load out of its scenario.
func (r *regime) load() (load, error) {
	sc, err := r.scenario(0)
	if err != nil {
		return load{}, err
	}
	l := load{seed: sc.Spec.Seed, closed: true,
		seats: sc.Spec.Servers.MaxRequestsInflight + sc.Spec.Servers.MaxMutatingRequestsInflight}
	if level := sc.Objects.PriorityLevel("level"); level != nil {
		q := level.Spec.Queuing()
		l.queuing = queueset.Config{Queues: int(q.Queues), HandSize: int(q.HandSize), QueueLengthLimit: int(q.QueueLengthLimit)}
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
			if !l.closed { // among open loops, one of the same rate
				g.gapNs += g.serviceNs + watchNs
			}
		default:
			return load{}, fmt.Errorf("%s: workload %s: want arrivals poisson or closed", r.file, w.Name)
		}
		l.groups = append(l.groups, g)
	}
	return l, nil
}
