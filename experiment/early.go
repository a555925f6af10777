package experiment

import (
	"math"

	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// earlyFailure finds out during a run that one of its thresholds can no longer hold, so that the run can be ended early. It
// counts the requests that break the threshold, such as those that waited too long, and compares their number with the
// number that the threshold tolerates among all requests that can arrive.
type earlyFailure struct {
	threshold *metric.Threshold
	breaking  int64
	tolerated int64 // how many requests may break the threshold so that it can still hold
	fromNs    int64 // only requests that arrive from then on count
	matches   []bool
	decided   func()
}

// newEarlyFailure returns the early failure of a threshold of a run; nil if it is known only at the end. sent is how many requests of each
// workload arrive at most after the warm-up; workloads that are not in it may send any number. decided is called once, as
// soon as the threshold cannot hold any more.
func newEarlyFailure(sc *scenario.Scenario, t *metric.Threshold, sent map[string]int64, decided func()) *earlyFailure {
	f := &earlyFailure{threshold: t, fromNs: int64(sc.Spec.Warmup.Duration), decided: decided, matches: make([]bool, len(sc.Spec.Workload))}
	for _, tag := range t.Tags {
		if tag.Name != metric.TagWorkload {
			return nil
		}
	}
	name, most := t.Tag(metric.TagWorkload), int64(0)
	for i := range sc.Spec.Workload {
		w := sc.Spec.Workload[i].Name
		if f.matches[i] = name == "" || name == w; !f.matches[i] {
			continue
		}
		if n, known := sent[w]; known && most < math.MaxInt64 {
			most += n
		} else {
			most = math.MaxInt64
		}
	}
	var known bool
	f.tolerated, known = tolerated(t, most)
	if !known || t.Over > 0 {
		return nil
	}
	return f
}

// tolerated returns how many of at most so many requests may break a threshold while it still holds. known is false if
// the threshold does not depend on a number of requests.
func tolerated(t *metric.Threshold, most int64) (n int64, known bool) {
	if t.Op != "<" && t.Op != "<=" && (t.Op != "==" || t.Limit != 0) {
		return 0, false
	}
	share := func(part float64) (int64, bool) { // of all that can come
		if most == math.MaxInt64 {
			return 0, part == 0
		}
		return int64(math.Floor(part * float64(most))), true
	}
	switch t.Metric {
	case "refused", "lost": // which have not arrived, or have been counted already
		return 0, t.Limit == 0 && (t.Stat == "count" || t.Stat == "rate")
	case "rejected", "notServed":
		switch t.Stat {
		case "count":
			return int64(math.Floor(t.Limit)), true
		case "rate":
			return share(t.Limit)
		}
	case "wait", "latency":
		switch t.Stat {
		case "max":
			return 0, true
		case "p":
			// At most n − Rank(p, n) of n values are above the percentile, which is least at the rank that is rounded up.
			n, ok := share(1 - t.Percentile/100)
			return n + 1, ok && t.Percentile < 100
		}
	}
	return 0, false
}

// observer counts the requests that break the threshold.
func (f *earlyFailure) observer() server.Observer {
	count := func(r *server.Request) {
		if r.ArrivalNs < f.fromNs || r.Workload < 0 || int(r.Workload) >= len(f.matches) || !f.matches[r.Workload] {
			return
		}
		if f.breaking++; f.breaking == f.tolerated+1 {
			f.decided()
		}
	}
	counted := func(_ int64, r *server.Request) { count(r) }
	lost := func(_ int64, r *server.Request) {
		if r.Lost && r.InFlight() {
			count(r)
		}
	}
	switch f.threshold.Metric {
	case "rejected":
		return server.Observer{Rejected: counted}
	case "refused":
		return server.Observer{Refused: counted}
	case "lost":
		return server.Observer{GivenUp: lost}
	case "notServed":
		if f.tolerated > 0 { // what is refused has not arrived, of which the tolerated number is a part
			return server.Observer{Rejected: counted}
		}
		return server.Observer{Rejected: counted, Refused: counted, GivenUp: lost}
	}
	lasted := func(nowNs int64, r *server.Request) {
		if !f.threshold.Holds(float64(nowNs - r.ArrivalNs)) {
			count(r)
		}
	}
	if f.threshold.Metric == "wait" {
		return server.Observer{Dispatched: lasted}
	}
	return server.Observer{Executed: lasted}
}
