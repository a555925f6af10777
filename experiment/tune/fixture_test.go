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

const readersText = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: readers}
spec:
  duration: 30s
  warmup: 5s
  servers: {maxRequestsInflight: 40, maxMutatingRequestsInflight: 24}
  resources: [{resource: pods, objects: 50000, averageBytes: 2000}]
  config:
    base: Mandatory
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: readers}
      spec: {type: Limited, limited: {nominalConcurrencyShares: 75, borrowingLimitPercent: 0, limitResponse: {type: Queue, queuing: {queues: 64, handSize: 6, queueLengthLimit: 50}}}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: spare}
      spec: {type: Limited, limited: {nominalConcurrencyShares: 40, lendablePercent: 0, limitResponse: {type: Queue, queuing: {queues: 16, handSize: 4, queueLengthLimit: 50}}}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: readers}
      spec:
        priorityLevelConfiguration: {name: readers}
        matchingPrecedence: 1000
        distinguisherMethod: {type: ByUser}
        rules: [{subjects: [{kind: Group, group: {name: "system:authenticated"}}], resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]}]
    - {apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, metadata: {name: few}, spec: {priorityLevelConfiguration: {name: spare}, matchingPrecedence: 950, rules: [{subjects: [{kind: User, user: {name: few}}], resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"]}]}]}}
  workload:
  - {name: few, as: {user: few}, request: {verb: get, resource: secrets, namespace: few, name: s}, execution: 10ms, arrivals: {poisson: {rate: 5/s}}}
  - name: reports
    clients: 8
    as: {serviceAccount: "reports/reader-{i}"}
    requests:
    - {verb: list, resource: pods, query: "resourceVersion=0", execution: 3s}
    - {verb: get, resource: configmaps, namespace: a, name: settings, execution: 5ms}
    - {verb: get, resource: configmaps, namespace: b, name: settings, execution: 5ms}
    arrivals: {closed: {concurrency: 4}}
  - name: apps
    clients: 20
    as: {serviceAccount: "apps/app-{i}"}
    request: {verb: get, resource: configmaps, namespace: "app-{i}", name: settings}
    execution: 5ms
    arrivals: {poisson: {rate: 5/s}}
  thresholds: {"wait{workload:apps}": ["p99 < 10ms"], "rejected": ["rate == 0"]}
`

// readers returns the problem of a search that has listed its candidates: wide lists of reports, which send others too, fill
// the level readers, and the level spare has few requests. Tests that only read share the answer of a text.
func readers(t *testing.T, text string, kinds []string) *Answer {
	t.Helper()
	return once(strings.Join(kinds, " ")+text, func() *Answer {
		a, err := Run(t.Context(), Options{Scenario: loadText(t, text), Kinds: kinds, Probability: 0.9, Confidence: 0.95, Budget: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(a.search.all) == 0 {
			t.Fatal("the search has listed no candidates")
		}
		return a
	})
}

var answers = map[string]any{}

// once returns the answer to a question, which it seeks once.
func once[T any](question string, seek func() T) T {
	if answers[question] == nil {
		answers[question] = seek()
	}
	return answers[question].(T)
}

// loadText loads a scenario that is no file.
func loadText(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	file := filepath.Join(t.TempDir(), "readers.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sc, err := experiment.LoadOne(file, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}
