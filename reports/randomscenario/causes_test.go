package randomscenario

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"apfsim/reports/result"
	"apfsim/scenarios"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

var explore = flag.Bool("explore", false, "print every cause with its relief")

// leastRelief is the part of the harm that is gone without its first cause.
const leastRelief = 0.5

// tally counts how often the first cause of harm takes so much of it away.
type tally struct{ tried, good int }

// take runs a scenario with and without its first cause.
func (n *tally) take(t *testing.T, name string, load func() (*scenario.Scenario, error), wanted []result.Kind) {
	sc, err := load()
	if err != nil {
		t.Fatal(name, err)
	}
	r, err := judged(sc)
	if err != nil {
		t.Log(name, err)
		return
	}
	v := r.Summary.Verdict
	if len(v.Causes) == 0 {
		if wanted != nil {
			t.Errorf("%s: no cause: %s %s", name, v.Status, v.Sentence)
		}
		return
	}
	harm := damageOf(r)
	if harm.sum() == 0 {
		return
	}
	reliefOf := func(c *result.Cause) (float64, bool) {
		changed, err := load()
		if err != nil || !without(changed, c) {
			return 0, false
		}
		healed, err := judged(changed)
		if err != nil {
			return 0, false
		}
		other := damageOf(healed)
		return harm.gone(&other), true
	}
	gone, ok := reliefOf(&v.Causes[0])
	right := wanted == nil || slices.Contains(wanted, v.Causes[0].Kind)
	if ok {
		n.tried++
		if gone >= leastRelief {
			n.good++
		}
	}
	if !ok || gone < leastRelief || !right || *explore {
		text := fmt.Sprintf("%s (%v): %s %s harm %.0f", name, wanted, v.Status, v.Sentence, harm.sum())
		for i := range v.Causes[:min(4, len(v.Causes))] {
			c := &v.Causes[i]
			one, known := reliefOf(c)
			text += fmt.Sprintf("\n      %.2f(%v) %s %s %v: %s", one, known, c.ID, c.Level, c.Workloads, c.Sentence)
		}
		t.Log(text)
	}
}

func (n *tally) check(t *testing.T) {
	t.Logf("the first cause takes half of the harm with it in %d of %d", n.good, n.tried)
	if n.good*100 < n.tried*95 {
		t.Errorf("the first cause takes half of the harm with it in %d of %d, want 95 %%", n.good, n.tried)
	}
}

func TestFirstCausesOfFaults(t *testing.T) {
	n := &tally{}
	for i := range faults {
		for seed := range max(1, *number/50) {
			text := newFault(i, *first+uint64(seed))
			n.take(t, fmt.Sprintf("%s %d", faults[i].name, seed), func() (*scenario.Scenario, error) { return loadText(text) }, faults[i].kinds)
		}
	}
	n.check(t)
}

func TestFirstCausesOfRandomScenarios(t *testing.T) {
	n := &tally{}
	for i := range *number {
		s := New(*first + uint64(i))
		n.take(t, fmt.Sprintf("random %d", s.Seed), s.Load, nil)
	}
	n.check(t)
}

func TestFirstCausesOfTheLibrary(t *testing.T) {
	n := &tally{}
	for _, name := range scenarios.Names() {
		load := func() []*scenario.Scenario {
			all, mistakes := loader.Load(scenarios.Files, scenarios.File(name), loader.Options{})
			if err := mistakes.Err(); err != nil {
				t.Fatal(err)
			}
			return all
		}
		for i, sc := range load() {
			if scenarios.IsIncident(name) || sc.Spec.Duration > 200e9 {
				continue
			}
			n.take(t, sc.Metadata.Name, func() (*scenario.Scenario, error) { return load()[i], nil }, nil)
		}
	}
	n.check(t)
}
