package measure

import (
	"cmp"
	"math"
	"slices"
)

// Trend is the Mann–Kendall test of a series of values for a monotonic trend, with the correction for autocorrelation
// of K. H. Hamed and A. R. Rao, "A modified Mann–Kendall trend test for autocorrelated data", Journal of Hydrology 204
// (1998).
type Trend struct {
	S          int     // pairs that increase less those that decrease
	Variance   float64 // of S in a series of independent values without a trend
	Correction float64 // factor of the variance for the autocorrelation; at least 1
}

// Z returns the test statistic, which is nearly standard normal without a trend: positive if the values increase. It is
// 0 if all values are equal.
func (t *Trend) Z() float64 {
	if t.S == 0 {
		return 0
	}
	s := float64(t.S)
	return (s - math.Copysign(1, s)) / math.Sqrt(t.Variance*t.Correction)
}

// MannKendall tests at least three values for a trend. A correction that would make the variance smaller is left out,
// because it would find trends more easily.
func MannKendall(values []float64) Trend {
	n := len(values)
	var t Trend
	var slopes []float64
	for i := range values {
		for j := i + 1; j < n; j++ {
			t.S += cmp.Compare(values[j], values[i])
			slopes = append(slopes, (values[j]-values[i])/float64(j-i))
		}
	}
	t.Variance = pairsVariance(n)
	sorted := slices.Sorted(slices.Values(values))
	for i := 0; i < n; {
		same := i
		for i < n && sorted[i] == sorted[same] {
			i++
		}
		t.Variance -= pairsVariance(i - same)
	}

	slope := medianOf(slopes)
	rest := make([]float64, n)
	for i, v := range values {
		rest[i] = v - slope*float64(i)
	}
	ranks := ranksOf(rest)
	sum := 0.0
	for lag := 1; lag < n; lag++ {
		if r := autocorrelation(ranks, lag); math.Abs(r) > 1.96/math.Sqrt(float64(n)) {
			sum += float64((n-lag)*(n-lag-1)*(n-lag-2)) * r
		}
	}
	t.Correction = max(1, 1+2*sum/float64(n*(n-1)*(n-2)))
	return t
}

// pairsVariance is the variance of S of n independent values; ties subtract that of as many values.
func pairsVariance(n int) float64 { return float64(n*(n-1)*(2*n+5)) / 18 }

func medianOf(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// ranksOf returns the rank of each value, from 1; equal values share the mean of their ranks.
func ranksOf(values []float64) []float64 {
	ranks := make([]float64, len(values))
	for i, v := range values {
		less, equal := 0, 0
		for _, other := range values {
			if other < v {
				less++
			} else if other == v {
				equal++
			}
		}
		ranks[i] = float64(less) + float64(equal+1)/2
	}
	return ranks
}

// autocorrelation returns the correlation of the values with those that are a lag later; 0 if all are equal.
func autocorrelation(values []float64, lag int) float64 {
	mean := 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	both, square := 0.0, 0.0
	for i, v := range values {
		square += (v - mean) * (v - mean)
		if i+lag < len(values) {
			both += (v - mean) * (values[i+lag] - mean)
		}
	}
	if square == 0 {
		return 0
	}
	return both / square
}
