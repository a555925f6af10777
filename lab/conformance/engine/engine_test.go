package engine

import (
	"context"
	"flag"
	"testing"

	"apfsim/reports/record"
	"apfsim/scenarios"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

var only = flag.String("scenario", "elephants-and-mice", "compare the runs of this scenario")

// fingerprint runs a scenario.
func fingerprint(t *testing.T, sc *scenario.Scenario, options ...sim.Option) string {
	r := sim.New(sc, options...)
	f := record.NewFingerprint()
	r.Observe(f.Observer())
	if err := r.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return f.String()
}

func TestOne(t *testing.T) {
	all, errs := loader.Load(scenarios.Files, scenarios.File(*only), loader.Options{})
	if err := errs.Err(); err != nil {
		t.Fatal(err)
	}
	for _, sc := range all {
		want := fingerprint(t, sc)
		Simulate(t, func(engine sim.Option) {
			if got := fingerprint(t, sc, engine); got != want {
				t.Errorf("%s: %s, want %s", sc.Metadata.Name, got, want)
			}
		})
	}
}
