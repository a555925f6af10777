package workload

import (
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/sim/quantity"
	"apfsim/sim/trace"
)

// TraceArrivals are read from a file, JSON Lines with one trace.Record each. Who asks what, and
// how long it takes, is in the trace.
type TraceArrivals struct {
	File string `json:"file" document:"required" jsonschema:"minLength=1" jsonschema_description:"Relative to the scenario file."`

	Decided string        `json:"decided,omitempty" jsonschema:"enum=Log" jsonschema_description:"Log: FlowSchema, priority level and seats are those of the trace, as the server that logged it decided, and the replay is compared with the outcomes and waits in the trace. Without it, the simulated servers decide."`
	Server  *trace.Server `json:"server,omitempty" jsonschema_description:"The server that logged the trace."`

	// Path is the file as messages name it. Field and Position are where the scenario mentions it.
	Path     string            `json:"-"`
	Field    string            `json:"-"`
	Position document.Position `json:"-"`
	// Open opens the trace for a run. The caller closes the reader. An error is a document.Error.
	Open func() (*trace.Reader, error) `json:"-"`
}

// Warnings returns what is probably not intended about the trace in a run of this duration. read is
// what reading it to its end has found.
func (t *TraceArrivals) Warnings(read trace.Summary, duration quantity.Duration) (all document.Errors) {
	switch {
	case read.Requests == 0:
		all.Add(t.Position, t.Field, "%s has no requests", t.Path)
	case read.LastNs >= int64(duration):
		all.Add(t.Position, t.Field, "%s goes on until %v; requests that arrive after the end of the run, %v, are left out",
			t.Path, quantity.Duration(read.LastNs), duration)
	}
	return all
}

// replay checks a workload whose arrivals are a trace.
func (c *checker) replay(path string, w *Workload) {
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"as", w.As.given()},
		{"request", w.Request != nil},
		{"requests", w.Requests != nil},
		{"execution", w.Execution.Given()},
		{"rateLimit", w.RateLimit != nil},
		{"behaviour", w.Behaviour != nil},
	} {
		if field.given {
			c.Fail(path+"."+field.name, "cannot be set with a trace, which contains it")
		}
	}
	if w.Clients > 1 {
		c.Fail(path+".clients", "%d: a trace is sent once; want 1", w.Clients)
	}
	if w.Arrivals.Trace.File == "" {
		c.Fail(path+".arrivals.trace.file", "is missing")
	}
	if s := w.Arrivals.Trace.Server; s != nil && s.KubernetesVersion != "" {
		if _, err := rules.For(document.Abridge(s.KubernetesVersion)); err != nil {
			c.Fail(path+".arrivals.trace.server.kubernetesVersion", "%v", err)
		}
	}
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
