package compare

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// scaled returns the estimate of factor times what is estimated, factor > 0.
func (e *Estimate) scaled(factor float64) *Estimate {
	times := func(x *float64) *float64 {
		if x == nil {
			return nil
		}
		y := factor * *x
		return &y
	}
	s := *e
	s.Mean, s.Low, s.High = factor*e.Mean, times(e.Low), times(e.High)
	s.Merged, s.MergedLow, s.MergedHigh = times(e.Merged), times(e.MergedLow), times(e.MergedHigh)
	s.Values = make(RunValues, len(e.Values))
	for i, x := range e.Values {
		s.Values[i] = factor * x
	}
	return &s
}

// change returns the difference head − base of what outputs show, and its interval, if both sides have intervals. Of means of
// runs with the same seeds it is the interval of the mean of the differences. Otherwise it is that of G. Y. Zou and A. Donner
// (Construction of Confidence Limits about Effect Measures, Statist. Med. 27, 2008), which keeps the skewness of both
// sides: with their intervals (l₁, u₁) and (l₂, u₂) and their correlation r,
//
//	low = head − base − √((head−l₂)² + (u₁−base)² − 2r(head−l₂)(u₁−base))
//
// and high likewise.
func change(base, head *Estimate, paired bool) (difference float64, low, high *float64) {
	b, from, to := base.Printed()
	h, l, u := head.Printed()
	difference = h - b
	if paired && base.Merged == nil {
		x, y := CommonRuns(base.Values, head.Values)
		differences := make([]float64, len(x))
		for i := range x {
			differences[i] = y[i] - x[i]
		}
		if len(x) > 0 {
			difference = EstimateOf(differences).Mean // of the runs that are compared
		}
		if !base.HasInterval() || !head.HasInterval() || len(x) < leastRuns {
			return difference, nil, nil
		}
		least, most := intervalOfDifferences(differences, max(MaxAbs(x), MaxAbs(y)))
		return difference, &least, &most
	}
	if !base.HasInterval() || !head.HasInterval() {
		return difference, nil, nil
	}
	r := 0.0
	if paired {
		r = correlation(base.Deviations, head.Deviations)
	}
	side := func(x, y float64) float64 { return math.Sqrt(max(x*x+y*y-2*r*x*y, 0)) }
	least, most := difference-side(h-l, to-b), difference+side(u-h, b-from)
	return difference, &least, &most
}

// intervalOfDifferences returns the interval of the mean of differences. If all have the same sign, they are skewed away from 0
// as the statistics themselves are. size is that of the numbers that were subtracted.
func intervalOfDifferences(differences []float64, size float64) (low, high float64) {
	n := float64(len(differences))
	mean, sd := stat.MeanStdDev(differences, nil)
	least, most := slices.Min(differences), slices.Max(differences)
	if Negligible(most-least, size) {
		return differences[0], differences[0]
	}
	half := StudentT(n-1) * sd / math.Sqrt(n)
	switch {
	case least > 0:
		return mean * math.Exp(-half/mean), mean * math.Exp(skewed*half/mean)
	case most < 0:
		return mean * math.Exp(-skewed*half/mean), mean * math.Exp(half/mean)
	}
	return mean - half, mean + half
}

// correlation returns the correlation of the deviations of two sides with the same seeds, less one standard error
// of Fisher's z, and at least 0: if it is found too great, which is likely with few runs, an interval is too narrow.
func correlation(base, head []float64) float64 {
	if len(base) != len(head) || len(base) < leastRuns {
		return 0
	}
	xx, yy, xy := 0.0, 0.0, 0.0
	for i := range base {
		xx += base[i] * base[i]
		yy += head[i] * head[i]
		xy += base[i] * head[i]
	}
	if xy <= 0 {
		return 0
	}
	const most = 0.999 // of which Fisher's z is known to be finite
	z := math.Atanh(min(xy/math.Sqrt(xx*yy), most))
	return max(math.Tanh(z-1/math.Sqrt(float64(max(len(base)-3, 1)))), 0)
}
