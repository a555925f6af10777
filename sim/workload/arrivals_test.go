package workload

import (
	"math"
	"testing"
	"time"

	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

func open(s *random.Stream) { s.Open(1, "tested", 0, "arrivals") }

// times returns the arrivals before end, in seconds.
func times(a Arrivals, end float64) []float64 {
	p := newProcess(&a, 0, 1, open, int64(end*second), &poissonProcess{})
	var all []float64
	for {
		ns, sends := p.Next()
		if at := ns / second; at >= end {
			return all
		} else if sends {
			all = append(all, at)
		}
	}
}

// Constant arrivals are 1/rate apart from wherever the first one is, also the millionth.
func TestConstant(t *testing.T) {
	got := times(Arrivals{Constant: &SteadyArrivals{Rate: 8}}, 125_000)
	if len(got) != 1_000_000 {
		t.Fatalf("%d arrivals in 125 000 s at 8/s, want a million", len(got))
	}
	if got[0] < 0 || got[0] >= 0.125 {
		t.Errorf("the first comes at %v, want it within the first interval of 0.125", got[0])
	}
	for i, at := range got {
		if math.Abs(at-got[0]-float64(i)*0.125) > 1e-9*125_000 {
			t.Fatalf("arrival %d comes at %v, want %v", i, at, got[0]+float64(i)*0.125)
		}
	}
}

// From 0 to 10/s in 10 s, a jump to 2/s for 5 s, then 2/s for good: the n-th arrival is
// where the expected number, 1/2·t², 50 + 2·(t-10), reaches it.
func TestRampingConstant(t *testing.T) {
	a := Arrivals{Ramping: &RampingArrivals{
		Process: ProcessConstant,
		Stages: []Stage{
			{Duration: quantity.Duration(10 * time.Second), Rate: 10},
			{Duration: 0, Rate: 2},
			{Duration: quantity.Duration(5 * time.Second), Rate: 2},
		},
	}}
	got := times(a, 30)
	var s random.Stream
	open(&s)
	phase := s.Float64()
	if want := 90; len(got) != want { // 50 + 2·20, and the phase is below 1
		t.Fatalf("%d arrivals in 30 s, want %d", len(got), want)
	}
	for i, at := range got {
		level := float64(i) + phase
		want := math.Sqrt(2 * level)
		if level > 50 {
			want = 10 + (level-50)/2
		}
		if math.Abs(at-want) > 1e-6 {
			t.Errorf("arrival %d comes at %v, want %v", i, at, want)
		}
	}
}

// A ramp that ends at a rate of zero has no more arrivals.
func TestRampingToZero(t *testing.T) {
	a := Arrivals{Ramping: &RampingArrivals{
		Process: ProcessConstant, StartRate: 4,
		Stages: []Stage{{Duration: quantity.Duration(10 * time.Second), Rate: 0}},
	}}
	if got := times(a, 1e6); len(got) != 20 || got[19] >= 10 {
		t.Errorf("%d arrivals, the last at %v; want 20 within 10 s", len(got), got[len(got)-1])
	}
}

// Poisson arrivals: the number in windows of a second has mean and variance λ. With
// 20 000 windows the standard error of the mean is √(5/20000) ≈ 0.016, that of the
// variance about λ·√((2+1/λ)/20000) ≈ 0.053: four of each are allowed.
func TestPoissonCounts(t *testing.T) {
	const rate, windows = 5, 20_000
	for name, a := range map[string]Arrivals{
		"poisson": {Poisson: &SteadyArrivals{Rate: rate}},
		"ramping": {Ramping: &RampingArrivals{Process: ProcessPoisson, StartRate: rate,
			Stages: []Stage{{Duration: quantity.Duration(windows * time.Second), Rate: rate}}}},
	} {
		counts := make([]float64, windows)
		for _, at := range times(a, windows) {
			counts[int(at)]++
		}
		var sum, squares float64
		for _, n := range counts {
			sum += n
			squares += n * n
		}
		mean := sum / windows
		variance := squares/windows - mean*mean
		if math.Abs(mean-rate) > 4*0.016 || math.Abs(variance-rate) > 4*0.053 {
			t.Errorf("%s: counts have mean %v and variance %v, want %v", name, mean, variance, rate)
		}
	}
}

// On for 2 s, off for 3 s: arrivals come only within the first 2 of every 5 s, and there
// at the rate.
func TestOnOff(t *testing.T) {
	on, off := constant(t, 2*time.Second), constant(t, 3*time.Second)
	got := times(Arrivals{OnOff: &OnOffArrivals{Rate: 10, On: on, Off: off}}, 50_000)
	for _, at := range got {
		if math.Mod(at, 5) >= 2 {
			t.Fatalf("an arrival at %v, while the client is off", at)
		}
	}
	if want := 10 * 50_000 * 2.0 / 5; math.Abs(float64(len(got))-want) > 4*math.Sqrt(want) {
		t.Errorf("%d arrivals, want about %v", len(got), want)
	}
}

// A client that is never on is silent, and the search for its next arrival ends.
func TestOnOffNeverOn(t *testing.T) {
	a := Arrivals{OnOff: &OnOffArrivals{Rate: 10, On: constant(t, 0), Off: constant(t, time.Millisecond)}}
	if got := times(a, 10); len(got) != 0 {
		t.Errorf("%d arrivals, want none", len(got))
	}
}

func TestBurst(t *testing.T) {
	a := Arrivals{Burst: &BurstArrivals{
		At: quantity.Duration(time.Second), Requests: 4, Over: quantity.Duration(2 * time.Second), Every: quantity.Duration(10 * time.Second)}}
	got := times(a, 20)
	want := []float64{1, 1.5, 2, 2.5, 11, 11.5, 12, 12.5}
	if len(got) != len(want) {
		t.Fatalf("arrivals at %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("arrivals at %v, want %v", got, want)
		}
	}
}

// An exponential draw may be 0: the first arrival of a ramp from 0 is then at its beginning.
func TestRampingFromZeroAtLevelZero(t *testing.T) {
	p := &ramping{stages: []Stage{{Duration: quantity.Duration(second), Rate: 1}}}
	open(&p.random)
	if at, _ := p.Next(); at != 0 {
		t.Errorf("the first arrival is at %v, want 0", at)
	}
}

func constant(t *testing.T, d time.Duration) quantity.Distribution {
	t.Helper()
	c, err := random.NewConstant(int64(d))
	if err != nil {
		t.Fatal(err)
	}
	return quantity.Distribution{Distribution: c}
}

// Periods without an arrival are looked at some at a time, however many there are, and the arrivals are those of
// the rate.
func TestSearchesOfOnOffEnd(t *testing.T) {
	a := Arrivals{OnOff: &OnOffArrivals{Rate: 100_000, On: quantity.Constant(1), Off: quantity.Constant(0)}}
	p := newProcess(&a, 0, 1, open, second, &poissonProcess{})
	sent, searches, last := 0, 0, 0.0
	for sent < 100 {
		at, sends := p.Next()
		if at < last || !sends && at-last > 2*mostPeriods {
			t.Fatalf("after %v ns it went on until %v ns", last, at)
		}
		if last = at; sends {
			sent++
		} else {
			searches++
		}
	}
	// An arrival is 10 µs after the one before on average, which is ten searches.
	if mean := last / 100; searches < 300 || mean < 7_000 || mean > 14_000 {
		t.Errorf("100 arrivals after %d searches, %.0f ns apart", searches, mean)
	}
	for range ArrivalTimes(&a, 1, "w", 0, 1_000_000) {
		return
	}
	t.Error("Times yields nothing")
}

// How many requests a workload is expected to send is at least what it sends, and not much more, for each kind of
// arrivals that does not depend on responses.
func TestExpectedArrivals(t *testing.T) {
	const seconds = 10_000
	for name, a := range map[string]Arrivals{
		"constant":      {Constant: &SteadyArrivals{Rate: 3}},
		"poisson":       {Poisson: &SteadyArrivals{Rate: 3}},
		"ramping":       {Ramping: &RampingArrivals{StartRate: 1, Stages: []Stage{{Duration: quantity.Duration(seconds * time.Second), Rate: 5}}}},
		"onOff":         {OnOff: &OnOffArrivals{Rate: 10, On: constant(t, 30*time.Second), Off: constant(t, 70*time.Second)}},
		"one burst":     {Burst: &BurstArrivals{At: quantity.Duration(time.Second), Requests: 400}},
		"every 7 s one": {Burst: &BurstArrivals{At: quantity.Duration(time.Second), Requests: 4, Every: quantity.Duration(7 * time.Second)}},
	} {
		w := Workload{Clients: 2, Arrivals: a, Start: quantity.Duration(time.Minute)}
		got, sent := w.ExpectedArrivals(quantity.Duration(time.Minute+seconds*time.Second)), 2*float64(len(times(a, seconds)))
		// The deviation of Poisson arrivals is √30 000, or 0.6 %.
		if got < 0.98*sent || got > 1.05*sent {
			t.Errorf("%s: %v are expected, and %v are sent", name, got, sent)
		}
	}
}
