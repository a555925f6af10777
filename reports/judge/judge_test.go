package judge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// Each criterion decides alone: at its good limit the judgement is good, beyond it
// neutral, and at its bad limit bad. The table in the documents is this one.
func TestCriteria(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "statistics.md"))
	if err != nil {
		t.Fatal(err)
	}
	set := func(i int, x float64) figures {
		f := noFigures()
		*[]*float64{&f.undispatched, &f.notServed, &f.waiting, &f.waitP99, &f.waitMax, &f.virtualP99, &f.virtualRejected, &f.stall,
			&f.starvation, &f.shortfall, &f.noSeats}[i] = x
		return f
	}
	write := func(x float64, unit string) string {
		if unit == "ns" {
			return format.Moment(int64(x))
		}
		return format.Percent(x)
	}
	for i, j := range criteria {
		for _, c := range []struct {
			x    float64
			want Judgement
		}{{j.good, Good}, {j.good + (j.bad-j.good)/1000, Neutral}, {j.bad, Bad}, {10 * j.bad, Bad}} {
			if f := set(i, c.x); f.judgement() != c.want {
				t.Errorf("%s of %v: %q, want %q", j.figure, c.x, f.judgement(), c.want)
			}
		}
		row := fmt.Sprintf("| %s | %s | %s |", j.figure, write(j.good, j.unit), write(j.bad, j.unit))
		if !strings.Contains(string(doc), row) {
			t.Errorf("docs/reference/statistics.md lacks the row\n%s", row)
		}
	}
	if f := noFigures(); f.judgement() != Good {
		t.Error("without figures something is wrong")
	}
}

// The wait at a random moment is judged by its p99, if enough probes have waited.
func TestWaitAtARandomMoment(t *testing.T) {
	for _, c := range []struct {
		count int64
		known bool
	}{{1000, true}, {999, false}} {
		g := &result.Group{VirtualWait: &result.VirtualWait{Probes: 1000, Rejected: 250, Wait: &result.Distribution{Count: c.count, P99Ns: 5e9}}}
		g.Arrived = 10
		f := figuresOf(g)
		if known := f.virtualP99 == 5e9; known != c.known || f.virtualRejected != 0.25 {
			t.Errorf("%d waits: p99 %v, %v rejected", c.count, f.virtualP99, f.virtualRejected)
		}
	}
}

// Each condition is sufficient to be underserved, and none is met by a flow that did not wait.
func TestUnderservedFlows(t *testing.T) {
	low, enough := UnderservedRatio-0.01, UnderservedRatio
	waited := result.Group{Wait: &result.Distribution{MaxNs: 1}}
	for name, c := range map[string]struct {
		flow             result.Flow
		underserved, bad bool
	}{
		"served":                        {result.Flow{Group: waited, Ratio: &enough}, false, false},
		"starved":                       {result.Flow{StarvationNs: StarvedNs, Ratio: &enough}, true, true},
		"nearly starved":                {result.Flow{StarvationNs: StarvedNs - 1, Ratio: &enough}, false, false},
		"waited, and served too little": {result.Flow{Group: waited, Ratio: &low}, true, true},
		"served too little":             {result.Flow{Ratio: &low}, false, false},
		"rejected":                      {result.Flow{Group: result.Group{Counts: metric.Counts{Rejected: 1}}, Ratio: &enough}, true, true},
		"rejected, as it asks too much": {result.Flow{Group: result.Group{Counts: metric.Counts{Rejected: 1}}, Ratio: &enough, DemandSeatSeconds: 2, FairShareSeatSeconds: 1}, false, true},
	} {
		if _, bad := StandingOf(&c.flow); Underserved(&c.flow) != c.underserved || bad != c.bad {
			t.Errorf("%s: underserved %v, bad %v; want %v, %v", name, Underserved(&c.flow), bad, c.underserved, c.bad)
		}
	}
}

// Over several runs, the service of a flow below its fair share counts if requests waited or were not served, and the wait is
// judged by its p99.
func TestJudgementOfReplications(t *testing.T) {
	for name, c := range map[string]struct {
		means map[string]float64
		want  Judgement
	}{
		"all is well":                          {map[string]float64{"wait p 99": 0, "wait max 0": 0, "notServed rate 0": 0, "fairness leastRatio 0": 1}, Good},
		"none waited":                          {map[string]float64{"wait p 99": 0, "wait max 0": 0, "notServed rate 0": 0, "fairness leastRatio 0": 0.1}, Good},
		"some waited, and a flow got half":     {map[string]float64{"wait p 99": 0, "wait max 0": 1, "notServed rate 0": 0, "fairness leastRatio 0": 0.5}, Bad},
		"some waited, and all got their share": {map[string]float64{"wait p 99": 0, "wait max 0": 1, "notServed rate 0": 0, "fairness leastRatio 0": 1}, Good},
		"few are not served, and a flow less":  {map[string]float64{"wait p 99": 0, "notServed rate 0": 1e-6, "fairness leastRatio 0": 0.4}, Bad},
		"a long wait":                          {map[string]float64{"wait p 99": 1e9}, Bad},
	} {
		got := Replications(func(name metric.Name) (mean, most float64, ok bool) {
			x, ok := c.means[fmt.Sprint(name.Metric, " ", name.Stat, " ", name.Percentile)]
			return x, x, ok
		})
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
