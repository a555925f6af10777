package measure

import "math"

// Rank returns the nearest rank of a percentile of n sorted values, from 1: that of the least value which at least so many
// percent of the values do not exceed. All percentiles are computed by it.
func Rank(percent, n float64) float64 {
	// The factor keeps 99.9 % of 1000, which floating point puts just above 999, at 999.
	return max(1, math.Ceil(percent/100*n*(1-1e-12)))
}

// beyond is the number of values that must lie above a percentile, so that it does not depend on single values.
const beyond = 10

// Enough reports whether n values are enough for a percentile: at least 10/(1 − p), which is 20 for the median, 1000 for
// p99 and 10 000 for p99.9. A percentile of fewer values is shown with their number, and decides nothing.
func Enough(percent float64, n int64) bool {
	// The factor keeps 99.9 % of 10 000, of which floating point leaves just less than 10, at 10.
	return float64(n)*(100-percent)/100 >= beyond*(1-1e-9)
}
