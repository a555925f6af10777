package tune

import (
	"testing"

	"apfsim/experiment"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

func loadedScenario(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	sc, err := experiment.LoadOne(name, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// Executions, and the calls within them, take longer; the scenario itself remains as it is.
func TestScaledExecutions(t *testing.T) {
	sc := loadedScenario(t, "testdata/calls.yaml")
	slower := withExecutions(sc, 2)
	means := func(sc *scenario.Scenario) (all []float64) {
		for i := range sc.Spec.Workload {
			w := &sc.Spec.Workload[i]
			r := &w.Requests[0]
			all = append(all, r.Execution.MeanNs())
			for _, call := range r.Calls {
				all = append(all, call.Latency.MeanNs(), call.Callback.Execution.MeanNs())
			}
		}
		return append(all, sc.Spec.Servers.Handover.MeanNs())
	}
	before, after := means(sc), means(slower)
	for i, want := range []float64{10e6, 20e6, 5e6, 5e6, 1e6} { // the request, its call, the callback, its workload, the handover
		if before[i] != want || after[i] != 2*want {
			t.Errorf("mean %d is %v, with a factor of 2 %v; want %v and %v", i, before[i], after[i], want, 2*want)
		}
	}
}

// Open loops send more; a scenario of clients that wait for answers has none.
func TestLoaded(t *testing.T) {
	sc := loadedScenario(t, "testdata/5-wide-lists.yaml")
	more := loaded(sc, 1.1)
	if before, after := float64(sc.Spec.Workload[1].Arrivals.Poisson.Rate), float64(more.Spec.Workload[1].Arrivals.Poisson.Rate); before != 5 || after != 5*1.1 {
		t.Errorf("the rate is %v, with the load %v; want 5 and 5.5", before, after)
	}
	closed := *sc
	closed.Spec.Workload = sc.Spec.Workload[:1]
	if loaded(&closed, 1.1) != nil {
		t.Error("a closed loop has a load; want none")
	}
}
