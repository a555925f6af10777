package stats

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

// With equal rates, 3 or fewer of 10 events in half of the time have the probability of 176/1024.
func TestFewerP(t *testing.T) {
	for _, c := range []struct {
		n, other        int64
		time, otherTime float64
		want            float64
	}{{3, 7, 1, 1, 176. / 1024}, {0, 2, 1, 3, 9. / 16}, {0, 0, 1, 1, 1}, {5, 0, 1, 1, 1}} {
		if got := FewerP(c.n, c.time, c.other, c.otherTime); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%d in %v beside %d in %v: %v, want %v", c.n, c.time, c.other, c.otherTime, got, c.want)
		}
	}
}
