package measure

import (
	"math"
	"testing"
)

// Ten clients wait. Six are served after 1, 2, 2, 4, 5 and 9 seconds; the others still wait when the run ends, since 2, 3, 4
// and 7 seconds. By hand:
//
//	t   at risk  served  S
//	1   10       1       9/10
//	2    9       2       9/10 · 7/9 = 7/10      (the one that has waited for 2 s is at risk)
//	4    5       1       7/10 · 4/5 = 14/25     (the ones of 2 and 3 s have gone)
//	5    3       1       14/25 · 2/3 = 28/75
//	9    1       1       0
func TestSurvivalByHand(t *testing.T) {
	ended, censored := []int64{9, 1, 2, 5, 4, 2}, []int64{7, 2, 4, 3}
	s := NewSurvival(ended, censored, nil)
	for _, c := range []struct {
		percent float64
		want    int64
	}{{10, 1}, {10.1, 2}, {30, 2}, {31, 4}, {44, 4}, {45, 5}, {62, 5}, {63, 9}, {100, 9}} {
		if ns, atLeast := s.PercentileNs(c.percent); ns != c.want || atLeast {
			t.Errorf("p%v is %d (at least: %v), want %d", c.percent, ns, atLeast, c.want)
		}
	}
	// 1·1 + 0.9·1 + 0.7·2 + 0.56·1 + (28/75)·4
	want := 1 + 0.9 + 1.4 + 0.56 + 28.0/75*4
	if mean, atLeast := s.MeanNs(); math.Abs(mean-want) > 1e-9 || atLeast {
		t.Errorf("mean %v (at least: %v), want %v", mean, atLeast, want)
	}

	if ns, atLeast := s.MaxNs(); ns != 9 || atLeast {
		t.Errorf("longest %d (at least: %v), want 9", ns, atLeast)
	}

	// If the longest wait has not ended either, the curve stays at 28/75: nothing is known beyond p62.7.
	s = NewSurvival([]int64{1, 2, 2, 4, 5}, []int64{7, 2, 4, 3, 9}, nil)
	if mean, atLeast := s.MeanNs(); math.Abs(mean-want) > 1e-9 || !atLeast {
		t.Errorf("mean %v (at least: %v), want at least %v", mean, atLeast, want)
	}
	if ns, atLeast := s.PercentileNs(62); ns != 5 || atLeast {
		t.Errorf("p62 is %d (at least: %v), want 5", ns, atLeast)
	}
	if ns, atLeast := s.PercentileNs(63); ns != 9 || !atLeast {
		t.Errorf("p63 is %d (at least: %v), want at least 9", ns, atLeast)
	}
	if ns, atLeast := s.MaxNs(); ns != 9 || !atLeast {
		t.Errorf("longest %d (at least: %v), want at least 9", ns, atLeast)
	}
}

// Four requests wait. Two are dispatched after 1 and 4 s, one times out after 3 s, and one still waits when the run ends, since
// 2 s. It would time out or be dispatched with equal chances, as the two that waited for longer. A quarter of all is dispatched
// after 1 s, and of the three quarters that wait longer, one half after 4 s: 2/5 and 3/5 of those that are dispatched.
func TestSurvivalWithTimeOuts(t *testing.T) {
	s := NewSurvival([]int64{1, 4}, []int64{2}, []int64{3})
	if mean, atLeast := s.MeanNs(); math.Abs(mean-2.8) > 1e-9 || atLeast {
		t.Errorf("mean %v (at least: %v), want 2.8", mean, atLeast)
	}
	for percent, want := range map[float64]int64{39: 1, 40: 1, 41: 4, 100: 4} {
		if ns, atLeast := s.PercentileNs(percent); ns != want || atLeast {
			t.Errorf("p%v is %d (at least: %v), want %d", percent, ns, atLeast, want)
		}
	}
	if ns, atLeast := s.MaxNs(); ns != 4 || atLeast {
		t.Errorf("longest %d (at least: %v), want 4", ns, atLeast)
	}
	// What is censored after the last dispatch would time out.
	s = NewSurvival([]int64{1}, []int64{2}, []int64{3})
	mean, meanAtLeast := s.MeanNs()
	if ns, atLeast := s.MaxNs(); ns != 1 || atLeast || mean != 1 || meanAtLeast {
		t.Errorf("longest %d (at least: %v), mean %v (at least: %v), want 1", ns, atLeast, mean, meanAtLeast)
	}
	// Nothing is dispatched: all that is known is how long one has waited.
	s = NewSurvival(nil, []int64{2}, []int64{3})
	if ns, atLeast := s.PercentileNs(50); ns != 2 || !atLeast {
		t.Errorf("median %d (at least: %v), want at least 2", ns, atLeast)
	}
	if ns, atLeast := s.MaxNs(); ns != 2 || !atLeast {
		t.Errorf("longest %d (at least: %v), want at least 2", ns, atLeast)
	}
}

