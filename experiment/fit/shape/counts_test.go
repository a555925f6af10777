package shape

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The statistics are those of the counts in a list of all windows.
func TestCountsAreThoseOfAllWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for range 50 {
		fromNs := int64(r.IntN(5)) * 1e9
		toNs := fromNs + int64(5e9+r.Float64()*300e9)
		rate := math.Exp(r.Float64()*8-3) / 1e9
		c := NewCounts(fromNs, toNs)
		var arrivals []int64
		for at := float64(0); int64(at) < toNs+1e9; at += r.ExpFloat64() / rate {
			if r.IntN(3) == 0 {
				at += r.Float64() * 5e9 // a pause
			}
			arrivals = append(arrivals, int64(at))
			c.Add(int64(at))
		}
		counts := func(lengthNs int64) (all []float64) {
			begin := fromNs + windowOffsetNs
			for ; begin+lengthNs <= toNs; begin += lengthNs {
				n := 0.0
				for _, at := range arrivals {
					if at >= begin && at < begin+lengthNs {
						n++
					}
				}
				all = append(all, n)
			}
			return all
		}
		moments := func(all []float64) (mean, squares float64) {
			for _, x := range all {
				mean += x / float64(len(all))
			}
			for _, x := range all {
				squares += (x - mean) * (x - mean)
			}
			return mean, squares
		}
		for i, length := range Windows {
			if length < 1e9 && toNs-fromNs > 60e9 {
				continue // takes long
			}
			all := counts(length)
			mean, squares := moments(all)
			got, ok := c.Dispersion(i)
			if want := squares / float64(len(all)-1) / mean; ok != (len(all) >= leastWindows && mean > 0) || ok && math.Abs(got-want) > 1e-6*(1+want) {
				t.Errorf("dispersion in %d windows of %d: got %g %v, want %g", len(all), length, got, ok, want)
			}
		}
		seconds := counts(1e9)
		mean, squares := moments(seconds)
		for i, lag := range Lags {
			sum := 0.0
			for k := lag; k < len(seconds); k++ {
				sum += (seconds[k] - mean) * (seconds[k-lag] - mean)
			}
			got, ok := c.Autocorrelation(i)
			if want := sum / squares; ok != (len(seconds) >= leastWindows*lag && mean > 0) || ok && squares > 0 && math.Abs(got-want) > 1e-6 {
				t.Errorf("autocorrelation of %d seconds at lag %d: got %g %v, want %g", len(seconds), lag, got, ok, want)
			}
		}
		largest := 0.0
		for _, n := range append(seconds, 0) {
			largest = max(largest, n)
		}
		if got, ok := c.Largest(); ok && float64(got) < largest {
			t.Errorf("largest second: got %d, want at least %g", got, largest)
		}
	}
}

// The counts of a Poisson process have a dispersion of 1 in all windows, and are not correlated. Those of a sine have a
// dispersion that grows with the windows, and are correlated.
func TestCountsOfKnownProcesses(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	for _, c := range []struct {
		name                 string
		rate                 func(seconds float64) float64 // at most 100
		dispersion           [len(Windows)]float64
		autocorrelation, far float64
	}{
		{"Poisson", func(float64) float64 { return 50 }, [...]float64{1, 1, 1, 1}, 0, 0},
		// The variance of a count in a window w much shorter than the period is m + m²/2 with a mean of m = 50·w; half a
		// period later the rate is the opposite one.
		{"sine with a period of 20 s", func(s float64) float64 { return 50 + 50*math.Sin(2*math.Pi*s/20) }, [...]float64{3.5, 26, 205, 1}, 0.91, -0.95},
	} {
		counts := NewCounts(0, 3600e9)
		for at := r.ExpFloat64() / 100; at < 3600; at += r.ExpFloat64() / 100 {
			if r.Float64()*100 < c.rate(at) {
				counts.Add(int64(at * 1e9))
			}
		}
		for i, want := range c.dispersion {
			got, ok := counts.Dispersion(i)
			n := 3600e9 / float64(Windows[i])
			if !ok || math.Abs(got-want) > want*(0.05+4*math.Sqrt(2/n)) {
				t.Errorf("%s: dispersion in windows of %d: got %g, want %g", c.name, Windows[i], got, want)
			}
		}
		for i, want := range []float64{c.autocorrelation, c.far} {
			if got, ok := counts.Autocorrelation(i); !ok || math.Abs(got-want) > 4/math.Sqrt(3600) {
				t.Errorf("%s: autocorrelation at %d s: got %g, want %g", c.name, Lags[i], got, want)
			}
		}
	}
}
