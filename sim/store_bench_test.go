package sim_test

import (
	"context"
	"os"
	"testing"

	"apfsim/reports/collect"
	"apfsim/reports/record"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/api"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

// BenchmarkStoreRun simulates a minute of 1 000 kubelets, with their watches, some informers and writers that
// conflict, over a store. An op is a run. It starts from nothing, so that the lists and watches of the start are in it.
func BenchmarkStoreRun(b *testing.B) {
	b.ReportAllocs()
	requests, events := 0, 0
	for b.Loop() {
		loaded, mistakes := loader.Load(os.DirFS("testdata"), "store.yaml", loader.Options{})
		if err := mistakes.Err(); err != nil {
			b.Fatal(err)
		}
		run := sim.New(loaded[0])
		run.Observe(collect.New(loaded[0], run.Server, result.Interval(int64(loaded[0].Spec.Duration))).Observer())
		run.Observe(record.NewFingerprint().Observer()) // as apfsim run does
		run.Observe(server.Observer{Arrived: func(int64, *server.Request) { requests++ }})
		for _, r := range []api.Resource{{Name: "pods"}, {Name: "configmaps"}} {
			run.Handlers().Store().Resource(r).OnCommit(func(int64, *api.Event) { events++ })
		}
		if err := run.Execute(context.Background(), nil); err != nil {
			b.Fatal(err)
		}
	}
	if events == 0 {
		b.Fatal("nothing was written")
	}
	b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "requests/s")
}
