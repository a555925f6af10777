package reports_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/reports/collect"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"
)

// causeOf returns the first cause of a kind, nil if the verdict has none.
func causeOf(v *result.Overall, kind result.Kind) *result.Cause {
	for i := range v.Causes {
		if v.Causes[i].Kind == kind {
			return &v.Causes[i]
		}
	}
	return nil
}

// few is a scenario whose service accounts have a level of ten seats, with the fields of its queues.
func few(queues, rest string) string {
	return `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: few}
spec:
  seed: 1
  duration: 60s
  warmup: 5s
  servers: {maxRequestsInflight: 15, maxMutatingRequestsInflight: 0}
  config:
    base: Mandatory
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: shared}
      spec:
        type: Limited
        limited: {nominalConcurrencyShares: 10, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Queue, queuing: {` + queues + `}}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: shared}
      spec:
        matchingPrecedence: 1000
        priorityLevelConfiguration: {name: shared}
        distinguisherMethod: {type: ByUser}
        rules:
        - subjects: [{kind: Group, group: {name: "system:serviceaccounts"}}]
          resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
  workload:
` + rest
}

// A level without seats executes nothing. With a store, it is then unknown what its requests would have taken; the cause is named
// nevertheless.
func TestLevelWithoutSeatsIsACause(t *testing.T) {
	text := few("queues: 8, handSize: 1, queueLengthLimit: 50", `
  - {name: readers, clients: 3, as: {serviceAccount: "x/reader-{i}"}, request: {verb: get, resource: configmaps, namespace: x, name: y}, arrivals: {poisson: {rate: 1/s}}}
`)
	text = strings.NewReplacer("nominalConcurrencyShares: 10", "nominalConcurrencyShares: 0", "  config:\n", "  store: {}\n  config:\n").Replace(text)
	r, _ := runServers(t, text)
	v := r.Summary.Verdict
	if len(v.Causes) != 1 || v.Causes[0].Kind != result.BySeats || v.Causes[0].Level != "shared" || !slices.Equal(v.Causes[0].Workloads, []string{"readers"}) {
		t.Fatalf("the causes are %+v", v.Causes)
	}
	if want := "shared executed nothing, because it has no seats."; v.Causes[0].Sentence != want {
		t.Errorf("%s; want %s", v.Causes[0].Sentence, want)
	}
}

// So is a level that has lent all of its seats when its first requests come.
func TestLevelThatLentAllItsSeatsIsACause(t *testing.T) {
	text := few("queues: 8, handSize: 1, queueLengthLimit: 50", `
  - {name: readers, clients: 3, start: 11s, as: {serviceAccount: "x/reader-{i}"}, request: {verb: get, resource: configmaps, namespace: x, name: y}, arrivals: {poisson: {rate: 1/s}}}
  - {name: busy, clients: 50, as: {user: "busy-{i}"}, request: {verb: get, resource: secrets, namespace: x, name: y}, execution: 1s, arrivals: {closed: {concurrency: 1}}}
`)
	text = strings.NewReplacer("duration: 60s", "duration: 19s", "lendablePercent: 0", "lendablePercent: 100", "  config:\n    base: Mandatory", "  store: {}\n  config:\n    base: Suggested").Replace(text)
	r, _ := runServers(t, text)
	c := causeOf(r.Summary.Verdict, result.ByLending)
	if c == nil || c.Level != "shared" || !strings.HasPrefix(c.Sentence, "shared executed nothing, because it had lent its 1 nominal seat for ") {
		t.Fatalf("the causes are %+v", r.Summary.Verdict.Causes)
	}
}

