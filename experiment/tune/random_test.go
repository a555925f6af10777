package tune

import (
	"flag"
	"fmt"
	"testing"

	"apfsim/experiment"
)

// randomProblems is how many random problems are solved; 0: only a few fast ones are, without the search of all candidates
// that cost less.
var randomProblems = flag.Int("randomproblems", 0, "solve so many random problems, and search for their answers exhaustively")

// firstProblem is the number of the first of them.
var firstProblem = flag.Int("firstproblem", 0, "number of the first random problem")

// fastProblems are the numbers of the problems that take least time: of places, of a wait, and two without a change.
var fastProblems = []int{5, 6, 8, 9}

// freshSeeds is where the seeds of the exhaustive search begin, which tune does not use.
const freshSeeds = 1 << 60

// promised is the probability that tune promises.
const promised = 0.9

// estimate is how often a configuration holds in fresh runs.
type estimate struct{ passes, runs int }

func (e estimate) holds() bool { return float64(e.passes) >= promised*float64(e.runs) }

// near says whether the probability is one of which the test of the search may decide either way.
func (e estimate) near() bool {
	p := float64(e.passes) / float64(e.runs)
	return e.passes < e.runs && p > acceptable && p < good+0.03
}

// estimateOf runs a configuration, nil for the present one, with fresh seeds until it is decided whether it holds as
// promised: wrongly in about 0.1 % of the cases at the bounds of the search.
func (s *search) estimateOf(t *testing.T, c *Candidate) (e estimate) {
	t.Helper()
	const most = 200
	sc := s.present
	if c != nil {
		sc = c.scenarioOf(s.present)
	}
	plan := s.plan(sc, freshSeeds, most)
	plan.Early, plan.MostEvents = true, s.mostEvents()
	runs := experiment.BeginTrials(t.Context(), plan)
	defer runs.Stop()
	test := SPRT{P0: acceptable, P1: good, Alpha: 0.001, Beta: 0.001}
	for decision := Undecided; decision == Undecided && test.Runs < most; {
		run, err := runs.Next()
		if err != nil {
			t.Fatal(err)
		}
		decision = test.Add(run.Passed())
	}
	return estimate{test.Passes, test.Runs}
}

// solved is what tune says of a problem, and what is true.
type solved struct {
	randomProblem
	said     string
	runs     int
	selected estimate // of what tune selected
	cheapest string   // of all candidates that cost no more than what is said or expected
	near     []string // candidates that hold with a probability between good and bad, with their runs
}

// name is the answer of tune as a problem has it.
func (a *Answer) name() string {
	switch {
	case !a.Needed:
		return noChangeNeeded
	case a.Selected == nil && a.OutOfBudget:
		return "out of budget"
	case a.Selected == nil:
		return noneSuffices
	}
	return a.smallest().ID
}

// smallest is the candidate that costs least of those that were confirmed.
func (a *Answer) smallest() *Candidate {
	if a.Tight != nil {
		return a.Tight.Candidate
	}
	return a.Selected
}

// solveRandom lets tune solve a problem.
func solveRandom(t *testing.T, p randomProblem) (*Answer, *solved) {
	t.Helper()
	sc, err := p.load()
	if err != nil {
		t.Fatalf("%v in\n%s", err, p.text)
	}
	if p.seed > 0 {
		sc.Spec.Seed = p.seed
	}
	a, err := Run(t.Context(), Options{Scenario: sc, Kinds: p.kinds, Levels: p.levels, Probability: promised, Confidence: 0.95, Budget: 4000})
	if err != nil {
		t.Fatalf("%v in\n%s", err, p.text)
	}
	return a, &solved{randomProblem: p, said: a.name(), runs: a.Runs}
}

// verify runs what tune selected, and all candidates that cost less, with fresh seeds.
func (v *solved) verify(t *testing.T, a *Answer) {
	t.Helper()
	s := a.search
	if e := s.estimateOf(t, nil); e.holds() || !a.Needed {
		v.selected, v.cheapest = e, noChangeNeeded
		if !e.holds() {
			v.cheapest = "a change"
		}
		return
	}
	v.cheapest = noneSuffices
	for _, c := range s.all {
		e := s.estimateOf(t, c)
		if e.near() {
			v.near = append(v.near, fmt.Sprintf("%s %d of %d", c.ID, e.passes, e.runs))
		}
		if c == a.smallest() {
			v.selected = e
		}
		if e.holds() && v.cheapest == noneSuffices {
			v.cheapest = c.ID
		}
		if v.cheapest != noneSuffices && (a.Selected == nil || c == a.smallest()) {
			return
		}
		if a.Selected != nil && c.Cost.Compare(a.smallest().Cost) > 0 {
			return
		}
	}
}

// Random problems, whose answers follow from formulas and from an exhaustive search, are solved: what is selected holds as
// promised and is the cheapest, and where nothing suffices, that is said.
func TestRandomProblems(t *testing.T) {
	if *randomProblems == 0 {
		for _, number := range fastProblems {
			p := draw(number)
			if _, v := solveRandom(t, p); v.said != p.answer {
				t.Errorf("problem %d, %s: got %s, want %s of\n%s", number, p.kind, v.said, p.answer, p.text)
			}
		}
		return
	}
	holds, cheapest, formula := 0, 0, 0
	for number := *firstProblem; number < *firstProblem+*randomProblems; number++ {
		a, v := solveRandom(t, draw(number))
		v.verify(t, a)
		right := v.said == v.cheapest
		if right {
			cheapest++
		}
		if v.said == v.answer {
			formula++
		}
		if v.said == noneSuffices && right || v.selected.runs > 0 && v.selected.holds() {
			holds++
		}
		t.Logf("problem %d, %s: %s (held in %d of %d fresh runs) after %d runs; by exhaustive search %s, by formula %s; near the limit: %q",
			number, v.kind, v.said, v.selected.passes, v.selected.runs, v.runs, v.cheapest, v.answer, v.near)
		if !right || v.said != v.answer {
			t.Logf("the scenario:\n%s", v.text)
		}
	}
	t.Logf("of %d problems, the answer holds in %d, is the cheapest in %d, and is that of the formula in %d", *randomProblems, holds, cheapest, formula)
	if most := *randomProblems; holds < most*38/40 || cheapest < most*36/40 {
		t.Errorf("want %d that hold, and %d that are the cheapest", most*38/40, most*36/40)
	}
}
