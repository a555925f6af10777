package client

import (
	"slices"

	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// group is what its clients have in common.
type group struct {
	*workload.Workload
	all     *Clients
	clients clients
	index   int
	startNs int64
	endNs   int64
	weights []float64 // of the requests, cumulative

	awaitsResponses bool       // the clients do something upon success
	watches         bool       // some of the requests are watches
	needsOptional   bool       // the clients have something in optional
	templates       []template // by client and request, each made when first sent
}

// template is a template with its ID.
type template struct {
	*server.Template
	id server.TemplateID
}

func newGroup(index int, all *Clients) *group {
	w := &group{
		Workload: &all.Workloads[index],
		all:      all,
		index:    index,
	}
	w.watches = slices.ContainsFunc(w.Requests, func(r workload.WeightedRequest) bool { return r.Watch != nil })
	w.awaitsResponses = w.Arrivals.Closed != nil || w.Callback || w.Arrivals.Trace != nil && all.Stored || w.Workload.Behaviour != nil
	w.needsOptional = w.Arrivals.Closed != nil || w.RateLimit != nil || len(w.Requests) > 1 || w.watches || w.Retry.Backoff != nil ||
		w.Delay.Given() || w.ClientTimeout.Given() || w.Workload.Behaviour != nil
	w.templates = make([]template, w.Clients*len(w.Requests))
	w.startNs, w.endNs = int64(w.Start), w.EndNs(all.Duration)
	sum := 0.0
	for _, r := range w.Requests {
		sum += r.Weight
		w.weights = append(w.weights, sum)
	}
	w.clients = w.newClients()
	return w
}

// clients are those of a workload, by index.
type clients interface{ at(i int) source }

// block is clients of one behaviour, side by side in memory: a list of pointers to them would be one
// more read from memory for each request.
type block[T any, B interface {
	*T
	source
}] []T

func (b block[T, B]) at(i int) source { return B(&b[i]) }

// newClients makes the workload's clients.
func (w *group) newClients() (all clients) {
	switch a := &w.Arrivals; {
	case a.Trace != nil:
		all = make(block[replay, *replay], w.Clients)
	case w.Workload.Behaviour != nil:
		all = make(block[behaving, *behaving], w.Clients)
	case w.Callback:
		all = make(block[callback, *callback], w.Clients)
	case a.Closed != nil:
		all = make(block[closedLoop, *closedLoop], w.Clients)
	default:
		all = make(block[openLoop, *openLoop], w.Clients)
	}
	for i := range w.Clients {
		all.at(i).join(w, i)
	}
	return all
}
