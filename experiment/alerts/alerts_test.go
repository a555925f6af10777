package alerts

import (
	"context"
	"testing"
	"time"

	"apfsim/experiment"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

type noProgress struct{}

func (noProgress) Begin(time.Duration) experiment.RunProgress { return noProgress{} }
func (noProgress) Update(int64, uint64)                       {}
func (noProgress) Finish()                                    {}

// run evaluates rules in a scenario of the library.
func run(t *testing.T, groups []*Group, name string, o Options, set ...string) (*Result, *database) {
	t.Helper()
	loaded, err := experiment.Load([]string{name}, loader.Options{Set: assign.New("--set", set)})
	if err != nil {
		t.Fatal(err)
	}
	runs := Begin(context.Background(), groups, loaded, o, noProgress{})
	defer runs.Stop()
	of, err := runs.Next(context.Background(), runs.Groups[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range of.Failures {
		t.Errorf("%s: %s: %s", f.Rule, f.Name, f.Error)
	}
	return of, of.data
}

var usual = Options{Scrape: 30 * time.Second, Evaluate: 30 * time.Second, Lead: 10 * time.Minute}
