package measure

import (
	"math"
	"math/rand/v2"
	"testing"
)

// filled returns the batches of a run in which a value is measured each nanosecond.
func filled(values []float64) *Batches {
	b := NewBatcher(0, int64(len(values)))
	var sum Total
	for i, x := range values {
		if int64(i) >= b.EndNs {
			b.Close(int64(i), &[Timings]Total{sum})
		}
		sum.N++
		sum.Sum += x
	}
	b.Close(int64(len(values)), &[Timings]Total{sum})
	return &b.Batches[0]
}

// Independent values have as many independent batches as there are. An autoregression with the coefficient a has a
// correlation time of (1+a)/(1−a) values.
func TestEffectiveBatches(t *testing.T) {
	const n, runs = 51_200, 40
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ a, least, most float64 }{
		{0, 400, 512},
		{0.999, 20, 60}, // of 51200/1999 = 26
		{0.9999, 3, 12}, // all values of a block are alike
	} {
		var all []*Batches
		for range runs {
			values := make([]float64, n)
			x := r.NormFloat64()
			for i := range values {
				values[i] = 10 + x
				x = c.a*x + math.Sqrt(1-c.a*c.a)*r.NormFloat64()
			}
			all = append(all, filled(values))
		}
		if got := Effective(all); got < c.least || got > c.most {
			t.Errorf("with a = %g, %.0f batches are independent; want %g to %g", c.a, got, c.least, c.most)
		}
	}
}

// What happens at the same time in every run is no dependence: neither a burst nor a rise that all runs have.
func TestCommonChangesAreNoDependence(t *testing.T) {
	const n, runs = 25_600, 20
	r := rand.New(rand.NewPCG(1, 2))
	var all []*Batches
	for range runs {
		values := make([]float64, n)
		for i := range values {
			values[i] = 10 + r.NormFloat64() + float64(i)/n
			if i > n/2 && i < n*5/8 {
				values[i] += 5
			}
		}
		all = append(all, filled(values))
	}
	if got := Effective(all); got < 350 {
		t.Errorf("%.0f batches are independent", got)
	}
	if got := Effective([]*Batches{all[0], all[0]}); got != Blocks*batchesPerBlock {
		t.Errorf("of runs that are the same, %.0f batches are independent", got)
	}
}

// The sums of all batches are those of all values, wherever the run has its pauses.
func TestBatchesHaveAllValues(t *testing.T) {
	b := NewBatcher(100, 1_124) // batches of 2 ns
	var sum Total
	for _, nowNs := range []int64{100, 101, 102, 500, 501, 1_100, 1_123, 1_124} {
		if nowNs >= b.EndNs {
			b.Close(nowNs, &[Timings]Total{sum})
		}
		sum.N++
		sum.Sum += float64(nowNs)
	}
	b.Close(1_124, &[Timings]Total{sum})
	n, total, squares := 0.0, 0.0, 0.0
	for _, block := range b.Batches[0] {
		n, total, squares = n+block.N, total+block.Sum, squares+block.NSquares
	}
	// 100 and 101, 500 and 501, 1123 and 1124 share a batch, the last one because the run ends.
	if n != 8 || total != 100+101+102+500+501+1_100+1_123+1_124 || squares != 3*4+2*1 {
		t.Errorf("%g values, sum %g, squares of the numbers %g", n, total, squares)
	}
}
