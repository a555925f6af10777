package sim_test

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"apfsim/reports"
	"apfsim/sim"
	"apfsim/sim/scenario"
)

// BenchmarkRun simulates b.N requests from arrival to statistics: one level of 100 seats
// and 128 queues, hands of 6, exponential service of 10 ms, one seat a request. An op is
// a request, so allocs/op are allocations a request.
func BenchmarkRun(b *testing.B) {
	for _, regime := range []struct {
		name  string
		load  float64
		flows int
	}{
		{"load=0.9/flows=200", 0.9, 200},
		{"load=1.2/flows=200", 1.2, 200},
		{"load=1.05/flows=2000", 1.05, 2000},
	} {
		b.Run(regime.name, func(b *testing.B) {
			perSecond := regime.load * 100 / 0.010
			spec := fmt.Sprintf(`
  duration: %v
  servers: {maxRequestsInflight: 50, maxMutatingRequestsInflight: 50}
  config:
    base: Mandatory
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: level}
      spec:
        type: Limited
        limited: {nominalConcurrencyShares: 1000000, borrowingLimitPercent: 0, limitResponse: {type: Queue, queuing: {queues: 128, handSize: 6, queueLengthLimit: 50}}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: all}
      spec:
        priorityLevelConfiguration: {name: level}
        matchingPrecedence: 100
        distinguisherMethod: {type: ByUser}
        rules:
        - subjects: [{kind: Group, group: {name: "*"}}]
          resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
  workload:
  - name: clients
    clients: %d
    as: {user: "user-{i}"}
    request: {verb: get, resource: pods, namespace: default, name: x}
    execution: {exponential: {mean: 10ms}}
    arrivals: {poisson: {rate: "%f/s"}}
`, time.Duration(float64(b.N)/perSecond*1e9)+time.Millisecond, regime.flows, perSecond/float64(regime.flows))
			text := "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: benchmark}\nspec:\n" + spec
			loaded, mistakes := scenario.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", scenario.Options{})
			if err := mistakes.Err(); err != nil {
				b.Fatal(err)
			}
			run := sim.New(loaded[0])
			interval := reports.Interval(int64(loaded[0].Spec.Duration))
			collector := reports.NewCollector(loaded[0], run.Server, interval)
			run.Server.Observe(collector)
			b.ReportAllocs()
			b.ResetTimer()
			if err := run.Execute(context.Background(), interval, nil); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
			if got := collector.Result().Summary.Total.Arrived; float64(got) < 0.9*float64(b.N)-1000 {
				b.Errorf("%d requests were simulated, not %d", got, b.N)
			}
		})
	}
}
