package tune

import (
	"math"
	"slices"

	"apfsim/sim/machine"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
	"apfsim/sim/registry"
	"apfsim/sim/scenario"
	"apfsim/sim/workload"
)

// withExecutions returns the scenario with executions that take factor times as long. An execution is the time during which
// a request has its seats: the handover, what the scenario gives as execution and delay, and the answers of webhooks and of
// aggregated servers. Of requests that a store answers, it is the latencies of etcd and what the server computes for them.
// With a capacity, the work of a request is scaled, and not the speed of the machine. Time-outs, and the pauses of clients,
// remain as they are.
func withExecutions(sc *scenario.Scenario, factor float64) *scenario.Scenario {
	own := *sc
	spec := &own.Spec
	spec.Servers.Handover = times(spec.Servers.Handover, factor)
	spec.Workload = slices.Clone(spec.Workload)
	for i := range spec.Workload {
		w := &spec.Workload[i]
		w.Execution, w.Delay = times(w.Execution, factor), times(w.Delay, factor)
		if t := w.Arrivals.Trace; t != nil {
			own := *t
			own.Requests = slices.Clone(t.Requests)
			for k := range own.Requests {
				r := &own.Requests[k]
				r.ExecutionNs = int64(math.Round(factor * float64(r.ExecutionNs)))
			}
			w.Arrivals.Trace = &own
		}
		w.Requests = slices.Clone(w.Requests)
		for k := range w.Requests {
			r := &w.Requests[k]
			r.Execution = times(r.Execution, factor)
			r.Calls = slowerCalls(r.Calls, factor)
		}
	}
	if spec.Store != nil {
		store := *spec.Store
		store.Read, store.Write = times(store.Read, factor), times(store.Write, factor)
		scaleCosts(&store.Costs, factor)
		spec.Store = &store
	}
	return &own
}

// slowerCalls returns calls whose answers take factor times as long. The callbacks are requests, which AddCallbacks has added
// to the workloads as well.
func slowerCalls(all []workload.Call, factor float64) []workload.Call {
	all = slices.Clone(all)
	for i := range all {
		all[i].Latency = times(all[i].Latency, factor)
		if back := all[i].Callback; back != nil {
			own := *back
			own.Execution = times(own.Execution, factor)
			own.Request.Calls = slowerCalls(own.Request.Calls, factor)
			all[i].Callback = &own
		}
	}
	return all
}

// times returns a distribution with factor times the durations; one that is not given remains so.
func times(d quantity.Distribution, factor float64) quantity.Distribution {
	if !d.IsSet() {
		return d
	}
	return quantity.Distribution{Distribution: random.Scaled{Distribution: d.Distribution, Factor: factor}}
}

// scaleCosts scales what requests cost a server, and not what the events of watches do.
func scaleCosts(c *registry.Costs, factor float64) {
	for _, cost := range []*quantity.Duration{&c.Request, &c.WalkedObject, &c.MatchedObject, &c.EncodedKilobyte, &c.CompressedKilobyte,
		&c.EtcdObject, &c.EtcdKilobyte, &c.RangedObject, &c.InitialEvent, &c.InitialWalk} {
		*cost = quantity.Duration(math.Round(factor * float64(*cost)))
	}
}

// loaded returns the scenario in which open loops send factor times as often. It is nil if there are none: a trace has the
// times of its requests, and more clients of a closed loop would not match a FlowSchema that names them.
func loaded(sc *scenario.Scenario, factor float64) *scenario.Scenario {
	own := *sc
	own.Spec.Workload = slices.Clone(sc.Spec.Workload)
	more := false
	for i := range own.Spec.Workload {
		w := &own.Spec.Workload[i]
		if w.Arrivals.Trace == nil && w.Arrivals.Closed == nil && w.Behaviour == nil && !w.Added {
			*w, more = w.Loaded(factor), true
		}
	}
	if !more {
		return nil
	}
	return &own
}

// ends returns the least and the greatest capacity that servers have according to what is known of it, or nil.
func ends(sc *scenario.Scenario) (least, greatest *machine.Capacity) {
	c := sc.Spec.Servers.Capacity
	if c == nil {
		return nil, nil
	}
	return c.Bounds()
}

// withCapacity returns the scenario with a capacity of its servers, or nil without one.
func withCapacity(sc *scenario.Scenario, c *machine.Capacity) *scenario.Scenario {
	if c == nil {
		return nil
	}
	own := *sc
	own.Spec.Servers.Capacity = c
	return &own
}
