package tune

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: got %.10f, want %.10f", what, got, want)
	}
}

// wald is the test with errors of 5 %.
func wald() SPRT { return SPRT{P0: 0.8, P1: 0.95, Alpha: 0.05, Beta: 0.05} }

// decide adds runs until the test decides, and returns how many there were.
func decide(s *SPRT, passes func(run int) bool) Decision {
	for {
		if d := s.Add(passes(s.Runs + 1)); d != Undecided {
			return d
		}
	}
}

func TestSPRTDigits(t *testing.T) {
	s := wald()
	accept, reject := s.Bounds()
	pass, fail := s.Steps()
	near(t, "accept", accept, 2.9444389792)
	near(t, "reject", reject, -2.9444389792)
	near(t, "pass", pass, 0.1718502569)
	near(t, "fail", fail, -1.3862943611)
	for _, c := range []struct {
		what   string
		passes func(run int) bool
		want   Decision
		runs   int
	}{
		{"all pass", func(int) bool { return true }, Accepted, 18},
		{"all fail", func(int) bool { return false }, Rejected, 3},
		{"the first fails", func(run int) bool { return run > 1 }, Accepted, 27}, // −1.386 + 26·0.1719 = 3.08
	} {
		s := wald()
		if got := decide(&s, c.passes); got != c.want || s.Runs != c.runs {
			t.Errorf("%s: got decision %d after %d runs, want %d after %d", c.what, got, s.Runs, c.want, c.runs)
		}
	}
}

// The errors are those that the test promises. 20 000 experiments have a standard error of 0.15 percentage points.
func TestSPRTErrorRates(t *testing.T) {
	const experiments = 20_000
	random := rand.New(rand.NewPCG(1, 2))
	accepted := func(p float64) float64 {
		n := 0
		for range experiments {
			s := wald()
			if decide(&s, func(int) bool { return random.Float64() < p }) == Accepted {
				n++
			}
		}
		return float64(n) / experiments
	}
	if got := accepted(0.8); math.Abs(got-0.044) > 0.006 {
		t.Errorf("runs pass with 0.8: accepted in %.4f, want 0.044", got)
	}
	if got := accepted(0.95); math.Abs(got-0.970) > 0.006 {
		t.Errorf("runs pass with 0.95: accepted in %.4f, want 0.970", got)
	}
}

func TestConfirmationRuns(t *testing.T) {
	for _, c := range []struct {
		p, alpha float64
		failures int
		want     int
	}{
		{0.90, 0.05, 0, 29}, {0.90, 0.025, 0, 36}, {0.90, 0.0125, 0, 42},
		{0.95, 0.05, 0, 59}, {0.95, 0.025, 0, 72}, {0.95, 0.0125, 0, 86},
		{0.99, 0.05, 0, 299}, {0.99, 0.025, 0, 368}, {0.99, 0.0125, 0, 437},
		{0.90, 0.05, 1, 46}, {0.90, 0.05, 2, 61}, {0.90, 0.05, 3, 76},
		{0.95, 0.05, 1, 93}, {0.95, 0.05, 2, 124}, {0.95, 0.05, 3, 153},
	} {
		if got := ConfirmationRuns(c.p, c.alpha, c.failures); got != c.want {
			t.Errorf("p %v, alpha %v, %d failures: got %d runs, want %d", c.p, c.alpha, c.failures, got, c.want)
		}
	}
}

// A change that passes a little less often than promised is confirmed in at most alpha of the searches, over all attempts.
func TestAttemptsKeepTheConfidence(t *testing.T) {
	const searches, attempts = 20_000, 6
	random := rand.New(rand.NewPCG(3, 4))
	confirmed := 0
	for range searches {
		for number := 1; number <= attempts; number++ {
			a := AttemptOf(number, 0.9, 0.05)
			failed := 0
			for range a.Runs {
				if random.Float64() >= 0.9 {
					failed++
				}
			}
			if failed <= a.Failures {
				confirmed++
				break
			}
		}
	}
	if got := float64(confirmed) / searches; got > 0.05 || got < 0.03 {
		t.Errorf("confirmed in %.4f of the searches, want at most 0.05 and no much smaller part", got)
	}
}
