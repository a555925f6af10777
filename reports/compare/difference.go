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

// change returns the difference head − base of what outputs show, and its interval, if both sides have intervals. It is that of
// G. Y. Zou and A. Donner (Construction of Confidence Limits about Effect Measures, Statist. Med. 27, 2008), which
// keeps the skewness of both sides: with their intervals (l₁, u₁) and (l₂, u₂) and their correlation r,
//
//	low = head − base − √((head−l₂)² + (u₁−base)² − 2r(head−l₂)(u₁−base))
//
// and high likewise, for means 1.1 times as far away, because a mean near a limit, such as that of a queue that is full, is skewed
// to the other side. Means of runs with the same seeds have the interval of the mean of the differences. Percentiles are
// known to a bucket of their histogram: the interval is wider by half of its width, which matters where both sides are
// nearly equal in all runs.
func change(base, head *Estimate, paired bool) (difference float64, low, high *float64) {
	b, from, to := base.Printed()
	h, l, u := head.Printed()
	difference = h - b
	paired = paired && base.Merged == nil == (head.Merged == nil)
	ofMeans := paired && base.Merged == nil
	var x, y RunValues
	if ofMeans {
		if x, y = CommonRuns(base.Values, head.Values); len(x) > 0 {
			difference = EstimateOf(differences(x, y)).Mean // of the runs that are compared
		}
	}
	if !base.HasInterval() || !head.HasInterval() || ofMeans && len(x) < leastRuns || hardlyDiffers(base, head) || hardlyDiffers(head, base) {
		return difference, nil, nil
	}
	r := 0.0
	switch {
	case ofMeans:
		r = correlation(differences(x, RunValues{base.Mean}), differences(y, RunValues{head.Mean}))
	case paired:
		r = correlation(base.Deviations, head.Deviations)
	}
	wider := 1.0
	if base.Merged == nil && head.Merged == nil {
		wider = differenceOfMeans
	}
	side := func(x, y float64) float64 { return wider * math.Sqrt(max(x*x+y*y-2*r*x*y, 0)) }
	least, most := difference-side(h-l, to-b), difference+side(u-h, b-from)
	if base.Merged != nil && head.Merged != nil {
		half := rounding(max(b, h)) / 2
		least, most = least-half, most+half
	}
	if ofMeans {
		least, most = intervalOfDifferences(differences(x, y), max(MaxAbs(x), MaxAbs(y)), least, most)
	}
	return difference, &least, &most
}

// hardlyDiffers says whether a statistic is the same in all runs of one side, as the utilisation of a level that is always full,
// and hardly anything else on the other side. What little is left are a few runs, of which no interval is reliable.
func hardlyDiffers(constant, other *Estimate) bool {
	const hardly, rounding = 1e-3, 1e-9
	if len(constant.Values) == 0 {
		return false
	}
	at := constant.Values[0]
	scale := math.Abs(at)
	if _, most := constant.ID.Range(); at == 0 && most == 1 { // a fraction
		scale = 1
	}
	distance := math.Abs(other.Mean - at)
	return slices.Max(constant.Values)-slices.Min(constant.Values) <= rounding*scale && distance > rounding*scale && distance < hardly*scale
}

// differenceOfMeans is the factor by which intervals of differences of means are wider than those of Zou and Donner.
const differenceOfMeans = 1.1

// fewDifferences, divided by the number of runs, is how much wider the interval of the mean of differences is than Student's t.
const fewDifferences = 0.75

// differences returns y − x; a single x or y stands for all.
func differences(x, y RunValues) RunValues {
	all := make(RunValues, max(len(x), len(y)))
	for i := range all {
		all[i] = y[min(i, len(y)-1)] - x[min(i, len(x)-1)]
	}
	return all
}

// intervalOfDifferences returns the interval of the mean of differences, by Student's t. If all have the same sign, they are
// skewed away from 0 as the statistics themselves are, and the end there is on the scale of the logarithm; for the other
// one see nearEnd. Otherwise the interval is at least from least to most. size is that of the numbers that were subtracted.
func intervalOfDifferences(all RunValues, size, least, most float64) (low, high float64) {
	n := float64(len(all))
	mean, sd := stat.MeanStdDev(all, nil)
	from, to := slices.Min(all), slices.Max(all)
	if Negligible(to-from, size) {
		return all[0], all[0]
	}
	student := StudentT(n-1) * sd / math.Sqrt(n)
	half := student * (1 + fewDifferences/n)
	switch {
	case from > 0:
		return nearEnd(mean, half, student), mean * math.Exp(skewed*half/mean)
	case to < 0:
		return mean * math.Exp(-skewed*half/mean), -nearEnd(-mean, half, student)
	}
	return min(mean-half, least), max(mean+half, most)
}

// nearEnd returns the end near 0 of the interval of a difference above 0: farther away than half, for means near a limit, but not
// beyond 0 unless that of Student's t is, which would contradict the test.
func nearEnd(mean, half, student float64) float64 {
	const wider = 1.2
	if student < mean {
		return max(mean-wider*half, (mean-student)/2)
	}
	return mean - wider*half
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
