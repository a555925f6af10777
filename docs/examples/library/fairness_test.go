package library

import (
	"testing"
	"time"

	"apfsim/core/rules"
	"apfsim/scenarios"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

// meanWait runs the library's scenario wide-lists under rules that change has changed, and returns the mean wait of the
// dispatched requests of a workload.
func meanWait(t *testing.T, workload string, change func(*rules.Rules)) time.Duration {
	loaded, errors := loader.Load(scenarios.Files, scenarios.File("wide-lists"), loader.Options{})
	if err := errors.Err(); err != nil {
		t.Fatal(err)
	}
	spec := &loaded[0].Spec
	spec.Servers.ChangeRules = change
	run := sim.New(loaded[0])
	var waitedNs, requests int64
	run.Observe(server.Observer{Dispatched: func(nowNs int64, r *server.Request) {
		if spec.Workload[r.Workload].Name == workload {
			waitedNs, requests = waitedNs+nowNs-r.ArrivalNs, requests+1
		}
	}})
	if err := run.Execute(t.Context(), nil); err != nil || requests == 0 {
		t.Fatal(requests, err)
	}
	return time.Duration(waitedNs / requests)
}

// Is it fairer to small requests if the servers expect that a request executes for a second, and not for 3 ms?
func TestSmallRequestsWaitLessWithALongerGuess(t *testing.T) {
	released := meanWait(t, "small", nil)
	changed := meanWait(t, "small", func(r *rules.Rules) { r.ServiceGuessNs = int64(time.Second) })
	if changed > released/2 {
		t.Errorf("the mean wait is %v with the changed rule and %v without; want at most half", changed, released)
	}
}
