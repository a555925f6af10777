package report

import (
	"math"
	"testing"

	"apfsim/sim/scenario"
)

// The share of rejections is asked for in four runs. In two of them nothing is rejected: they have no value, so that the
// mean, the spread and the number of runs inside are those of the other two.
func TestRunsWithoutAValueDoNotCount(t *testing.T) {
	low, high, published := 0.0, 0.9, 0.98
	f := &scenario.Figure{Name: "share", Published: &published, Low: &low, High: &high}

	s := NewSimulatedFigure(f, []float64{math.NaN(), 0.2, 1.0, math.NaN()})
	if s.Simulated == nil || *s.Simulated != 0.6 || *s.Half != 0.4 || !s.Inside {
		t.Errorf("simulated %v ± %v, inside %v; want 0.6 ± 0.4, inside", s.Simulated, s.Half, s.Inside)
	}
	if got, want := s.runsInside(), "1 of 2 (2 without a value)"; got != want {
		t.Errorf("runs inside: %q; want %q", got, want)
	}

	none := NewSimulatedFigure(f, []float64{math.NaN(), math.NaN()})
	if none.Simulated != nil || none.Half != nil || none.Inside {
		t.Errorf("without any value: simulated %v ± %v, inside %v; want none, and outside", none.Simulated, none.Half, none.Inside)
	}
	if got, want := none.runsInside(), "0 of 0 (2 without a value)"; got != want {
		t.Errorf("runs inside: %q; want %q", got, want)
	}
}
