package workload

import (
	"reflect"

	"apfsim/document"
	"apfsim/sim/quantity"
	"apfsim/sim/trace"
)

// Arrivals says when a client sends its requests: exactly one of the fields is set.
// Rates are per client.
type Arrivals struct {
	Constant *ConstantArrivals `json:"constant,omitempty"`
	Poisson  *PoissonArrivals  `json:"poisson,omitempty"`
	Ramping  *RampingArrivals  `json:"ramping,omitempty"`
	OnOff    *OnOffArrivals    `json:"onOff,omitempty"`
	Burst    *BurstArrivals    `json:"burst,omitempty"`
	Closed   *ClosedArrivals   `json:"closed,omitempty"`
	Trace    *TraceArrivals    `json:"trace,omitempty"`
}

// ConstantArrivals are 1/rate apart.
type ConstantArrivals struct {
	Rate quantity.Rate `json:"rate" document:"required" jsonschema:"exclusiveMinimum=0/s"`
}

// PoissonArrivals are apart by exponentially distributed times with mean 1/rate.
type PoissonArrivals struct {
	Rate quantity.Rate `json:"rate" document:"required" jsonschema:"exclusiveMinimum=0/s"`
}

// Processes of RampingArrivals.
const (
	ProcessConstant = "constant"
	ProcessPoisson  = "poisson"
)

// RampingArrivals change their rate: linearly over each stage, from the rate before it to
// its own; the last rate then holds.
type RampingArrivals struct {
	Process   string        `json:"process,omitempty" jsonschema:"enum=poisson,enum=constant,default=poisson"`
	StartRate quantity.Rate `json:"startRate,omitempty" jsonschema_description:"The rate before the first stage."`
	Stages    []Stage       `json:"stages" document:"required" jsonschema:"minItems=1"`
}

// Stage is a part of RampingArrivals. A duration of 0 makes the rate jump.
type Stage struct {
	Duration quantity.Duration `json:"duration" document:"required"`
	Rate     quantity.Rate     `json:"rate" document:"required" jsonschema_description:"The rate at the stage's end."`
}

// OnOffArrivals are Poisson arrivals while a client is on, and none while it is off. A
// client begins on.
type OnOffArrivals struct {
	Rate quantity.Rate         `json:"rate" document:"required" jsonschema:"exclusiveMinimum=0/s"`
	On   quantity.Distribution `json:"on" document:"required" jsonschema_description:"How long the client sends."`
	Off  quantity.Distribution `json:"off" document:"required" jsonschema_description:"How long it then pauses."`
}

// BurstArrivals are many at one time, or evenly spread over some time, once or periodically.
type BurstArrivals struct {
	At       quantity.Duration `json:"at,omitempty" jsonschema_description:"When the first burst begins, from the workload's start."`
	Requests int               `json:"requests" document:"required,maximum=100000000" jsonschema:"minimum=1" jsonschema_description:"Number of requests that a client sends in one burst."`
	Over     quantity.Duration `json:"over,omitempty" jsonschema_description:"The time over which they are spread evenly; 0 for all at once."`
	Every    quantity.Duration `json:"every,omitempty" jsonschema_description:"From the beginning of one burst to that of the next; 0 for a single burst."`
}

// ClosedArrivals keep a number of requests in progress: when one is answered, the client sends the
// next after the think time.
type ClosedArrivals struct {
	Concurrency int                   `json:"concurrency,omitempty" jsonschema:"default=1,minimum=1" document:"maximum=100000000" jsonschema_description:"Number of requests of one client that are in progress or in their think time."`
	Think       quantity.Distribution `json:"think,omitempty" jsonschema:"default=0s" jsonschema_description:"Time from an answer to the next request; without it, 0s."`
}

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

var arrivalKinds = fieldNames(reflect.TypeFor[Arrivals]())

// UnmarshalDocument implements document.Unmarshaler.
func (a *Arrivals) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Arrivals
	d.DecodeOneOf(n, path, arrivalKinds, (*plain)(a))
}
