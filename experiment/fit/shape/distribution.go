package shape

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// Distribution is a fitted distribution of durations.
type Distribution struct {
	Value    any     // in the format of a scenario
	Text     string  // for people
	Distance float64 // Kolmogorov's: the greatest difference of the distribution functions
}

// What a distribution must be to be chosen.
const (
	constantRange = 0.0015 // a range from p1 to p99 of less than this part of the mean is constant, as in a histogram
	fewest        = 10     // fewer values are taken as they are
	likely        = 1.36   // at this distance times √n, at level 5 %
	possible      = 1.63   // at this distance times √n, a sample is not of the distribution at level 1 %
	steps         = 100    // of an empirical distribution
)

// FitDistribution fits a distribution. All have the mean of the values, and so the same load. An exponential
// distribution is chosen if its distance is at most 1.36/√n, and else the one with the least distance, if that is
// at most 1.63/√n. If there is none, the values themselves are the distribution: the means of 99 hundredths
// of them, and of the thousandths of the greatest hundredth.
func FitDistribution(s *Sample) Distribution {
	mean, values := s.Mean(), s.sorted()
	n := len(values)
	if n == 0 || mean == 0 {
		return Distribution{Value: "0s", Text: "constant 0s"}
	}
	if p1, p99 := values[n/100], values[n-1-n/100]; p99-p1 <= constantRange*mean && s.most-s.least <= mean {
		d := Duration(mean)
		return Distribution{Value: d, Text: "constant " + d}
	}
	if n < fewest {
		return empirical(values, mean)
	}
	root := math.Sqrt(float64(n))
	var best *Distribution
	for _, candidate := range parametric(s) {
		candidate.Distance = distance(values, candidate.cdf)
		if best == nil || candidate.Distance < best.Distance {
			best = &candidate.Distribution
		}
		if candidate.simple && candidate.Distance <= likely/root {
			break
		}
	}
	if best != nil && best.Distance <= possible/root {
		return *best
	}
	return empirical(values, mean)
}

// parametricDistribution is a distribution with its function.
type parametricDistribution struct {
	Distribution
	cdf    func(float64) float64
	simple bool
}

// parametric returns the distributions of a scenario that have the mean of the values, with the shape that
// follows from the logarithms of the values: nearly the one of the greatest likelihood for gamma (Minka,
// "Estimating a Gamma distribution", 2002), by the standard deviation for Weibull, and by either the standard
// deviation or the mean for lognormal.
func parametric(s *Sample) (all []parametricDistribution) {
	mean := s.Mean()
	d := Duration(mean)
	add := func(simple bool, kind string, value map[string]any, shape string, cdf func(float64) float64) {
		all = append(all, parametricDistribution{Distribution{Value: map[string]any{kind: value}, Text: kind + shape}, cdf, simple})
	}
	add(true, "exponential", map[string]any{"mean": d}, ", mean "+d, distuv.Exponential{Rate: 1 / mean}.CDF)
	if low, high := max(0, s.least), s.most; high > low {
		// The greatest of n uniform values is on average one n-th of the range below the bound.
		add(false, "uniform", map[string]any{"min": Duration(low), "max": Duration(high)}, fmt.Sprintf(", %s to %s", Duration(low), Duration(high)),
			distuv.Uniform{Min: low, Max: high}.CDF)
	}
	if s.positive < s.N || s.positive < 2 {
		return all
	}
	meanLog := s.sumLog / float64(s.N)
	sigma := math.Sqrt(max(0, s.sumL2/float64(s.N)-meanLog*meanLog))
	if !(sigma > 1e-6 && sigma < 8) {
		return all
	}
	for _, sigma := range []float64{sigma, math.Sqrt(max(1e-12, 2*(math.Log(mean)-meanLog)))} {
		add(false, "lognormal", map[string]any{"mean": d, "sigma": Number(sigma)}, fmt.Sprintf(", mean %s, sigma %v", d, Number(sigma)),
			distuv.LogNormal{Mu: math.Log(mean) - sigma*sigma/2, Sigma: sigma}.CDF)
	}
	if y := math.Log(mean) - meanLog; y > 1e-12 {
		if shape := (3 - y + math.Sqrt((y-3)*(y-3)+24*y)) / (12 * y); shape > 0.01 && shape < 1e5 {
			add(false, "gamma", map[string]any{"mean": d, "shape": Number(shape)}, fmt.Sprintf(", mean %s, shape %v", d, Number(shape)),
				distuv.Gamma{Alpha: shape, Beta: shape / mean}.CDF)
		}
	}
	if shape := math.Pi / math.Sqrt(6) / sigma; shape > 0.15 && shape < 1e5 {
		add(false, "weibull", map[string]any{"mean": d, "shape": Number(shape)}, fmt.Sprintf(", mean %s, shape %v", d, Number(shape)),
			distuv.Weibull{K: shape, Lambda: mean / math.Gamma(1+1/shape)}.CDF)
	}
	return all
}

