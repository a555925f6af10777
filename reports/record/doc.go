// Package record writes down what happens during a run, in the formats of other tools. A caller makes a recorder for
// the servers of a run, attaches its Observer to the run, and closes it after the run:
//
//   - [OpenMetrics] samples the metrics that kube-apiserver would expose (docs/guides/own-cluster.md).
//   - [Perfetto] draws requests on the seats of their priority level, as a trace (docs/guides/own-cluster.md).
//   - [RequestLog] writes a line of JSON for each request (docs/reference/logs.md).
//   - [Dumps] writes the state of the servers at given times, as their debug endpoints do (docs/guides/replay-an-incident.md).
//   - [Fingerprint] computes a hash of all decisions, by which two runs are compared.
//
// A recorder changes nothing in the run, and keeps no request longer than it lives.
package record

import "apfsim/sim/server"

// Recorder is an observer that writes while the run goes on or at its end. Either Close or Discard must be called
// after the run.
type Recorder interface {
	// Observer returns what the recorder observes of the run.
	Observer() server.Observer

	// Err returns the first error in writing. The run can be cancelled then.
	Err() error

	// Close writes the rest and returns the first error in writing.
	Close() error

	// Discard stops the writing. After Close it does nothing.
	Discard()
}
