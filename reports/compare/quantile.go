package compare

import (
	"math"
	"slices"

	"apfsim/reports/measure"
)

// A percentile of several runs is that of the values of all runs together. Its confidence interval contains each value x
// for which the share of values above x may be 1 − p. How far this share varies is known from the runs, which are
// independent: the number of values above x in run r deviates from what the share lets expect by
//
//	d(r) = above(r, x) − share(x)·N(r)
//
// and x is in the interval if
//
//	|logit share(x) − logit(1 − p)| ≤ z · √(Σd²/(n(n−1))) / (mean above · (1 − share))
//
// which is the interval of R. S. Woodruff (Confidence Intervals for Medians and Other Position Measures, J. Amer. Statist.
// Assoc. 47, 1952), for runs as clusters, on the scale of the logit, because the numbers in the tail are skewed. It does not
// need the density of the distribution at the percentile. The critical value
//
//	z = t(1−α/2, n−1) · (1 + tail/(n·e·(1−p)))
//
// is that of Student's t distribution, and wider if few of the values above the percentile are independent. e is how many
// batches of one run are independent (measure.Effective).
const (
	tail             = 2.5
	leastIndependent = 0.2 // batches of a run, times 1 − p
	runsForTail      = 5   // least number of runs of which percentiles beyond p95 have an interval
)

// sectionPrecision is the precision of the histograms of sections: bounds are within 0.4 %, and interpolated.
const sectionPrecision = 8

// section is the durations of one run, or of several if there are many runs.
type section struct {
	runs  int
	parts [][measure.Timings]measure.Histogram // in the order of the replicator's parts; later ones may be missing
}

// mostSections is the greatest number of sections: beyond it, neighbours are merged, which costs no precision, and bounds
// the memory.
const mostSections = 100

// addSection adds the durations of a run. at are the places of its parts.
func (a *Replicator) addSection(parts []measure.Part, at []int) {
	if len(a.sections) == 0 || a.sections[len(a.sections)-1].runs == a.runsPerSection {
		if len(a.sections) == mostSections {
			for i := range mostSections / 2 {
				a.sections[i] = a.sections[2*i]
				a.sections[i].merge(&a.sections[2*i+1])
			}
			clear(a.sections[mostSections/2:])
			a.sections = a.sections[:mostSections/2]
			a.runsPerSection *= 2
		}
		a.sections = append(a.sections, section{})
	}
	s := &a.sections[len(a.sections)-1]
	s.runs++
	for i := range parts {
		s.grow(at[i] + 1)
		for t := range parts[i].Timed {
			parts[i].Timed[t].Each(func(leastNs, _, n int64) { s.parts[at[i]][t].RecordN(leastNs, n) })
		}
	}
}

func (s *section) grow(n int) {
	for len(s.parts) < n {
		s.parts = append(s.parts, measure.New(sectionPrecision).Timed)
	}
}

func (s *section) merge(other *section) {
	s.runs += other.runs
	s.grow(len(other.parts))
	for i := range other.parts {
		for t := range other.parts[i] {
			s.parts[i][t].Merge(&other.parts[i][t])
		}
	}
}

// clustered is the values of a kind by section.
type clustered struct {
	leastNs []int64     // of each bucket that has values, in ascending order
	above   [][]float64 // by bucket and section: how many values are in it or in a later one
	mostNs  int64
}

// cluster returns the values of several parts by section.
func (a *Replicator) cluster(parts []int, t measure.Timing) *clustered {
	c := &clustered{}
	at := map[int64][]float64{}
	for k := range a.sections {
		s := &a.sections[k]
		for _, i := range parts {
			if i >= len(s.parts) {
				continue
			}
			s.parts[i][t].Each(func(leastNs, mostNs, n int64) {
				counts := at[leastNs]
				if counts == nil {
					counts = make([]float64, len(a.sections))
					at[leastNs] = counts
					c.leastNs = append(c.leastNs, leastNs)
				}
				counts[k] += float64(n)
				c.mostNs = max(c.mostNs, mostNs)
			})
		}
	}
	slices.Sort(c.leastNs)
	for _, leastNs := range c.leastNs {
		c.above = append(c.above, at[leastNs])
	}
	for i := len(c.above) - 2; i >= 0; i-- {
		for k, n := range c.above[i+1] {
			c.above[i][k] += n
		}
	}
	return c
}

// deviation returns by how many standard errors the logit of the share of values from a bucket on differs from that of
// share, and the deviations d of the sections.
func (c *clustered) deviation(bucket int, share float64) (z float64, d []float64) {
	n := float64(len(c.above[0]))
	d = make([]float64, len(c.above[0]))
	if bucket == len(c.above) {
		return math.Inf(-1), d
	}
	all, above := 0.0, 0.0
	for k, x := range c.above[bucket] {
		all += c.above[0][k]
		above += x
	}
	found := above / all
	squares := 0.0
	for k, x := range c.above[bucket] {
		d[k] = x - found*c.above[0][k]
		squares += d[k] * d[k]
	}
	difference := math.Log(found/(1-found)) - math.Log(share/(1-share))
	switch {
	case found == 1:
		return math.Inf(1), d
	case difference == 0:
		return 0, d
	}
	return difference / (math.Sqrt(squares/(n*(n-1))) / (above / n * (1 - found))), d
}

