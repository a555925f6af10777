package reports_test

import (
	"regexp"
	"strings"
	"testing"

	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
)

// passedOn is a list each 10 ms, which an API server of many seats passes on to an aggregated server. There the level has
// 100 of 600 seats and no queue, and a list executes for just less than 2 s: in turn, 100 are dispatched and 100
// rejected.
const passedOn = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: passed-on}
spec:
  duration: 10s
  warmup: 4s
  workload:
  - name: lists
    as: {user: u}
    request:
      verb: list
      group: metrics.k8s.io
      resource: pods
      calls: [{name: metrics, kind: AggregatedServer, latency: 1995ms}]
    execution: 1ms
    arrivals: {constant: {rate: 100/s}}
  - name: others
    as: {user: u}
    request: {verb: get, resource: pods, namespace: n, name: x, calls: [{name: custom, kind: AggregatedServer}]}
    execution: 1ms
    arrivals: {burst: {at: 9999ms, requests: 1}}
  config:
    base: Mandatory
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: sole}
      spec: {type: Limited, limited: {nominalConcurrencyShares: 1, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: all}
      spec:
        priorityLevelConfiguration: {name: sole}
        matchingPrecedence: 100
        distinguisherMethod: {type: ByUser}
        rules:
        - subjects: [{kind: Group, group: {name: "*"}}]
          resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
  servers: {maxRequestsInflight: 10000, maxMutatingRequestsInflight: 0}
`

// Only what the aggregated server's own flow control does is counted as of that server, of the requests that arrive in the
// window: for the API server, all of them are executed.
func TestAggregatedServers(t *testing.T) {
	r, _ := runServers(t, passedOn)
	s := r.Summary
	if len(s.AggregatedServers) != 2 || s.AggregatedServers[0].Name != "metrics" || s.AggregatedServers[1].Name != "custom" {
		t.Fatalf("aggregated servers %+v", s.AggregatedServers)
	}
	m := &s.AggregatedServers[0]
	if m.Arrived != 600 || m.Executed+m.Executing != 300 || m.Executing != 100 || m.Rejected != 300 || m.ConcurrencyLimit != 300 || m.Waiting != 0 {
		t.Errorf("%+v; want 300 of 600 dispatched and 300 rejected, and 100 executing at the end", m.Counts)
	}
	if m.Wait == nil || m.Wait.Count != 300 || m.Wait.MaxNs != 0 || m.RejectedWait == nil || m.RejectedWait.Count != 300 {
		t.Errorf("waits %+v and %+v", m.Wait, m.RejectedWait)
	}
	if m.Execution == nil || m.Execution.MinNs != 1_995_000_000 || m.Latency == nil || m.Latency.MaxNs != 1_995_000_000 {
		t.Errorf("execution %+v, latency %+v", m.Execution, m.Latency)
	}
	if s.Total.Rejected != 0 || s.AggregatedServers[1].Arrived != 1 {
		t.Errorf("%+v in all, %+v of the other", s.Total.Counts, s.AggregatedServers[1].Counts)
	}
	var out strings.Builder
	if err := render.Text(&out, report.RunDocument(&result.Result{Summary: s}), format.TextOptions{Width: 150}); err != nil {
		t.Fatal(err)
	}
	if row := regexp.MustCompile(`\n  metrics +600 +300 +50 % +0 +300 +0 +0 +0 \(n 300\) +0\n`); !row.MatchString(out.String()) {
		t.Errorf("no row of the aggregated server in\n%s", out.String())
	}
}
