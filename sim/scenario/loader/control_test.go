package loader

import (
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/sim/scenario/assign"
)

const controlled = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata:
  name: controlled
  controls:
  - CONTROL
spec:
  duration: 10s
  workload:
  - name: mice
    clients: 3
    as: {user: mouse}
    request: {verb: get, path: /version}
    execution: 20ms
    arrivals: {poisson: {rate: 1.5/s}}
`

// A control has the value of its field, with its unit.
func TestControlsHaveTheValuesOfTheirFields(t *testing.T) {
	for control, want := range map[string]float64{
		`{name: a, path: "spec.workload[mice].clients", minimum: 1, maximum: 9}`:                                       3,
		`{name: a, path: "spec.workload[0].arrivals.poisson.rate", minimum: 0.5, maximum: 9, step: 0.5, unit: /s}`:     1.5,
		`{name: a, path: "spec.workload[mice].execution", minimum: 1, maximum: 90, unit: ms}`:                          20,
		`{name: a, path: "level[workload-low].handSize", minimum: 1, maximum: 9}`:                                      6,
		`{name: a, path: "level[exempt].nominalConcurrencyShares", minimum: 0, maximum: 9}`:                            0,
		`{name: a, path: "level[workload-low].nominalConcurrencyShares", minimum: 1, maximum: 1e3, step: 1, unit: ""}`: 100,
	} {
		file := fstest.MapFS{"s.yaml": {Data: []byte(strings.Replace(controlled, "CONTROL", control, 1))}}
		all, wrong := Load(file, "s.yaml", Options{})
		if err := wrong.Err(); err != nil {
			t.Error(err)
			continue
		}
		c := all[0].Metadata.Controls[0]
		if c.Value != want || c.Step == 0 {
			t.Errorf("%s: value %v, step %v", control, c.Value, c.Step)
		}
	}
}

func TestControlsThatCannotBeMoved(t *testing.T) {
	for control, want := range map[string]string{
		`{path: "spec.duration", minimum: 1, maximum: 9}`:                                                                                                  "s.yaml:6:5: metadata.controls[0].name: is missing",
		`{name: a, path: "spec.workload[mice].clients", minimum: 1}`:                                                                                       "s.yaml:6:5: metadata.controls[0].maximum: is missing",
		`{name: a, path: "spec.workload[mice].clients", minimum: 4, maximum: 9}`:                                                                           `s.yaml:6:21: metadata.controls[0].path: "spec.workload[mice].clients" has the value "3"; want one from minimum to maximum`,
		`{name: a, path: "spec.workload[mice].clients", minimum: 9, maximum: 1}`:                                                                           "s.yaml:6:73: metadata.controls[0].maximum: 1: want more than minimum, 9",
		`{name: a, path: "spec.workload[mice].clients", minimum: 1, maximum: 9, step: 10}`:                                                                 "s.yaml:6:82: metadata.controls[0].step: 10: want at most the difference between maximum and minimum, 8",
		`{name: a, path: "spec.workload[mice].clients", minimum: 1, maximum: 9, step: 0}`:                                                                  "s.yaml:6:82: metadata.controls[0].step: 0: want a number more than 0",
		`{name: a, path: "spec.workload[mouse].clients", minimum: 1, maximum: 9}`:                                                                          `s.yaml:6:21: metadata.controls[0].path: spec.workload has no item named "mouse"; want one of mice`,
		`{name: a, path: "spec.workload[mice].load", minimum: 1, maximum: 9}`:                                                                              `s.yaml:6:21: metadata.controls[0].path: "spec.workload[mice].load": the scenario does not give this field a value`,
		`{name: a, path: "spec.workload[mice].client", minimum: 1, maximum: 9}`:                                                                            `s.yaml:6:21: metadata.controls[0].path: "spec.workload[mice].client": the scenario does not give this field a value (did you mean "clients"?)`,
		`{name: a, path: "spec.workload[mice].arivals.poisson.rate", minimum: 1, maximum: 9, unit: /s}`:                                                    `s.yaml:6:21: metadata.controls[0].path: "spec.workload[mice].arivals.poisson.rate": the scenario does not give this field a value (did you mean "arrivals"?)`,
		`{name: a, path: "level[workload-low].handsize", minimum: 1, maximum: 9}`:                                                                          `s.yaml:6:21: metadata.controls[0].path: "handsize" is not a field of a level (did you mean "handSize"?)`,
		`{name: a, path: "spec.workload[mice].clients", minimum: 1, maximum: 9, step: 4}`:                                                                  `s.yaml:6:21: metadata.controls[0].path: "spec.workload[mice].clients" has the value "3"; want minimum plus a multiple of step, 4`,
		`{name: a, path: "spec.workload[mice].arrivals", minimum: 1, maximum: 9}`:                                                                          `s.yaml:6:21: metadata.controls[0].path: "spec.workload[mice].arrivals" is an object; want a number, or a text with a number`,
		`{name: a, path: "spec.workload[mice].execution", minimum: 1, maximum: 9}`:                                                                         `s.yaml:6:21: metadata.controls[0].path: "spec.workload[mice].execution" has the value "20ms"; want a field with a number`,
		`{name: a, path: "spec.workload[mice].execution", minimum: 1, maximum: 9, unit: /s}`:                                                               `s.yaml:6:21: metadata.controls[0].path: "spec.workload[mice].execution" has the value "20ms"; want a field with a number and the unit "/s"`,
		`{name: a, path: "level[workload-lo].handSize", minimum: 1, maximum: 9}`:                                                                           `s.yaml:6:21: metadata.controls[0].path: there is no priority level "workload-lo" (did you mean "workload-low"?)`,
		`{name: a, path: metadata.name, minimum: 1, maximum: 9}`:                                                                                           `s.yaml:6:21: metadata.controls[0].path: "metadata.name": want spec.FIELD`,
		"{name: a, path: \"spec.workload[0].clients\", minimum: 1, maximum: 9}\n  - {name: a, path: \"spec.workload[0].clients\", minimum: 1, maximum: 9}": `s.yaml:7:12: metadata.controls[1].name: duplicate name "a"`,
	} {
		file := fstest.MapFS{"s.yaml": {Data: []byte(strings.Replace(controlled, "CONTROL", control, 1))}}
		_, wrong := Load(file, "s.yaml", Options{})
		if len(wrong) != 1 || !strings.HasPrefix(wrong[0].Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", control, wrong, want)
		}
	}
}

// Controls are of the file: an assignment may give a field a value that is out of the range of its control.
func TestAssignmentsDoNotKeepToControls(t *testing.T) {
	text := strings.Replace(controlled, "CONTROL", `{name: a, path: "spec.workload[mice].clients", minimum: 1, maximum: 9}`, 1)
	all, wrong := Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", Options{Set: assign.New("--set", []string{"spec.workload[mice].clients=10"})})
	if err := wrong.Err(); err != nil {
		t.Fatal(err)
	}
	if n := all[0].Spec.Workload[0].Clients; n != 10 {
		t.Errorf("%d clients, want 10", n)
	}
}