// interval returns the interval of the values for which the deviation is at most z, and the deviations of the sections at
// the percentile. percentileNs is in the interval.
func (c *clustered) interval(percent float64, percentileNs int64, z float64) (low, high float64, d []float64) {
	share := 1 - percent/100
	// The bucket of the percentile.
	at, found := slices.BinarySearch(c.leastNs, percentileNs)
	if !found {
		at = max(at-1, 0)
	}
	_, d = c.deviation(min(at+1, len(c.leastNs)-1), share)
	bound := func(accepted, rejected int, zs [2]float64, limit float64) float64 {
		from, to := float64(c.value(accepted)), float64(c.value(rejected))
		if math.IsInf(zs[1], 0) || math.IsInf(zs[0], 0) {
			return to
		}
		return from + (to-from)*(limit-zs[0])/(zs[1]-zs[0])
	}
	high = float64(percentileNs)
	for last, i := 0.0, at+1; ; i++ {
		here, _ := c.deviation(i, share)
		if here < -z {
			if i > at+1 {
				high = max(high, bound(i-1, i, [2]float64{last, here}, -z))
			}
			break
		}
		last = here
	}
	low = float64(percentileNs)
	last, _ := c.deviation(at+1, share)
	for i := at; i >= 0; i-- {
		here, _ := c.deviation(i, share)
		if here > z {
			low = min(low, bound(i+1, i, [2]float64{last, here}, z))
			break
		}
		last = here
		low = min(low, float64(c.leastNs[i]))
	}
	return low, high, d
}

// value returns the least value of a bucket; of that after the last one, the greatest value.
func (c *clustered) value(bucket int) int64 {
	if bucket == len(c.leastNs) {
		return c.mostNs
	}
	return c.leastNs[bucket]
}

// effective returns the number of independent values of one run: the least among the parts that contain a tenth of the
// values.
func (a *Replicator) effective(parts []int, t measure.Timing) float64 {
	all := 0.0
	counts := make([]float64, len(parts))
	for k, i := range parts {
		counts[k] = float64(a.parts[i].Timed[t].N)
		all += counts[k]
	}
	least := math.Inf(1)
	for k, i := range parts {
		if counts[k] < all/10 {
			continue
		}
		runs := make([]*measure.Batches, len(a.batches))
		for r := range a.batches {
			runs[r] = &measure.Batches{}
			if i < len(a.batches[r]) {
				runs[r] = &a.batches[r][i][t]
			}
		}
		least = min(least, measure.Effective(runs))
	}
	return least
}

// rounding returns the width of the bucket that a percentile is known to: with many values, an interval can be so narrow
// that it matters.
func rounding(percentile float64) float64 { return math.Ldexp(percentile, -measure.FinePrecision) }

// percentileInterval sets the interval of a percentile of all runs together, or says why it has none.
func (a *Replicator) percentileInterval(e *Estimate, percent float64, m *merged, t measure.Timing) {
	n, tailShare := len(a.batches), min(percent, 100-percent)/100
	switch {
	case n < leastRuns, n < runsForTail && tailShare < 0.05-1e-9:
		e.NoInterval = FewRuns
		return
	case !measure.Enough(max(percent, 100-percent), m.timed[t].N/int64(n)):
		e.NoInterval = FewValues
		return
	}
	if m.clusters[t] == nil {
		m.clusters[t], m.effective[t] = a.cluster(m.parts, t), a.effective(m.parts, t)
	}
	independent := m.effective[t] * tailShare
	if independent < leastIndependent {
		e.NoInterval = Dependent
		return
	}
	sections := float64(len(a.sections))
	z := StudentT(sections-1) * (1 + tail/(float64(n)*independent))
	if a.precision > 0 {
		z *= sequentialPercentile
	}
	low, high, deviations := m.clusters[t].interval(percent, int64(*e.Merged), z)
	least, most := e.ID.Range()
	if low < high {
		low, high = low-rounding(low), high+rounding(high)
	}
	low, high = max(low, least), min(high, most)
	half := max(high-*e.Merged, *e.Merged-low)
	e.MergedLow, e.MergedHigh, e.MergedHalf = &low, &high, &half
	e.Deviations = deviations
}

// These are the factors by which intervals are wider that decide how many runs are made. If the runs end because an interval
// is narrow, it is too narrow more often than by chance (the theory of Y. S. Chow and H. Robbins, On the Asymptotic Theory
// of Fixed-Width Sequential Confidence Intervals, Ann. Math. Statist. 36, 1965, is for narrow intervals only).
const (
	sequentialMean       = 1.25
	sequentialPercentile = 1.35
)
