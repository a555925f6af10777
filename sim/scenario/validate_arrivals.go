package scenario

import (
	"math"

	"apfsim/document"
	"apfsim/sim/quantity"
)

// arrivals checks the arrival process of a workload.
func (v *validator) arrivals(path string, w *Workload) {
	a := &w.Arrivals
	switch {
	case a.Constant != nil:
		v.rate(path+".constant.rate", a.Constant.Rate)
	case a.Poisson != nil:
		v.rate(path+".poisson.rate", a.Poisson.Rate)
	case a.Ramping != nil:
		v.ramping(path+".ramping", a.Ramping)
	case a.OnOff != nil:
		v.rate(path+".onOff.rate", a.OnOff.Rate)
		v.given(path+".onOff.off", a.OnOff.Off)
		if v.given(path+".onOff.on", a.OnOff.On) && a.OnOff.On.MeanNs() == 0 {
			v.fail(path+".onOff.on", "is always 0s: the client never sends")
		}
	case a.Burst != nil:
		v.burst(path+".burst", a.Burst, w)
	case a.Closed != nil:
		c := a.Closed
		if !c.Think.Given() {
			c.Think = quantity.Constant(0)
		}
		if c.Concurrency < 1 || c.Concurrency > mostAtOnce {
			v.fail(path+".closed.concurrency", "%d: want 1 to %d", c.Concurrency, mostAtOnce)
		} else if w.Clients > mostAtOnce/c.Concurrency {
			v.fail(path+".closed.concurrency", "%d times %d clients: want at most %d requests at once",
				c.Concurrency, w.Clients, mostAtOnce)
		}
		if c.Think.MeanNs() == 0 && len(w.Requests) > 0 && w.meanExecutionNs() == 0 {
			v.fail(path+".closed", "neither execution nor think takes any time: the requests of one moment have no end")
		}
	default:
		v.fail(path, "is missing")
	}
}

func (v *validator) rate(path string, r Rate) {
	if r <= 0 {
		v.fail(path, "want more than 0/s")
	}
}

// given reports, and notes as a mistake if not, that the distribution is there.
func (v *validator) given(path string, d Distribution) bool {
	if !d.Given() {
		v.fail(path, "is missing")
	}
	return d.Given()
}

func (v *validator) ramping(path string, r *RampingArrivals) {
	v.enum(path+".process", r.Process, ProcessPoisson, ProcessConstant)
	if len(r.Stages) == 0 {
		v.fail(path+".stages", "is empty: want one stage at least")
	}
	most, sum := r.StartRate, Duration(0)
	for i := range r.Stages {
		most = max(most, r.Stages[i].Rate)
		// Summed up stage by stage, so that it cannot overflow.
		if sum += r.Stages[i].Duration; sum > longest {
			v.fail(document.Index(path+".stages", i)+".duration", "the stages take more than a hundred years")
			return
		}
	}
	if most <= 0 && len(r.Stages) > 0 {
		v.fail(path+".stages", "no stage has a rate above 0/s")
	}
}

func (v *validator) burst(path string, b *BurstArrivals, w *Workload) {
	switch {
	case b.Requests < 1 || b.Requests > mostAtOnce:
		v.fail(path+".requests", "%d: want 1 to %d", b.Requests, mostAtOnce)
	case w.Clients > mostAtOnce/b.Requests:
		v.fail(path+".requests", "%d times %d clients: want at most %d requests at once", b.Requests, w.Clients, mostAtOnce)
	}
	if b.Requests == 1 && b.Over > 0 {
		v.warn(path+".over", "%v: there is nothing to spread, as each client sends one request, all at one moment; want constant with a stop for clients that come one after the other", b.Over)
	}
	if b.Every != 0 && b.Over > b.Every {
		v.fail(path+".over", "%v: want at most every, %v: a burst ends before the next begins", b.Over, b.Every)
	}
	if end := Duration(v.scenario.Spec.EndNs(w)); end > w.Start && b.At >= end-w.Start {
		v.fail(path+".at", "%v after the workload's start: it has ended by then, after %v", b.At, end-w.Start)
	}
}

// expectedArrivals returns how many first attempts a valid workload makes on average, or
// more: a closed workload is counted as if nothing ever waited, and one that is on and
// off with its changes. A trace counts as nothing: it has been read.
func (s *Spec) expectedArrivals(w *Workload) float64 {
	seconds := float64(s.EndNs(w)-int64(w.Start)) / 1e9
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
		n = float64(a.Closed.Concurrency) * (1 + seconds*1e9/(a.Closed.Think.MeanNs()+w.meanExecutionNs()))
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
