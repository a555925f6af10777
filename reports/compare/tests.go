package compare

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Difference is the difference of two means.
type Difference struct {
	Mean      float64
	Low, High *float64 // ends of the confidence interval; nil with too few runs
	P         *float64 // p value of the hypothesis that the means are equal; nil with too few runs
	Exact     bool     // whether all runs are equal, except for rounding
}

// DifferenceOf returns the difference head − factor·base. Paired values are compared run by run
// (Student's t), others as two samples (Welch's t).
func DifferenceOf(base, head RunValues, factor float64, paired bool) Difference {
	scaled := make(RunValues, len(base))
	for i, x := range base {
		scaled[i] = factor * x
	}
	if paired {
		return pairedDifference(scaled, head)
	}
	return unpairedDifference(scaled.Present(), head.Present())
}

// CommonRuns returns the values of the runs in which both sides have a value.
func CommonRuns(base, head RunValues) (b, h RunValues) {
	for i := range base {
		if !math.IsNaN(base[i]) && !math.IsNaN(head[i]) {
			b, h = append(b, base[i]), append(h, head[i])
		}
	}
	return b, h
}

// pairedDifference compares the runs in which both sides have values, run by run.
func pairedDifference(base, head RunValues) Difference {
	x, y := CommonRuns(base, head)
	if len(x) == 0 {
		return Difference{}
	}
	all := make([]float64, len(x))
	for i := range x {
		all[i] = y[i] - x[i]
	}
	n, size := float64(len(all)), max(MaxAbs(x), MaxAbs(y))
	switch {
	case Negligible(MaxAbs(all), size) && len(x) == len(base.Present()) && len(x) == len(head.Present()):
		return noDifference(n > 1)
	case n == 1:
		return Difference{Mean: all[0]}
	}
	mean, sd := stat.MeanStdDev(all, nil)
	// Without variance, p is the probability that all differences have the same sign.
	return test(mean, sd/math.Sqrt(n), n-1, size, math.Pow(2, 1-n))
}

// unpairedDifference compares samples of unequal variance (Welch, The Generalization of
// Student's Problem, Biometrika 34, 1947).
func unpairedDifference(base, head []float64) Difference {
	if len(base) == 0 || len(head) == 0 {
		return Difference{}
	}
	n, m := float64(len(base)), float64(len(head))
	size := max(MaxAbs(base), MaxAbs(head))
	mean := stat.Mean(head, nil) - stat.Mean(base, nil)
	switch single := n == 1 || m == 1; {
	case Negligible(max(slices.Max(base), slices.Max(head))-min(slices.Min(base), slices.Min(head)), size):
		return noDifference(!single)
	case single:
		return Difference{Mean: mean}
	}
	v, w := stat.Variance(base, nil)/n, stat.Variance(head, nil)/m
	degrees := (v + w) * (v + w) / (v*v/(n-1) + w*w/(m-1))
	// Without variance, p is the probability that all values of one side exceed all values of the other,
	// on either side.
	lgN, _ := math.Lgamma(n + 1)
	lgM, _ := math.Lgamma(m + 1)
	lg, _ := math.Lgamma(n + m + 1)
	return test(mean, math.Sqrt(v+w), degrees, size, 2*math.Exp(lgN+lgM-lg))
}

// noDifference returns the difference of equal values, with an interval if there are enough of them.
func noDifference(enough bool) Difference {
	d := Difference{Exact: true}
	if enough {
		none, certain := 0.0, 1.0
		d.Low, d.High, d.P = &none, &none, &certain
	}
	return d
}

// test returns a mean with its interval and the p value of the hypothesis that it is 0. Student's t is
// not defined for a standard error of 0; p is ifConstant then. size is the size of the numbers that
// were subtracted, which determines the rounding errors.
func test(mean, standardError, degrees, size, ifConstant float64) Difference {
	if Negligible(standardError, size) {
		if Negligible(mean, size) {
			mean, ifConstant = 0, 1
		}
		return Difference{Mean: mean, Low: &mean, High: &mean, P: &ifConstant}
	}
	half := StudentT(degrees) * standardError
	low, high := mean-half, mean+half
	p := 2 * distuv.StudentsT{Sigma: 1, Nu: degrees}.Survival(math.Abs(mean)/standardError)
	return Difference{Mean: mean, Low: &low, High: &high, P: &p}
}
