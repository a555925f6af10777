package measure

import "math"

// Rank returns the nearest rank of a percentile of n sorted values, from 1: that of the least value which at least so many
// percent of the values do not exceed. All percentiles are computed by it.
func Rank(percent, n float64) float64 {
	// The factor keeps 99.9 % of 1000, which floating point puts just above 999, at 999.
	return max(1, math.Ceil(percent/100*n*(1-1e-12)))
}