// distance returns Kolmogorov's distance of a distribution from values in order.
func distance(values []float64, cdf func(float64) float64) (most float64) {
	n := float64(len(values))
	for i, x := range values {
		p := cdf(x)
		most = max(most, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
	}
	return most
}

// empirical returns the distribution of values in order, which is scaled to the mean.
func empirical(values []float64, mean float64) Distribution {
	var means, weights []float64
	add := func(from, to int) {
		if from >= to {
			return
		}
		sum := 0.0
		for _, x := range values[from:to] {
			sum += x
		}
		means = append(means, sum/float64(to-from))
		weights = append(weights, float64(to-from))
	}
	n := len(values)
	tail := n - n/steps
	parts := min(steps-1, tail)
	for i := range parts {
		add(tail*i/parts, tail*(i+1)/parts)
	}
	parts = min(10, n-tail)
	for i := range parts {
		add(tail+(n-tail)*i/parts, tail+(n-tail)*(i+1)/parts)
	}
	sum, count := 0.0, 0.0
	for i, m := range means {
		sum += m * weights[i]
		count += weights[i]
	}
	scale := mean * count / sum
	texts := make([]any, len(means))
	for i, m := range means {
		texts[i] = Duration(m * scale)
	}
	value := map[string]any{"values": texts}
	if slices.Min(weights) != slices.Max(weights) {
		value["weights"] = weights
	}
	return Distribution{Value: map[string]any{"empirical": value}, Text: fmt.Sprintf("empirical, %d values, mean %s", len(means), Duration(mean))}
}

// FitLifetimes fits the distribution of how long watches last by Kaplan and Meier's estimate, which takes into
// account that some, which are negative, were still open at the end (Kaplan and Meier, "Nonparametric Estimation from Incomplete
// Observations", 1958). It is not ok if none has ended.
func FitLifetimes(watches []float64) (d Distribution, cut int, ok bool) {
	sorted := slices.Clone(watches)
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Or(cmp.Compare(math.Abs(a), math.Abs(b)), cmp.Compare(b, a)) })
	type step struct{ ns, open float64 } // the share that lasts longer
	var all []step
	open := 1.0
	for i, l := range sorted {
		if l < 0 || math.Signbit(l) {
			cut++
			continue
		}
		open *= 1 - 1/float64(len(sorted)-i)
		all = append(all, step{l, open})
	}
	if len(all) == 0 {
		return Distribution{}, cut, false
	}
	var s Sample
	longest := math.Abs(sorted[len(sorted)-1])
	const quantiles = 400
	at := 0
	for k := range min(quantiles, len(sorted)) {
		p := 1 - (float64(k)+0.5)/float64(min(quantiles, len(sorted)))
		for at < len(all) && all[at].open > p {
			at++
		}
		if at < len(all) {
			s.Add(all[at].ns)
		} else {
			s.Add(longest)
		}
	}
	return FitDistribution(&s), cut, true
}

// Duration returns nanoseconds as a scenario has them, with five significant digits.
func Duration(ns float64) string {
	ns = math.Round(max(0, ns))
	if ns > 0 {
		unit := math.Pow(10, math.Floor(math.Log10(ns))-4)
		if unit > 1 {
			ns = math.Round(ns/unit) * unit
		}
	}
	return time.Duration(ns).String()
}

// Number returns a number with four significant digits.
func Number(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return y
}
