package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"apfsim/reports/collect"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// exponential returns a run with n independent waits of 1 ms in the mean.
func exponential(r *rand.Rand, n int) *collect.Replication {
	part := measure.Part{Workload: "w", Timed: measure.New(measure.FinePrecision).Timed}
	batcher := measure.NewBatcher(0, int64(n))
	h := &part.Timed[measure.Wait]
	for i := range int64(n) {
		if i >= batcher.EndNs {
			batcher.Close(i, &[measure.Timings]measure.Total{measure.Wait: {N: float64(h.N), Sum: h.SumNs()}})
		}
		h.Record(int64(1e6 * r.ExpFloat64()))
	}
	batcher.Close(int64(n), &[measure.Timings]measure.Total{measure.Wait: {N: float64(h.N), Sum: h.SumNs()}})
	part.Batches = batcher.Batches
	s := &result.Summary{DurationNs: 1e9, Workloads: []result.Group{{Name: "w", Counts: metric.Counts{Arrived: int64(n)}, Wait: result.NewDistribution(h)}}}
	return &collect.Replication{Summary: s, Parts: []measure.Part{part}}
}

// The percentile p of an exponential distribution is −log(1−p) times its mean. Nearly all of the intervals of independent
// values contain it, and few of them are wider than twice what theory says: the variance of a percentile of N values is
// p/(1−p)/N·mean².
func TestIntervalsOfIndependentValues(t *testing.T) {
	const cases, runs, values = 200, 5, 2_000
	within, wide := map[float64]int{}, map[float64]int{}
	for i := range uint64(cases) {
		r := rand.New(rand.NewPCG(1, i))
		a := NewReplicator("x", 0, nil)
		for range runs {
			a.Add(exponential(r, values))
		}
		for _, e := range a.Replications().Statistics {
			p, is := e.ID.Percent()
			if !is || e.ID.Metric != "wait" || e.ID.Tag("workload") == "" || p > 99 {
				continue
			}
			if !e.HasInterval() {
				t.Fatalf("%s has no interval: %s", e.Name, e.NoInterval)
			}
			p /= 100
			truth := -1e6 * math.Log(1-p)
			if *e.MergedLow <= truth && truth <= *e.MergedHigh {
				within[p]++
			}
			if (*e.MergedHigh-*e.MergedLow)/2 > 2*StudentT(runs-1)*1e6*math.Sqrt(p/(1-p)/(runs*values)) {
				wide[p]++
			}
		}
	}
	for _, p := range []float64{0.5, 0.9, 0.95, 0.99} {
		t.Logf("p%g: %d of %d intervals contain the truth, %d are wide", 100*p, within[p], cases, wide[p])
		if within[p] < 178 || wide[p] > 40 {
			t.Errorf("p%g: %d of %d intervals contain the truth, %d are wide", 100*p, within[p], cases, wide[p])
		}
	}
}

// An interval needs three runs, for p99 a thousand values of each, and values that do not all depend on each other.
func TestReasonsForNoInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	of := func(runs, values int, change func(*measure.Part, int)) map[string]*Estimate {
		a := NewReplicator("x", 0, nil)
		for i := range runs {
			run := exponential(r, values)
			if change != nil {
				change(&run.Parts[0], i)
			}
			a.Add(run)
		}
		return a.Replications().ByName()
	}
	// All values of a run are shorter or longer together.
	dependent := func(p *measure.Part, run int) {
		for b := range p.Batches[measure.Wait] {
			block := &p.Batches[measure.Wait][b]
			factor := 1 + float64(run)
			block.Sum, block.SumTimesN, block.SumSquares = factor*block.Sum, factor*block.SumTimesN, factor*factor*block.SumSquares
		}
	}
	for _, c := range []struct {
		runs, values int
		change       func(*measure.Part, int)
		statistic    string
		want         NoInterval
	}{
		{2, 5_000, nil, "p(99)", FewRuns},
		{4, 5_000, nil, "p(99)", FewRuns},
		{3, 5_000, nil, "p(95)", ""},
		{5, 999, nil, "p(99)", FewValues},
		{5, 1_000, nil, "p(99)", ""},
		{5, 1_000, nil, "p(99.9)", FewValues},
		{5, 5_000, dependent, "p(99)", Dependent},
		{5, 5_000, dependent, "p(90)", ""},
		{5, 5_000, dependent, "med", ""},
		{5, 5_000, nil, "max", Extreme},
		{5, 5_000, nil, "mean", ""},
		{2, 5_000, nil, "mean", FewRuns},
	} {
		e := of(c.runs, c.values, c.change)["wait{workload:w}."+c.statistic]
		if e.NoInterval != c.want || e.HasInterval() != (c.want == "") {
			t.Errorf("%d runs of %d values: %s has the reason %q, want %q", c.runs, c.values, c.statistic, e.NoInterval, c.want)
		}
		if c.want != "" && c.want.Sentence() == "" {
			t.Errorf("%s has no sentence", c.want)
		}
	}
}

