package workload

import (
	"math"
	"slices"

	"apfsim/document"
	"apfsim/sim/quantity"
)

// arrivals checks the arrival process of a workload.
func (c *checker) arrivals(path string, w *Workload) {
	a := &w.Arrivals
	switch {
	case a.Constant != nil, a.Poisson != nil: // any rate is valid
	case a.Ramping != nil:
		c.ramping(path+".ramping", a.Ramping)
	case a.OnOff != nil:
		if a.OnOff.On.Given() && a.OnOff.On.MeanNs() == 0 {
			c.Fail(path+".onOff.on", "is always 0s; want more than 0s, as the client would never send")
		}
	case a.Burst != nil:
		c.burst(path+".burst", a.Burst, w)
	case a.Closed != nil:
		c.closed(path+".closed", a.Closed, w)
	default:
		c.Fail(path, "is missing")
	}
}

func (c *checker) ramping(path string, r *RampingArrivals) {
	if len(r.Stages) == 0 {
		c.Fail(path+".stages", "is empty: want one stage at least")
	}
	most, sum := r.StartRate, quantity.Duration(0)
	for i := range r.Stages {
		most = max(most, r.Stages[i].Rate)
		// Summed up stage by stage, so that it cannot overflow.
		if sum += r.Stages[i].Duration; sum > quantity.Longest {
			c.Fail(document.Index(path+".stages", i)+".duration", "the stages take more than a hundred years")
			return
		}
	}
	if most <= 0 && len(r.Stages) > 0 {
		c.Fail(path+".stages", "no stage has a rate above 0/s")
	}
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

func (c *checker) burst(path string, b *BurstArrivals, w *Workload) {
	if b.Requests > 0 && w.Clients > mostAtOnce/b.Requests {
		c.Fail(path+".requests", "%d times %d clients: want at most %d requests at once", b.Requests, w.Clients, mostAtOnce)
	}
	if b.Requests == 1 && b.Over > 0 {
		c.Warn(path+".over", "%v: has no effect, as each client sends one request, and all clients send at the same time; want constant with a stop for clients that send one after another", b.Over)
	}
	if b.Every != 0 && b.Over > b.Every {
		c.Fail(path+".over", "%v: want at most every, %v: a burst ends before the next begins", b.Over, b.Every)
	}
	if end := quantity.Duration(w.EndNs(c.duration)); end > w.Start && b.At >= end-w.Start {
		c.Fail(path+".at", "%v: want less than the length of the workload, %v", b.At, end-w.Start)
	}
}

// ExpectedArrivals returns how many first attempts a valid workload makes on average, or
// more, in a run of the given duration: a closed workload is counted as if no request ever
// waited, and one that is on and off with its changes. A trace counts as none.
func (w *Workload) ExpectedArrivals(duration quantity.Duration) float64 {
	seconds := float64(w.EndNs(duration)-int64(w.Start)) / 1e9
	a, n := &w.Arrivals, 0.0
	switch {
	case a.Constant != nil:
		n = float64(a.Constant.Rate) * seconds
	case a.Poisson != nil:
		n = float64(a.Poisson.Rate) * seconds
	case a.Ramping != nil:
		n = a.Ramping.expected(seconds)
	case a.OnOff != nil:
		on, off := a.OnOff.On.MeanNs(), a.OnOff.Off.MeanNs()
		n = float64(a.OnOff.Rate)*seconds*on/(on+off) + 2*seconds*1e9/(on+off)
	case a.Burst != nil:
		bursts := 1.0
		if a.Burst.Every > 0 {
			bursts = math.Ceil((seconds*1e9 - float64(a.Burst.At)) / float64(a.Burst.Every))
		}
		n = float64(a.Burst.Requests) * bursts
	case a.Closed != nil:
		n = float64(a.Closed.Concurrency) * (1 + seconds*1e9/max(a.Closed.Think.MeanNs()+w.meanExecutionNs(), leastCycleNs(w)))
	}
	return n * float64(w.Clients)
}

// expected returns the integral of the rate over the first seconds.
func (r *RampingArrivals) expected(seconds float64) float64 {
	n, rate := 0.0, float64(r.StartRate)
	for _, stage := range r.Stages {
		length := float64(stage.Duration) / 1e9
		if length >= seconds {
			end := rate
			if length > 0 {
				end += (float64(stage.Rate) - rate) * seconds / length
			}
			return n + (rate+end)/2*seconds
		}
		n += (rate + float64(stage.Rate)) / 2 * length
		seconds -= length
		rate = float64(stage.Rate)
	}
	return n + rate*seconds
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

// meanExecutionNs returns the expectation over the workload's requests, by their weights.
func (w *Workload) meanExecutionNs() float64 {
	sum, weights := 0.0, 0.0
	for i := range w.Requests {
		if r := &w.Requests[i]; r.Execution.Given() && r.Weight > 0 {
			sum += r.Weight * r.Execution.MeanNs()
			weights += r.Weight
		}
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}
