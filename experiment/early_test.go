package experiment_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"apfsim/experiment"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// doomed is a level that has too few seats for its clients, with goals of all kinds that can be known to fail early.
const doomed = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: doomed}
spec:
  duration: 10s
  warmup: 2s
  servers: {maxRequestsInflight: %d, maxMutatingRequestsInflight: 0}
  config:
    base: Mandatory
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: apps}
      spec: {type: Limited, limited: {nominalConcurrencyShares: 95, limitResponse: {type: Queue, queuing: {queues: 8, handSize: 2, queueLengthLimit: 4}}}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: apps}
      spec:
        priorityLevelConfiguration: {name: apps}
        matchingPrecedence: 1000
        distinguisherMethod: {type: ByUser}
        rules: [{subjects: [{kind: Group, group: {name: "system:authenticated"}}], resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]}]
  workload:
  - {name: open, clients: 10, as: {user: "open-{i}"}, execution: {exponential: {mean: 100ms}}, arrivals: {poisson: {rate: 10/s}}, request: {verb: get, resource: pods, namespace: a, name: x}}
  - {name: closed, clients: 3, as: {user: "closed-{i}"}, execution: {exponential: {mean: 50ms}}, arrivals: {closed: {think: 100ms}}, request: {verb: get, resource: pods, namespace: b, name: x}}
  thresholds:
    "rejected{workload:open}": ["rate == 0", "rate < %.3f", "count <= %d"]
    "rejected{workload:closed}": ["rate < %.3f"]
    "rejected": ["rate <= %.3f"]
    "wait{workload:open}": ["p99 < %dms", "p50 < %dms", "max <= %dms"]
    "latency{workload:open}": ["p90 < %dms"]
    "wait": ["p95 < %dms"]
`

// A run that is ended early because of a threshold is one in which this threshold does not hold at the end. The limits
// are drawn around the values, so that many of them are close.
func TestRunIsEndedOnlyWhenAThresholdCannotHold(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ended := map[string]int{}
	for n := range 12 {
		ms := func() int { return 1 + r.IntN(400) }
		share := func() float64 { return r.Float64() * 0.4 }
		text := fmt.Sprintf(doomed, 8+r.IntN(8), share(), r.IntN(200), share(), share(), ms(), ms(), 2*ms(), ms(), ms())
		file := filepath.Join(t.TempDir(), "doomed.yaml")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		sc, err := experiment.LoadOne(file, loader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all := sc.Spec.Thresholds
		for i := range all { // one at a time, so that each is ended by its own
			one := *sc
			one.Spec.Thresholds = all[i : i+1]
			whole := trial(t, &one, nil)
			sent := map[string]int64{"open": arrived(whole, "open")}
			early := trial(t, &one, sent)
			if early.Ended >= 0 {
				ended[all[i].Key+" "+all[i].Stat]++
			}
			if early.Ended >= 0 && whole.Passed() || early.Ended < 0 && early.Passed() != whole.Passed() {
				t.Fatalf("case %d: %s: %s: ended %v early, and it holds at the end: %v\n%s", n, all[i].Key, all[i].Text, early.Ended >= 0, whole.Passed(), text)
			}
		}
	}
	for _, want := range []string{"rejected{workload:open} rate", "rejected{workload:open} count", "wait{workload:open} p", "wait{workload:open} max", "latency{workload:open} p"} {
		if ended[want] == 0 {
			t.Errorf("no run was ended because of %s: %v", want, ended)
		}
	}
	for _, not := range []string{"rejected{workload:closed} rate", "rejected rate", "wait p"} { // how many requests come is not known
		if ended[not] > 0 {
			t.Errorf("%d runs were ended because of %s", ended[not], not)
		}
	}
}

// trial makes one run, to its end if sent is nil.
func trial(t *testing.T, sc *scenario.Scenario, sent map[string]int64) *experiment.Trial {
	t.Helper()
	runs := experiment.BeginTrials(t.Context(), experiment.Plan{N: 1, Run: func(int) *scenario.Scenario { return sc }, Early: sent != nil,
		Sent: func(int) map[string]int64 { return sent }})
	defer runs.Stop()
	run, err := runs.Next()
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func arrived(run *experiment.Trial, name string) int64 {
	for _, w := range slices.All(run.Summary.Workloads) {
		if w.Name == name {
			return w.Arrived
		}
	}
	return 0
}
