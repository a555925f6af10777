package shape

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The slowest window is the greatest mean in a list of all whole windows, and requests that are known at their arrival count
// like those that are known at their end.
func TestSlowestWindow(t *testing.T) {
	type request struct{ arrivalNs, latencyNs int64 }
	r := rand.New(rand.NewPCG(2, 5))
	known := 0
	for range 100 {
		fromNs := int64(r.IntN(5)) * 1e9
		toNs := fromNs + int64(1e9+r.Float64()*200e9)
		var all []request
		rate := math.Exp(r.Float64()*6-1) / 1e9
		for at := 0.0; at < float64(toNs); at += r.ExpFloat64() / rate {
			slow := 1.0
			if int64(at)/7e9%3 == 0 {
				slow = 10
			}
			all = append(all, request{int64(at), int64(slow * r.ExpFloat64() * 200e6)})
		}
		atArrival, atEnd := NewLatencies(fromNs, toNs), NewLatencies(fromNs, toNs)
		for _, x := range all {
			atArrival.Begin(x.arrivalNs, x.latencyNs)
		}
		slices.SortStableFunc(all, func(a, b request) int {
			return cmp.Compare(a.arrivalNs+a.latencyNs, b.arrivalNs+b.latencyNs)
		})
		for _, x := range all {
			atEnd.End(x.arrivalNs+x.latencyNs, x.latencyNs)
		}
		for i, length := range LatencyWindows {
			want, means := 0.0, []float64(nil)
			for begin := fromNs; begin+length <= toNs; begin += length {
				sum, n := 0.0, 0.0
				for _, x := range all {
					if end := x.arrivalNs + x.latencyNs; x.arrivalNs >= fromNs && end >= begin && end < begin+length {
						sum += float64(x.latencyNs)
						n++
					}
				}
				if n >= 10 {
					want, means = max(want, sum/n), append(means, sum/n)
				}
			}
			got, ok := atEnd.Slowest(i)
			if other, _ := atArrival.Slowest(i); math.Abs(got-want) > 1e-6*want || ok != (want > 0) || math.Abs(other-got) > 1e-6*want {
				t.Errorf("windows of %d s in %d s: got %g %v at the ends, %g at the arrivals, want %g", length/1e9, (toNs-fromNs)/1e9, got, ok, other, want)
			}
			if ok {
				known++
			}
			if i > 0 {
				continue
			}
			twentieth := 0.0
			if slices.Sort(means); len(means) > 0 {
				twentieth = means[int(math.Ceil(0.95*float64(len(means))))-1]
			}
			if got := atEnd.SlowTwentieth(); math.Abs(got-twentieth) > 0.01*twentieth {
				t.Errorf("the slowest twentieth of %d seconds have %g at least, want %g", len(means), got, twentieth)
			}
		}
	}
	if known < 100 {
		t.Errorf("%d windows have a mean", known)
	}
}
