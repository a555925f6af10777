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

// Each effect decides alone: up to the limit of a warning all is well, beyond it is a warning, and from its other limit on harm.
// What is near to the limit of a worse status says so. The table in the documents is this one.
func TestEffects(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "statistics.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		j    result.Judged
		want result.Status
		near bool
	}{
		{result.Judged{}, result.OK, false},
		{result.Judged{NotServed: 1}, result.Warning, false},
		{result.Judged{NotServed: 34}, result.Warning, true},
		{result.Judged{NotServed: 100}, result.Warning, true}, // 0.1 %, by chance perhaps
		{result.Judged{NotServed: 120}, result.Harm, false},
		{result.Judged{WaitP99Ns: 49e6}, result.OK, false},
		{result.Judged{WaitP99Ns: 50e6}, result.OK, true},
		{result.Judged{WaitP99Ns: 101e6}, result.Warning, false},
		{result.Judged{WaitP99Ns: 999e6}, result.Warning, true},
		{result.Judged{WaitP99Ns: 1e9}, result.Harm, false},
		{result.Judged{StallNs: 1e9 - 1}, result.OK, true},
		{result.Judged{StallNs: 1e9 + 1}, result.Warning, false},
		{result.Judged{StallNs: 5e9}, result.Harm, false},
		{result.Judged{Grows: true}, result.Warning, false},
	} {
		c.j.Arrived = 100_000
		if _, status, near := worst(&c.j); status != c.want || near != c.near {
			t.Errorf("%+v: %s, near %v; want %s, %v", c.j, status, near, c.want, c.near)
		}
	}
	write := func(x float64, unit string) string {
		switch {
		case x == noHarm:
			return "–"
		case unit == "ns":
			return format.Moment(int64(x))
		case x == 0:
			return "any"
		}
		return format.Percent(x)
	}
	for i := range effects {
		e := &effects[i]
		if row := fmt.Sprintf("| %s | %s | %s |", e.figure, write(e.warning, e.unit), write(e.harm, e.unit)); !strings.Contains(string(doc), row) {
			t.Errorf("docs/reference/statistics.md lacks the row\n%s", row)
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
		if _, bad := FlowRankOf(&c.flow); Underserved(&c.flow) != c.underserved || bad != c.bad {
			t.Errorf("%s: underserved %v, bad %v; want %v, %v", name, Underserved(&c.flow), bad, c.underserved, c.bad)
		}
	}
}
