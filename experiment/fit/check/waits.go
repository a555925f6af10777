package check

import (
	"math/rand/v2"
	"slices"

	"apfsim/experiment/fit"
	"apfsim/reports/histogram"
	"apfsim/reports/result"
)

// waitErrors draws how much a statistic of recorded waits is too long.
type waitErrors struct {
	ns       []float64 // of single waits, in order; nil if unknown
	marginNs float64
}

// handOverNs is how long a dispatched request can take until its execution begins, beyond that of a request of level
// exempt: its goroutine has to wake up. 0.5 ms have been measured on busy processors (docs/background/live.md).
const handOverNs = 500_000

// mostDraws limits the number of waits that are drawn for a statistic. With more, its error does not change much.
const mostDraws = 4096

func newWaitErrors(r *fit.Recorded) *waitErrors {
	e := &waitErrors{marginNs: float64(r.WaitMarginNs)}
	if e.marginNs == 0 {
		e.ns = slices.Sorted(slices.Values(r.WaitErrors.Values))
	}
	return e
}

// of returns the error of the row's statistic in a run: the same statistic of as many errors as there are waits. A
// percentile of sums is at most about the sum of the percentiles.
func (e *waitErrors) of(r *row, run int) float64 {
	switch {
	case r.waits == 0:
		return 0
	case len(e.ns) == 0:
		return e.marginNs
	}
	// Seeded by the run alone, so that rows of more waits contain those of fewer.
	random := rand.New(rand.NewPCG(uint64(run), 0x77616974))
	h := histogram.Histogram[uint64]{Precision: histogram.FinePrecision}
	for range min(r.waits, mostDraws) {
		h.Record(int64(e.ns[random.IntN(len(e.ns))]))
	}
	x, _ := r.statistic.of(requests{&result.Counts{}, result.NewDistribution(&h), nil})
	return x + handOverNs
}

// distribution returns the distribution of the errors, nil if it is unknown.
func (e *waitErrors) distribution() *result.Distribution {
	if len(e.ns) == 0 {
		return nil
	}
	h := histogram.Histogram[uint64]{Precision: histogram.FinePrecision}
	for _, ns := range e.ns {
		h.Record(int64(ns))
	}
	return result.NewDistribution(&h)
}
