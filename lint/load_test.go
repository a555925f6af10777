package lint_test

import (
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/lint"
)

// Findings that depend on load are notes without a run. With one, they are warnings, or there is no
// finding.
func TestLoad(t *testing.T) {
	objects, _ := decode(t, "team.yaml", `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: team}
spec:
  priorityLevelConfiguration: {name: team}
  rules:
  - subjects: [{kind: User, user: {name: alice}}]
    resourceRules: [{verbs: [get], apiGroups: [""], resources: [pods], namespaces: ["*"]}]
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: team}
spec:
  type: Limited
  limited: # 66 of 600 seats
    nominalConcurrencyShares: 30
    lendablePercent: 98 # keeps 1
    limitResponse: {type: Queue, queuing: {queues: 256, handSize: 6, queueLengthLimit: 50}} # 12 800 requests
`)
	for _, test := range []struct {
		name string
		load *lint.Load
		want string
	}{
		{"no run", nil, "note lends-too-much, note long-queues"},
		{"idle", load("team", lint.LevelLoad{}), "note long-queues"},
		// 66 seats serve 66·15 s/77 ms = 12 857 requests within the wait limit.
		{"light", load("team", lint.LevelLoad{Arrived: 1, Demand: 1, ExecutionSeconds: 0.077}), ""},
		{"heavy", load("team", lint.LevelLoad{Arrived: 1, Demand: 1.5, ExecutionSeconds: 0.078}), "warning lends-too-much, warning long-queues"},
		{"strangers", load(config.CatchAll, lint.LevelLoad{Arrived: 1}), "warning catch-all-used, note long-queues"},
	} {
		in := input(objects)
		in.Load = test.load
		var got []string
		for _, f := range lint.Check(in) {
			got = append(got, f.Severity.String()+" "+f.Rule)
		}
		if got := strings.Join(got, ", "); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func load(level string, l lint.LevelLoad) *lint.Load {
	return &lint.Load{Scenario: "day", Levels: map[string]lint.LevelLoad{level: l}}
}

// A level that lends nothing does not lend too much, whatever it needs, and nor does one of a release without lending.
func TestLevelsThatLendNothing(t *testing.T) {
	for _, c := range []struct {
		lendable, release string
		want              bool
	}{{"98", "1.37", true}, {"0", "1.37", false}, {"98", "1.25", false}} {
		objects, _ := decode(t, "team.yaml", `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: team}
spec:
  priorityLevelConfiguration: {name: team}
  rules:
  - subjects: [{kind: User, user: {name: alice}}]
    resourceRules: [{verbs: [get], apiGroups: [""], resources: [pods], namespaces: ["*"]}]
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: team}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 30
    lendablePercent: `+c.lendable+`
    limitResponse: {type: Queue, queuing: {queues: 16, handSize: 2, queueLengthLimit: 50}}
`)
		in := input(objects)
		release, err := rules.For(c.release)
		if err != nil {
			t.Fatal(err)
		}
		in.Rules = release
		in.Load = load("team", lint.LevelLoad{Arrived: 1, Demand: 5000, ExecutionSeconds: 0.01})
		found := false
		for _, f := range lint.Check(in) {
			found = found || f.Rule == "lends-too-much" && f.Name == "team"
		}
		if found != c.want {
			t.Errorf("lendablePercent %s in %s: it lends too much: %v, want %v", c.lendable, c.release, found, c.want)
		}
	}
}

// The remedy for a FlowSchema that never takes effect is a precedence below all that shadow it, if there is one: 1 is kept
// for the mandatory ones.
func TestRemedyForAShadowedFlowSchema(t *testing.T) {
	schema := func(name, precedence string, verbs ...string) string {
		rules := ""
		for _, v := range verbs {
			rules += `
  - subjects: [{kind: User, user: {name: alice}}]
    resourceRules: [{verbs: [` + v + `], apiGroups: [""], resources: [pods], namespaces: ["*"]}]`
		}
		return `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: ` + name + `}
spec:
  matchingPrecedence: ` + precedence + `
  priorityLevelConfiguration: {name: workload-low}
  rules:` + rules + `
---`
	}
	for _, c := range []struct{ first, second, want string }{
		{"3", "7", "give it a matchingPrecedence below 3, or remove it"},
		{"7", "3", "give it a matchingPrecedence below 3, or remove it"},
		{"2", "7", "; remove it"},
	} {
		objects, _ := decode(t, "s.yaml", schema("a", c.first, "get")+schema("b", c.second, "list")+schema("late", "500", "get", "list"))
		message := ""
		for _, f := range lint.Check(input(objects)) {
			if f.Rule == "shadowed" {
				message += f.Message
			}
		}
		if !strings.HasSuffix(message, c.want) {
			t.Errorf("shadowed at %s and %s: %q, want %q", c.first, c.second, message, c.want)
		}
	}
}
