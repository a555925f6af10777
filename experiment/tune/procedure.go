// Package tune finds the smallest change of the flow-control configuration with which the goals of a scenario hold. It
// lists all candidates with their costs before any result is known, walks up the costs with the same seeds for all of
// them, and confirms what it finds with fresh seeds.
package tune

import "math"

// Decision is what a sequential test says after some runs.
type Decision int8

// The decisions.
const (
	Undecided Decision = iota
	Accepted
	Rejected
)

// SPRT is the sequential probability ratio test of whether a run passes with a probability of P1 or more, or of P0 or
// less (A. Wald, "Sequential Tests of Statistical Hypotheses", 1945). It assumes independent runs and nothing else. It
// accepts with a probability of about Alpha at most if runs pass with P0, and rejects with about Beta at most if they
// pass with P1. In between, either answer is right.
//
// Each run adds ln(P1/P0) if it passes and ln((1−P1)/(1−P0)) if it fails. The sum decides at
//
//	accept ≥ ln((1−Beta)/Alpha)        reject ≤ ln(Beta/(1−Alpha))
type SPRT struct {
	P0, P1, Alpha, Beta float64
	Runs, Passes        int
}

// Bounds returns the sums at which the test accepts and rejects.
func (s *SPRT) Bounds() (accept, reject float64) {
	return math.Log((1 - s.Beta) / s.Alpha), math.Log(s.Beta / (1 - s.Alpha))
}

// Steps returns what a run adds to the sum.
func (s *SPRT) Steps() (pass, fail float64) {
	return math.Log(s.P1 / s.P0), math.Log((1 - s.P1) / (1 - s.P0))
}

// NewTest returns the test by which searches decide about a change, with the probabilities of accepting a bad one and of
// rejecting a good one. It is ended undecided after MostRuns.
func NewTest(alpha, beta float64) *SPRT {
	return &SPRT{P0: acceptable, P1: good, Alpha: alpha, Beta: beta}
}

// MostRuns is how many runs a test of a change has at most. In between, either answer is right.
const MostRuns = 300

// Add adds the next run and returns the decision.
func (s *SPRT) Add(passed bool) Decision {
	s.Runs++
	if passed {
		s.Passes++
	}
	pass, fail := s.Steps()
	sum := pass*float64(s.Passes) + fail*float64(s.Runs-s.Passes)
	switch accept, reject := s.Bounds(); {
	case sum >= accept:
		return Accepted
	case sum <= reject:
		return Rejected
	}
	return Undecided
}

// Every is the test of a change on a replay, whose runs differ in nothing but the phase of the adjustments: all Of them must
// pass.
type Every struct{ Passes, Of int }

// Add adds the next run and returns the decision.
func (e *Every) Add(passed bool) Decision {
	if !passed {
		return Rejected
	}
	if e.Passes++; e.Passes == e.Of {
		return Accepted
	}
	return Undecided
}

// Test decides from one run after the other whether a configuration holds.
type Test interface{ Add(passed bool) Decision }

// Holds is in how many of some runs all goals held.
type Holds struct {
	Passes int `json:"passes"`
	Runs   int `json:"runs"`
}

// Until adds runs to a test until it decides, at most maxRuns. Next makes a run and says whether it passed.
func Until(test Test, maxRuns int, next func() (passed bool, err error)) (d Decision, h Holds, err error) {
	for d == Undecided && h.Runs < maxRuns {
		passed, err := next()
		if err != nil {
			return d, h, err
		}
		h.Runs++
		if passed {
			h.Passes++
		}
		d = test.Add(passed)
	}
	return d, h, nil
}

