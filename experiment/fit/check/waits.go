package check

import (
	"math"
	"math/rand/v2"
	"slices"

	"apfsim/experiment/fit"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// waitErrors draws how much a statistic of recorded waits is too long.
type waitErrors struct {
	ns       []float64 // of single waits, in order; nil if unknown
	tail     int       // number of the greatest of them, which stand for a tail
	index    float64   // of the tail
	marginNs float64
}

// handOverNs is how long a dispatched request can take until its execution begins, beyond that of a request of level
// exempt: its goroutine has to wake up. 0.5 ms have been measured on busy processors (lab/live.md).
const handOverNs = 500_000

// mostDraws limits the number of waits that are drawn for a statistic. With more, its error does not change much.
const mostDraws = 4096

// mostTail bounds the errors that are drawn, as a multiple of the greatest that is known.
const mostTail = 10

func newWaitErrors(r *fit.RecordedStatistics) *waitErrors {
	e := &waitErrors{marginNs: float64(r.WaitMarginNs)}
	if e.marginNs == 0 {
		e.ns = slices.Sorted(slices.Values(r.WaitErrors.Values))
		e.fitTail()
	}
	return e
}

// tailShare is the part of the errors, the longest, to which the tail is fitted.
const tailShare = 0.1

// fitTail estimates the index of the tail: the mean of the logarithms of the greatest errors divided by the one below
// them (Hill, "A Simple General Approach to Inference About the Tail of a Distribution", 1975). Of more waits than
// there are errors, some would otherwise be too long.
func (e *waitErrors) fitTail() {
	n := len(e.ns)
	e.tail = int(tailShare * float64(n))
	if e.tail == 0 || e.ns[n-e.tail-1] <= 0 {
		e.tail = 0
		return
	}
	for _, ns := range e.ns[n-e.tail:] {
		e.index += math.Log(ns/e.ns[n-e.tail-1]) / float64(e.tail)
	}
}

// draw draws one error: a known one, or one from the fitted tail.
func (e *waitErrors) draw(random *rand.Rand) float64 {
	i, n := random.IntN(len(e.ns)), len(e.ns)
	if i < n-e.tail {
		return e.ns[i]
	}
	return min(e.ns[n-e.tail-1]*math.Exp(e.index*random.ExpFloat64()), mostTail*e.ns[n-1])
}

// errorIn returns the error of the row's statistic in a run: the same statistic of as many errors as there are waits. A
// percentile of sums is at most about the sum of the percentiles.
func (e *waitErrors) errorIn(r *row, run int) float64 {
	switch {
	case r.waits == 0:
		return 0
	case len(e.ns) == 0:
		return e.marginNs
	}
	// Seeded by the run alone, so that rows of more waits contain those of fewer.
	random := rand.New(rand.NewPCG(uint64(run), 0x77616974))
	h := measure.Histogram{Precision: measure.FinePrecision}
	for range min(r.waits, mostDraws) {
		h.Record(int64(e.draw(random)))
	}
	x, _ := r.statistic.value(requests{counts: &metric.Counts{}, wait: result.NewDistribution(&h)})
	return x + handOverNs
}

// distribution returns the distribution of the errors, nil if it is unknown.
func (e *waitErrors) distribution() *result.Distribution {
	if len(e.ns) == 0 {
		return nil
	}
	h := measure.Histogram{Precision: measure.FinePrecision}
	for _, ns := range e.ns {
		h.Record(int64(ns))
	}
	return result.NewDistribution(&h)
}
