package measure

import "math"

// mserBatch is how many values MSER-5 takes together.
const mserBatch = 5

// LeastMSER5 is the number of values from which on MSER-5 is meaningful: twenty batches.
const LeastMSER5 = 20 * mserBatch

// MSER5 returns how many of the first values must be left out so that the mean of the others is known best: of the means
// of batches of five, as many are left out as make the marginal standard error of the rest least,
//
//	Σ (x − mean of the rest)² / (n − d)²
//
// (K. P. White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69, 1997). Only
// truncations in the first half count. If the least standard error is not there, the series is too short, and ok is false.
// Truncations that leave less than a quarter are not considered, because the standard error of so few batches is small by
// chance. Values at the end that fill no batch are not used.
func MSER5(values []float64) (leave int, ok bool) {
	n := len(values) / mserBatch
	best, least, bestOfHalf, leastOfHalf := 0, math.Inf(1), 0, math.Inf(1)
	mean, squares := 0.0, 0.0 // of the batches from d on, by Welford's method, which does not cancel
	for d := n - 1; d >= 0; d-- {
		batch := 0.0
		for _, v := range values[d*mserBatch : (d+1)*mserBatch] {
			batch += v / mserBatch
		}
		count := float64(n - d)
		delta := batch - mean
		mean += delta / count
		squares += delta * (batch - mean)
		if 4*d > 3*n {
			continue
		}
		e := squares / (count * count)
		if e <= least { // of equal ones, the one that leaves out least
			best, least = d, e
		}
		if 2*d <= n && e <= leastOfHalf {
			bestOfHalf, leastOfHalf = d, e
		}
	}
	return bestOfHalf * mserBatch, 2*best <= n && len(values) >= LeastMSER5
}

// RelaxationLag returns after how many steps a value says little about the next ones: the lag at which the autocorrelation
// falls below 1/e, between two lags by linear interpolation. It is 0 if all values are equal, and at most half their number.
func RelaxationLag(values []float64) float64 {
	const limit = 1 / math.E
	before := autocorrelation(values, 0)
	if before == 0 {
		return 0
	}
	for lag := 1; lag < len(values)/2; lag++ {
		r := autocorrelation(values, lag)
		if r < limit {
			return float64(lag-1) + (before-limit)/(before-r)
		}
		before = r
	}
	return float64(len(values) / 2)
}
