package sim

import (
	"strings"
	"testing"

	"apfsim/core/queueset"
	"apfsim/sim/server"
)

// Users who do not think take each place again at the instant at which it becomes free: of a server without queues,
// another client gets none, and a warning says so. With what the warning says to write, it gets some.
func TestClosedLoopsWithoutThinkTimeStarveOthers(t *testing.T) {
	spec := `
  duration: 60s
  servers: {flowControl: MaxInFlight, maxRequestsInflight: 4}
  workload:
  - name: loops
    clients: 2
    as: {user: l}
    request: {verb: get, resource: pods}
    execution: {exponential: {mean: 50ms}}
    arrivals: {closed: {concurrency: 2}}
  - name: other
    as: {user: o}
    request: {verb: list, resource: pods}
    execution: 1ms
    arrivals: {poisson: {rate: 10/s}}
`
	for _, test := range []struct {
		from, to string
		starves  bool
	}{
		{"", "", true},
		{"concurrency: 2", "concurrency: 2, think: {exponential: {mean: 10ms}}", false},
		{"{closed: {concurrency: 2}}", "{poisson: {rate: 20/s}}", false},
		{"maxRequestsInflight: 4", "maxRequestsInflight: 5", false},
		{"verb: list, resource: pods", "verb: delete, resource: pods, name: p", false},
	} {
		sc := load(t, strings.Replace(spec, test.from, test.to, 1))
		sent, rejected := 0, 0
		run := execute(t, New(sc), server.Observer{Arrived: func(_ int64, r *server.Request) {
			if r.Workload == 1 {
				sent++
			}
		}, Rejected: func(_ int64, r *server.Request) {
			if r.Workload == 1 && r.Rejection == queueset.ConcurrencyLimit {
				rejected++
			}
		}})
		if starves := sent > 0 && rejected == sent; starves != test.starves || (len(run.Scenario.Warnings) == 1) != test.starves {
			t.Errorf("with %q: %d of %d are rejected, and the warnings are %v", test.to, rejected, sent, run.Scenario.Warnings)
		}
		if test.starves && !strings.Contains(run.Scenario.Warnings[0].Message, "want a think time with a distribution") {
			t.Errorf("the warning is %v", run.Scenario.Warnings)
		}
	}
}
