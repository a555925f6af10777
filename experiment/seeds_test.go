package experiment

import (
	"strings"
	"testing"

	"apfsim/reports/compare"
	"apfsim/sim/scenario"
)

// Both sides get common random numbers unless a seed is set for one of them. Existing results determine the
// seeds of a scenario on the other side.
func TestSidesAreAligned(t *testing.T) {
	results := func(seeds ...uint64) *Side { return &Side{Results: &compare.Replications{Seeds: seeds}} }
	scenarioOf := func(seed uint64) *Side {
		sc := &scenario.Scenario{}
		sc.Spec.Seed = seed
		return &Side{Scenario: sc}
	}
	own := func(seed uint64) *Side {
		s := scenarioOf(seed)
		s.OwnSeed = true
		return s
	}
	five := uint64(5)
	const none = 0 // no scenario there
	for _, c := range []struct {
		name         string
		base, head   *Side
		seed         *uint64
		replications int

		seeds [2]uint64
		runs  int
	}{
		{"two scenarios", scenarioOf(1), scenarioOf(2), nil, 0, [2]uint64{1, 1}, 10},
		{"with a seed", scenarioOf(1), scenarioOf(2), &five, 3, [2]uint64{5, 5}, 3},
		{"the base has its own", own(7), scenarioOf(2), nil, 0, [2]uint64{7, 2}, 10},
		{"the head has its own", scenarioOf(1), own(7), nil, 0, [2]uint64{1, 7}, 10},
		{"and the other is given one", scenarioOf(1), own(7), &five, 0, [2]uint64{5, 7}, 10},
		{"each has its own", own(6), own(7), &five, 0, [2]uint64{6, 7}, 10},
		{"results before", results(30, 31, 32), scenarioOf(2), nil, 0, [2]uint64{none, 30}, 3},
		{"results behind", scenarioOf(2), results(30, 31, 32), nil, 0, [2]uint64{30, none}, 3},
		{"results, and fewer runs", scenarioOf(2), results(30, 31, 32), nil, 2, [2]uint64{30, none}, 2},
		{"results, and another seed", scenarioOf(2), results(30, 31, 32), &five, 0, [2]uint64{5, none}, 3},
		{"results, and its own seed", results(30, 31, 32), own(2), nil, 0, [2]uint64{none, 2}, 3},
		{"results on both sides", results(1), results(2), nil, 0, [2]uint64{none, none}, 0},
	} {
		sides := [2]*Side{c.base, c.head}
		Align(sides, c.seed, c.replications, 10)
		for i, s := range sides {
			if s.Scenario == nil {
				continue
			}
			if got := s.Scenario.Spec; got.Seed != c.seeds[i] || got.Replications != c.runs {
				t.Errorf("%s: side %d runs %d times from seed %d on, want %d from %d on", c.name, i, got.Replications, got.Seed, c.runs, c.seeds[i])
			}
		}
	}
}

// A scenario may be called as a run of another; then one of them has to take another name.
func TestRunsOfOneName(t *testing.T) {
	named := func(name string, seed uint64, replications int) *scenario.Scenario {
		sc := &scenario.Scenario{}
		sc.Metadata.Name, sc.Spec.Seed, sc.Spec.Replications = name, seed, replications
		return sc
	}
	a := named("a", 1, 3)
	if got := strings.Join(RunNames(a), " "); got != "a-seed-1 a-seed-2 a-seed-3" {
		t.Error(got)
	}
	for _, c := range []struct {
		others []*scenario.Scenario
		want   string
	}{
		{nil, ""},
		{[]*scenario.Scenario{named("b", 1, 1), named("a-seed-4", 1, 1)}, ""},
		{[]*scenario.Scenario{named("b", 1, 1), named("a-seed-3", 1, 1)}, "a and a-seed-3: both have a run with the name a-seed-3"},
		{[]*scenario.Scenario{named("a-seed-3", 1, 2)}, "a and a-seed-3: both have a run with the name a-seed-3"},
	} {
		err := CheckNames(append([]*scenario.Scenario{a}, c.others...))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
