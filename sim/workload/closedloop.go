package workload

import (
	"slices"

	"apfsim/sim/quantity"
)

// ClosedArrivals keep a number of requests in progress: when one is answered, the client sends the
// next after the think time.
type ClosedArrivals struct {
	Concurrency int                   `json:"concurrency,omitempty" jsonschema:"default=1,minimum=1" document:"maximum=100000000" jsonschema_description:"Number of requests of one client that are in progress or in their think time."`
	Think       quantity.Distribution `json:"think,omitempty" jsonschema:"default=0s" jsonschema_description:"Time from an answer to the next request; without it, 0s."`
}

func (c *checker) closed(path string, a *ClosedArrivals, w *Workload) {
	if a.Concurrency > 0 && w.Clients > mostAtOnce/a.Concurrency {
		c.Fail(path+".concurrency", "%d times %d clients: want at most %d requests at once",
			a.Concurrency, w.Clients, mostAtOnce)
	}
	if a.Think.MeanNs() == 0 && len(w.Requests) > 0 && w.meanExecutionNs() == 0 && leastCycleNs(w) == 0 {
		c.Fail(path, "execution and think both take 0s, so that a client would send without end at one time; want more than 0s for one of them")
	}
}

// storedNs is about how long a request takes at least whose execution follows from the store: the default of
// spec.store.costs.request.
const storedNs = 200_000

// leastCycleNs returns a lower bound of the time between two requests of a closed workload if executions follow
// from the store, 0 if they are given.
func leastCycleNs(w *Workload) float64 {
	if slices.ContainsFunc(w.Requests, func(r WeightedRequest) bool { return !r.Execution.Given() }) {
		return storedNs
	}
	return 0
}
