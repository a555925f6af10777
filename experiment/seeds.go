package experiment

import (
	"fmt"
	"slices"

	"apfsim/reports/compare"
	"apfsim/sim/scenario"
)

// RunNames returns the names of the runs of a scenario, which are those of their folders of results: the name of
// the scenario if it has one run, otherwise NAME-seed-SEED.
func RunNames(sc *scenario.Scenario) []string {
	names := make([]string, sc.Spec.Replications)
	for i := range names {
		names[i] = replication(sc, i).Metadata.Name
	}
	return names
}

// replication returns the scenario of the i-th run: the scenario itself if it has one run, otherwise a shallow
// copy with its own name and seed.
func replication(sc *scenario.Scenario, i int) *scenario.Scenario {
	if sc.Spec.Replications == 1 {
		return sc
	}
	own := *sc
	own.Spec.Seed += uint64(i)
	own.Metadata.Name = fmt.Sprintf("%s-seed-%d", sc.Metadata.Name, own.Spec.Seed)
	return &own
}

// drawn returns the scenario of the i-th run, in which each unknown quantity has the value drawn from that run's seed.
func drawn(sc *scenario.Scenario, i int) (*scenario.Scenario, error) {
	own, err := sc.ForRun(sc.Spec.Seed+uint64(i), sc.Spec.Replications)
	if err == nil {
		own.Metadata.Name = replication(sc, i).Metadata.Name
	}
	return own, err
}

// CheckNames returns an error if runs of two scenarios have the same name and would be written to the same folder.
func CheckNames(all []*scenario.Scenario) error {
	owners := map[string]string{}
	for _, sc := range all {
		names := append(RunNames(sc), sc.Metadata.Name) // the name of the combined result
		for _, name := range slices.Compact(names) {
			if other, ok := owners[name]; ok {
				return fmt.Errorf("%s and %s: both have a run with the name %s; use another metadata.name", other, sc.Metadata.Name, name)
			}
			owners[name] = sc.Metadata.Name
		}
	}
	return nil
}

// Side is one side of a comparison: existing results, or a scenario to be run.
type Side struct {
	Results  *compare.Replications
	Scenario *scenario.Scenario
	OwnSeed  bool // whether the seed of the scenario was set for this side and is kept
}

// Align gives both sides of a comparison common random numbers by setting the seeds and the numbers of runs of the
// sides that are scenarios:
//   - the first seed is seed if it is not nil, otherwise that of the results of the other side, otherwise
//     that of the base;
//   - the number of runs is replications if it is above 0, otherwise that of the results of the other side,
//     otherwise byDefault.
func Align(sides [2]*Side, seed *uint64, replications, byDefault int) {
	for i, s := range sides {
		if s.Scenario == nil {
			continue
		}
		other, spec := sides[1-i], &s.Scenario.Spec
		switch {
		case replications > 0:
			spec.Replications = replications
		case other.Results != nil:
			spec.Replications = len(other.Results.Seeds)
		default:
			spec.Replications = byDefault
		}
		switch {
		case s.OwnSeed:
		case seed != nil:
			spec.Seed = *seed
		case other.OwnSeed:
		case other.Results != nil:
			spec.Seed = other.Results.Seeds[0]
		case i == 1:
			spec.Seed = other.Scenario.Spec.Seed
		}
	}
}
