// Package scenario reads scenario files: which servers there are, how flow control is
// configured, who sends what and when, and what must hold in the end. All of a file's
// mistakes are reported at once, each with its place.
package scenario

import (
	"io/fs"
	"time"

	"apfsim/core/config"
	"apfsim/document"
)

// APIVersion and Kind are what a scenario document says it is.
const (
	APIVersion = "apfsim/v1alpha1"
	Kind       = "Scenario"
)

// Scenario is one document of a scenario file, complete and valid.
type Scenario struct {
	APIVersion string   `json:"apiVersion" document:"required" jsonschema:"enum=apfsim/v1alpha1" jsonschema_description:"The version of this format."`
	Kind       string   `json:"kind" document:"required" jsonschema:"enum=Scenario"`
	Metadata   Metadata `json:"metadata" document:"required"`
	Spec       Spec     `json:"spec" document:"required"`

	// File is where the scenario was read from, as messages name it.
	File string `json:"-"`
	// Objects is the whole flow-control configuration: the base, below the objects of
	// spec.config, with the mandatory ones supplied.
	Objects config.Objects `json:"-"`
	// Warnings are oddities that do not keep the scenario from running.
	Warnings document.Errors `json:"-"`
	// Notes say what was skipped in the files of flow-control objects, and what is outdated there.
	Notes document.Errors `json:"-"`
	// Inputs are the files that all this was read from.
	Inputs []Input `json:"-"`

	files    fs.FS
	document *document.Document
}

// Metadata names a scenario.
type Metadata struct {
	Name        string `json:"name" document:"required" jsonschema:"pattern=^[a-z0-9]([-a-z0-9]*[a-z0-9])?$,maxLength=63" jsonschema_description:"Lower-case letters, digits and dashes; the folder of the results is called so."`
	Description string `json:"description,omitempty"`
}

// Spec is what a scenario consists of.
type Spec struct {
	Seed         uint64     `json:"seed,omitempty" jsonschema:"default=1" jsonschema_description:"What every random stream is derived from."`
	Replications int        `json:"replications,omitempty" jsonschema:"default=1,minimum=1,maximum=100000" jsonschema_description:"How many independent runs there are, with seeds that count up from seed."`
	Duration     Duration   `json:"duration" document:"required" jsonschema_description:"Virtual time that the run takes."`
	Warmup       Duration   `json:"warmup,omitempty" jsonschema_description:"Time at the beginning that is left out of the statistics."`
	Servers      Servers    `json:"servers,omitempty"`
	Config       Config     `json:"config,omitempty"`
	Events       []Event    `json:"events,omitempty" jsonschema_description:"Changes of the configuration in the middle of the run, in order of time."`
	Resources    []Resource `json:"resources,omitempty" jsonschema_description:"What the servers store, for the estimate of how many seats a list takes."`
	Workload     []Workload `json:"workload" document:"required" jsonschema:"minItems=1"`
	Thresholds   Thresholds `json:"thresholds,omitempty"`
}

// Ways of a server to limit its requests.
const (
	PriorityAndFairness = "PriorityAndFairness"
	MaxInFlight         = "MaxInFlight"
	NoFlowControl       = "None"
)

// Servers configures the simulated API servers, all alike.
type Servers struct {
	Replicas                    int      `json:"replicas,omitempty" jsonschema:"enum=1,default=1" jsonschema_description:"Several replicas are not supported yet."`
	KubernetesVersion           string   `json:"kubernetesVersion,omitempty" jsonschema:"enum=1.37,default=1.37"`
	MaxRequestsInflight         int      `json:"maxRequestsInflight,omitempty" jsonschema:"default=400,minimum=0" jsonschema_description:"--max-requests-inflight; PriorityAndFairness limits by its sum with maxMutatingRequestsInflight."`
	MaxMutatingRequestsInflight int      `json:"maxMutatingRequestsInflight,omitempty" jsonschema:"default=200,minimum=0" jsonschema_description:"--max-mutating-requests-inflight."`
	RequestTimeout              Duration `json:"requestTimeout,omitempty" jsonschema:"default=60s" jsonschema_description:"--request-timeout; a request waits a quarter of it at most."`
	FlowControl                 string   `json:"flowControl,omitempty" jsonschema:"enum=PriorityAndFairness,enum=MaxInFlight,enum=None,default=PriorityAndFairness"`

	AdjustmentPhase AdjustmentPhase `json:"adjustmentPhase,omitempty"`
}

// Resource is how much of one resource the servers store.
type Resource struct {
	Group        string `json:"group,omitempty" jsonschema_description:"Empty for the core group."`
	Resource     string `json:"resource" document:"required"`
	Objects      int64  `json:"objects" document:"required" jsonschema:"minimum=0"`
	AverageBytes int64  `json:"averageBytes,omitempty" jsonschema:"minimum=0" jsonschema_description:"Size of one object; 0 when unknown."`
}

// Workload is a number of like clients.
type Workload struct {
	Name      string            `json:"name" document:"required" jsonschema:"minLength=1"`
	Clients   int               `json:"clients,omitempty" jsonschema:"default=1,minimum=1,maximum=10000000" jsonschema_description:"How many there are, each with an identity, random streams and arrivals of its own."`
	As        Identity          `json:"as,omitempty" jsonschema_description:"Who sends the requests; {i} stands for the client's index, from 0."`
	Request   *Request          `json:"request,omitempty" jsonschema_description:"What is asked; {i} stands for the client's index, from 0."`
	Requests  []WeightedRequest `json:"requests,omitempty" jsonschema_description:"In place of request: several, drawn by their weights."`
	Execution Distribution      `json:"execution,omitempty" jsonschema_description:"How long the server takes to handle a request; for a watch, to initialise it."`
	Arrivals  Arrivals          `json:"arrivals" document:"required"`
	Start     Duration          `json:"start,omitempty" jsonschema_description:"When the clients begin."`
	Stop      Duration          `json:"stop,omitempty" jsonschema_description:"When they send their last; without it, at the end of the run."`
	Retry     Retry             `json:"retry,omitempty"`
	RateLimit *RateLimit        `json:"rateLimit,omitempty"`
}

// RateLimit is the token bucket that a client's requests pass before they are sent.
type RateLimit struct {
	QPS   float64 `json:"qps" document:"required" jsonschema:"exclusiveMinimum=0" jsonschema_description:"Tokens that arrive per second."`
	Burst int     `json:"burst" document:"required" jsonschema:"minimum=1" jsonschema_description:"Tokens that the bucket holds."`
}

// newScenario returns a scenario of which nothing is known: the defaults.
func newScenario() *Scenario {
	return &Scenario{Spec: Spec{
		Seed:         1,
		Replications: 1,
		Servers: Servers{
			Replicas:                    1,
			KubernetesVersion:           "1.37",
			MaxRequestsInflight:         400,
			MaxMutatingRequestsInflight: 200,
			RequestTimeout:              Duration(time.Minute),
			FlowControl:                 PriorityAndFairness,
		},
		Config: Config{Base: BaseSuggested},
	}}
}

// UnmarshalDocument implements document.Unmarshaler.
func (w *Workload) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Workload
	w.Clients = 1
	d.Decode(n, path, (*plain)(w))
}

// EndNs returns when the workload sends its last request: at stop, or at the end of the run.
func (s *Spec) EndNs(w *Workload) int64 {
	if w.Stop > 0 {
		return int64(min(w.Stop, s.Duration))
	}
	return int64(s.Duration)
}
