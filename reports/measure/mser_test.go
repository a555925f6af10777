package measure

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The values rise for ten batches and then alternate around 100: the rise is left out.
func TestMSER5LeavesOutTheRise(t *testing.T) {
	var values []float64
	for i := range 200 {
		x := 100.0
		if i/mserBatch%2 == 0 {
			x++
		}
		values = append(values, min(x, float64(2*i)))
	}
	if leave, ok := MSER5(values); leave != 50 || !ok {
		t.Errorf("leaves out %d values, %v; want the 50 that rise", leave, ok)
	}
	if leave, ok := MSER5(make([]float64, 200)); leave != 0 || !ok {
		t.Errorf("of equal values, %d are left out, %v; want none", leave, ok)
	}
	if _, ok := MSER5(values[:LeastMSER5-1]); ok {
		t.Error("99 values are enough; want 100")
	}
}

// While the values rise beyond the half, no truncation in the first half is right.
func TestMSER5OfASeriesThatIsTooShort(t *testing.T) {
	var values []float64
	for i := range 200 {
		values = append(values, min(130, float64(i)))
	}
	if leave, ok := MSER5(values); leave != 100 || ok {
		t.Errorf("leaves out %d values, %v; want half of them, and that the series is too short", leave, ok)
	}
}

// The formula, for each truncation by itself.
func TestMSER5IsLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1000), LeastMSER5, 300).Draw(t, "values")
		leave, _ := MSER5(values)
		n := len(values) / mserBatch
		errorOf := func(d int) float64 {
			var batches []float64
			for i := d; i < n; i++ {
				sum := 0.0
				for k := range mserBatch {
					sum += values[i*mserBatch+k]
				}
				batches = append(batches, sum/mserBatch)
			}
			mean, squares := 0.0, 0.0
			for _, x := range batches {
				mean += x / float64(len(batches))
			}
			for _, x := range batches {
				squares += (x - mean) * (x - mean)
			}
			return squares / float64(len(batches)) / float64(len(batches))
		}
		got := errorOf(leave / mserBatch)
		for d := range n/2 + 1 {
			if e := errorOf(d); e < got*(1-1e-9)-1e-9 {
				t.Fatalf("leaving out %d batches has a standard error of %v, and %d, which were chosen, %v", d, e, leave/mserBatch, got)
			}
		}
	})
}

// x(i) = 0.9·x(i−1): the autocorrelation of a decay falls like it, and 1/e is at 9.5 steps.
func TestRelaxationLag(t *testing.T) {
	values := make([]float64, 2000)
	for i := range 10 {
		for k := range 200 { // ten decays, each from 1
			values[i*200+k] = math.Pow(0.9, float64(k))
		}
	}
	if got, want := RelaxationLag(values), -1/math.Log(0.9); math.Abs(got-want) > 1.5 {
		t.Errorf("%v, want about %v", got, want)
	}
	if got := RelaxationLag(make([]float64, 100)); got != 0 {
		t.Errorf("of equal values %v, want 0", got)
	}
	rising := make([]float64, 100)
	for i := range rising {
		rising[i] = float64(i)
	}
	if got := RelaxationLag(rising); got < 20 || got > 50 {
		t.Errorf("of a rise %v, want a quarter to a half of the length", got)
	}
}
