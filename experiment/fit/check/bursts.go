package check

import (
	"fmt"
	"math"
	"strconv"
	"sync"

	"apfsim/experiment/fit/shape"
	"apfsim/reports/collect"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// leastArrivals is the least number of requests of which it is compared how they are spread over the time.
const leastArrivals = 20

// burstStatistics returns the statistics of how much the counts of arrivals vary: the index of dispersion in windows of
// several lengths, the count of the largest second, and the autocorrelation of the counts of seconds.
func burstStatistics() (all []statistic) {
	add := func(name, unit string, get func(*shape.Counts) (float64, bool)) {
		all = append(all, statistic{name, unit, false, true, func(r requests) (float64, bool) {
			if r.windows.arrivals == nil || r.windows.arrivals.N < leastArrivals {
				return 0, false
			}
			return get(r.windows.arrivals)
		}})
	}
	for i, ns := range shape.Windows {
		add("dispersion "+strconv.FormatFloat(float64(ns)/1e9, 'f', -1, 64)+"s", "1", func(c *shape.Counts) (float64, bool) { return c.Dispersion(i) })
	}
	add("largest second", "", func(c *shape.Counts) (float64, bool) { n, ok := c.Largest(); return float64(n), ok })
	for i, lag := range shape.Lags {
		add(fmt.Sprintf("autocorrelation %ds", lag), "1", func(c *shape.Counts) (float64, bool) { return c.Autocorrelation(i) })
	}
	return all
}

// burstMargin is how much a recorded value may be beyond the interval of runs that are all equal, as those of requests
// at equal distances are.
func burstMargin(recorded float64) float64 { return 0.01 + 0.01*math.Abs(recorded) }

// material is the least difference from the median of the runs that matters, as a part of the median, or of 1 if that is
// less.
const material = 0.1

// missed says whether a recorded value is so far from those of the runs that they are not of the same process: by more
// than a tenth from the median, and by more than half the width of the interval beyond it. The values of the process
// itself are that far away once in 10 000 logs if they have a normal distribution.
func missed(recorded, low, median, high float64) bool {
	beyond := max(low-recorded, recorded-high) - burstMargin(recorded)
	return beyond > (high-low)/2 && math.Abs(recorded-median) > material*max(1, math.Abs(median))
}

// sentence says that a statistic of bursts is missed.
func (r *Row) sentence() string {
	return fmt.Sprintf("%s would be %s to %s and is %s", r.Statistic, r.text(r.Low), r.text(r.High), r.text(&r.Recorded))
}

// run is a run of the scenario.
type run struct {
	*collect.Replication
	total     windows
	workloads []windows
}

// windows are the counts and times of requests, by window.
type windows struct {
	arrivals  *shape.Counts
	latencies *shape.Latencies
}

func newWindows(fromNs, toNs int64) windows {
	return windows{shape.NewCounts(fromNs, toNs), shape.NewLatencies(fromNs, toNs)}
}

// observed counts and times the requests of runs, several of which may be made at once.
type observed struct {
	sync.Mutex
	bySeed map[uint64]*run
}

// observer returns an observer that counts and times the requests of a run.
func (o *observed) observer(sc *scenario.Scenario) server.Observer {
	fromNs, toNs := int64(sc.Spec.Warmup.Duration), int64(sc.Spec.Duration)
	r := &run{total: newWindows(fromNs, toNs)}
	for range sc.Spec.Workload {
		r.workloads = append(r.workloads, newWindows(fromNs, toNs))
	}
	o.Lock()
	defer o.Unlock()
	o.bySeed[sc.Spec.Seed] = r
	return server.Observer{
		Arrived: func(nowNs int64, request *server.Request) {
			r.total.arrivals.Add(nowNs)
			r.workloads[request.Workload].arrivals.Add(nowNs)
		},
		Executed: func(nowNs int64, request *server.Request) {
			if request.Attributes.Verb != "watch" {
				r.total.latencies.End(nowNs, nowNs-request.ArrivalNs)
				r.workloads[request.Workload].latencies.End(nowNs, nowNs-request.ArrivalNs)
			}
		},
	}
}

// take returns what was observed of a run, and forgets it.
func (o *observed) take(replication *collect.Replication) *run {
	o.Lock()
	defer o.Unlock()
	seed := replication.Summary.Seed
	r := o.bySeed[seed]
	delete(o.bySeed, seed)
	r.Replication = replication
	return r
}
