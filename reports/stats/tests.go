// Package stats holds the statistical tests of comparisons and the intervals of means, on plain
// numbers.
package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Difference is head − factor·base.
type Difference struct {
	Mean      float64
	Low, High *float64
	P         *float64
	Exact     bool // equal in every run, but for rounding
}

func DifferenceOf(base, head Values, factor float64, paired bool) Difference {
	scaled := make(Values, len(base))
	for i, x := range base {
		scaled[i] = factor * x
	}
	if paired {
		return pairedDifference(scaled, head)
	}
	return unpairedDifference(scaled.Present(), head.Present())
}

// CommonRuns returns the values of the runs in which both sides have one.
func CommonRuns(base, head Values) (b, h Values) {
	for i := range base {
		if !math.IsNaN(base[i]) && !math.IsNaN(head[i]) {
			b, h = append(b, base[i]), append(h, head[i])
		}
	}
	return b, h
}

// pairedDifference compares run by run, those in which both sides have samples.
func pairedDifference(base, head Values) Difference {
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
	// Differences that do not vary are as improbable as all having the same sign.
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
	// Samples that do not vary are as improbable as one lying above the other all by chance.
	lgN, _ := math.Lgamma(n + 1)
	lgM, _ := math.Lgamma(m + 1)
	lg, _ := math.Lgamma(n + m + 1)
	return test(mean, math.Sqrt(v+w), degrees, size, 2*math.Exp(lgN+lgM-lg))
}

// noDifference is that of equal values, with an interval if they are enough for one.
func noDifference(enough bool) Difference {
	d := Difference{Exact: true}
	if enough {
		none, certain := 0.0, 1.0
		d.Low, d.High, d.P = &none, &none, &certain
	}
	return d
}

// test returns the interval of a mean of so great an error, and the probability of one as
// far from 0 by chance; ifConstant is what it is without any error, for which Student's t
// has no answer. size is that of what was subtracted, for what rounding leaves.
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
