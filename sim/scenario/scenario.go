// Package scenario defines the schema of scenario files: which servers there are, how flow control
// is configured, who sends what and when, and what must hold at the end. Its types are the settings
// of a run. Decode decodes a document; the tags of the fields say the defaults and the bounds, which
// the decoder applies and the JSON Schema shows. SetDefaults then fills in what follows from other
// fields, and Check checks the rules between fields; all errors of a document are reported together,
// each with its position. The package reads no files, which package loader does.
package scenario

import (
	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/document"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/server"
	"apfsim/sim/store"
	"apfsim/sim/workload"
)

// APIVersion and Kind are what a scenario document says it is.
const (
	APIVersion = "apfsim/v1alpha1"
	Kind       = "Scenario"
)

// Scenario is one document of a scenario file. One that package loader returns is complete and
// valid.
type Scenario struct {
	APIVersion string   `json:"apiVersion" document:"required" jsonschema:"enum=apfsim/v1alpha1" jsonschema_description:"The version of this format."`
	Kind       string   `json:"kind" document:"required" jsonschema:"enum=Scenario"`
	Metadata   Metadata `json:"metadata" document:"required"`
	Spec       Spec     `json:"spec" document:"required"`

	// File is where the scenario was read from, as messages name it.
	File string `json:"-"`
	// Objects is the whole flow-control configuration: the base, replaced and extended by the
	// objects of spec.config, and the mandatory objects if they are missing.
	Objects config.Objects `json:"-"`
	// Warnings are about what is valid but probably not intended.
	Warnings document.Errors `json:"-"`
	// Notes say what was skipped in the files of flow-control objects, and what is outdated there.
	Notes document.Errors `json:"-"`
	// Inputs are the files that all this was read from.
	Inputs []Input `json:"-"`
	// Document is what the scenario was decoded from.
	Document *document.Document `json:"-"`
	// Reread reads the scenario again, with the same options, and with these values of the fields of Metadata.Unknowns, in
	// the order of their paths. A field that an option assigns to keeps that value.
	Reread func(values []string) (*Scenario, document.Errors) `json:"-"`
}

// Input is a file that a scenario was read from.
type Input struct {
	Name string // as the scenario or the option calls it, wherever they are
	Path string
	// Host says that Path is a file of the host, or "-" for standard input, and not a file of the library.
	Host bool
	// SHA256 returns the SHA-256 sum of what was read, in hexadecimal digits. A trace, which is
	// too long to be kept, is read again for it; the error then says that it has changed, or why
	// it cannot be read.
	SHA256 func() (string, error)
}

// Metadata names a scenario, and says where it comes from.
type Metadata struct {
	Name        string `json:"name" document:"required" jsonschema:"pattern=^[a-z0-9]([-a-z0-9]*[a-z0-9])?$,maxLength=63" jsonschema_description:"Lower-case letters, digits and dashes; the name of the folder of the results."`
	Description string `json:"description,omitempty"`

	Source   *Source  `json:"source,omitempty" jsonschema_description:"The publication that the scenario reproduces."`
	Figures  []Figure `json:"figures,omitempty" jsonschema_description:"The published numbers, and the statistics that reproduce them."`
	Unknowns Unknowns `json:"unknowns,omitempty" jsonschema_description:"What the source does not say: the distribution of the value of a field, by the path of the field. Each of several replications draws it; a single run has what the field says."`
	// Calibration has the paths of the fields.
	Calibration   map[string]string `json:"calibration,omitempty" jsonschema_description:"Which fields were chosen so that a published number comes out, and how."`
	NotReproduced string            `json:"notReproduced,omitempty" jsonschema_description:"What of the source the scenario does not reproduce, and why."`

	Truth *Truth `json:"truth,omitempty" jsonschema_description:"What is known to be right about the scenario, for tests of verdicts. A run does not depend on it."`

	Controls []Control `json:"controls,omitempty" jsonschema_description:"Settings that the playground lets its readers move. A run does not depend on them."`
}

// Spec is the content of a scenario.
type Spec struct {
	Seed         uint64            `json:"seed,omitempty" also:"randomSeed" jsonschema:"default=1" jsonschema_description:"Every random stream is derived from it."`
	Replications int               `json:"replications,omitempty" also:"runs,repetitions" jsonschema:"default=1,minimum=1,maximum=100000" message:"{value}: want from {want}" jsonschema_description:"Number of independent runs; their seeds count up from seed."`
	Duration     quantity.Duration `json:"duration" also:"length,runtime" document:"required" jsonschema:"exclusiveMinimum=0s" jsonschema_description:"Length of the run in virtual time."`
	Warmup       Warmup            `json:"warmup,omitempty" jsonschema_description:"Time at the beginning that is not in the statistics; with auto, MSER-5 chooses it from the first runs."`
	Servers      Servers           `json:"servers,omitempty" also:"server,apiServer"`
	Config       Config            `json:"config,omitempty" also:"configuration"`
	Store        *server.Store     `json:"store,omitempty" jsonschema_description:"The store of the servers: with it, what a request costs and is answered follows from what it asks for; without it, the numbers of objects are constant."`
	Events       []Event           `json:"events,omitempty" jsonschema_description:"Changes of the configuration during the run, in order of time."`
	Resources    []Resource        `json:"resources,omitempty" also:"objects" jsonschema_description:"What the servers store, for the estimate of how many seats a list takes."`
	// AllowUnknownResources permits resources that no server has, which are misspelt ones in most cases.
	AllowUnknownResources bool `json:"allowUnknownResources,omitempty" jsonschema_description:"Permits resources that no server has in their group. Without it they are errors, as most are misspelt."`

	Workload   []workload.Workload `json:"workload" also:"workloads,clients" document:"required" jsonschema:"minItems=1"`
	Thresholds metric.Thresholds   `json:"thresholds,omitempty" also:"goals,assertions"`
}

// Resource is how much of one resource the servers store.
type Resource struct {
	Group        string `json:"group,omitempty" also:"apiGroup" jsonschema_description:"Empty for the core group."`
	Resource     string `json:"resource" document:"required"`
	Objects      int64  `json:"objects" also:"count,number" document:"required" jsonschema:"minimum=0" message:"{value} is negative"`
	AverageBytes int64  `json:"averageBytes,omitempty" also:"bytes,size,averageSize" jsonschema:"minimum=0" message:"{value} is negative" jsonschema_description:"Size of one object; 0 when unknown."`
}

// name writes the resource like deployments.apps.
func (r *Resource) name() string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}

// Counts returns what the servers store at the start.
func (s *Spec) Counts() []store.Count {
	counts := make([]store.Count, len(s.Resources))
	for i, r := range s.Resources {
		counts[i] = store.Count{Resource: estimate.Resource{Group: r.Group, Name: r.Resource}, Objects: r.Objects, AverageBytes: r.AverageBytes}
	}
	return counts
}

// EndNs returns when a workload sends its last request, in nanoseconds from the start of the run.
func (s *Spec) EndNs(w *workload.Workload) int64 { return w.EndNs(s.Duration) }
