package tune

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"apfsim/experiment"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

const invented = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: invented}
spec:
  duration: 5s
  config:
    base: Mandatory
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: apps}
      spec: {type: Limited, limited: {nominalConcurrencyShares: 95, limitResponse: {type: Queue, queuing: {queues: 64, handSize: 2, queueLengthLimit: 50}}}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: apps}
      spec:
        priorityLevelConfiguration: {name: apps}
        matchingPrecedence: 1000
        distinguisherMethod: {type: ByUser}
        rules:
        - subjects:
          - {kind: User, user: {name: "app-2"}}
          - {kind: User, user: {name: "syncer"}}
          - {kind: Group, group: {name: "team-1"}}
          - {kind: ServiceAccount, serviceAccount: {namespace: "tenant-0", name: "*"}}
          - {kind: ServiceAccount, serviceAccount: {namespace: "tenant-1", name: "web"}}
          resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
  workload:
  - {name: apps, clients: 3, as: {user: "app-{i}", groups: ["team-{i}"]}, execution: 1ms, arrivals: {poisson: {rate: 20/s}}, request: {verb: get, resource: pods, namespace: a, name: x}}
  - {name: tenants, clients: 2, as: {serviceAccount: "tenant-{i}/web"}, execution: 1ms, arrivals: {poisson: {rate: 20/s}}, request: {verb: get, resource: pods, namespace: a, name: x}}
  - {name: syncer, as: {user: syncer}, execution: 1ms, arrivals: {poisson: {rate: 20/s}}, request: {verb: get, resource: pods, namespace: a, name: x}}
  - {name: kubelets, clients: 2, as: {node: "node-{i}"}, execution: 1ms, arrivals: {poisson: {rate: 20/s}}, request: {verb: get, resource: pods, namespace: a, name: x}}
`

// Users that a scenario invents have other names with each seed. FlowSchemas name the new ones, so that the same requests
// go to the same FlowSchemas. Users that are not invented, and nodes, keep their names.
func TestInventedUsersAreRenamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "invented.yaml")
	if err := os.WriteFile(file, []byte(invented), 0o666); err != nil {
		t.Fatal(err)
	}
	sc, err := experiment.LoadOne(file, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !invents(sc) {
		t.Fatal("the scenario invents no users")
	}
	other := withNames(sc, 7)
	if again := withNames(sc, 7); again.Spec.Workload[0].As.User != other.Spec.Workload[0].As.User {
		t.Error("the names differ from run to run")
	}
	if withNames(sc, 8).Spec.Workload[0].As.User == other.Spec.Workload[0].As.User {
		t.Error("two seeds have the same names")
	}
	subject := func(sc *scenario.Scenario, i int) string {
		return nameOfSubject(&sc.Objects.FlowSchema("apps").Spec.Rules[0].Subjects[i])
	}
	for i, want := range []string{"app-2-", "syncer", "team-1-", "system:serviceaccounts:tenant-0-", "system:serviceaccount:tenant-1-"} {
		got := subject(other, i)
		if !strings.HasPrefix(got, want) || strings.HasSuffix(want, "-") == (got == subject(sc, i)) {
			t.Errorf("subject %d is %s, and was %s", i, got, subject(sc, i))
		}
	}
	before, after := routesOf(t, sc), routesOf(t, other)
	if before != after {
		t.Errorf("requests by workload and FlowSchema:\n%swith other names:\n%s", before, after)
	}
}

// routesOf returns how many requests of each workload belong to which FlowSchema.
func routesOf(t *testing.T, sc *scenario.Scenario) string {
	t.Helper()
	runs := experiment.BeginTrials(t.Context(), experiment.Plan{N: 1, Run: func(int) *scenario.Scenario { return sc }})
	defer runs.Stop()
	run, err := runs.Next()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i := range run.Parts {
		p := &run.Parts[i]
		text.WriteString(p.Workload + " " + p.Schema + " " + p.Level + " ")
		text.WriteString(strings.Repeat("|", int(p.Timed[0].N)) + "\n")
	}
	return text.String()
}
