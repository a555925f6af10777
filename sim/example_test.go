package sim_test

import (
	"context"
	"fmt"
	"time"

	"apfsim/core/rules"
	"apfsim/scenarios"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

// run simulates a scenario of the library under rules that change has changed, and prints how many requests of each workload were
// dispatched, and their longest wait.
func run(name string, change func(*rules.Rules)) {
	loaded, errors := loader.Load(scenarios.Files, scenarios.File(name), loader.Options{})
	if err := errors.Err(); err != nil {
		fmt.Println(err)
		return
	}
	spec := &loaded[0].Spec
	spec.Servers.ChangeRules = change
	dispatched, longestNs := make([]int, len(spec.Workload)), make([]int64, len(spec.Workload))
	r := sim.New(loaded[0])
	r.Observe(server.Observer{Dispatched: func(nowNs int64, r *server.Request) {
		dispatched[r.Workload]++
		longestNs[r.Workload] = max(longestNs[r.Workload], nowNs-r.ArrivalNs)
	}})
	if err := r.Execute(context.Background(), nil); err != nil {
		fmt.Println(err)
		return
	}
	for i, w := range spec.Workload {
		fmt.Println(w.Name, dispatched[i], time.Duration(longestNs[i]).Round(time.Millisecond))
	}
}

// An observer sees what happens in a run.
func ExampleRun_Observe() {
	run("wide-lists", nil)
	// Output:
	// slow-readers 256 14.279s
	// small 11977 12.198s
}

// A rule that no release has: the servers expect that each request executes for a second, and not for 3 ms.
func ExampleNew_changedRule() {
	run("wide-lists", func(r *rules.Rules) { r.ServiceGuessNs = time.Second.Nanoseconds() })
	// Output:
	// slow-readers 253 11.5s
	// small 12017 7.448s
}