// Mice whose only queue is that of an elephant are rejected although they ask for little: that is named beside the demand of
// the elephants, and is made by these.
func TestHandsThatOverlapAreACause(t *testing.T) {
	r, _ := runServers(t, few("queues: 8, handSize: 1, queueLengthLimit: 20", `
  - {name: elephants, clients: 3, as: {serviceAccount: "big/elephant-{i}"}, request: {verb: get, resource: configmaps, namespace: x, name: y}, execution: {exponential: {mean: 100ms}}, arrivals: {poisson: {rate: 150/s}}}
  - {name: mice, clients: 20, as: {serviceAccount: "small/mouse-{i}"}, request: {verb: get, resource: configmaps, namespace: x, name: y}, execution: {exponential: {mean: 10ms}}, arrivals: {poisson: {rate: 5/s}}}
`))
	v := r.Summary.Verdict
	if v.Causes[0].Kind != result.ByDemand || v.Causes[0].Workloads[0] != "elephants" {
		t.Errorf("the first cause is %+v", v.Causes[0])
	}
	c := causeOf(v, result.ByHand)
	if c == nil || !slices.Equal(c.Workloads, []string{"elephants"}) || !strings.HasPrefix(c.Flows[0].Name, "elephant-") || !strings.HasPrefix(c.Sentence, "The 3 flows of mice asked for no more than their fair share") {
		t.Fatalf("the hands are %+v of %+v", c, v.Causes)
	}
	if !slices.ContainsFunc(v.Try, func(r result.Remedy) bool {
		return r.Remedy == result.ChangeHandSize && slices.Contains(r.Causes, c.ID)
	}) {
		t.Errorf("nothing is said of handSize: %+v", v.Try)
	}
	for _, h := range v.Harmed {
		if h.Workload == "mice" && !slices.Contains(h.Causes, c.ID) {
			t.Errorf("the mice are not harmed by their hands: %+v", h)
		}
	}
}

