package calls

import (
	"slices"

	"apfsim/sim/random"
	"apfsim/sim/workload"
)

// plan lists the calls that the requests of a workload make.
type plan struct {
	workload *workload.Workload
	requests [][]stage       // by Template.Request
	targets  []string        // the names of who is called
	streams  []random.Stream // of latencies: by client, and then by callee
	opened   []bool          // the streams, by client
}

// stage is a group of calls that are made at the same time. The next stage begins when all of them are over, also if
// one has failed before (k8s.io/apiserver, admission/plugin/webhook/validating/dispatcher.go).
type stage []*callTarget

// callTarget is a webhook or an aggregated server that requests call.
type callTarget struct {
	*workload.Call
	index      int         // of the name among those of the plan
	aggregated *aggregated // nil unless the kind is AggregatedServer
}

// newPlan returns the plan of a workload. aggregated returns the aggregated server of a name.
func newPlan(w *workload.Workload, aggregated func(name string) *aggregated) *plan {
	p := &plan{workload: w, requests: make([][]stage, len(w.Requests))}
	for i := range w.Requests {
		for _, kind := range workload.CallKinds {
			var validating stage
			for j := range w.Requests[i].Calls {
				call := &w.Requests[i].Calls[j]
				if call.Kind != kind {
					continue
				}
				c := &callTarget{Call: call, index: p.targetIndex(call.Name)}
				switch kind {
				case workload.ValidatingWebhook:
					validating = append(validating, c)
					continue
				case workload.AggregatedServer:
					c.aggregated = aggregated(call.Name)
				}
				p.requests[i] = append(p.requests[i], stage{c})
			}
			if validating != nil {
				p.requests[i] = append(p.requests[i], validating)
			}
		}
	}
	p.streams = make([]random.Stream, w.Clients*len(p.targets))
	p.opened = make([]bool, w.Clients)
	return p
}

// targetIndex returns the index of a target's name in the plan, and adds the name if it is new.
func (p *plan) targetIndex(name string) int {
	if i := slices.Index(p.targets, name); i >= 0 {
		return i
	}
	p.targets = append(p.targets, name)
	return len(p.targets) - 1
}

// latencyNs draws the latency of a call that is made for a client.
func (p *plan) latencyNs(seed uint64, client int, to *callTarget) int64 {
	streams := p.streams[client*len(p.targets):][:len(p.targets)]
	if !p.opened[client] {
		p.opened[client] = true
		for i, name := range p.targets {
			streams[i].Open(seed, p.workload.Name, client, "call "+name)
		}
	}
	return to.Latency.Sample(&streams[to.index].Rand)
}
