package tune

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/experiment"
	"apfsim/sim/scenario"
)

// Break says whether the answer also holds if the scenario is a little different.
type Break struct {
	What   string `json:"what"` // is different, such as executions × 1.25
	Holds  bool   `json:"holds"`
	Passes int    `json:"passes"` // of Runs in which all goals held
	Runs   int    `json:"runs"`
	Fails  string `json:"fails,omitempty"` // the goal that failed most often
}

// variations are the scenarios with which an answer is repeated. A nil one is not possible.
var variations = []struct {
	what   string
	robust bool // whether an answer has to hold with it to be robust
	of     func(*scenario.Scenario) *scenario.Scenario
}{
	{"executions × 0.8", false, func(sc *scenario.Scenario) *scenario.Scenario { return withExecutions(sc, 0.8) }},
	{"executions × 1.25", true, func(sc *scenario.Scenario) *scenario.Scenario { return withExecutions(sc, 1.25) }},
	{"load × 1.1", true, func(sc *scenario.Scenario) *scenario.Scenario { return loaded(sc, 1.1) }},
	{"the least capacity of its interval", false, func(sc *scenario.Scenario) *scenario.Scenario {
		least, _ := ends(sc)
		return withCapacity(sc, least)
	}},
	{"the greatest capacity of its interval", false, func(sc *scenario.Scenario) *scenario.Scenario {
		_, greatest := ends(sc)
		return withCapacity(sc, greatest)
	}},
}

// mostRepeats ends a test of a variation that neither holds nor fails clearly.
const mostRepeats = 60

// found is a confirmed candidate, and the smaller one that holds as well, but breaks with a variation that a robust one has to hold
// with.
type found struct {
	c *Candidate
	*confirmation
	robust bool
	tight  *found
}

// mostRobust is how many candidates beyond the first that is confirmed are tried to find one that is robust.
const mostRobust = 8

// moreRobust returns the confirmed candidate if it is robust, or else the next one that is: a value of the same family that is
// farther from the present one, or a candidate that costs more. If none is, it returns the confirmed one.
func (s *search) moreRobust(c *Candidate, done *confirmation) (_ *found, err error) {
	first := &found{c: c, confirmation: done}
	if first.robust, err = s.isRobust(c); first.robust || err != nil {
		return first, err
	}
	for _, next := range s.farther(c) {
		err := s.decide(next)
		if err == nil && s.trialsOf(next).Decision == Accepted {
			var robust bool
			if robust, err = s.isRobust(next); robust {
				var confirmed *confirmation
				if confirmed, err = s.confirm(next); confirmed != nil {
					return &found{next, confirmed, true, first}, nil
				}
			}
		}
		if err != nil && err != errBudget {
			return nil, err
		}
	}
	return first, nil
}

// farther returns the candidates that may be more robust than one: those of its family in steps that double, and then the next ones
// of other families.
func (s *search) farther(c *Candidate) (all []*Candidate) {
	for step := 1; c.step+step < len(c.family.all) && len(all) < mostRobust/2; step *= 2 {
		all = append(all, c.family.all[c.step+step])
	}
	seen := map[*family]bool{c.family: true}
	for _, next := range s.all[slices.Index(s.all, c)+1:] {
		if !seen[next.family] && !next.Cost.Pair && len(all) < mostRobust {
			seen[next.family] = true
			all = append(all, s.problem.coarse(next.family))
		}
	}
	return slices.DeleteFunc(all, func(c *Candidate) bool { return c == nil })
}

// isRobust says whether a candidate holds with more load and with longer executions, as far as the scenario can be changed so, and
// as far as there is time to try. Names of users, and phases of the adjustments, are other ones in each run.
func (s *search) isRobust(c *Candidate) (bool, error) {
	for i, v := range variations {
		changed := v.of(c.scenarioOf(s.present))
		if changed == nil || !v.robust {
			continue
		}
		b, err := s.repeat(changed, FirstSeed(s.present.Spec.Seed, robustSeeds+i))
		if err == errBudget {
			return true, nil
		}
		if err != nil || !b.Holds {
			return false, err
		}
	}
	return true, nil
}

// robustSeeds is the number of the confirmation whose seeds these repetitions have, which no search reaches.
const robustSeeds = 1 << 20

// repeat repeats the answer with each of the variations, with fresh seeds: those of attempts from a number on, which no
// confirmation has used. The test is that of the search, which needs fewer runs than a confirmation.
func (a *Answer) repeat(sc *scenario.Scenario, attempt int) error {
	for i, v := range variations {
		changed := v.of(sc)
		if changed == nil {
			continue
		}
		b, err := a.search.repeat(changed, FirstSeed(sc.Spec.Seed, attempt+i))
		if err == errBudget {
			return nil // the time is over
		}
		if err != nil {
			return err
		}
		b.What = v.what
		a.Breaks = append(a.Breaks, *b)
	}
	return nil
}

// repeat tests whether the goals hold in a scenario.
func (s *search) repeat(sc *scenario.Scenario, first uint64) (*Break, error) {
	p := s.plan(sc, first, mostRepeats)
	p.Early, p.MostEvents = true, s.mostEvents()
	runs := experiment.BeginTrials(s.ctx, p)
	defer runs.Stop()
	known := &trials{failed: make([]int, len(sc.Spec.Thresholds))}
	decision, held, err := Until(s.newTest(s.alpha), mostRepeats, func() (bool, error) {
		if s.over() {
			return false, errBudget
		}
		run, err := runs.Next()
		if err != nil {
			return false, err
		}
		s.runs++
		known.add(&outcome{Passed: run.Passed(), Failed: run.Failed(), RanAway: run.RanAway})
		return run.Passed(), nil
	})
	if err != nil {
		return nil, err
	}
	b := &Break{Holds: decision == Accepted, Passes: held.Passes, Runs: held.Runs}
	if !b.Holds {
		b.Fails = s.worstGoal(known)
	}
	return b, nil
}

// breakSentences say with what the answer also holds and with what it does not.
func (a *Answer) breakSentences() (all []string) {
	var holds, fails []string
	for i := range a.Breaks {
		b := &a.Breaks[i]
		text := fmt.Sprintf("%s (%d of %d runs", b.What, b.Passes, b.Runs)
		switch {
		case b.Holds:
			holds = append(holds, text+")")
		case b.Fails != "":
			fails = append(fails, text+"; fails "+b.Fails+")")
		default:
			fails = append(fails, text+")")
		}
	}
	if len(holds) > 0 {
		all = append(all, "It also holds with "+strings.Join(holds, ", ")+".")
	}
	if len(fails) > 0 {
		all = append(all, "It does not hold with "+strings.Join(fails, ", ")+".")
	}
	return all
}
