package randomscenario

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"apfsim/reports/result"
	"apfsim/scenarios"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

var (
	explore = flag.Bool("explore", false, "print every cause with its relief")
	long    = flag.Bool("long", false, "run the longer scenarios of the library without their first causes, too")
)

// leastRelief is the part of the harm that is gone without its first cause.
const leastRelief = 0.5

// tally counts how often the first cause of harm takes so much of it away, and how often it is one of those that are wanted. ok counts the faults that are found to
// be none.
type tally struct{ tried, good, wanted, right, ok int }

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
	if wanted != nil {
		n.wanted++
		if v.Status == result.OK {
			n.ok++
		}
		if len(v.Causes) > 0 && slices.Contains(wanted, v.Causes[0].Kind) {
			n.right++
		} else {
			t.Logf("%s: %s %s; want a cause of %v", name, v.Status, v.Sentence, wanted)
		}
	}
	harm := damageOf(r)
	if harm.sum() == 0 || len(v.Causes) == 0 {
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
	if ok {
		n.tried++
		if gone >= leastRelief {
			n.good++
		}
	}
	if !ok || gone < leastRelief || *explore {
		text := fmt.Sprintf("%s (%v): %s %s harm %.0f", name, wanted, v.Status, v.Sentence, harm.sum())
		for i := range v.Causes[:min(4, len(v.Causes))] {
			c := &v.Causes[i]
			one, known := reliefOf(c)
			text += fmt.Sprintf("\n      %.2f(%v) %s %s %v: %s", one, known, c.ID, c.Level, c.Workloads, c.Sentence)
		}
		t.Log(text)
	}
}

// check checks that it does in at least so many of 100.
func (n *tally) check(t *testing.T, least int) {
	t.Logf("the first cause takes half of the harm with it in %d of %d", n.good, n.tried)
	if n.good*100 < n.tried*least {
		t.Errorf("the first cause takes half of the harm with it in %d of %d, want %d %%", n.good, n.tried, least)
	}
	if n.ok > 0 {
		t.Errorf("%d of %d faults are ok; want none", n.ok, n.wanted)
	}
	if n.right*100 < n.wanted*least {
		t.Errorf("the first cause is the fault in %d of %d, want %d %%", n.right, n.wanted, least)
	}
}

// A system with room for all that it is asked for is well, in 995 of 1000 runs.
func TestHealthyScenariosAreOK(t *testing.T) {
	ok := 0
	for i := range *number {
		sc, err := loadText(newHealthy(*first + uint64(i)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := judged(sc)
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Summary.Verdict; v.Status == result.OK {
			ok++
		} else {
			t.Logf("%s: %s %s", sc.Metadata.Name, v.Status, v.Sentence)
		}
	}
	if t.Logf("%d of %d are ok", ok, *number); ok*1000 < *number*995 {
		t.Errorf("%d of %d healthy scenarios are ok; want 99.5 %%", ok, *number)
	}
}

// The first cause of a scenario with one fault is that fault, and takes the harm with it.
func TestFirstCausesOfFaults(t *testing.T) {
	n := &tally{}
	for i := range faults {
		for seed := range max(1, *number/50) {
			n.take(t, fmt.Sprintf("%s, seed %d", faults[i].name, *first+uint64(seed)), func() (*scenario.Scenario, error) {
				return loadText(newFault(i, *first+uint64(seed)))
			}, faults[i].kinds)
		}
	}
	n.check(t, 95)
}

// Random scenarios have several faults at a time, of which often none is most of the harm, and clients that give up at once.
func TestFirstCausesOfRandomScenarios(t *testing.T) {
	n := &tally{}
	for i := range *number {
		s := New(*first + uint64(i))
		n.take(t, fmt.Sprintf("random %d", s.Seed), s.Load, nil)
	}
	n.check(t, 80)
}

// The scenarios of the library are stories about one thing each.
func TestFirstCausesOfTheLibrary(t *testing.T) {
	longest := quantity.Duration(45e9) // that is run without its first cause
	if *long {
		longest = 200e9
	}
	n := &tally{}
	for _, name := range scenarios.Names() {
		if scenarios.IsIncident(name) {
			continue
		}
		load := func() []*scenario.Scenario {
			all, mistakes := loader.Load(scenarios.Files, scenarios.File(name), loader.Options{})
			if err := mistakes.Err(); err != nil {
				t.Fatal(err)
			}
			return all
		}
		for i, sc := range load() {
			if sc.Spec.Duration <= longest {
				n.take(t, sc.Metadata.Name, func() (*scenario.Scenario, error) { return load()[i], nil }, nil)
			}
		}
	}
	n.check(t, 95)
}
