package shape

import (
	"fmt"
	"math"
)

// loop counts what a client does when it has k requests in progress, by k, of all clients together.
type loop struct {
	found  []float64 // first attempts that found k others in progress
	timeNs []float64 // time with k in progress; that before a client's first request is not in it
	beyond bool      // whether k was ever too large
}

const (
	mostInProgress = 1 << 12 // of a client in a closed loop
	leastEvidence  = 10      // least gain in the logarithm of the likelihood
	leastRounds    = 2       // requests of each of several concurrent users
	equalThinks    = 0.01    // greatest squared coefficient of variation of constant think times
)

// find counts a first attempt.
func (l *loop) find(k int) {
	if k >= mostInProgress {
		l.beyond = true
		return
	}
	l.grow(k)
	l.found[k]++
}

// stay counts time.
func (l *loop) stay(k int, ns int64) {
	if k >= mostInProgress || ns <= 0 {
		return
	}
	l.grow(k)
	l.timeNs[k] += float64(ns)
}

func (l *loop) grow(k int) {
	for len(l.found) <= k {
		l.found, l.timeNs = append(l.found, 0), append(l.timeNs, 0)
	}
}

// evidence compares two models of the arrivals by the logarithms of their likelihoods: a closed loop of c users
// of each client, who think for exponential times, so that the rate with k requests in progress is proportional to
// c − k, and a Poisson process, whose rate does not depend on k. The more positive it is, the more likely is the
// closed loop. It also returns the mean think time.
func (l *loop) evidence(c int, totalNs float64) (gain, thinkNs float64) {
	n, idleNs, busyNs := 0.0, 0.0, 0.0
	for k, found := range l.found {
		n += found
		if found > 0 {
			gain += found * math.Log(float64(c-k))
		}
		if k > 0 {
			idleNs += l.timeNs[k] * float64(max(0, c-k))
			busyNs += l.timeNs[k]
		}
	}
	idleNs += max(0, totalNs-busyNs) * float64(c)
	return gain + n*math.Log(totalNs/max(1, idleNs)), idleNs / n
}

// fitClosed recognises clients that wait for a response before they send the next request. The closed loop must
// explain the arrivals better than an open process does whose rate changes as the segments say.
func (o *Observations) fitClosed(segments []segment, startNs, endNs int64) (a Arrivals, ok bool) {
	for i := range o.Clients {
		o.advance(&o.Clients[i], max(o.Clients[i].seenNs, endNs))
	}
	c := len(o.loop.found)
	for c > 0 && o.loop.found[c-1] == 0 {
		c--
	}
	n, totalNs := float64(o.First), o.seconds(startNs, endNs)*1e9
	if o.loop.beyond || c > 1 && n < leastRounds*float64(c*len(o.Clients)) {
		return a, false
	}
	gain, thinkNs := o.loop.evidence(c, totalNs)
	if gain <= 0 {
		return a, false
	}
	// By chance, all users together may never have had requests in progress.
	for most := 2*c + 8; c < most; {
		more, ns := o.loop.evidence(c+1, totalNs)
		if more <= gain {
			break
		}
		c, gain, thinkNs = c+1, more, ns
	}
	if gain < leastEvidence || gain < o.changes(segments, startNs, endNs) {
		return a, false
	}
	value := map[string]any{"concurrency": c}
	a = Arrivals{Value: map[string]any{"closed": value}, Text: fmt.Sprintf("closed, concurrency %d", c), Closed: true, Gain: gain}
	var think Distribution
	switch {
	case c == 1 && o.think.N >= fewest:
		think = FitDistribution(&o.think)
	case thinkNs < 0.01*o.stay.Mean():
		return a, true
	// If all users think equally long, they send in the order in which the responses came.
	case c > 1 && float64(o.follow.N) > 0.8*n && o.follow.variation2() < equalThinks && math.Abs(o.follow.Mean()-thinkNs) < 0.1*thinkNs:
		d := Duration(o.follow.Mean())
		think = Distribution{Value: d, Text: "constant " + d}
	default:
		d := Duration(thinkNs)
		think = Distribution{Value: map[string]any{"exponential": map[string]any{"mean": d}}, Text: "exponential, mean " + d}
		a.Notes = append(a.Notes, "the think time is the mean that follows from the number of requests; its distribution is unknown")
	}
	if think.Value != "0s" {
		value["think"] = think.Value
		a.Text += ", think " + think.Text
	}
	return a, true
}
