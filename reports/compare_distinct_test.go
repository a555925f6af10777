package reports_test

import (
	"slices"
	"strings"
	"testing"

	"apfsim/reports/compare"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// sideOf is replications with seeds from 1 on that have these values of statistics.
func sideOf(statistics ...compare.Estimate) *compare.Replications {
	r := &compare.Replications{SchemaVersion: result.SchemaVersion, Name: "x", DurationNs: 10e9, Statistics: statistics}
	for i := range statistics[0].Values {
		r.Seeds = append(r.Seeds, uint64(1+i))
	}
	return r
}

func values(name string, better metric.Better, values ...float64) compare.Estimate {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return compare.Estimate{ID: metric.MustParseName(name), Name: name, Better: better, N: len(values), Mean: sum / float64(len(values)), Values: values}
}

// One event has five names: of all requests, the only workload, its FlowSchema, its level and its
// flow. Beside it there are three numbers of which nothing is known. By names the event would vouch
// for itself: it has p = 0.03125 five times, and of eight tests the fifth passes with 5/8 · 0.05 = 0.03125.
// Counted once, of four tests, it does not, as 1/4 · 0.05 is less.
func TestOneNumberIsOneTest(t *testing.T) {
	replications := func(by float64) *compare.Replications {
		var all []compare.Estimate
		for _, name := range []string{"rejected", "rejected{workload:a}", "rejected{flowSchema:a}", "rejected{priorityLevel:a}", "rejected{flow:a}"} {
			all = append(all, values(name+".count", metric.Lower, 10+by, 20+by, 30+by, 40+by, 50+by, 60+by))
		}
		for i, name := range []string{"retries", "timedOut", "waiting"} { // up and down, each its own way
			e := values(name+".count", metric.Lower, 5, 6, 7, 8, 9, 10)
			for k := range e.Values {
				if by != 0 && (k+i)%2 == 0 {
					e.Values[k] += float64(1 + i)
				} else if by != 0 {
					e.Values[k] -= float64(1 + i)
				}
			}
			all = append(all, e)
		}
		return sideOf(all...)
	}
	c := compare.Compare("b", replications(0), "h", replications(1))
	if c.Distinct != (compare.Distinct{Tested: 4}) || c.Changed != 0 || c.Same != 8 {
		t.Errorf("%+v, %d names changed", c.Distinct, c.Changed)
	}
	told := changeOf(t, c, "rejected.count")
	if want := []string{"rejected{workload:a}.count", "rejected{flowSchema:a}.count", "rejected{priorityLevel:a}.count", "rejected{flow:a}.count"}; !slices.Equal(told.Also, want) || told.SameAs != "" {
		t.Errorf("told as %+v, want also %q", told, want)
	}
	if other := changeOf(t, c, "rejected{flow:a}.count"); other.SameAs != "rejected.count" || other.Also != nil || *other.P != *told.P {
		t.Errorf("%+v", other)
	}
}

// Counts and their rates are one number where they are in proportion in every run; else they are two.
func TestCountsAndRates(t *testing.T) {
	replications := func(by, arrivedLast float64) *compare.Replications {
		arrived := []float64{100, 100, 100, 100, 100, 100, arrivedLast}
		count, rate := []float64{}, []float64{}
		for i, n := range arrived {
			count = append(count, 10+float64(i)*float64(i)+by)
			rate = append(rate, count[i]/n)
		}
		return sideOf(values("executed.count", metric.Higher, count...), values("executed.rate", metric.Higher, rate...),
			values("retries.rate", metric.Lower, rate...))
	}
	for arrivedLast, want := range map[float64]int{100: 1, 101: 2} {
		c := compare.Compare("b", replications(0, arrivedLast), "h", replications(3, arrivedLast))
		if c.Distinct.Tested != want || c.Distinct.Changed != want || c.Changed != 3 {
			t.Errorf("with %v arrivals in a run: %+v, %d names", arrivedLast, c.Distinct, c.Changed)
		}
	}
}

// Of several names the widest is told, unless another one is known to be good or bad.
func TestNameByWhichANumberIsTold(t *testing.T) {
	replications := func(by float64) *compare.Replications {
		var all []compare.Estimate
		for _, name := range []string{"arrived{workload:a}.count", "rejected{workload:a}.count", "rejected{priorityLevel:a}.count"} {
			better := metric.Lower
			if strings.HasPrefix(name, "arrived") {
				better = metric.Neither
			}
			all = append(all, values(name, better, 1+by, 3+by, 5+by, 7+by, 9+by, 14+by))
		}
		return sideOf(all...)
	}
	c := compare.Compare("b", replications(0), "h", replications(1))
	if told := changeOf(t, c, "rejected{workload:a}.count"); len(told.Also) != 2 || told.Judgement != compare.Regression || c.Changes[0].Name != told.Name {
		t.Errorf("%+v", told)
	}
	text := written(t, c, "text", false)
	for _, want := range []string{"1 of 1 statistics changed", "also: arrived{workload:a}.count, {priorityLevel:a}", "Tests: 1, at a false discovery rate of 5 % (Benjamini-Hochberg; assumes positive dependence)", "other names of numbers counted above: 2"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for format, want := range map[string]string{"csv": ",rejected{workload:a}.count,regression\n", "json": `"sameAs": "rejected{workload:a}.count"`, "markdown": "`arrived{workload:a}.count, {priorityLevel:a}`"} {
		if text := written(t, c, format, false); !strings.Contains(text, want) {
			t.Errorf("%s: %q is missing in\n%s", format, want, text)
		}
	}
}

// Zero in all runs is no number that statistics share, and changes from zero come first, the
// least probable before the others.
func TestZeroes(t *testing.T) {
	zero := []float64{0, 0, 0, 0, 0, 0, 0}
	base := sideOf(values("rejected.count", metric.Lower, zero...), values("retries.count", metric.Lower, zero...),
		values("timedOut.count", metric.Lower, zero...), values("waiting.count", metric.Lower, zero...), values("executed.count", metric.Higher, 1, 2, 3, 4, 5, 6, 7))
	head := sideOf(values("rejected.count", metric.Lower, zero...), values("retries.count", metric.Lower, zero...),
		values("timedOut.count", metric.Lower, 1, 2, 3, 4, 5, 6, 7), values("waiting.count", metric.Lower, 4, 4, 4, 4, 4, 4, 5), values("executed.count", metric.Higher, 101, 103, 105, 107, 109, 111, 113))
	c := compare.Compare("b", base, "h", head)
	var names []string
	for _, ch := range c.Changes {
		names = append(names, ch.Name)
	}
	if want := []string{"waiting.count", "timedOut.count", "executed.count", "rejected.count", "retries.count"}; !slices.Equal(names, want) || c.Exact != 2 || c.Distinct.Tested != 3 {
		t.Errorf("%q, %+v", names, c.Distinct)
	}
}

// What does not match is neither tested nor shown; limits are judged nevertheless.
func TestOnly(t *testing.T) {
	base, head := sampleOf(1, 10, 20, 30, 40, 50, 60, 70), sampleOf(1, 11, 21, 31, 42, 52, 62, 72)
	base.Statistics = append(base.Statistics, values("wait{workload:b}.p(99)", metric.Lower, 1, 2, 3, 4, 5, 6, 7))
	glob := func(text string) compare.Glob {
		t.Helper()
		g, err := compare.ParseGlob(text)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for text, want := range map[string]string{
		"re*{workload:*}.rate": "retries{workload:a}.rate rejected{workload:a}.rate", "rejected*": "rejected{workload:a}.rate",
		"*{workload:?}.rate": "retries{workload:a}.rate rejected{workload:a}.rate", " retries{ workload: a }.rate": "retries{workload:a}.rate",
		"*": "retries{workload:a}.rate rejected{workload:a}.rate",
	} {
		c := compare.Compare("b", base, "h", head, glob(text))
		var names []string
		for _, ch := range c.Changes {
			names = append(names, ch.Name)
		}
		if got := strings.Join(names, " "); got != want || (len(c.Unmatched) > 0) != (text == "*") {
			t.Errorf("%s: %q and %q, want %q", text, got, c.Unmatched, want)
		}
	}
	c := compare.Compare("b", base, "h", head, glob("rejected*"))
	limit, err := compare.ParseLimit("retries{workload:a}.rate > +1%")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Judge([]compare.Limit{limit}); err != nil || c.Passed {
		t.Errorf("a limit of what is not shown: %v, passed %v", err, c.Passed)
	}
	if text := written(t, c, "text", false); !strings.Contains(text, "--only rejected*: 1 of 2 names compared.") || strings.Contains(text, "\n  retries") {
		t.Error(text)
	}
	for text, want := range map[string]string{
		"rejectd{workload:*}.rate": `"rejectd{workload:*}.rate" matches no statistic of the runs (did you mean "rejected"?)`,
		"retries{workload:*}.rat":  `(did you mean "retries{workload:a}.rate"?)`,
	} {
		if err := compare.CheckGlobs([]compare.Glob{glob("*"), glob(text)}, base, head); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{"", "rejected{workload:a}.rat", "x"} {
		if _, err := compare.ParseGlob(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
