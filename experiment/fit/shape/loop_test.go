package shape

import (
	"math"
	"math/rand/v2"
	"testing"
)

// closedLoop returns the observations of a client with c users, who think and then wait for a response, for 100 s.
// The ends in the log are late by lateNs.
func closedLoop(c int, lateNs int64, think, service func(*rand.Rand) float64) *Observations {
	const durationNs = int64(100e9)
	o := NewObservations(1, durationNs)
	r := rand.New(rand.NewPCG(7, 8))
	next := make([]int64, c)
	for i := range next {
		next[i] = int64(think(r))
	}
	for {
		first := 0
		for i := range next {
			if next[i] < next[first] {
				first = i
			}
		}
		now := next[first]
		if now >= durationNs {
			return o
		}
		end := now + int64(service(r))
		o.AddFirst(0, now, end+lateNs)
		next[first] = end + int64(think(r))
	}
}

// The number of users and the think time are recovered, also where a log has the ends late, so that a request seems
// to overlap the next one.
func TestClosedLoops(t *testing.T) {
	exponential := func(mean float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 { return mean * r.ExpFloat64() }
	}
	constant := func(x float64) func(*rand.Rand) float64 { return func(*rand.Rand) float64 { return x } }
	for _, c := range []struct {
		name           string
		users          int
		lateNs         int64
		think, service func(*rand.Rand) float64
		meanNs         float64
		text           string
	}{
		{"one user", 1, 0, exponential(50e6), exponential(20e6), 50e6, "exponential"},
		{"one user, ends 1 ms late", 1, 1e6, exponential(50e6), exponential(20e6), 50e6, ""},
		{"five users", 5, 0, exponential(50e6), exponential(100e6), 50e6, "exponential"},
		{"five users who think equally long", 5, 0, constant(50e6), exponential(100e6), 50e6, "constant"},
		{"two hundred users", 200, 0, exponential(100e6), exponential(900e6), 100e6, "exponential"},
		{"users who do not think", 6, 0, constant(0), exponential(80e6), 0, ""},
	} {
		o := closedLoop(c.users, c.lateNs, c.think, c.service)
		segments, startNs, endNs := o.active(1)
		a, ok := o.fitClosed(segments, startNs, endNs)
		if !ok || !a.Closed {
			t.Errorf("%s: %v %s", c.name, ok, a.Text)
			continue
		}
		closed := a.Value.(map[string]any)["closed"].(map[string]any)
		if closed["concurrency"] != c.users {
			t.Errorf("%s: %s", c.name, a.Text)
		}
		_, thinkNs := o.loop.evidence(c.users, float64(endNs-startNs))
		if bound := 4*c.meanNs/math.Sqrt(float64(o.First)) + 1.1*float64(c.lateNs); math.Abs(thinkNs-c.meanNs) > bound+1e-3*o.stay.Mean() {
			t.Errorf("%s: think time %g, want %g ± %g", c.name, thinkNs, c.meanNs, bound)
		}
	}
}

// Requests that do not depend on responses are no closed loop: neither where many are in progress, nor where they
// pile up because the server is too slow for them.
func TestOpenProcessesAreNotClosed(t *testing.T) {
	for name, seconds := range map[string]float64{"20 in progress": 1, "4 in progress": 0.2, "one in ten in progress": 0.005, "a server of 15/s": 0} {
		o := NewObservations(1, 100e9)
		r := rand.New(rand.NewPCG(9, 10))
		free := 0.0
		for at := r.ExpFloat64() / 20; at < 100; at += r.ExpFloat64() / 20 {
			end := at + seconds*r.ExpFloat64()
			if seconds == 0 {
				free = max(free, at) + r.ExpFloat64()/15
				end = free
			}
			o.AddFirst(0, int64(at*1e9), int64(end*1e9))
		}
		if a := o.FitArrivals(); a.Closed {
			t.Errorf("%s: %s", name, a.Text)
		}
	}
}