// With more than a hundred runs, neighbours are one section. The intervals are as wide as those of ten times fewer
// runs with ten times as many values.
func TestManyRunsAreFewSections(t *testing.T) {
	width := func(runs, values int) float64 {
		r := rand.New(rand.NewPCG(3, 4))
		a := NewReplicator("x", 0, nil)
		for range runs {
			a.Add(exponential(r, values))
		}
		if len(a.sections) > mostSections {
			t.Errorf("%d runs are %d sections", runs, len(a.sections))
		}
		e := a.Replications().ByName()["wait{workload:w}.p(90)"]
		return *e.MergedHigh - *e.MergedLow
	}
	many, few := width(450, 200), width(45, 2_000)
	if ratio := many / few; ratio < 0.7 || ratio > 1.3 {
		t.Errorf("the interval of 450 runs is %.2f times that of 45", ratio)
	}
}

// Two sides that differ only by a factor have everything in common: the interval of the difference is much narrower than that
// of independent sides, and contains the difference.
func TestCommonRandomNumbersNarrowTheInterval(t *testing.T) {
	base, head, other := NewReplicator("x", 0, nil), NewReplicator("x", 0, nil), NewReplicator("x", 0, nil)
	for i := range uint64(10) {
		of := func(seed uint64, scale float64) *collect.Replication {
			r := rand.New(rand.NewPCG(5, seed))
			run := exponential(r, 3_000)
			h := measure.New(measure.FinePrecision).Timed[measure.Wait]
			run.Parts[0].Timed[measure.Wait].Each(func(leastNs, _, n int64) { h.RecordN(int64(scale*float64(leastNs)), n) })
			run.Parts[0].Timed[measure.Wait] = h
			run.Summary.Seed = i
			run.Summary.Workloads[0].Wait = result.NewDistribution(&h)
			return run
		}
		base.Add(of(i, 1))
		head.Add(of(i, 0.9))
		other.Add(of(i+100, 0.9))
	}
	b := base.Replications()
	var widths [2]float64
	for i, side := range []*Replications{head.Replications(), other.Replications()} {
		c := Compare("base", b, "head", side)
		for k := range c.Changes {
			ch := &c.Changes[k]
			if ch.Name != "wait{workload:w}.p(90)" {
				continue
			}
			if truth := -0.1e6 * math.Log(10); *ch.Low > truth || *ch.High < truth {
				t.Errorf("%v is not in the interval from %v to %v", truth, *ch.Low, *ch.High)
			}
			widths[i] = *ch.High - *ch.Low
		}
	}
	if !(0 < widths[0] && widths[0] < 0.6*widths[1]) {
		t.Errorf("the widths are %v", widths)
	}
}

// A level that is always full on one side and nearly so on the other has no interval of the difference; one that is clearly
// less in use has one.
func TestNoIntervalOfHardlyAnyDifference(t *testing.T) {
	id := metric.MustParseName("utilisation{priorityLevel:sole}.mean")
	estimate := func(values ...float64) *Estimate {
		e := EstimateOf(values)
		e.ID = id
		low, high, _ := interval(&id, values, 1)
		e.Low, e.High = &low, &high
		return &e
	}
	full := estimate(1, 1-1e-15, 1, 1, 1)
	if _, low, _ := change(full, estimate(0.9999, 0.9998, 1, 0.9997, 0.9999), false); low != nil {
		t.Errorf("the interval begins at %v, want none", *low)
	}
	if _, low, high := change(full, estimate(0.95, 0.96, 0.94, 0.95, 0.95), false); low == nil || *low > -0.05 || *high < -0.05 {
		t.Error("want an interval around −0.05")
	}
}
