package scrape

import (
	"cmp"
	"math"
	"slices"

	"apfsim/reports/measure"
)

// Histogram counts durations in seconds by buckets with upper bounds, as a server reports them.
type Histogram struct {
	Sum     float64
	buckets []bucket // by bound, once sorted
}

// bucket counts the durations up to a bound.
type bucket struct{ bound, upTo float64 }

// Add adds the count of durations up to a bound.
func (h *Histogram) Add(bound, n float64) {
	for i := range h.buckets {
		if h.buckets[i].bound == bound {
			h.buckets[i].upTo += n
			return
		}
	}
	h.buckets = append(h.buckets, bucket{bound, n})
}

// Sort sorts the buckets, which the other methods need.
func (h *Histogram) Sort() {
	slices.SortFunc(h.buckets, func(a, b bucket) int { return cmp.Compare(a.bound, b.bound) })
}

// UpTo returns how many durations are in the buckets up to the greatest bound that is at most so many seconds.
func (h *Histogram) UpTo(seconds float64) (n float64) {
	for _, b := range h.buckets {
		if b.bound <= seconds {
			n = b.upTo
		}
	}
	return n
}

// Count returns the number of durations.
func (h *Histogram) Count() float64 {
	if len(h.buckets) == 0 {
		return 0
	}
	return h.buckets[len(h.buckets)-1].upTo
}

// Percentile returns the bounds of the bucket that has the percentile, by nearest rank, of the n shortest
// durations. The upper bound of the last bucket is infinite. Without durations, the bounds are NaN.
func (h *Histogram) Percentile(p, n float64) (low, high float64) {
	n = min(n, h.Count())
	if n <= 0 {
		return math.NaN(), math.NaN()
	}
	rank := measure.Rank(p, n)
	for _, b := range h.buckets {
		if b.upTo >= rank {
			return low, b.bound
		}
		low = b.bound
	}
	return low, math.Inf(1)
}
