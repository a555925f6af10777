package experiment

import (
	"fmt"
	"slices"

	"apfsim/reports/replicate"
	"apfsim/sim/scenario"
)

// RunNames returns what the runs of a scenario are called, and their results' folders: as the
// scenario, if it is run once, else NAME-seed-SEED.
func RunNames(sc *scenario.Scenario) []string {
	names := make([]string, sc.Spec.Replications)
	for i := range names {
		names[i] = replication(sc, i).Metadata.Name
	}
	return names
}

// replication returns the i-th run of a scenario: itself if it is the only one, else one with a
// name and a seed of its own. All else they share.
func replication(sc *scenario.Scenario, i int) *scenario.Scenario {
	if sc.Spec.Replications == 1 {
		return sc
	}
	own := *sc
	own.Spec.Seed += uint64(i)
	own.Metadata.Name = fmt.Sprintf("%s-seed-%d", sc.Metadata.Name, own.Spec.Seed)
	return &own
}

// CheckNames says which scenarios have runs of one name, and would write to one folder.
func CheckNames(all []*scenario.Scenario) error {
	of := map[string]string{}
	for _, sc := range all {
		names := append(RunNames(sc), sc.Metadata.Name) // which the runs have together
		for _, name := range slices.Compact(names) {
			if other, ok := of[name]; ok {
				return fmt.Errorf("%s and %s: each has a run called %s; want another metadata.name", other, sc.Metadata.Name, name)
			}
			of[name] = sc.Metadata.Name
		}
	}
	return nil
}

// Side is one of two that are compared: results that there are, or a scenario to be run.
type Side struct {
	Results  *replicate.Replications
	Scenario *scenario.Scenario
	OwnSeed  bool // the scenario's seed is what is asked for
}

// Align gives the scenarios among two sides common random numbers: replications under the same
// seeds, from the given one on or else from that of the results of the other side, or from the
// base's. Where there are results, there are as many runs as of them, unless replications is
// above 0; else that is by default the given number.
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
