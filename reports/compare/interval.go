package compare

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"apfsim/sim/metric"
)

// NoInterval is a reason why an estimate has no confidence interval: in measurements of the coverage, intervals of this
// kind contained the true value less often than in 93 % of the cases (lab/coverage.md), or the interval would
// be misunderstood. The range of the runs is shown instead.
type NoInterval string

// The reasons.
const (
	FewRuns   NoInterval = "few-runs"   // of fewer than leastRuns runs, or runsForTail for percentiles beyond p95
	FewValues NoInterval = "few-values" // a percentile p of fewer than 10/(1 − p) values a run
	Dependent NoInterval = "dependent"  // a percentile of values that depend on each other for too long a part of the window, as at a load near 1
	Rare      NoInterval = "rare"       // not 0 in fewer than half of the runs
	Extreme   NoInterval = "extreme"    // a maximum or a minimum, which depends on the length of the run
	ByRun     NoInterval = "by-run"     // a percentile whose values are not known for all runs together
)

// Sentence explains the reason.
func (w NoInterval) Sentence() string {
	switch w {
	case FewRuns:
		return "there are fewer than three runs, or fewer than five for a percentile beyond p95"
	case FewValues:
		return "a run has fewer than 10/(1 − p) values of a percentile p"
	case Dependent:
		return "the values of a run depend on each other for too long, as at a load near 1"
	case Rare:
		return "it is 0 in most runs"
	case Extreme:
		return "a maximum or a minimum depends on the length of the run"
	case ByRun:
		return "the percentile is the mean of those of the runs"
	}
	return ""
}

// leastRuns is the least number of runs of which an interval is shown.
const leastRuns = 3

// skewed is the factor by which the longer side of an interval of a mean is wider than Student's t distribution asks for.
// With few runs, the standard deviation is most often estimated too small when the mean is, too.
const skewed = 1.3

// interval returns the confidence interval of the mean of the values of independent runs, or the reason for showing none. It is that of
// Student's t distribution on the scale of log x, or of the logit if the statistic is a fraction:
//
//	log mean ± h,  h = t(1−α/2, n−1) · s/(mean·√n)
//
// The values of most statistics are skewed away from a bound of their range, and the scale makes the interval so. It
// never leaves the range.
// h is widen times as long.
func interval(id *metric.Name, values []float64, widen float64) (low, high float64, why NoInterval) {
	n := float64(len(values))
	if n < leastRuns {
		return 0, 0, FewRuns
	}
	mean, sd := stat.MeanStdDev(values, nil)
	if Negligible(slices.Max(values)-slices.Min(values), MaxAbs(values)) {
		return values[0], values[0], ""
	}
	if id.Extreme() {
		return 0, 0, Extreme
	}
	sorted := slices.Sorted(slices.Values(values))
	median := sorted[len(sorted)/2]
	least, most := id.Range()
	if median == least || median == most {
		return 0, 0, Rare
	}
	half := widen * StudentT(n-1) * sd / math.Sqrt(n)
	down, up := 1.0, skewed
	if 2*mean > least+most {
		down, up = skewed, 1
	}
	if math.IsInf(most, 1) {
		half /= mean - least
		return least + (mean-least)*math.Exp(-half), least + (mean-least)*math.Exp(skewed*half), ""
	}
	half *= (most - least) / ((mean - least) * (most - mean))
	odds := (mean - least) / (most - mean)
	at := func(odds float64) float64 { return most - (most-least)/(1+odds) }
	return at(odds * math.Exp(-down*half)), at(odds * math.Exp(up*half)), ""
}
