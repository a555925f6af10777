package shape

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// draw returns a sample of n values.
func draw(n int, value func(*rand.Rand) float64) *Sample {
	r := rand.New(rand.NewPCG(3, 4))
	var s Sample
	for range n {
		s.Add(value(r))
	}
	return &s
}

// The distribution is the one that the values come from, and has their mean.
func TestDistributions(t *testing.T) {
	for _, c := range []struct {
		kind  string
		n     int
		value func(*rand.Rand) float64
	}{
		{"constant 5ms", 100, func(*rand.Rand) float64 { return 5e6 }},
		{"constant 0s", 0, nil},
		{"exponential", 20_000, func(r *rand.Rand) float64 { return 1e7 * r.ExpFloat64() }},
		{"lognormal", 20_000, func(r *rand.Rand) float64 { return 1e7 * math.Exp(1.5*r.NormFloat64()) }},
		{"uniform", 20_000, func(r *rand.Rand) float64 { return 1e6 + 1e7*r.Float64() }},
		{"weibull", 20_000, func(r *rand.Rand) float64 { return 1e7 * math.Pow(r.ExpFloat64(), 0.25) }},
		{"gamma", 20_000, func(r *rand.Rand) float64 { return 1e6 * (r.ExpFloat64() + r.ExpFloat64() + r.ExpFloat64()) }},
		// Two kinds of requests are in one workload.
		{"empirical", 20_000, func(r *rand.Rand) float64 { return 1e6 + 1e8*float64(r.IntN(2)) + 1e5*r.Float64() }},
		{"empirical", 3, func(r *rand.Rand) float64 { return 1e7 * r.ExpFloat64() }},
	} {
		s := draw(c.n, c.value)
		d := FitDistribution(s)
		hasMean := c.n == 0 || strings.Contains(d.Text, Duration(s.Mean()))
		if c.kind == "uniform" { // whose text has its bounds: their middle is the mean, but for the chance of the draws
			bounds := d.Value.(map[string]any)["uniform"].(map[string]any)
			low, lowErr := time.ParseDuration(bounds["min"].(string))
			high, highErr := time.ParseDuration(bounds["max"].(string))
			hasMean = lowErr == nil && highErr == nil && math.Abs(float64(low+high)/2/s.Mean()-1) < 0.01
		}
		if !strings.HasPrefix(d.Text, c.kind) || !hasMean {
			t.Errorf("want %s with mean %s, got %s", c.kind, Duration(s.Mean()), d.Text)
		}
	}
}

// An empirical distribution has the percentiles of the values.
func TestEmpirical(t *testing.T) {
	s := draw(8000, func(r *rand.Rand) float64 { return math.Round(1e6*float64(1+r.IntN(2)*99) + 1e6*r.Float64()) })
	d := empirical(s.sorted(), s.Mean())
	fields := d.Value.(map[string]any)["empirical"].(map[string]any)
	if n := len(fields["values"].([]any)); n != 109 {
		t.Errorf("%d values", n)
	}
	sum := 0.0
	for _, w := range fields["weights"].([]float64) {
		sum += w
	}
	if sum != 8000 {
		t.Errorf("the weights are %v together", sum)
	}
}

// Watches that have not ended count as lasting at least so long. Of three watches, one ended after 1 s, one was
// open at 2 s, and one ended after 3 s: Kaplan and Meier's estimate is 1 s with probability 1/3, and 3 s with 2/3.
func TestLifetimes(t *testing.T) {
	var watches []float64
	for range 100 {
		watches = append(watches, 1e9, -2e9, 3e9)
	}
	d, cut, ok := FitLifetimes(watches)
	want := Duration((1*100 + 3*200) / 300.0 * 1e9)
	if !ok || cut != 100 || !strings.HasSuffix(d.Text, want) {
		t.Errorf("%s, %d cut off; want a mean of %s", d.Text, cut, want)
	}
	if _, cut, ok := FitLifetimes([]float64{-1, -2}); ok || cut != 2 {
		t.Errorf("watches that are all open have a lifetime")
	}
}

// A Poisson process of constant rate is one segment, and one whose rate changes has one for each rate.
func TestSegments(t *testing.T) {
	for _, c := range []struct {
		rates []float64 // per second, in equal parts of a minute
		want  int
	}{{[]float64{50}, 1}, {[]float64{5, 50}, 2}, {[]float64{20, 0, 20}, 3}, {[]float64{10, 20, 40}, 3}} {
		o := NewObservations(1, 60e9)
		r := rand.New(rand.NewPCG(5, 6))
		at := 0.0
		for {
			// Of the arrivals at the highest rate, each is kept with the probability of its time's rate.
			at += r.ExpFloat64() / 50
			if at >= 60 {
				break
			}
			if rate := c.rates[int(at/60*float64(len(c.rates)))]; r.Float64() < rate/50 {
				o.AddFirst(0, int64(at*1e9), int64(at*1e9)+1)
			}
		}
		if segments, _, _ := o.active(1); len(segments) != c.want {
			t.Errorf("%v: %v", c.rates, segments)
		}
	}
}

// Two requests that happen to be 9 s apart in a minute are not sent every 9 s.
func TestFewRequestsAreNotConstant(t *testing.T) {
	o := NewObservations(3, 60e9)
	for client := range 3 {
		o.AddFirst(client, 20e9, 21e9)
	}
	for client := range 3 {
		o.AddFirst(client, 29e9, 30e9)
	}
	if a := o.FitArrivals(); strings.HasPrefix(a.Text, "constant") {
		t.Errorf("%s", a.Text)
	}
}

// Only the ends that are due leave the heap, the earliest first.
func TestEnds(t *testing.T) {
	var h ends
	for _, x := range []int64{5, 3, 9, 1, 7, 3} {
		h.push(x)
	}
	for _, want := range []int64{1, 3, 3, 5, 7, 9} {
		if got := h.pop(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}

// Rates are written as a scenario reads them, without exponents.
func TestRates(t *testing.T) {
	for x, want := range map[float64]string{0: "0/s", 1500.123456: "1500.1/s", 0.5: "0.5/s", 1.0 / 7200: "0.5/h", 1e12: "1000000000/s"} {
		if got := rate(x); got != want {
			t.Errorf("%v: got %s, want %s", x, got, want)
		}
	}
}
