package scenario

import (
	"apfsim/document"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// lockstep warns of closed loops without think time that fill the places of servers that have no queues. A client of such
// a loop sends its next request at the instant at which its last one ends, so that the place is taken again before anyone
// else can find it free: all requests of other workloads are rejected, always. Clients of real servers need some time.
func (c *checker) lockstep() {
	spec := &c.scenario.Spec
	if spec.Servers.FlowControl != server.MaxInFlight {
		return
	}
	for i := range spec.Workload {
		w := &spec.Workload[i]
		closed := w.Arrivals.Closed
		if closed == nil || closed.Think.MeanNs() > 0 {
			continue
		}
		for _, kind := range []struct {
			readOnly bool
			field    string
			limit    int
		}{{true, "maxRequestsInflight", spec.Servers.MaxRequestsInflight}, {false, "maxMutatingRequestsInflight", spec.Servers.MaxMutatingRequestsInflight}} {
			most := int64(kind.limit) * int64(spec.Servers.Replicas)
			n := int64(w.Clients) * int64(closed.Concurrency)
			if most == 0 || n < most || !sends(w, kind.readOnly) || !c.othersSend(i, kind.readOnly) {
				continue
			}
			c.Warn(document.Index("spec.workload", i)+".arrivals.closed",
				"has no think time, and as many requests at once (%d) as the servers take (%s: %d): each place is taken again at the instant at which it becomes free, so that the requests of other workloads are all rejected; want a think time with a distribution, such as {exponential: {mean: 10ms}}, or other arrivals, such as poisson",
				n, kind.field, kind.limit)
			break
		}
	}
}

// sends says whether a workload sends requests that only read, or others.
func sends(w *workload.Workload, readOnly bool) bool {
	if w.Behaviour != nil || w.Arrivals.Trace != nil {
		return true
	}
	for i := range w.Requests {
		a, _ := w.Requests[i].Request.AttributesWithoutPath("", nil, 0)
		if a.ReadOnly() == readOnly && !a.LongRunning() {
			return true
		}
	}
	return false
}

// othersSend says whether another workload than that of an index sends requests of a kind.
func (c *checker) othersSend(index int, readOnly bool) bool {
	for i := range c.scenario.Spec.Workload {
		if i != index && sends(&c.scenario.Spec.Workload[i], readOnly) {
			return true
		}
	}
	return false
}
