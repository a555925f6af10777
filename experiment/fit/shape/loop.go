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
	logs   []float64 // logarithms of the numbers of thinking users
}

const (
	mostInProgress = 1 << 11 // of a client in a closed loop
	leastEvidence  = 10      // least gain in the logarithm of the likelihood
	overlap        = 0.02    // rate of requests beyond the number of users, as a part of that of one user
	leastRounds    = 2       // requests of each of several concurrent users
	equalThinks    = 0.01    // greatest squared coefficient of variation of constant think times
)

// countArrival counts a first attempt.
func (l *loop) countArrival(k int) {
	if k >= mostInProgress {
		l.beyond = true
		return
	}
	l.grow(k)
	l.found[k]++
}

// addTime counts time.
func (l *loop) addTime(k int, ns int64) {
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

// log returns the logarithm of a number of thinking users.
func (l *loop) log(users int) float64 {
	for i := len(l.logs); i <= max(0, users); i++ {
		l.logs = append(l.logs, math.Log(max(float64(i), overlap)))
	}
	return l.logs[max(0, users)]
}

// evidence compares two models of the arrivals by the logarithms of their likelihoods: a closed loop of c users
// of each client, who think for exponential times, so that the rate with k requests in progress is proportional to
// c − k, and a Poisson process, whose rate does not depend on k. The more positive it is, the more likely is the
// closed loop. It also returns the mean think time.
func (l *loop) evidence(c int, totalNs float64) (gain, thinkNs float64) {
	n, idleNs, busyNs, overlapNs := 0.0, 0.0, 0.0, 0.0
	for k, found := range l.found {
		n += found
		if found > 0 {
			gain += found * l.log(c-k)
		}
		if k > 0 {
			if k < c {
				idleNs += l.timeNs[k] * float64(c-k)
			} else {
				overlapNs += l.timeNs[k] * overlap
			}
			busyNs += l.timeNs[k]
		}
	}
	idleNs += max(0, totalNs-busyNs) * float64(c)
	return gain + n*math.Log(totalNs/max(1, idleNs+overlapNs)), idleNs / n
}

// fitClosed recognises clients that wait for a response before they send the next request. The closed loop must
// explain the arrivals better than an open process does whose rate changes as the segments say.
func (o *Observations) fitClosed(segments []segment, startNs, endNs int64) (a Arrivals, ok bool) {
	for i := range o.Clients {
		o.advance(&o.Clients[i], max(o.Clients[i].seenNs, endNs))
	}
	n, totalNs := float64(o.First), o.seconds(startNs, endNs)*1e9
	c, gain, thinkNs := 0, 0.0, 0.0
	// By chance, all users together may never have had requests in progress, and in the log of a server, which has
	// the ends late, one more.
	for tried := 1; tried <= 2*len(o.loop.found)+8 && !o.loop.beyond; tried++ {
		if more, ns := o.loop.evidence(tried, totalNs); more > gain {
			c, gain, thinkNs = tried, more, ns
		}
	}
	if c > 1 && n < leastRounds*float64(c*len(o.Clients)) {
		return a, false
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
