// Package scenario reads scenario files: which servers there are, how flow control is
// configured, who sends what and when, and what must hold in the end. All of a file's
// mistakes are reported at once, each with its place.
package scenario

import (
	"apfsim/core/config"
	"apfsim/document"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario/traffic"
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
	// Document is what the scenario was decoded from.
	Document *document.Document `json:"-"`
}

// Input is a file that a scenario was read from.
type Input struct {
	Name string // as the scenario or the option calls it, wherever they are
	Path string
	// SHA256 returns the SHA-256 sum of what was read, in hexadecimal digits. A trace, which is
	// too long to be kept, is read again for it; the error then says that it has changed, or why
	// it cannot be read.
	SHA256 func() (string, error)
}

// Metadata names a scenario.
type Metadata struct {
	Name        string `json:"name" document:"required" jsonschema:"pattern=^[a-z0-9]([-a-z0-9]*[a-z0-9])?$,maxLength=63" jsonschema_description:"Lower-case letters, digits and dashes; the folder of the results is called so."`
	Description string `json:"description,omitempty"`
}

// Spec is what a scenario consists of.
type Spec struct {
	Seed         uint64             `json:"seed,omitempty" jsonschema:"default=1" jsonschema_description:"What every random stream is derived from."`
	Replications int                `json:"replications,omitempty" jsonschema:"default=1,minimum=1,maximum=100000" jsonschema_description:"How many independent runs there are, with seeds that count up from seed."`
	Duration     quantity.Duration  `json:"duration" document:"required" jsonschema_description:"Virtual time that the run takes."`
	Warmup       quantity.Duration  `json:"warmup,omitempty" jsonschema_description:"Time at the beginning that is left out of the statistics."`
	Servers      Servers            `json:"servers,omitempty"`
	Config       Config             `json:"config,omitempty"`
	Events       []Event            `json:"events,omitempty" jsonschema_description:"Changes of the configuration in the middle of the run, in order of time."`
	Resources    []Resource         `json:"resources,omitempty" jsonschema_description:"What the servers store, for the estimate of how many seats a list takes."`
	Workload     []traffic.Workload `json:"workload" document:"required" jsonschema:"minItems=1"`
	Thresholds   metric.Thresholds  `json:"thresholds,omitempty"`
}

// Ways of a server to limit its requests.
const (
	PriorityAndFairness = "PriorityAndFairness"
	MaxInFlight         = "MaxInFlight"
	NoFlowControl       = "None"
)

// Servers configures the simulated API servers, all alike.
type Servers struct {
	Replicas                    int               `json:"replicas,omitempty" jsonschema:"enum=1,default=1" jsonschema_description:"Several replicas are not supported yet."`
	KubernetesVersion           string            `json:"kubernetesVersion,omitempty" jsonschema:"enum=1.37,default=1.37"`
	MaxRequestsInflight         int               `json:"maxRequestsInflight,omitempty" jsonschema:"default=400,minimum=0" jsonschema_description:"--max-requests-inflight; PriorityAndFairness limits by its sum with maxMutatingRequestsInflight."`
	MaxMutatingRequestsInflight int               `json:"maxMutatingRequestsInflight,omitempty" jsonschema:"default=200,minimum=0" jsonschema_description:"--max-mutating-requests-inflight."`
	RequestTimeout              quantity.Duration `json:"requestTimeout,omitempty" jsonschema:"default=60s" jsonschema_description:"--request-timeout; a request waits a quarter of it at most."`
	FlowControl                 string            `json:"flowControl,omitempty" jsonschema:"enum=PriorityAndFairness,enum=MaxInFlight,enum=None,default=PriorityAndFairness"`

	AdjustmentPhase AdjustmentPhase `json:"adjustmentPhase,omitempty"`
}

// Resource is how much of one resource the servers store.
type Resource struct {
	Group        string `json:"group,omitempty" jsonschema_description:"Empty for the core group."`
	Resource     string `json:"resource" document:"required"`
	Objects      int64  `json:"objects" document:"required" jsonschema:"minimum=0"`
	AverageBytes int64  `json:"averageBytes,omitempty" jsonschema:"minimum=0" jsonschema_description:"Size of one object; 0 when unknown."`
}

// EndNs returns when a workload sends its last request, in nanoseconds from the start of the run.
func (s *Spec) EndNs(w *traffic.Workload) int64 { return w.EndNs(s.Duration) }
