package compare

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Of the values that follow n others from a normal distribution, 95 % are in the prediction interval, for
// few values as for many.
func TestPredictionHasOneMoreValue(t *testing.T) {
	const cases = 4_000
	for _, n := range []int{2, 3, 10, 40} {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		inside := 0
		values := make([]float64, n)
		for range cases {
			for i := range values {
				values[i] = 100 + 7*r.NormFloat64()
			}
			mean, half := Prediction(values)
			if math.Abs(100+7*r.NormFloat64()-mean) <= *half {
				inside++
			}
		}
		// Four standard deviations of the share are 1.4 %.
		if share := float64(inside) / cases; math.Abs(share-Confidence) > 0.014 {
			t.Errorf("%d values: %.1f %% of those that follow are inside", n, 100*share)
		}
	}
	if mean, half := Prediction([]float64{5}); mean != 5 || half != nil {
		t.Errorf("a single value has the interval %v ± %v", mean, half)
	}
	if mean, half := Prediction([]float64{0.1, 0.1, 0.1}); mean != 0.1 || *half != 0 {
		t.Errorf("equal values have the interval %v ± %v", mean, *half)
	}
}
