package lint_test

import (
	"strings"
	"testing"

	"apfsim/core/config"
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
