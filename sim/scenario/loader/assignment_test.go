package loader

import (
	"testing"

	"apfsim/core/config"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/server"
)

func TestAssignments(t *testing.T) {
	s := mustLoad(t, withSpec(""), "spec.seed=7", "spec.workload[0].clients=3", "spec.servers.flowControl=None",
		"spec.workload[0].execution={exponential: {mean: 9ms}}", `spec.thresholds["wait{workload:mice}"]=[max >= 1s]`,
		"spec.duration=", "spec.duration=90s")
	w := &s.Spec.Workload[0]
	if s.Spec.Seed != 7 || w.Clients != 3 || w.Execution.MeanNs() != 9e6 || s.Spec.Servers.FlowControl != server.NoFlowControl ||
		s.Spec.Servers.Replicas != 1 || s.Spec.Duration != 90e9 {
		t.Errorf("assigned: %+v", s.Spec)
	}
	th := s.Spec.Thresholds[0]
	if got := th.Position.String(); got != `--set spec.thresholds["wait{workload:mice}"]=[max >= 1s]` {
		t.Errorf("the threshold stands at %s", got)
	}
}

func TestMistakesInAssignmentsNameThem(t *testing.T) {
	_, mistakes := Load(files("s.yaml", withSpec("sede: 1")), "s.yaml", Options{Set: assign.New("--set", []string{
		"spec.sed=7", "seed=7", "spec.seed", "spec.seed=-1", "spec.workload[1].clients=3", "spec.duration.x=1",
		"spec.servers.replica=2", "spec.workload[0].arrivals={}", "spec.warmup=[", "spec.warmup=1h",
		"spec.workload[0].as.user={a: 1}", "spec.workload[mcie].clients=2", "spec.workload[mice].clients=-2",
	})})
	wantMistakes(t, mistakes,
		`--set seed=7: "seed": want spec.FIELD, spec.workload[NAME].FIELD, level[NAME].FIELD or version`,
		"--set spec.duration.x=1: spec.duration is a string, not an object",
		`--set spec.sed=7: spec.sed: unknown field (did you mean "seed"?)`,
		"--set spec.seed: want PATH=VALUE, as spec.workload[mice].clients=8 or level[workload-low].handSize=6",
		"--set spec.seed=-1: spec.seed: -1 is not a whole number from 0 to 2^64-1",
		`--set spec.servers.replica=2: spec.servers.replica: unknown field (did you mean "replicas"?)`,
		"--set spec.warmup=1h: spec.warmup: 1h0m0s: want less than the duration, 1m0s",
		"--set spec.warmup=[: spec.warmup: is not valid YAML: did not find expected node content",
		"--set spec.workload[0].arrivals={}: spec.workload[0].arrivals: want one of constant, poisson, ramping, onOff, burst, closed, trace",
		"--set spec.workload[0].as.user={a: 1}: spec.workload[0].as.user: is an object; want a string",
		"--set spec.workload[1].clients=3: spec.workload has no item [1]; its length is 1",
		`--set spec.workload[mcie].clients=2: spec.workload has no item named "mcie" (did you mean "mice"?)`,
		"--set spec.workload[mice].clients=-2: spec.workload[0].clients: -2: want 0 to 10000000",
		`s.yaml:6:3: spec.sede: unknown field (did you mean "seed"?)`)
}

// A level keeps what is assigned to it until an event puts another in its place.
func TestLevelsAreAssignedTo(t *testing.T) {
	const events = "servers: {flowControl: null}\n  events: [{at: 1s, apply: {}}, {at: 2s, apply: {objects: " +
		"{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, metadata: {name: workload-low}, spec: {type: Limited, limited: {limitResponse: {type: Reject}}}}}}]"
	s := mustLoad(t, withSpec(events), "level[workload-low].handSize=3", `level["workload-low"].queues=5`, "level[exempt].lendablePercent=7",
		"level[workload-low].nominalConcurrencyShares=", "level[workload-low].handSize=4")
	plain := mustLoad(t, withSpec(events))
	for _, objects := range []config.Objects{s.Objects, s.Spec.Events[0].Objects} {
		level := objects.PriorityLevel("workload-low").Spec
		if q := level.Queuing(); q.HandSize != 4 || q.Queues != 5 || q.QueueLengthLimit != 50 {
			t.Errorf("queuing is %+v", q)
		}
		if level.Shares() != 30 || level.LendablePercent() != 90 || objects.PriorityLevel("exempt").Spec.LendablePercent() != 7 {
			t.Errorf("%d shares, %d and %d percent lendable", level.Shares(), level.LendablePercent(), objects.PriorityLevel("exempt").Spec.LendablePercent())
		}
	}
	if got := s.Spec.Events[1].Objects.PriorityLevel("workload-low"); got.Spec.Queuing() != nil {
		t.Errorf("after the second event it is %+v", got)
	}
	if got := plain.Objects.PriorityLevel("workload-low").Spec.Queuing().HandSize; got != 6 {
		t.Errorf("another scenario's hand size is %d", got)
	}
}

