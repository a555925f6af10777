package client

import (
	"slices"

	"apfsim/sim/scenario"
	"apfsim/sim/scenario/traffic"
	"apfsim/sim/server"
)

// workload is what its clients have in common.
type workload struct {
	*traffic.Workload
	all     *Clients
	index   int
	first   int // of its clients, among all
	seed    uint64
	startNs int64
	endNs   int64
	weights []float64 // of the requests, cumulative

	awaitsResponses bool               // the clients do something upon a response that is not a rejection
	needsRest       bool               // the clients have something in rest
	templates       []*server.Template // by client and request, each made when first sent
}

func newWorkload(sc *scenario.Scenario, index int, all *Clients, first int) *workload {
	w := &workload{
		Workload: &sc.Spec.Workload[index],
		all:      all,
		index:    index,
		first:    first,
		seed:     sc.Spec.Seed,
	}
	watches := slices.ContainsFunc(w.Requests, func(r traffic.WeightedRequest) bool { return r.Watch != nil })
	w.awaitsResponses = w.Arrivals.Closed != nil
	w.needsRest = w.Arrivals.Closed != nil || w.RateLimit != nil || len(w.Requests) > 1 || watches || w.Retry.Backoff != nil
	w.templates = make([]*server.Template, w.Clients*len(w.Requests))
	w.startNs, w.endNs = int64(w.Start), sc.Spec.EndNs(w.Workload)
	sum := 0.0
	for _, r := range w.Requests {
		sum += r.Weight
		w.weights = append(w.weights, sum)
	}
	return w
}

// appendClients makes the workload's clients, one block of memory for all of them.
func (w *workload) appendClients(all []Behaviour) []Behaviour {
	switch a := &w.Arrivals; {
	case a.Trace != nil:
		clients := make([]replay, w.Clients)
		for i := range clients {
			clients[i].client = client{workload: w, index: int32(i)}
			all = append(all, &clients[i])
		}
	case a.Closed != nil:
		clients := make([]closedLoop, w.Clients)
		for i := range clients {
			clients[i].client = client{workload: w, index: int32(i)}
			all = append(all, &clients[i])
		}
	default:
		clients := make([]openLoop, w.Clients)
		for i := range clients {
			clients[i].client = client{workload: w, index: int32(i)}
			all = append(all, &clients[i])
		}
	}
	return all
}
