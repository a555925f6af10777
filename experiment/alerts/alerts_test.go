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

// run evaluates the rules of a file in a scenario of the library.
func run(t *testing.T, file, name string, o Options, set ...string) *Result {
	t.Helper()
	groups, err := ReadRules(file)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := experiment.Load([]string{name}, loader.Options{Set: assign.New("--set", set)})
	if err != nil {
		t.Fatal(err)
	}
	runs := Begin(context.Background(), groups, loaded, o, noProgress{})
	defer runs.Stop()
	result, err := runs.Next(context.Background(), runs.Groups[0])
	if err != nil {
		t.Fatal(err)
	}
	return result
}

var usual = Options{Scrape: 30 * time.Second, Evaluate: 30 * time.Second, Lead: 10 * time.Minute}

func TestOwnRulesInElephants(t *testing.T) {
	of := run(t, "../../integrations/prometheus/rules.yaml", "elephants-and-mice", usual, "spec.duration=5m")
	for _, a := range of.Alerts {
		t.Log(a.Name, a.Labels, time.Duration(a.PendingNs), a.FiresNs)
	}
}
