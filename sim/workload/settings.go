package workload

import "apfsim/sim/quantity"

// Settings are what the clients of a run are made with.
type Settings struct {
	Seed      uint64
	Duration  quantity.Duration // of the run
	Workloads []Workload
	Decided   []Decided // by workload
	Stored    bool      // the servers have a store
}

// Decided says which decisions a replay takes from the log that its trace is of. The others are made by the
// simulated servers.
type Decided struct {
	// Routes are FlowSchema and priority level: if the servers have the configuration that the server of the log had
	// and keep it.
	Routes bool
	// Seats are those of the execution and those after it: if the releases of the servers estimate them as the release
	// of the server of the log.
	Seats bool
}
