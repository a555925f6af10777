package sim_test

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

// regime is one of those of lab/performance.md. D, E and G have fewer clients than there, so that they are in
// the steady state after a second.
type regime struct {
	name      string
	scenario  func(b *testing.B, duration time.Duration) *scenario.Scenario
	perSecond float64 // requests, on average
	warmUp    int     // requests until the steady state

	// What a request allocates at most on average, after the warm-up.
	allocations, bytes float64
}

// Requests do not allocate, except in a store. What allocates instead is listed in TestSteadyStateAllocatesNothing: most of
// it is space for histograms of flows.
const (
	hardlyAnAllocation = 0.05
	hardlyAByte        = 100
)

var regimes = []regime{
	{"A", regimeA.loaded, regimeA.perSecond(), regimeA.warmUp(), hardlyAnAllocation, hardlyAByte},
	{"B", regimeB.loaded, regimeB.perSecond(), regimeB.warmUp(), hardlyAnAllocation, hardlyAByte},
	{"C", regimeC.loaded, regimeC.perSecond(), regimeC.warmUp(), hardlyAnAllocation, hardlyAByte},
	{"D", peers("default-configuration.yaml", hundredth...), 15_120, 300_000, hardlyAnAllocation, hardlyAByte},
	{"E", peers("closed-loop.yaml", "spec.workload[0].clients=1000", "spec.workload[0].arrivals.closed.think.exponential.mean=94ms"),
		9600, 200_000, hardlyAnAllocation, hardlyAByte},
	{"F", peers("one-level.yaml", "spec.servers.replicas=3", "spec.servers.capacity={cores: 100}", "spec.servers.loadBalancer={policy: RoundRobin}",
		"spec.workload[0].clients=600", "spec.workload[0].arrivals.poisson.rate=45/s"), 27_000, 100_000, hardlyAnAllocation, hardlyAByte},
	// A request to a store makes five allocations of 600 bytes in all: what it has written, and its events.
	{"G", peers("store.yaml", "spec.workload[kubelets].clients=500", "spec.workload[agents].clients=40", "spec.resources[0].objects=15000"),
		400, 20_000, 8, 1000},
	{"H", replay, regimeA.perSecond(), regimeA.warmUp(), hardlyAnAllocation, hardlyAByte},
}

// hundredth makes a hundredth of the nodes, pods and people of default-configuration.yaml send as many requests.
var hundredth = []string{
	"spec.workload[kubelet-watches].clients=50",
	"spec.workload[kubelet-heartbeats].clients=50", "spec.workload[kubelet-heartbeats].arrivals.poisson.rate=25/s",
	"spec.workload[kubelet-pods].clients=50", "spec.workload[kubelet-pods].arrivals.poisson.rate=90/s",
	"spec.workload[pods].clients=1500", "spec.workload[pods].arrivals.poisson.rate=5/s",
	"spec.workload[people].clients=5", "spec.workload[people].arrivals.poisson.rate=10/s",
}

// loaded is scenario, for a benchmark.
func (l oneLevel) loaded(b *testing.B, duration time.Duration) *scenario.Scenario {
	sc, err := l.scenario(duration)
	if err != nil {
		b.Fatal(err)
	}
	return sc
}

// peers returns a function that loads a scenario of lab/conformance/peers, with some fields set.
func peers(file string, set ...string) func(*testing.B, time.Duration) *scenario.Scenario {
	return func(b *testing.B, duration time.Duration) *scenario.Scenario {
		set := append(set[:len(set):len(set)], fmt.Sprintf("spec.duration=%v", duration))
		loaded, mistakes := loader.Load(os.DirFS("../lab/conformance/peers"), file, loader.Options{Set: assign.New("--set", set)})
		if err := mistakes.Err(); err != nil {
			b.Fatal(err)
		}
		return loaded[0]
	}
}

// replay returns the replay of a request log of A.
func replay(b *testing.B, duration time.Duration) *scenario.Scenario {
	sc := regimeA.loaded(b, duration)
	name := filepath.Join(b.TempDir(), "requests.jsonl")
	file, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	buffered := bufio.NewWriter(file)
	ofRun(b, sc, buffered)
	if err := buffered.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
	return replayOf(b, sc, func() io.Reader {
		file, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { file.Close() })
		return file
	})
}

// BenchmarkRun simulates requests from arrival to statistics, in each regime. An op is a request, so that allocs/op are
// allocations a request. It fails if a request allocates more than it may.
func BenchmarkRun(b *testing.B) {
	for _, r := range regimes {
		b.Run(r.name, r.measure)
	}
}

func (r *regime) measure(b *testing.B) {
	b.ReportAllocs()
	lasting := func(requests int) time.Duration { return time.Duration(float64(requests) / r.perSecond * 1e9) }
	// Of the few requests with which package testing feels its way, none need be typical.
	// The window has no tick of the sampling interval in it, which would add to the series.
	w := windowAfter(lasting(min(r.warmUp, 20*b.N)), lasting(b.N), lasting(b.N))
	sc := r.scenario(b, w.from+w.length)
	var before, after runtime.MemStats
	_, result, err := w.run(sc,
		func() { runtime.ReadMemStats(&before); b.ResetTimer() },
		func() { b.StopTimer(); runtime.ReadMemStats(&after) })
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	if b.N < 50_000 {
		return
	}
	want := r.perSecond * (w.from + w.length).Seconds()
	if got := float64(result.Summary.Total.Arrived); math.Abs(got-want) > 0.1*want {
		b.Errorf("%.0f requests arrived; want about %.0f", got, want)
	}
	requests := float64(b.N)
	if n := float64(after.Mallocs-before.Mallocs) / requests; n > r.allocations {
		b.Errorf("%.4f allocations a request; want at most %v", n, r.allocations)
	}
	if n := float64(after.TotalAlloc-before.TotalAlloc) / requests; n > r.bytes {
		b.Errorf("%.1f bytes were allocated for a request; want at most %v", n, r.bytes)
	}
}
