package experiment

import (
	"os"
	"runtime/debug"

	"apfsim/sim/scenario"
)

// A run of so many clients has a large heap, of which nearly everything stays until its end: requests allocate
// nothing. The garbage collector would let such a heap grow to twice its size. It runs more often from here on, which
// costs little, because it has most to do while the clients send their first requests.
const (
	manyClients     = 20_000
	growthInPercent = 15
)

// boundHeap lets the garbage collector run more often if the scenario has many clients, unless the environment
// variable GOGC says how often.
func boundHeap(sc *scenario.Scenario) {
	n := 0
	for i := range sc.Spec.Workload {
		n += sc.Spec.Workload[i].Clients
	}
	if n >= manyClients && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(growthInPercent)
	}
}
