package compare

import (
	"encoding/json"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is the confidence level of all intervals.
const Confidence = 0.95

// RunValues are a statistic's values in several runs, NaN where it has no samples.
type RunValues []float64

// MarshalJSON writes null for NaN.
func (v RunValues) MarshalJSON() ([]byte, error) {
	all := make([]*float64, len(v))
	for i := range v {
		if !math.IsNaN(v[i]) {
			all[i] = &v[i]
		}
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads null as NaN.
func (v *RunValues) UnmarshalJSON(text []byte) error {
	var all []*float64
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*v = make(RunValues, len(all))
	for i, x := range all {
		(*v)[i] = math.NaN()
		if x != nil {
			(*v)[i] = *x
		}
	}
	return nil
}

// Present returns the values that are not NaN.
func (v RunValues) Present() []float64 { return slices.DeleteFunc(slices.Clone(v), math.IsNaN) }

// Prediction returns the mean of values, and half the width of the interval in which one more value is
// expected with the probability [Confidence], nil with fewer than two values:
//
//	mean ± t(1−α/2, n−1) · s · √(1 + 1/n)
//
// It assumes that the values are normally distributed (G. J. Hahn and W. Q. Meeker, Statistical Intervals,
// 1991, section 4.8). There must be a value.
func Prediction(values []float64) (mean float64, half *float64) {
	n := float64(len(values))
	mean = values[0]
	var sd float64
	if !Negligible(slices.Max(values)-slices.Min(values), MaxAbs(values)) { // otherwise the mean would only add rounding errors
		mean, sd = stat.MeanStdDev(values, nil)
	}
	if n < 2 {
		return mean, nil
	}
	width := StudentT(n-1) * sd * math.Sqrt(1+1/n)
	return mean, &width
}

// Negligible says whether a difference between numbers of this size may be caused by rounding, as between
// sums of the same numbers in another order. The limit is a few hundred units in the last place.
func Negligible(difference, size float64) bool { return math.Abs(difference) <= 1e-13*size }

// MaxAbs returns the greatest absolute value.
func MaxAbs(values []float64) float64 { return max(slices.Max(values), -slices.Min(values)) }

// StudentT returns the quantile of Student's t distribution for a confidence interval with these degrees
// of freedom.
func StudentT(degrees float64) float64 {
	if t, known := quantiles.Load(degrees); known {
		return t.(float64)
	}
	t := distuv.StudentsT{Sigma: 1, Nu: degrees}.Quantile(1 - (1-Confidence)/2)
	if degrees == math.Trunc(degrees) {
		quantiles.Store(degrees, t)
	}
	return t
}

// quantiles caches the quantiles of whole degrees of freedom, because hundreds of statistics have the same.
var quantiles sync.Map
