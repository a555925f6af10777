package reports_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// sampleOf is replications from the first seed on that counted so many arrivals at workload a,
// and one more thing that never varies.
func sampleOf(seed uint64, values ...float64) *compare.Replications {
	r := &compare.Replications{SchemaVersion: result.SchemaVersion, Name: "x", DurationNs: 10e9}
	for i := range values {
		r.Seeds = append(r.Seeds, seed+uint64(i))
	}
	add := func(name string, values []float64) {
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		e := compare.EstimateOfRuns(metric.MustParseName("arrived.count"), values) // of which any value is one
		e.ID, e.Name, e.Unit = metric.MustParseName(name), name, ""
		e.Better, e.Mean = metric.Lower, sum/float64(len(values))
		r.Statistics = append(r.Statistics, e)
	}
	add("retries{workload:a}.rate", values)
	constant := make([]float64, len(values))
	for i := range constant {
		constant[i] = 0.1
	}
	add("rejected{workload:a}.rate", constant)
	return r
}

// rename gives the first statistic of each side another name.
func rename(name string, sides ...*compare.Replications) {
	for _, r := range sides {
		e := &r.Statistics[0]
		e.ID, e.Name = metric.MustParseName(name), name
		e.Unit = string(e.ID.Unit)
	}
}

func written(t *testing.T, c *compare.Comparison, as string, all bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := render.Write(&b, report.ComparisonDocument(c, all), as, format.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func changeOf(t *testing.T, c *compare.Comparison, name string) *compare.Change {
	t.Helper()
	for i := range c.Changes {
		if c.Changes[i].Name == name {
			return &c.Changes[i]
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

func near(got *float64, want, tolerance float64) bool {
	return got != nil && math.Abs(*got-want) <= tolerance
}

// The differences 1, 1, 1, 1 and 2 have mean 1.2 and standard deviation √0.2; with 2.7764 for
// 4 degrees of freedom that makes 0.5553, and t is 6. Five runs make it 1.15 times as wide, 0.6386, which is 0.5322 of the mean. The interval is from 1.2 − 1.2·0.6386 to
// 1.2·e^(1.3·0.5322).
func TestPairedDifference(t *testing.T) {
	c := compare.Compare("b", sampleOf(1, 10, 20, 30, 40, 50), "h", sampleOf(1, 11, 21, 31, 41, 52))
	ch := changeOf(t, c, "retries{workload:a}.rate")
	if !c.Paired || math.Abs(ch.Difference-1.2) > 1e-12 || !near(ch.Low, 0.4337, 1e-4) || !near(ch.High, 2.397, 1e-3) ||
		!near(ch.P, 0.0039, 1e-4) || !near(ch.Relative, 0.04, 1e-12) || ch.Outcome != compare.Changed || ch.Judgement != compare.Regression {
		t.Errorf("%+v", ch)
	}
	if ch := changeOf(t, c, "rejected{workload:a}.rate"); ch.Outcome != compare.Exact || ch.Difference != 0 || c.Exact != 1 || c.Changed != 1 {
		t.Errorf("%+v", ch)
	}
}

// An example of Welch's test with t = 2.46, 25.0 degrees of freedom and p = 0.021.
func TestUnpairedDifference(t *testing.T) {
	base := sampleOf(1, 27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4)
	head := sampleOf(2, 27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4)
	c := compare.Compare("b", base, "h", head)
	ch := changeOf(t, c, "retries{workload:a}.rate")
	// 2.0595 is Student's t for 25 degrees of freedom. The intervals of the sides, of 14 degrees each, are wider, and would
	// include 0, which the test excludes.
	half := 2.0595 * ch.Difference / 2.46
	if c.Paired || !near(ch.P, 0.021, 5e-4) || !near(ch.High, ch.Difference+half, 0.3*half) || !near(ch.Low, 0, 0) {
		t.Errorf("%+v: interval %v to %v, p %v", ch, *ch.Low, *ch.High, *ch.P)
	}
	if ch := changeOf(t, c, "rejected{workload:a}.rate"); ch.Outcome != compare.Exact {
		t.Errorf("%+v", ch)
	}
}

// Of 1, 2, 3, 4, 5 and 4, 6, 8 the variances are 2.5 and 4: t is 3/√(0.5+1.3333) = 2.2156 and the
// degrees of freedom 1.8333²/(0.5²/4+1.3333²/2) = 3.5328. The intervals of the sides are wider, as they have 4 and 2 degrees.
func TestUnpairedDifferenceOfUnequalNumbers(t *testing.T) {
	few, many := sampleOf(9, 4, 6, 8), sampleOf(1, 1, 2, 3, 4, 5)
	ch := changeOf(t, compare.Compare("b", many, "h", few), "retries{workload:a}.rate")
	if ch.Difference != 3 || !near(ch.P, 0.09998, 1e-5) || !(*ch.Low < 3-3.9637) || !(*ch.High > 3+3.9637) {
		t.Errorf("%+v: interval %v to %v, p %v", ch, *ch.Low, *ch.High, *ch.P)
	}
	ch = changeOf(t, compare.Compare("b", few, "h", sampleOf(1, 5)), "retries{workload:a}.rate")
	if ch.Difference != -1 || ch.P != nil || ch.Outcome != compare.Untested {
		t.Errorf("one run has no variance: %+v", ch)
	}
	if text := written(t, compare.Compare("b", few, "h", sampleOf(1, 5)), "text", false); !strings.Contains(text, "One run on a side: no intervals.") {
		t.Error(text)
	}
}

// A run without samples on one side is not the same as one with them; without any on both, it is.
func TestRunsWithoutSamples(t *testing.T) {
	none := math.NaN()
	for _, c := range []struct {
		head []float64
		want compare.Outcome
	}{{[]float64{10, none, 30}, compare.Exact}, {[]float64{10, 20, 30}, compare.Same}, {[]float64{none, none, none}, compare.Untested}} {
		ch := changeOf(t, compare.Compare("b", sampleOf(1, 10, none, 30), "h", sampleOf(1, c.head...)), "retries{workload:a}.rate")
		if ch.Outcome != c.want {
			t.Errorf("%v: %+v", c.head, ch)
		}
	}
	// What nobody can tell stands before what did not change.
	base, head := sampleOf(1, 10, 20, 30), sampleOf(1, 11, 19, 31)
	base.Statistics[1].Values[0], head.Statistics[1].Values[1], head.Statistics[1].Values[2] = none, none, 0.2
	c := compare.Compare("b", base, "h", head)
	if c.Changes[0].Outcome != compare.Untested || c.Changes[1].Outcome != compare.Same {
		t.Errorf("%+v", c.Changes)
	}
}

// Base and head are the means of the runs that the difference is of.
func TestMeansAreOfTheRunsCompared(t *testing.T) {
	none := math.NaN()
	base, head := sampleOf(1, 10, 12, none), sampleOf(1, 11, 14, 1000)
	ch := changeOf(t, compare.Compare("b", base, "h", head), "retries{workload:a}.rate")
	if ch.Base != 11 || ch.Head != 12.5 || ch.Difference != 1.5 || !near(ch.Relative, 1.5/11, 1e-12) || ch.Outcome != compare.Same {
		t.Errorf("in two runs both sides have samples: %+v", ch)
	}
	base, head = sampleOf(1, 10, none), sampleOf(1, none, 15)
	base.Statistics[0].Mean, head.Statistics[0].Mean = 10, 15
	ch = changeOf(t, compare.Compare("b", base, "h", head), "retries{workload:a}.rate")
	if ch.Base != 10 || ch.Head != 15 || ch.Difference != 5 || !near(ch.Relative, 0.5, 1e-12) || ch.Outcome != compare.Untested {
		t.Errorf("in no run both sides have samples: %+v", ch)
	}
	limit, err := compare.ParseLimit("retries{workload:a}.rate > +80%")
	if err != nil {
		t.Fatal(err)
	}
	c := compare.Compare("b", base, "h", head)
	if err := c.Judge([]compare.Limit{limit}); err != nil || c.Passed || c.Limits[0].Note != "samples on both sides in too few runs" {
		t.Errorf("%v: %+v", err, c.Limits)
	}
}

// Where nothing varies, Student's t says nothing; but that all runs differ the same way
// by chance is improbable if they are many.
func TestDifferenceThatDoesNotVary(t *testing.T) {
	for n, want := range map[int]compare.Outcome{3: compare.Same, 5: compare.Same, 6: compare.Changed} {
		base, head, zeros, sums := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		a, b := 0.1, 0.2
		for i := range head {
			base[i], head[i], sums[i] = 0.3, 0.1, a+b
		}
		for _, seed := range []uint64{1, 9} { // as pairs, and as samples
			ch := changeOf(t, compare.Compare("b", sampleOf(1, base...), "h", sampleOf(seed, sums...)), "retries{workload:a}.rate")
			if ch.Outcome != compare.Exact || *ch.P != 1 || ch.Difference != 0 {
				t.Errorf("%d times 0.3, but for rounding: %+v, p %v", n, ch, *ch.P)
			}
		}
		ch := changeOf(t, compare.Compare("b", sampleOf(1, zeros...), "h", sampleOf(1, head...)), "retries{workload:a}.rate")
		if !near(ch.P, math.Pow(2, 1-float64(n)), 1e-12) {
			t.Errorf("from 0, %d pairs: p %v", n, *ch.P)
		}
		ch = changeOf(t, compare.Compare("b", sampleOf(1, base...), "h", sampleOf(1, head...)), "retries{workload:a}.rate")
		if ch.Outcome != want || !near(ch.P, math.Pow(2, 1-float64(n)), 1e-12) || *ch.Low != *ch.High {
			t.Errorf("%d pairs: %+v, p %v", n, ch, *ch.P)
		}
		ch = changeOf(t, compare.Compare("b", sampleOf(1, base...), "h", sampleOf(9, head...)), "retries{workload:a}.rate")
		if unpaired := map[int]float64{3: 0.1, 5: 2. / 252, 6: 2. / 924}; !near(ch.P, unpaired[n], 1e-9) {
			t.Errorf("%d and %d: p %v", n, n, *ch.P)
		}
	}
}

// Sums in another order differ in their last digits: that is no difference, in no run and of no
// two samples; what is more than that is one. Shares of a run that one side lacks are not exact.
func TestRoundingIsNoDifference(t *testing.T) {
	ulps := func(x float64, n int) float64 { return x * (1 + float64(n)*0x1p-52) }
	base, alike, other := make([]float64, 8), make([]float64, 8), make([]float64, 8)
	for i := range base {
		x := 18.4e3
		base[i], alike[i], other[i] = ulps(x, i%3), ulps(x, -i%5), ulps(x, 4000+i)
	}
	for _, seed := range []uint64{1, 9} { // as pairs, and as samples
		for _, n := range []int{1, 2, 8} {
			c := compare.Compare("b", sampleOf(1, base[:n]...), "h", sampleOf(seed, alike[:n]...))
			if ch := changeOf(t, c, "retries{workload:a}.rate"); ch.Outcome != compare.Exact || ch.Difference != 0 || *ch.Relative != 0 || c.Exact != 2 || (ch.P == nil) != (n == 1) {
				t.Errorf("%d runs: %+v", n, ch)
			}
		}
		ch := changeOf(t, compare.Compare("b", sampleOf(1, base...), "h", sampleOf(seed, other...)), "retries{workload:a}.rate")
		if ch.Outcome != compare.Changed {
			t.Errorf("4000 times the last digit: %+v", ch)
		}
	}
	alike[7] = math.NaN()
	ch := changeOf(t, compare.Compare("b", sampleOf(1, base...), "h", sampleOf(1, alike...)), "retries{workload:a}.rate")
	if ch.Outcome != compare.Same || *ch.P != 1 || *ch.Low != 0 || *ch.High != 0 {
		t.Errorf("in a run the head has no samples: %+v", ch)
	}
}

// One of two that is as improbable as 0.03125, more than α/2, would not do; both do, as the
// second is below α (Benjamini and Hochberg).
func TestTwoChangesThatVouchForEachOther(t *testing.T) {
	base, head := sampleOf(1, 10, 20, 30, 40, 50, 60), sampleOf(1, 11, 21, 31, 41, 51, 61)
	head.Statistics[1].Values = compare.RunValues{11, 21, 31, 41, 51, 61.5} // another number
	base.Statistics[1].Values = compare.RunValues{10, 20, 30, 40, 50, 60.5}
	if c := compare.Compare("b", base, "h", head); c.Changed != 2 || c.Distinct.Changed != 2 || !near(c.Changes[0].P, 0.03125, 1e-12) {
		t.Errorf("%+v", c.Changes)
	}
}

func TestSingleRunsAreNotJudged(t *testing.T) {
	c := compare.Compare("b", sampleOf(1, 10), "h", sampleOf(1, 12))
	if ch := c.Changes[0]; ch.Outcome != compare.Untested || ch.Low != nil || ch.P != nil || ch.Difference != 2 || len(c.Warnings) != 1 {
		t.Errorf("%+v %q", ch, c.Warnings)
	}
	c.Unmatched = []string{"wait{workload:b}.p(99)"}
	for _, format := range []string{"text", "markdown"} {
		for _, want := range []string{"Too few runs tell whether the difference of a statistic is by chance", "retries{workload:a}.rate", "+20 %", "?",
			"~ exactly equal: 1; samples on only one side: 1", "one run on a side: significance cannot be tested"} {
			if text := written(t, c, format, false); !strings.Contains(text, want) {
				t.Errorf("%q is missing in\n%s", want, text)
			}
		}
	}
	limit, err := compare.ParseLimit("retries{workload:a}.rate > +5%")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Judge([]compare.Limit{limit}); !errors.Is(err, compare.ErrTooFewRuns) {
		t.Error(err)
	}
}

func TestLimits(t *testing.T) {
	// Pair by pair the head has 10 % more, give or take 0.6 %.
	c := compare.Compare("b", sampleOf(1, 100, 200, 300, 400, 500, 600), "h", sampleOf(1, 110, 221, 329, 441, 549, 661))
	c.Unmatched = append(c.Unmatched, "wait{workload:b}.p(99)")
	c.UnmatchedIDs = append(c.UnmatchedIDs, metric.MustParseName("wait{workload:b}.p(99)"))
	for text, passed := range map[string]bool{
		"retries{ workload: a }.rate > +5%":   false,
		"retries{workload:a}.rate > +9%":      false,
		"retries{workload:a}.rate > +10%":     true, // within the interval
		"retries{workload:a}.rate > +11%":     true,
		"retries{workload:a}.rate > +8":       false,
		"retries{workload:a}.rate > +40":      true,
		"retries{workload:a}.rate > +9 %":     false,
		"retries{workload:a}.rate > +0.008 k": false,
		"wait{workload:b}.p99 > +1 min 5 s":   false,
		"retries{workload:a}.rate < -5%":      true,
		"retries{workload:a}.rate < +10%":     true, // within the interval, too
		"retries{workload:a}.rate < +12%":     false,
		"retries{workload:a}.rate > 0":        false,
		"rejected{workload:a}.rate > 0":       true, // exactly the same
		"wait{workload:b}.p(99) > +5%":        false,
	} {
		limit, err := compare.ParseLimit(text)
		if err != nil {
			t.Fatal(err)
		}
		c.Limits = nil
		if err := c.Judge([]compare.Limit{limit}); err != nil {
			t.Fatal(err)
		}
		if v := c.Limits[0]; v.Passed != passed || (v.Note == "") != (v.Change != nil) {
			t.Errorf("%s: %+v", text, v)
		}
		if v := c.Limits[0]; v.Change != nil && v.Passed != (limit.Above && *v.Low <= v.Limit || !limit.Above && *v.High >= v.Limit) {
			t.Errorf("%s: passed is %v by an interval from %v to %v", text, v.Passed, *v.Low, *v.High)
		}
	}
	if c.Passed {
		t.Error("all is well")
	}
	limit, _ := compare.ParseLimit("retries{workload:c}.rate > +5%")
	if err := c.Judge([]compare.Limit{limit}); err == nil || !strings.Contains(err.Error(), `no workload "c"`) {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"wait{workload:mice}.p(99)":            "has no > or <",
		"wait{workload:mice}.p(99) > 5%":       "has no sign",
		"wait{workload:mice}.p(99) >= +5%":     ">= is not supported; use > or <",
		"wait{workload:mice}.p(99) > +5":       "is not a change; use a share or a duration, as +5% or +10ms",
		"wait{workload:mice}.p(99) > +x%":      "is not a change",
		"rejected{workload:mice}.rate > +1ms":  "use a share or a number, as +5% or +0.1",
		"rejected{workload:mice}.rate > +inf":  "is not a change",
		"rejected{workload:mice}.rat > +1%":    "no statistic rat",
		"rejected{workload:mice}.rate == +1%":  "has no > or <",
		"rejected{workload:mice}.rate > +1% %": "is not a change",
	} {
		if l, err := compare.ParseLimit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", text, l, err, want)
		}
	}
}

// A scenario compared with itself under other seeds changes nothing: at most one in twenty
// of the statistics that might differ are told as changed, in each of several trials.
func TestTheSameUnderOtherSeedsIsNoChange(t *testing.T) {
	trials := 5
	if testing.Short() {
		trials = 1
	}
	sc := load(t, crowded, "spec.duration=10s", "spec.warmup=2s")
	for i := range trials {
		first := uint64(1000 * i)
		c := compare.Compare("a", replicated(t, sc, first, 10), "b", replicated(t, sc, first+500, 10))
		tested := c.Changed + c.Same
		t.Logf("%d of %d changed, %d exact", c.Changed, tested, c.Exact)
		if tested < 500 || c.Paired || float64(c.Changed) > 0.05*float64(tested) {
			t.Errorf("%d of %d changed: %+v", c.Changed, tested, c.Changes[:min(3, c.Changed)])
		}
	}
}

// Twice as many requests of the elephants change what depends on them, and nothing of the
// admin, who is exempt.
func TestTwiceTheElephants(t *testing.T) {
	sc := load(t, crowded, "spec.duration=10s", "spec.warmup=2s")
	twice := load(t, crowded, "spec.duration=10s", "spec.warmup=2s", "spec.workload[0].arrivals.poisson.rate=120/s")
	c := compare.Compare("a", replicated(t, sc, 1, 8), "b", replicated(t, twice, 1, 8))
	for name, want := range map[string]compare.Judgement{
		"arrived{workload:elephants}.count":                     "",
		"arrived.count":                                         "",
		"rejected{workload:elephants}.rate":                     compare.Regression,
		"rejected{workload:elephants,reason:queue-full}.count":  compare.Regression,
		"rejected{priorityLevel:workload-low}.rate":             compare.Regression,
		"arrived{flow:service-accounts/tenant-0:default}.count": "",
	} {
		name = strings.ReplaceAll(name, "tenant-0:default", "system:serviceaccount:tenant-0:default")
		if ch := changeOf(t, c, name); ch.Outcome != compare.Changed || ch.Judgement != want {
			t.Errorf("%+v: want it changed, and %q", *ch, want)
		}
	}
	if ch := changeOf(t, c, "arrived{workload:elephants}.count"); !near(ch.Relative, 1, 0.05) {
		t.Errorf("%+v", *ch)
	}
	for _, ch := range c.Changes {
		if strings.Contains(ch.Name, "workload:admin") && ch.Outcome != compare.Exact {
			t.Errorf("the admin has the same random numbers, and is exempt: %+v", ch)
		}
		if strings.Contains(ch.Name, "arrived{workload:mice}") && ch.Outcome != compare.Exact {
			t.Errorf("the mice have the same random numbers: %+v", ch)
		}
	}
}

// What matters comes first.
func TestOrderOfChanges(t *testing.T) {
	sc := load(t, crowded, "spec.duration=10s", "spec.warmup=2s")
	more := load(t, crowded, "spec.duration=10s", "spec.warmup=2s", "spec.workload[1].arrivals.poisson.rate=6/s")
	c := compare.Compare("a", replicated(t, sc, 1, 6), "b", replicated(t, more, 1, 6))
	rank := map[compare.Outcome]int{compare.Changed: 0, compare.Untested: 1, compare.Same: 2, compare.Exact: 3}
	counts := map[compare.Outcome]int{}
	moved := false
	for i, ch := range c.Changes {
		counts[ch.Outcome]++
		if i == 0 {
			continue
		}
		before := c.Changes[i-1]
		isFlow := func(ch compare.Change) bool { return strings.Contains(ch.Name, "{flow:") }
		isMin := func(ch compare.Change) bool { return strings.HasSuffix(ch.Name, ".min") }
		switch {
		case rank[before.Outcome] != rank[ch.Outcome]:
			if rank[before.Outcome] > rank[ch.Outcome] {
				t.Fatalf("%s (%s) before %s (%s)", before.Name, before.Outcome, ch.Name, ch.Outcome)
			}
		case (before.SameAs != "") != (ch.SameAs != ""):
			if before.SameAs != "" {
				t.Fatalf("%s, another name, before %s", before.Name, ch.Name)
			}
		case isFlow(before) != isFlow(ch):
			if isFlow(before) {
				t.Fatalf("%s before %s", before.Name, ch.Name)
			}
		case isMin(before) != isMin(ch):
			if isMin(before) {
				t.Fatalf("%s before %s", before.Name, ch.Name)
			}
			moved = moved || before.Relative != nil && ch.Relative != nil && math.Abs(*before.Relative) < math.Abs(*ch.Relative)
		case before.Relative != nil && ch.Relative != nil && math.Abs(*before.Relative) < math.Abs(*ch.Relative):
			t.Fatalf("%s (%v) before %s (%v)", before.Name, *before.Relative, ch.Name, *ch.Relative)
		}
	}
	if !moved {
		t.Error("no min is further down than its size would have it")
	}
	if counts[compare.Changed] != c.Changed || counts[compare.Same] != c.Same || counts[compare.Exact] != c.Exact || c.Changed == 0 || c.Same == 0 || c.Exact == 0 {
		t.Errorf("%v; %d, %d, %d", counts, c.Changed, c.Same, c.Exact)
	}
}

// Where a side has too many flows for their statistics, those that the other side has are
// not called unmatched.
func TestFlowsLeftOutOfOneSideAreNotCompared(t *testing.T) {
	sc := load(t, crowded, "spec.duration=4s", "spec.warmup=1s")
	base, head := replicated(t, sc, 1, 2), replicated(t, sc, 1, 2)
	all := len(base.Statistics)
	head.FlowsLeftOut = true
	head.Statistics = slices.DeleteFunc(head.Statistics, func(e compare.Estimate) bool { return e.PriorityLevel != "" })
	if len(head.Statistics) == all {
		t.Fatal("there are no flows")
	}
	for _, c := range []*compare.Comparison{compare.Compare("a", base, "b", head), compare.Compare("a", head, "b", base)} {
		if len(c.Unmatched) > 0 || len(c.Changes) != len(head.Statistics) || !slices.Equal(c.Warnings, []string{"flows are not compared: there are too many of them"}) {
			t.Errorf("%d changes, want %d; unmatched: %q; %q", len(c.Changes), len(head.Statistics), c.Unmatched, c.Warnings)
		}
		limit, err := compare.ParseLimit("wait{flow:service-accounts/system:serviceaccount:tenant-0:default}.max > +5%")
		if err == nil {
			err = c.Judge([]compare.Limit{limit})
		}
		if err == nil || !strings.Contains(err.Error(), "too many of them") {
			t.Errorf("a limit on a flow: %v", err)
		}
	}
}

func TestFormatsOfAComparison(t *testing.T) {
	c := compare.Compare("be``fore", sampleOf(1, 10, 20, 30, 40, 50, 60), "after | then", sampleOf(1, 11, 21, 31, 41, 52, 62))
	limit, err := compare.ParseLimit("retries{workload:a}.rate > +1%")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Judge([]compare.Limit{limit}); err != nil {
		t.Fatal(err)
	}
	written := func(format string, all bool) string { return written(t, c, format, all) }
	for _, want := range []string{"1 of 2 statistics changed", "retries{workload:a}.rate", "+3.8 ±3.1 %  worse", "35", "36.3",
		"~ exactly equal: 1", "Limits: 1 of 1 exceeded", "✗  retries{workload:a}.rate > +1%", "Same seeds: paired by run"} {
		if text := written("text", false); !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for _, format := range []string{"text", "markdown"} {
		if text := written(format, true); !strings.Contains(text, "~ exact") || strings.Contains(text, "exactly equal") {
			t.Errorf("all are listed, and none is left to be counted:\n%s", text)
		}
	}
	for _, want := range []string{"| `retries{workload:a}.rate` | 35 | 36.3 | +3.8 ±3.1 % | worse |", "`after \\| then`", "| ``` be``fore ``` |", "| ✗ | `retries{workload:a}.rate > +1%` |"} {
		if text := written("markdown", false); !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	var coloured bytes.Buffer
	if err := render.Text(&coloured, report.ComparisonDocument(c, false), format.TextOptions{Colour: true}); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?s)\x1b\[31m  retries[^\x1b]*worse.*\x1b\[31m *✗`).MatchString(coloured.String()) {
		t.Errorf("want a regression and an exceeded limit in red:\n%q", coloured.String())
	}
	var again compare.Comparison
	if err := json.Unmarshal([]byte(written("json", false)), &again); err != nil || again.Changed != 1 || len(again.Changes) != 2 || again.Passed {
		t.Errorf("%v: %+v", err, again)
	}
	rows, err := csv.NewReader(strings.NewReader(written("csv", false))).ReadAll()
	if err != nil || len(rows) != 3 || rows[1][10] != "changed" || rows[2][10] != "exact" {
		t.Fatalf("%v: %q", err, rows)
	}
	ch := c.Changes[0]
	for i, want := range []float64{ch.Base, ch.Head, ch.Difference, *ch.Low, *ch.High, *ch.Relative, *ch.P} {
		if got, err := strconv.ParseFloat(rows[1][3+i], 64); err != nil || got != want {
			t.Errorf("%s is %q, want %v", rows[0][3+i], rows[1][3+i], want)
		}
	}
}

// From 0 on, a change is no share of the base.
func TestChangeFromNothing(t *testing.T) {
	c := compare.Compare("b", sampleOf(1, 0, 0, 0, 0, 0, 0), "h", sampleOf(1, 2, 2, 2, 2, 2, 3))
	limit, err := compare.ParseLimit("retries{workload:a}.rate > +5%")
	if err == nil {
		err = c.Judge([]compare.Limit{limit})
	}
	if err != nil {
		t.Fatal(err)
	}
	text := written(t, c, "text", false)
	for _, want := range []string{"  0  2.17  +2.17 ±0.73  worse\n", "  +2.17 ±0.73; the base is 0, so the limit is 0\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// Of the names of one thing, also one that lacks samples in some run, one is listed. Of many
// changes the first 40 are, and the title counts what their names stand for.
func TestListOfChanges(t *testing.T) {
	base, head := sampleOf(1), sampleOf(1)
	base.Seeds, head.Seeds = []uint64{1, 2, 3, 4, 5, 6, 7}, []uint64{1, 2, 3, 4, 5, 6, 7}
	base.Statistics, head.Statistics = nil, nil
	add := func(name string, by float64) {
		for _, side := range []struct {
			replications *compare.Replications
			by           float64
		}{{base, 0}, {head, by}} {
			e := compare.Estimate{ID: metric.MustParseName(name), Name: name, Better: metric.Lower}
			for _, v := range []float64{10, 20, 30, 40, 50, 60, math.NaN()} {
				e.Values = append(e.Values, v+side.by)
			}
			side.replications.Statistics = append(side.replications.Statistics, e)
		}
	}
	add("retries{workload:a}.rate", 100)
	add("retries{priorityLevel:a}.rate", 100)
	for i := range 40 {
		add(fmt.Sprintf("retries{workload:w-%d}.rate", i), float64(1+i))
	}
	text := written(t, compare.Compare("b", base, "h", head), "text", false)
	for _, want := range []string{"41 of 41 statistics changed; --all lists them\n", "retries{workload:a}.rate", "\n    also: {priorityLevel:a}\n", "other names of numbers counted above: 1", "retries{workload:w-39}.rate", "retries{workload:w-31}.rate"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for _, other := range []string{"retries{priorityLevel:a}.rate", "retries{workload:w-30}.rate"} {
		if strings.Contains(text, other) {
			t.Errorf("%q is in\n%s", other, text)
		}
	}
}

// A change that three digits do not show is shown with more, unless it is one of a share.
func TestSmallChangesAreVisible(t *testing.T) {
	base, head := sampleOf(1, 0.9998, 0.9998, 0.9998, 0.9998, 0.9998, 0.9999), sampleOf(1, 0.9996, 0.9996, 0.9996, 0.9996, 0.9996, 0.9996)
	rename("retries{workload:a}.rate", base, head)
	c := compare.Compare("b", base, "h", head)
	var text bytes.Buffer
	if err := render.Text(&text, report.ComparisonDocument(c, false), format.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), " 0.999817  0.9996 ") {
		t.Error(text.String())
	}
	base, head = sampleOf(1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5), sampleOf(1, 0.5001, 0.5001, 0.5001, 0.5001, 0.5001, 0.5002)
	rename("rejected{workload:b}.rate", base, head)
	if text := written(t, compare.Compare("b", base, "h", head), "text", false); !strings.Contains(text, "  50 %  50 %  ") {
		t.Error(text)
	}
}

// To benchstat exact is what has no other digit at all.
func TestRoundingIsNotExactToBenchstat(t *testing.T) {
	a, b := 0.1, 0.2
	dir := t.TempDir()
	base, head := sampleOf(1, 0.3, a+b), sampleOf(1, 0.3, 0.3)
	rename("retries{workload:a}.rate", base, head)
	if err := output.WriteBench(dir, report.ComparisonDocument(compare.Compare("b", base, "h", head), false)); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, dir, "base.txt"); !strings.Contains(got, "BenchmarkRetries{workload:a}.rate 1 0.3 ratio\nBenchmarkRetries{workload:a}.rate 1 0.30000000000000004 ratio\n") {
		t.Error(got)
	}
}

// Each line of a run has what benchstat wants: an upper-case name without spaces, a
// count, a value and a unit; and what never varies is said to be exact.
func TestBenchmarkLines(t *testing.T) {
	base, head := sampleOf(1, 10, 20, 30), sampleOf(1, 11, 21, math.NaN())
	rename(`wait{flow:"a b,c"}.mean`, base, head)
	base.Statistics[0].Unit, head.Statistics[0].Unit = "ns", "ns"
	dir := t.TempDir()
	if err := output.WriteBench(dir, report.ComparisonDocument(compare.Compare("b", base, "h", head), false)); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"base.txt": {"Unit ratio-exact assume=exact", "", "BenchmarkRejected{workload:a}.rate 1 0.1 ratio-exact",
			"BenchmarkRejected{workload:a}.rate 1 0.1 ratio-exact", "BenchmarkRejected{workload:a}.rate 1 0.1 ratio-exact",
			`BenchmarkWait{flow:"a_b,c"}.mean 1 10 ns/op`, `BenchmarkWait{flow:"a_b,c"}.mean 1 20 ns/op`, `BenchmarkWait{flow:"a_b,c"}.mean 1 30 ns/op`},
		"head.txt": {"Unit ratio-exact assume=exact", "", "BenchmarkRejected{workload:a}.rate 1 0.1 ratio-exact",
			"BenchmarkRejected{workload:a}.rate 1 0.1 ratio-exact", "BenchmarkRejected{workload:a}.rate 1 0.1 ratio-exact",
			`BenchmarkWait{flow:"a_b,c"}.mean 1 11 ns/op`, `BenchmarkWait{flow:"a_b,c"}.mean 1 21 ns/op`},
	}
	for name, lines := range want {
		if got := strings.Split(strings.TrimSuffix(readFile(t, dir, name), "\n"), "\n"); !slices.Equal(got, lines) {
			t.Errorf("%s:\n%s", name, strings.Join(got, "\n"))
		}
	}
}

func TestResultsAreRead(t *testing.T) {
	sc := load(t, crowded, "spec.duration=4s", "spec.warmup=1s")
	dir := t.TempDir()
	many := replicated(t, sc, 1, 3)
	many.Name = "many"
	if err := output.WriteReplications(dir, many.Name, report.ReplicationsDocument(many), nil); err != nil {
		t.Fatal(err)
	}
	one := resultOf(t, crowded, "spec.duration=4s", "spec.warmup=1s")
	if _, err := output.WriteRun(&atomicfile.Set{}, dir, one, nil, nil); err != nil {
		t.Fatal(err)
	}
	read, err := output.ReadResults(output.Folder(dir, "many"))
	if err != nil {
		t.Fatal(err)
	}
	if c := compare.Compare("a", many, "b", read); c.Exact != len(many.Statistics) || c.Exact != len(c.Changes) {
		t.Errorf("read back, %d of %d are the same", c.Exact, len(many.Statistics))
	}
	single, err := output.ReadResults(output.Folder(dir, "crowded"))
	if err != nil {
		t.Fatal(err)
	}
	if single.Name != "crowded" {
		t.Errorf("the results of crowded are called %q", single.Name)
	}
	all := result.Statistics(one.Summary)
	for i, e := range single.Statistics {
		if e.Name != all[i].Name.String() || e.Mean != all[i].Value || e.StdDev != nil || e.Merged != nil && *e.Merged != e.Mean || e.HasInterval() {
			t.Fatalf("%+v: want %+v", e, all[i])
		}
	}
	for text, want := range map[string]string{
		`{`:                                   "is not a file that apfsim wrote",
		`{"schemaVersion":"v9"}`:              `schemaVersion "v9" is not supported; want "apfsim/v1alpha1"`,
		`{"schemaVersion":"apfsim/v1alpha1"}`: "seeds: is empty",
		`{"schemaVersion":"apfsim/v1alpha1","seeds":[1]}`:                                                                   "durationNs: 0: want more than 0",
		`{"schemaVersion":"apfsim/v1alpha1","seeds":[1],"durationNs":1,"statistics":[{"name":"x"}]}`:                        "statistics[0].name",
		`{"schemaVersion":"apfsim/v1alpha1","seeds":[1],"durationNs":1,"statistics":[{"name":"wait.mean"}]}`:                "there are 0 for 1 seeds",
		`{"schemaVersion":"apfsim/v1alpha1","seeds":[1],"statistics":[{"name":"wait.mean","values":3}]}`:                    "is not a file that apfsim wrote",
		`{"schemaVersion":"apfsim/v1alpha1","seeds":[1],"durationNs":1,"statistics":[{"name":"wait.mean","values":[3,4]}]}`: "there are 2 for 1 seeds",
	} {
		writeFile(t, dir, "many/replications.json", text)
		if _, err := output.ReadResults(output.Folder(dir, "many")); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "replications.json") {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	if _, err := output.ReadResults(dir); !errors.Is(err, output.ErrNoResults) || !strings.Contains(err.Error(), fmt.Sprintf("use one of %s, %s", output.Folder(dir, "many"), output.Folder(dir, "crowded"))) {
		t.Error(err)
	}
	for text, want := range map[string]string{
		`{"schemaVersion":"apfsim/v1alpha1"}`:                                          "durationNs: 0: want more than 0",
		`{"schemaVersion":"apfsim/v1alpha1","durationNs":1,"workloads":[{"name":""}]}`: "tag workload has no value",
	} {
		writeFile(t, dir, "crowded/summary.json", text)
		if _, err := output.ReadResults(output.Folder(dir, "crowded")); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "summary.json") {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	// What cannot be read is no reason to take something else.
	path := filepath.Join(output.Folder(dir, "crowded"), output.ReplicationsFile)
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := output.ReadResults(output.Folder(dir, "crowded")); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "is not a file that apfsim wrote") {
		t.Errorf("a folder in the place of a file: %v", err)
	}
}

func readFile(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// The values by which the column of changes is sorted give the order of the list: increases from 0 come first.
func TestChangesSortAsListed(t *testing.T) {
	side := func(rates ...float64) *compare.Replications {
		var all []compare.Estimate
		for i, x := range rates {
			all = append(all, values(fmt.Sprintf("retries{workload:w-%d}.rate", i), metric.Neither, x, x, x, x, x, x))
		}
		return sideOf(all...)
	}
	c := compare.Compare("base", side(1, 0, 2, 4, 0), "head", side(3, 0.001, 1, 5, 0))
	sortValues := map[string]float64{}
	last := math.Inf(1)
	table := report.ChangeTable(c.Changes)
	for _, row := range table.Rows {
		sortValues[row[0].Text] = row[3].Value
		if size := math.Abs(row[3].Value); size > last {
			t.Errorf("%s, of size %v, follows one of size %v", row[0].Text, size, last)
		} else {
			last = size
		}
	}
	for name, want := range map[string]float64{"0": 2, "1": math.MaxFloat64, "2": -0.5, "3": 0.25, "4": 0} {
		if got := sortValues["retries{workload:w-"+name+"}.rate"]; got != want {
			t.Errorf("w-%s sorts by %v, want %v", name, got, want)
		}
	}
	if text := rendersAs(t, report.ComparisonDocument(c, false)); !strings.Contains(text, `data-v="1.79769e+308"`) {
		t.Error("the page has another value to sort by")
	}
}
