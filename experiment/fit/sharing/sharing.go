// Package sharing finds out how the requests of a log shared their server. A server with a capacity serves n
// requests at a time with the speed
//
//	v(n) = min(1, c/n) / (1 + σ·(n-1) + κ·n·(n-1))
//
// each (package machine). A log says when each request was executed, and so how many others were executed
// meanwhile. It does not say what the request would have taken alone, its demand; but for given c, σ and κ every
// demand follows, as the integral of v(n(t)) over the execution. Under the true parameters the demands of a kind
// do not depend on how busy the server was.
//
//  1. Executions become the times at which n changes (timeline).
//  2. The demands under some parameters have a density for each kind, whatever its shape, which is estimated by
//     kernels (density). With the change of variables from times to demands, it gives the likelihood of the log.
//  3. The cores and the contention with the greatest likelihood are searched, and those from which it does not differ
//     significantly (search).
//  4. Without contention, the cores are those with which demands do not depend on how busy the server would have
//     been without chance (instrument), because the likelihood takes slow moments of a server for few cores.
//  5. If the log does not show that requests share anything, it says only up to which n they do not (Estimate).
package sharing

import (
	"math"
	"slices"
)

// Execution is a request that a server executed.
type Execution struct {
	BeginNs, EndNs int64
	Kind           int // 0, 1, 2, ...; requests of one kind have demands of one distribution
}

// timeline is the executions of a server as a sequence of times at which their number changes.
type timeline struct {
	executions []Execution
	n          []int     // executions in progress before the time at each index
	ns         []float64 // since the time before
	begin, end []int     // of each execution, the index of its time
	mostAtOnce int       // of n
}

// newTimeline orders the beginnings and ends. At one time, requests end before others begin, which take their seats.
func newTimeline(executions []Execution) *timeline {
	t := &timeline{executions: executions, begin: make([]int, len(executions)), end: make([]int, len(executions))}
	type change struct {
		ns    int64
		index int
		end   bool
	}
	changes := make([]change, 0, 2*len(executions))
	for i, e := range executions {
		changes = append(changes, change{e.BeginNs, i, false}, change{e.EndNs, i, true})
	}
	slices.SortFunc(changes, func(a, b change) int {
		switch {
		case a.ns != b.ns:
			if a.ns < b.ns {
				return -1
			}
			return 1
		case a.end != b.end && a.index != b.index:
			if a.end {
				return -1
			}
			return 1
		case a.index != b.index:
			return a.index - b.index
		case a.end: // an execution that takes no time begins before it ends
			return 1
		}
		return -1
	})
	n, lastNs := 0, int64(0)
	for k, c := range changes {
		t.n = append(t.n, n)
		t.ns = append(t.ns, float64(c.ns-lastNs))
		lastNs = c.ns
		if c.end {
			t.end[c.index] = k
			n--
		} else {
			t.begin[c.index] = k
			n++
		}
		t.mostAtOnce = max(t.mostAtOnce, n)
	}
	return t
}

// Most returns the greatest number of requests that execute at the same time.
func Most(log []Execution) int { return newTimeline(log).mostAtOnce }

// Busiest returns the 99th percentile of the number of executing requests, over the ends of executions.
func Busiest(log []Execution) int {
	t := newTimeline(log)
	n := make([]int, 0, len(log))
	for i := range log {
		n = append(n, t.n[t.end[i]])
	}
	return busiest(n)
}

// busiest returns the least of the greatest hundredth of numbers, 0 without any.
func busiest(n []int) int {
	if len(n) == 0 {
		return 0
	}
	slices.Sort(n)
	return n[len(n)-1-len(n)/100]
}

// Law is the parameters of a capacity.
type Law struct {
	Cores      float64 // c, +Inf if there is no bound
	Contention float64 // σ
	Coherency  float64 // κ
}

// Speed returns v(n).
func (l Law) Speed(n int) float64 {
	x := float64(max(1, n))
	return min(1, l.Cores/x) / (1 + l.Contention*(x-1) + l.Coherency*x*(x-1))
}

// Throughput returns n·v(n), in demands per time.
func (l Law) Throughput(n int) float64 { return float64(n) * l.Speed(n) }

// none is the law of a server whose requests share nothing.
func none() Law { return Law{Cores: math.Inf(1)} }

// served returns the demand that an execution had been served at each time, if it began at the first one. Its speed depends on
// how many there are.
func (t *timeline) served(speed func(n int) float64, into []float64) {
	speeds := make([]float64, t.mostAtOnce+1)
	for n := range speeds {
		speeds[n] = speed(n)
	}
	v := 0.0
	for k, ns := range t.ns {
		if t.n[k] == 0 {
			ns = 0 // nobody is served
		}
		v += ns * speeds[t.n[k]]
		into[k] = v
	}
}