func TestMistakesInAssignmentsToLevels(t *testing.T) {
	_, mistakes := Load(files("s.yaml", withSpec("sede: 1")), "s.yaml", Options{Set: assign.New("--set", []string{
		"level[workload-lwo].queues=7", "level[workload-low].hand=7", "level[workload-low].queues.x=7", "level[0].queues=7", "level.workload-low=7", "level[",
		"level[workload-low].handSize=129", "level[workload-low].queueLengthLimit=x", "level[exempt].queues=7", "level[workload-high].queues=4",
		"level[global-default].nominalConcurrencyShares=-1", "level[catch-all].nominalConcurrencyShares=9", "lvel[exempt].lendablePercent=1",
	})})
	wantMistakes(t, mistakes,
		`--set level.workload-low=7: "level.workload-low": want spec.FIELD, spec.workload[NAME].FIELD, level[NAME].FIELD or version`,
		"--set level[: want PATH=VALUE, as spec.workload[mice].clients=8 or level[workload-low].handSize=6",
		`--set level[0].queues=7: "level[0].queues": want a name in the brackets, not an index; put quotes around a name of digits`,
		"--set level[catch-all].nominalConcurrencyShares=9: nominalConcurrencyShares: is 9; the spec of the mandatory PriorityLevelConfiguration catch-all is fixed; want 5",
		"--set level[exempt].queues=7: exempt is exempt, and has no queues",
		"--set level[global-default].nominalConcurrencyShares=-1: nominalConcurrencyShares: -1 is negative; want 0 or more",
		"--set level[workload-high].queues=4: handSize: 6 exceeds queues (4)",
		`--set level[workload-low].hand=7: "hand" is not a field of a level; want one of handSize, queues, queueLengthLimit, nominalConcurrencyShares, lendablePercent, borrowingLimitPercent`,
		"--set level[workload-low].handSize=129: handSize: 129 exceeds queues (128)",
		`--set level[workload-low].queueLengthLimit=x: queueLengthLimit: "x" is a string; want a number`,
		`--set level[workload-low].queues.x=7: "level[workload-low].queues.x": want level[NAME].FIELD, as level[workload-low].handSize`,
		`--set level[workload-lwo].queues=7: there is no priority level "workload-lwo" (did you mean "workload-low"?)`,
		`--set lvel[exempt].lendablePercent=1: "lvel[exempt].lendablePercent": want spec.FIELD, spec.workload[NAME].FIELD, level[NAME].FIELD or version (did you mean "level"?)`,
		`s.yaml:6:3: spec.sede: unknown field (did you mean "seed"?)`)
	_, mistakes = Load(files("s.yaml", withSpec("servers: {flowControl: None}")), "s.yaml", Options{Set: assign.New("--set-head", []string{"level[workload-low].queues=7"})})
	wantMistakes(t, mistakes, "--set-head level[workload-low].queues=7: there are no priority levels with flowControl None")
}

// However a path is spelled, it is the same field.
func TestPathsOfOneFieldAreOne(t *testing.T) {
	s := mustLoad(t, withSpec(""))
	for path, want := range map[string]string{
		"spec.workload[mice].clients":      "spec.workload[0].clients",
		`spec["workload"][ mice ].clients`: "spec.workload[0].clients",
		"spec.workload[0].clients":         "spec.workload[0].clients",
		"spec.servers.replicas":            "spec.servers.replicas",
		`level["workload-low"].handSize`:   "level.workload-low.handSize",
		"level[workload-low][handSize]":    "level.workload-low.handSize",
	} {
		if got, err := assign.Path(s, path); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", path, got, err, want)
		}
	}
	for _, path := range []string{"spec.workload[rats].clients", "level[none].handSize", "level[workload-low].x", "spec.workload["} {
		if got, err := assign.Path(s, path); err == nil {
			t.Errorf("%s: %s, want an error", path, got)
		}
	}
}
