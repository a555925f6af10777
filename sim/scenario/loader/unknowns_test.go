package loader

import (
	"strings"
	"testing"

	"apfsim/sim/scenario/assign"
)

// sourced is a scenario with a source, published figures and unknown values.
const sourced = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata:
  name: s
  source: {url: "https://example.org/1", date: 2017-06, read: part}
  unknowns:
    "spec.servers.capacity.cores": {uniform: {min: 8, max: 64}}
    "spec.workload[w].execution": {logUniform: {min: 1ms, max: 1s}}
    "level[workload-low].nominalConcurrencyShares": {empirical: {values: [50, 100]}}
  calibration:
    "spec.workload[w].clients": chosen so that all are served
  figures:
  - {name: rejected, published: 88, unit: "%", low: 80, high: 97, statistic: "rejected{workload:w}.rate"}
  - {name: waits, published: 2, low: 1, high: 3, calibrated: true, statistic: "wait{workload:w}.p99 / other:wait.p99"}
spec:
  duration: 10s
  replications: 3
  servers: {capacity: {cores: 16}}
  workload:
  - {name: w, clients: 3, as: {user: u}, request: {verb: get, resource: pods}, execution: 10ms, arrivals: {constant: {rate: 1/s}}}
`

// Each of several runs draws what is unknown, the same for the same seed; one run has what the file says, and so has a
// field that an option assigns to.
func TestUnknownsAreDrawn(t *testing.T) {
	loaded, wrong := Load(files("s.yaml", sourced), "s.yaml", Options{})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	s := loaded[0]
	single, err := s.ForRun(7, 1)
	if err != nil || single.Spec.Servers.Capacity.Cores != 16 || single.Spec.Seed != 7 {
		t.Errorf("a single run has %v cores and seed %d (%v)", single.Spec.Servers.Capacity.Cores, single.Spec.Seed, err)
	}
	cores := map[float64]bool{}
	shares := map[int32]bool{}
	for seed := range uint64(20) {
		one, err := s.ForRun(seed, 3)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.ForRun(seed, 3)
		if err != nil {
			t.Fatal(err)
		}
		c, mean := one.Spec.Servers.Capacity.Cores, one.Spec.Workload[0].Execution.MeanNs()
		if c != again.Spec.Servers.Capacity.Cores || mean != again.Spec.Workload[0].Execution.MeanNs() {
			t.Errorf("seed %d draws different values", seed)
		}
		if c < 8 || c > 64 || mean < 1e6 || mean > 1e9 || one.Spec.Seed != seed || one.Spec.Replications != 3 {
			t.Errorf("seed %d: %v cores, execution %v ns, seed %d, %d replications", seed, c, mean, one.Spec.Seed, one.Spec.Replications)
		}
		cores[c] = true
		for _, level := range one.Objects.PriorityLevels {
			if level.Name == "workload-low" {
				shares[*level.Spec.Limited.NominalConcurrencyShares] = true
			}
		}
	}
	if len(cores) < 10 || len(shares) != 2 || !shares[50] || !shares[100] {
		t.Errorf("20 seeds draw %d numbers of cores, and shares %v", len(cores), shares)
	}
	loaded, wrong = Load(files("s.yaml", sourced), "s.yaml", Options{Set: assign.New("--set", []string{"spec.servers.capacity={cores: 5}"})})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	if fixed, err := loaded[0].ForRun(1, 3); err != nil || fixed.Spec.Servers.Capacity.Cores != 5 || fixed.Spec.Workload[0].Execution.MeanNs() == 1e7 {
		t.Errorf("with --set, a run has %v cores (%v)", fixed.Spec.Servers.Capacity.Cores, err)
	}
}

func TestMistakesInSources(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"https://example.org/1", "example.org", `metadata.source.url: "example.org": want a URL`},
		{"date: 2017-06", "date: June", `metadata.source.date: "June": want a year, a month or a day`},
		{"date: 2017-06,", "", "metadata.source.date: is missing"},
		{"read: part", "read: some", `metadata.source.read: "some": want full, part`},
		{"low: 80", "low: 98", "metadata.figures[0].low: 98 is more than high, 97"},
		{"published: 88, ", "", "metadata.figures[0].published: is missing"},
		{"name: waits", "name: rejected", `metadata.figures[1].name: duplicate name "rejected"`},
		{`unit: "%"`, "unit: s", `metadata.figures[0].unit: "s" is a unit of time, and rejected{workload:w}.rate is none`},
		{"rejected{workload:w}", "rejected{workload:v}", `metadata.figures[0].statistic: rejected{workload:v}.rate: there is no workload "v"`},
		{"rejected{workload:w}.rate", "refusals.rate", "metadata.figures[0].statistic: \"refusals.rate\": unknown metric refusals"},
		{"other:wait", "other:waits", `metadata.figures[1].statistic: "waits.p99": unknown metric waits (did you mean "wait"?)`},
		{"    \"spec.workload[w].clients\": chosen so that all are served\n", "", "metadata.figures[1].calibrated: needs metadata.calibration"},
		{"spec.workload[w].clients", "spec.workload[v].clients", `metadata.calibration["spec.workload[v].clients"]: spec.workload has no item named "v"`},
		{"spec.servers.capacity.cores", "spec.servers.capacity.coherency", `metadata.unknowns["spec.servers.capacity.coherency"]: the scenario has no such field`},
		{"spec.servers.capacity.cores", "servers.cores", `metadata.unknowns["servers.cores"]: "servers.cores": want spec.FIELD`},
		{"min: 1ms, max: 1s", "min: 1, max: 5", "spec.workload[0].execution: 1 has no unit"},
		{"min: 1ms, max: 1s", "min: 5ms, max: 1ms", "min 5ms is more than max 1ms"},
		{"workload-low", "workload-los", `there is no priority level "workload-los"`},
	} {
		text := strings.Replace(sourced, c.old, c.new, 1)
		_, mistakes := Load(files("s.yaml", text), "s.yaml", Options{})
		if len(mistakes) == 0 || !strings.Contains(mistakes.Error(), c.want) || len(mistakes) > 2 {
			t.Errorf("%s instead of %s: mistakes\n%v\nwant\n%s", c.new, c.old, mistakes, c.want)
		}
	}
}
