package workload

import (
	"math"
	"slices"

	"apfsim/sim/quantity"
)

// applyLoad makes everything of the workload arrive Load times as often: the rates of open loops and the requests of
// bursts are multiplied, and the clients of closed loops and of those that behave, rounded to the nearest and at least
// one, unless there are none. What a client is, its rate limit and how it retries stay. A trace has the times of its requests, so that nothing
// of it is multiplied; Check refuses that.
func (w *Workload) applyLoad() {
	if !(w.Load > 0) || w.Load == 1 {
		return
	}
	if w.loadsClients() {
		w.givenClients = w.Clients
		if w.Clients > 0 {
			w.Clients = int(max(1, math.Round(w.Load*float64(w.Clients))))
		}
		return
	}
	for _, rate := range w.Arrivals.rates() {
		*rate *= quantity.Rate(w.Load)
	}
	if b := w.Arrivals.Burst; b != nil {
		b.load = w.Load
	}
}

// Loaded returns a workload that was decoded with everything of it arriving factor times as often as it does, whatever its
// Load is. A trace stays as it is.
func (w Workload) Loaded(factor float64) Workload {
	a := &w.Arrivals
	switch {
	case a.Constant != nil:
		of := *a.Constant
		a.Constant = &of
	case a.Poisson != nil:
		of := *a.Poisson
		a.Poisson = &of
	case a.OnOff != nil:
		of := *a.OnOff
		a.OnOff = &of
	case a.Ramping != nil:
		of := *a.Ramping
		of.Stages = slices.Clone(of.Stages)
		a.Ramping = &of
	case a.Burst != nil:
		of := *a.Burst
		a.Burst = &of
	}
	before := w.Load
	w.Load = factor
	w.applyLoad()
	if b := a.Burst; b != nil && before > 0 {
		b.load = factor * before
	}
	w.Load = factor * max(1, before)
	return w
}

// rates returns the rates of an open loop.
func (a *Arrivals) rates() (all []*quantity.Rate) {
	switch {
	case a.Constant != nil:
		all = append(all, &a.Constant.Rate)
	case a.Poisson != nil:
		all = append(all, &a.Poisson.Rate)
	case a.OnOff != nil:
		all = append(all, &a.OnOff.Rate)
	case a.Ramping != nil:
		all = append(all, &a.Ramping.StartRate)
		for i := range a.Ramping.Stages {
			all = append(all, &a.Ramping.Stages[i].Rate)
		}
	}
	return all
}

// loadsClients says whether a load is a number of clients: each sends when it has been answered, or as it behaves.
func (w *Workload) loadsClients() bool { return w.Behaviour != nil || w.Arrivals.Closed != nil }

// mostRounded is by which part of it a number of clients is rounded without a warning.
const mostRounded = 0.01

// load checks the load of a workload after it was applied.
func (c *checker) load(path string, w *Workload) {
	switch {
	case !(w.Load > 0) || w.Load == 1: // the decoder has reported one that is not valid
	case w.Arrivals.Trace != nil:
		c.Fail(path, "%v: a trace is replayed with the times of its requests, which no load changes; want 1, or the scenario that 'apfsim import --fit' makes of the log", w.Load)
	case w.loadsClients() && w.Clients > mostClients:
		c.Fail(path, "%v times %d clients: want at most %d clients", w.Load, w.givenClients, mostClients)
	case w.loadsClients() && math.Abs(float64(w.Clients)-w.Load*float64(w.givenClients)) > mostRounded*w.Load*float64(w.givenClients):
		c.Warn(path, "%v times the number of clients, %d, is rounded to %d", w.Load, w.givenClients, w.Clients)
	}
	for _, rate := range w.Arrivals.rates() {
		if *rate > quantity.HighestRate {
			c.Fail(path, "%v: makes a rate of more than 1e9/s, one request per nanosecond", w.Load)
			return
		}
	}
}
