package collect

import (
	"strings"

	"apfsim/reports/result"
	"apfsim/sim/workload"
)

// wantedRequests counts the requests that the clients of a workload wanted to send, in total and in the busiest second.
type wantedRequests struct{ total, second, inSecond, mostInSecond int64 }

func (w *wantedRequests) add(atNs int64) {
	if second := atNs / 1e9; second != w.second {
		w.second, w.inSecond = second, 0
	}
	w.total++
	w.inSecond++
	w.mostInSecond = max(w.mostInSecond, w.inSecond)
}

// limitOf returns the rate limit of a workload's clients and what they wanted to send; nil without a limit.
func limitOf(w *workload.Workload, wanted *wantedRequests) *result.ClientLimit {
	limit := w.Limit()
	if limit == nil {
		return nil
	}
	l := &result.ClientLimit{QPS: limit.QPS, Burst: limit.Burst, Shared: limit.Shared, Buckets: w.Clients, Wishes: wanted.total, Most: wanted.mostInSecond}
	if l.Shared != "" && !strings.Contains(l.Shared, "{i}") {
		l.Buckets = 1
	}
	b := w.Behaviour
	switch {
	case w.Arrivals.Closed != nil:
		l.Loops = w.Clients * w.Arrivals.Closed.Concurrency
	case b != nil && b.Controller != nil:
		l.Loops = w.Clients * b.Controller.Workers
	case b != nil && b.LeaderElection != nil:
		l.Needs = float64(w.Clients*b.LeaderElection.Candidates) / (float64(b.LeaderElection.RetryPeriod) / 1e9)
	}
	return l
}
