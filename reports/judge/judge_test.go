package judge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"apfsim/reports/format"
	"apfsim/reports/result"
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