// Without censored durations the estimate is the nearest rank.
func TestSurvivalOfEndedDurations(t *testing.T) {
	var ended []int64
	for i := range int64(1000) {
		ended = append(ended, i+1)
	}
	s := NewSurvival(ended, nil, nil)
	for _, p := range []float64{0.1, 50, 90, 99, 99.9, 100} {
		if ns, atLeast := s.PercentileNs(p); ns != int64(Rank(p, 1000)) || atLeast {
			t.Errorf("p%v is %d (at least: %v), want %v", p, ns, atLeast, Rank(p, 1000))
		}
	}
	if mean, atLeast := s.MeanNs(); math.Abs(mean-500.5) > 1e-6 || atLeast {
		t.Errorf("mean %v (at least: %v), want 500.5", mean, atLeast)
	}
}

// A backlog grows: a request that is sent at t waits for a·t, until the run ends at T. Requests sent after T/(1+a) still wait
// then, since T − t. In the limit of many requests S is (1 − w/W)^(1/(1+a)) up to W = aT/(1+a), so that the mean is
// aT/(2+a). The truth is aT/2, and the mean with the censored waits as if they had ended aT/(2+2a).
func TestSurvivalOfGrowingBacklog(t *testing.T) {
	const n, end, a = 100_000, 1e9, 0.25
	var ended, censored []int64
	asEnded := 0.0
	for i := range n {
		at := (float64(i) + 0.5) / n * end
		wait := min(a*at, end-at)
		if a*at <= end-at {
			ended = append(ended, int64(wait))
		} else {
			censored = append(censored, int64(wait))
		}
		asEnded += wait / n
	}
	s := NewSurvival(ended, censored, nil)
	if mean, _ := s.MeanNs(); math.Abs(mean/(a*end/(2+a))-1) > 1e-3 {
		t.Errorf("mean %v, want %v", mean, a*end/(2+a))
	}
	if math.Abs(asEnded/(a*end/(2+2*a))-1) > 1e-3 {
		t.Errorf("mean as if all had ended %v, want %v", asEnded, a*end/(2+2*a))
	}
	w := a * end / (1 + a)
	if median, _ := s.PercentileNs(50); math.Abs(float64(median)/(w*(1-math.Pow(0.5, 1+a)))-1) > 1e-3 {
		t.Errorf("median %d, want %v", median, w*(1-math.Pow(0.5, 1+a)))
	}
}

// A percentile needs ten samples beyond it, and the number decides to the sample.
func TestEnough(t *testing.T) {
	for _, c := range []struct {
		percent float64
		least   int64
	}{{50, 20}, {90, 100}, {95, 200}, {99, 1000}, {99.9, 10_000}, {99.99, 100_000}} {
		if Enough(c.percent, c.least-1) || !Enough(c.percent, c.least) {
			t.Errorf("p%v needs %d samples: %v with one less, %v with as many", c.percent, c.least, Enough(c.percent, c.least-1), Enough(c.percent, c.least))
		}
	}
}
