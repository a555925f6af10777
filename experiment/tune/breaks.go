package tune

import (
	"fmt"
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
	what string
	of   func(*scenario.Scenario) *scenario.Scenario
}{
	{"executions × 0.8", func(sc *scenario.Scenario) *scenario.Scenario { return withExecutions(sc, 0.8) }},
	{"executions × 1.25", func(sc *scenario.Scenario) *scenario.Scenario { return withExecutions(sc, 1.25) }},
	{"load × 1.1", func(sc *scenario.Scenario) *scenario.Scenario { return loaded(sc, 1.1) }},
	{"the least capacity of its interval", func(sc *scenario.Scenario) *scenario.Scenario {
		least, _ := ends(sc)
		return withCapacity(sc, least)
	}},
	{"the greatest capacity of its interval", func(sc *scenario.Scenario) *scenario.Scenario {
		_, greatest := ends(sc)
		return withCapacity(sc, greatest)
	}},
}

// mostRepeats ends a test of a variation that neither holds nor fails clearly.
const mostRepeats = 60

// repeat repeats the answer with each of the variations, with fresh seeds: those of attempts from a number on, which no
// confirmation has used. The test is that of the search, which needs fewer runs than a confirmation.
func (a *Answer) repeat(sc *scenario.Scenario, attempt int) error {
	for i, v := range variations {
		changed := v.of(sc)
		if changed == nil {
			continue
		}
		b, err := a.search.repeat(changed, FirstSeed(sc.Spec.Seed, attempt+i))
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