// A recorded workload has a row for each client that was harmed, with its short name, and all rows add up.
func TestClientsOfALogHaveRows(t *testing.T) {
	var lines strings.Builder
	for i := range 6000 {
		user, ns := "system:serviceaccount:ci-54:deployer", int64(400e6)
		if i%4 == 0 {
			user, ns = "system:serviceaccount:ci-55:deployer", 1e6
		}
		fmt.Fprintf(&lines, `{"id":%d,"arrivalNs":%d,"executionNs":%d,"user":%q,"groups":["system:serviceaccounts","system:authenticated"],"verb":"get","apiGroup":"","resource":"configmaps","namespace":"a","name":"x"}`+"\n",
			i+1, int64(i)*10e6, ns, user)
	}
	scenarios, mistakes := loader.Load(fstest.MapFS{"t.jsonl": {Data: []byte(lines.String())},
		"s.yaml": {Data: []byte(few("queues: 8, handSize: 1, queueLengthLimit: 20", "  - {name: recorded, arrivals: {trace: {file: t.jsonl}}}\n"))}}, "s.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	run := sim.New(scenarios[0])
	m := collect.Measure(run, result.Interval(int64(scenarios[0].Spec.Duration)))
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	r := m.Result()
	judge.Verdict(r)
	v := r.Summary.Verdict
	if len(v.Harmed) != 2 || v.Harmed[0].Role != result.Victim || v.Harmed[0].Name != "ci-55:deployer" {
		t.Fatalf("%+v", v.Harmed)
	}
	h := &v.Harmed[1]
	if h.Role != result.WasLimited || h.Name != "ci-54:deployer" || h.Flow != "shared/system:serviceaccount:ci-54:deployer" || h.Level != "shared" {
		t.Fatalf("%+v", h)
	}
	if f := v.Causes[0].Flows; v.Causes[0].Kind != result.ByDemand || f[0].Name != "ci-54:deployer" || f[0].Rejected != h.NotServed.Rejected {
		t.Errorf("%+v", v.Causes[0])
	}
	if !strings.Contains(v.Causes[0].Sentence, "ci-54:deployer asked for") {
		t.Error(v.Causes[0].Sentence)
	}
}

// Each remedy of the table in the reference is one that a cause leads to, and the other way round.
func TestRemediesAreThoseOfTheReference(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "reference", "statistics.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "### What may help")
	section, _, _ = strings.Cut(section, "### ")
	for _, id := range []result.RemedyID{result.NoChange, result.MergeFlows, result.OwnLevel, result.MoreQueues, result.ChangeHandSize,
		result.MoreShares, result.Transfer, result.LendLess, result.BorrowMore, result.ListLevel, result.RaiseInFlightLimit, result.MoreReplicas,
		result.LimitClient, result.ListInPages, result.WatchInstead} {
		if !strings.Contains(section, "`"+string(id)+"`") {
			t.Errorf("the table of changes lacks %s", id)
		}
	}
}

// Executions spend their time as a reader can compute by hand: two requests of a second each share one core for two
// seconds, a webhook is waited for before the machine works, and a slow machine takes longer.
func TestHowExecutionsSpendTheirTime(t *testing.T) {
	for _, c := range []struct {
		what, servers, workload string
		want                    result.Spent
	}{
		{"a shared core", "capacity: {cores: 1}", "request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {burst: {at: 1s, requests: 2}}",
			result.Spent{TotalNs: 4e9, ServedNs: 4e9, SlowNs: 2e9}},
		{"a webhook, and then the machine", "capacity: {cores: 1}", "request: {verb: create, resource: pods, calls: [{name: hook, kind: ValidatingWebhook, latency: 300ms, timeout: 1s}]}, execution: 100ms, arrivals: {burst: {at: 1s, requests: 1}}",
			result.Spent{TotalNs: 400e6, CallsNs: 300e6, ServedNs: 100e6}},
		{"a slow machine", "capacity: {cores: 4, speed: [{at: 0s, factor: 0.25}]}", "request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {burst: {at: 1s, requests: 1}}",
			result.Spent{TotalNs: 4e9, ServedNs: 4e9, SlowNs: 3e9}},
		{"a webhook that fails", "capacity: {cores: 1}", "request: {verb: create, resource: pods, calls: [{name: hook, kind: ValidatingWebhook, latency: 5s, timeout: 2s, failurePolicy: Fail}]}, execution: 100ms, arrivals: {burst: {at: 1s, requests: 1}}",
			result.Spent{TotalNs: 2e9, CallsNs: 2e9}},
	} {
		r, _ := runServers(t, failing(20, c.servers, c.workload))
		var got result.Spent
		for _, l := range r.Evidence.Levels {
			got.TotalNs, got.CallsNs, got.ServedNs, got.SlowNs, got.StoredNs = got.TotalNs+l.Spent.TotalNs, got.CallsNs+l.Spent.CallsNs,
				got.ServedNs+l.Spent.ServedNs, got.SlowNs+l.Spent.SlowNs, got.StoredNs+l.Spent.StoredNs
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}

// 30 lists a second of 10 MB each need three times what the network sends, so that answers are sent for up to 60 s, and seats are full: the network is
// the cause, and not the executions. A network that is fast enough is not a cause.
func TestFullNetworkIsACause(t *testing.T) {
	of := func(bandwidth string) *result.Overall {
		r, _ := runServers(t, `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: network}
spec:
  seed: 1
  duration: 90s
  servers: {maxRequestsInflight: 400, network: {bandwidth: `+bandwidth+`}}
  store: {}
  resources: [{resource: configmaps, objects: 1000, averageBytes: 10000}]
  config: {base: Suggested}
  workload:
  - {name: lists, clients: 10, as: {serviceAccount: "a/b-{i}"}, request: {verb: list, resource: configmaps, query: "resourceVersion=0"}, arrivals: {poisson: {rate: 3/s}}}
`)
		return r.Summary.Verdict
	}
	v := of("100MB")
	c := causeOf(v, result.ByNetwork)
	if c == nil || v.Status == result.OK || !slices.ContainsFunc(v.Try, func(r result.Remedy) bool { return slices.Contains(r.Causes, c.ID) }) {
		t.Errorf("%s with causes %+v and changes %+v", v.Status, v.Causes, v.Try)
	}
	if c := causeOf(v, result.ByExecution); c != nil {
		t.Errorf("executions are said to be slow: %+v", c)
	}
	if v := of("1GB"); len(v.Causes) > 0 {
		t.Errorf("causes %+v", v.Causes)
	}
}