// Bisect returns the first of n values beyond low that is high, n if none is, and the last that is known to be low. Values from
// some one on are high. It goes up in steps that double, and then halves what is left.
func Bisect(low, n int, isHigh func(i int) (bool, error)) (lastLow, high int, err error) {
	high = n
	look := func(i int) error {
		is, err := isHigh(i)
		if is {
			high = i
		} else {
			low = i
		}
		return err
	}
	for i, step := 0, 1; high == n && low < n-1 && err == nil; i, step = min(i+step, n-1), step*2 {
		err = look(i)
	}
	for high-low > 1 && high < n && err == nil {
		err = look((low + high) / 2)
	}
	return low, high, err
}

// ConfirmationRuns returns the least number of runs of which so many may fail, so that a change whose runs pass with a
// probability below p is confirmed with a probability of alpha at most: the least n with
//
//	P(at most failures of n fail | each fails with 1−p) ≤ alpha
//
// (C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits", 1934). Without failures, that is
// ln(alpha)/ln(p), rounded up.
func ConfirmationRuns(p, alpha float64, failures int) int {
	for n := failures + 1; ; n++ {
		if binomialBelow(n, failures, 1-p) <= alpha {
			return n
		}
	}
}

// AtLeast returns the lower limit of the probability with which a run passes, of a confidence of 1−alpha, if h passed:
// Clopper and Pearson's, as in ConfirmationRuns.
func (h Holds) AtLeast(alpha float64) float64 {
	if h.Passes == 0 {
		return 0
	}
	low, high := 0.0, 1.0
	for range 40 {
		if p := (low + high) / 2; binomialBelow(h.Runs, h.Runs-h.Passes, 1-p) <= alpha {
			low = p
		} else {
			high = p
		}
	}
	return low
}

// binomialBelow returns the probability of at most most of n, each with probability q.
func binomialBelow(n, most int, q float64) float64 {
	sum := 0.0
	lgN, _ := math.Lgamma(float64(n + 1))
	for i := 0; i <= most; i++ {
		lgI, _ := math.Lgamma(float64(i + 1))
		lgRest, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(lgN - lgI - lgRest + float64(i)*math.Log(q) + float64(n-i)*math.Log1p(-q))
	}
	return sum
}

// looks are the numbers of failures after which a confirmation looks whether it has enough runs. A change that holds in 95 of
// 100 runs has failures, too; without the later looks, it would hardly ever be confirmed.
var looks = []int{0, 1, 2, 4, 8, 15}

// Confirmation decides from fresh runs, one after the other, whether a change holds with a probability of P or more. It
// confirms as soon as at most c of n(c) runs have failed, for one of the numbers c of looks, and rejects as soon as more
// have failed than any of them allows. n(c) is ConfirmationRuns with the error alpha/6: by the union bound, a change whose
// runs pass with a lower probability is confirmed with alpha at most, though the looks share their runs. All of it is fixed
// before the first run.
type Confirmation struct {
	Runs, Failures int
	needed         []int // runs, by look
}

// NewConfirmation returns the confirmation of the candidate with a number, from 1, among those that a search confirms. Its
// error is alpha/(number·(number+1)), and all of a search together have alpha.
func NewConfirmation(number int, p, alpha float64) *Confirmation {
	c := &Confirmation{}
	for _, failures := range looks {
		c.needed = append(c.needed, ConfirmationRuns(p, alpha/float64(number*(number+1))/float64(len(looks)), failures))
	}
	return c
}

// Most returns how many runs it takes at most.
func (c *Confirmation) Most() int { return c.needed[len(c.needed)-1] }

// FirstSeed returns the first seed of the confirmation with a number in a search whose runs begin with a seed. The seeds are
// those of no run of the search, and of no other confirmation.
func FirstSeed(search uint64, number int) uint64 { return search + uint64(number)*seedsApart }

// Add adds the next run and returns the decision.
func (c *Confirmation) Add(passed bool) Decision {
	c.Runs++
	if !passed {
		c.Failures++
	}
	for i, failures := range looks {
		if c.Failures <= failures && c.Runs >= c.needed[i] {
			return Accepted
		}
	}
	if c.Failures > looks[len(looks)-1] {
		return Rejected
	}
	return Undecided
}
