package measure

import (
	"math"
	"slices"
	"testing"
)

// The expected values are computed by hand. Of 1, 3, 2, 5, the pairs (1,3), (1,2), (1,5), (3,5) and (2,5) increase and
// (3,2) decreases; the variance is 4·3·13/18.
func TestMannKendall(t *testing.T) {
	for _, c := range []struct {
		values   []float64
		s        int
		variance float64
		z        float64
	}{
		{[]float64{1, 3, 2, 5}, 4, 26. / 3, 3 / math.Sqrt(26./3)},
		{[]float64{5, 2, 3, 1}, -4, 26. / 3, -3 / math.Sqrt(26./3)},
		{[]float64{1, 1, 2, 3}, 5, 26./3 - 1, 4 / math.Sqrt(26./3-1)}, // one tie of two
		{[]float64{7, 7, 7, 7}, 0, 0, 0},
	} {
		got := MannKendall(c.values)
		if got.S != c.s || math.Abs(got.Variance-c.variance) > 1e-12 || got.Correction != 1 || math.Abs(got.Z()-c.z) > 1e-12 {
			t.Errorf("%v: %+v with z %v, want S %d, variance %v, z %v", c.values, got, got.Z(), c.s, c.variance, c.z)
		}
	}
}

// Four blocks of five equal values, alternating. The median slope is 0 and the autocorrelations are, by counting pairs,
// 13/20 at lag 1, -15/20 at lag 5, -10/20 at lag 6 and 10/20 at lag 10; the others are within 1.96/√20.
func TestCorrectionForAutocorrelation(t *testing.T) {
	var values []float64
	for i := range 20 {
		values = append(values, float64(i/5%2))
	}
	sum := 19*18*17*0.65 - 15*14*13*0.75 - 14*13*12*0.5 + 10*9*8*0.5
	want := 1 + 2*sum/(20*19*18)
	// Two groups of ten equal values.
	variance := 20.*19*45/18 - 2*10*9*25/18
	z := 49 / math.Sqrt(variance*want)
	if got := MannKendall(values); got.S != 50 || math.Abs(got.Correction-want) > 1e-12 || math.Abs(got.Z()-z) > 1e-12 {
		t.Errorf("%+v with z %v, want S 50, correction %v and z %v", got, got.Z(), want, z)
	}
}

// The parts of the test, by hand.
func TestPartsOfATrend(t *testing.T) {
	for _, c := range []struct {
		values []float64
		median float64
		ranks  []float64
		lag    int
		want   float64
	}{
		{[]float64{3, 1, 2}, 2, []float64{3, 1, 2}, 1, -0.5},                        // (1·−1 + −1·0)/2
		{[]float64{1, 2, 3, 4}, 2.5, []float64{1, 2, 3, 4}, 1, 0.25},                // (1.5·0.5 − 0.5·0.5 + 0.5·1.5)/5
		{[]float64{1, 2, 3, 4}, 2.5, []float64{1, 2, 3, 4}, 2, -0.3},                // (−1.5·0.5 − 0.5·1.5)/5
		{[]float64{10, 20, 20, 5, 20}, 20, []float64{2, 4, 4, 1, 4}, 4, -25. / 200}, // deviations −5, 5, 5, −10, 5
		{[]float64{5, 5, 5}, 5, []float64{2, 2, 2}, 1, 0},
	} {
		if got := ranksOf(c.values); !slices.Equal(got, c.ranks) {
			t.Errorf("%v: ranks %v, want %v", c.values, got, c.ranks)
		}
		if got := autocorrelation(c.values, c.lag); !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("%v: autocorrelation %v, want %v", c.values, got, c.want)
		}
		if got := medianOf(slices.Clone(c.values)); got != c.median {
			t.Errorf("%v: median %v, want %v", c.values, got, c.median)
		}
	}
	if none := MannKendall([]float64{1, 2, 1}); none.S != 0 || none.Z() != 0 {
		t.Errorf("one pair increases and one decreases: %+v with z %v", none, none.Z())
	}
}
