package tune

import (
	"math"
	"math/rand/v2"
	"slices"
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

// The looks of the first candidate at 0.9 and 95 %: 53 runs without a failure, 73 with one, and so on.
func TestConfirmationLooks(t *testing.T) {
	for number, want := range map[int][]int{1: {53, 73, 92, 124, 184, 279}} {
		if got := NewConfirmation(number, 0.9, 0.05).needed; !slices.Equal(got, want) {
			t.Errorf("candidate %d needs %v runs, want %v", number, got, want)
		}
	}
	c := NewConfirmation(1, 0.9, 0.05)
	for run := 1; ; run++ {
		decision := c.Add(run != 10 && run != 60)
		if run < 92 && decision != Undecided || run == 92 && decision != Accepted {
			t.Fatalf("two failures: decision %v after %d runs, want accepted after 92", decision, run)
		}
		if run == 92 {
			break
		}
	}
	c = NewConfirmation(1, 0.9, 0.05)
	for failed := 1; failed <= 16; failed++ {
		if decision := c.Add(false); (decision == Rejected) != (failed == 16) {
			t.Fatalf("decision %v after %d failures, want rejected after 16", decision, failed)
		}
	}
}

// confirmed returns in which part of the searches one of some candidates is confirmed, whose runs pass with a probability.
func confirmed(p float64, candidates int) float64 {
	const searches = 20_000
	random := rand.New(rand.NewPCG(3, 4))
	var fresh []*Confirmation
	for number := range candidates {
		fresh = append(fresh, NewConfirmation(number+1, 0.9, 0.05))
	}
	n := 0
	for range searches {
		for _, f := range fresh {
			c := *f
			decision := Undecided
			for decision == Undecided {
				decision = c.Add(random.Float64() < p)
			}
			if decision == Accepted {
				n++
				break
			}
		}
	}
	return float64(n) / searches
}

// Changes that pass a little less often than promised are confirmed in at most alpha of the searches, over all candidates.
func TestConfirmationsKeepTheConfidence(t *testing.T) {
	if got := confirmed(0.9, 6); got > 0.05 || got < 0.015 {
		t.Errorf("confirmed in %.4f of the searches, want at most 0.05 and no much smaller part", got)
	}
}

// One that passes in 97 of 100 runs is nearly always confirmed, and one with 95 in seven of ten cases.
func TestConfirmationHasPower(t *testing.T) {
	for p, least := range map[float64]float64{0.95: 0.70, 0.97: 0.98, 0.99: 0.999} {
		if got := confirmed(p, 1); got < least {
			t.Errorf("runs that pass with %v are confirmed in %.4f of the cases, want %v or more", p, got, least)
		}
	}
}

// The limits are those of the tables of Clopper and Pearson for 95 % on one side.
func TestLowerLimitOfPasses(t *testing.T) {
	for h, want := range map[Holds]float64{{10, 10}: 0.741134, {20, 20}: 0.860892, {29, 29}: 0.901855, {39, 40}: 0.886812, {38, 40}: 0.850848, {0, 5}: 0} {
		if got := h.AtLeast(0.05); math.Abs(got-want) > 1e-6 {
			t.Errorf("%d of %d: %v, want %v", h.Passes, h.Runs, got, want)
		}
	}
}
