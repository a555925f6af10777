package scenario

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/sim/quantity"

	"github.com/invopop/jsonschema"
)

// Ways in which a server limits its requests.
const (
	PriorityAndFairness = "PriorityAndFairness"
	MaxInFlight         = "MaxInFlight"
	NoFlowControl       = "None"
)

// Servers configures the simulated API servers, which are all the same.
type Servers struct {
	Replicas                    int               `json:"replicas,omitempty" jsonschema:"enum=1,default=1" jsonschema_description:"Several replicas are not supported yet."`
	KubernetesVersion           Version           `json:"kubernetesVersion,omitempty"`
	FeatureGates                FeatureGates      `json:"featureGates,omitempty"`
	MaxRequestsInflight         int               `json:"maxRequestsInflight,omitempty" jsonschema:"default=400,minimum=0" jsonschema_description:"--max-requests-inflight; PriorityAndFairness limits by its sum with maxMutatingRequestsInflight."`
	MaxMutatingRequestsInflight int               `json:"maxMutatingRequestsInflight,omitempty" jsonschema:"default=200,minimum=0" jsonschema_description:"--max-mutating-requests-inflight."`
	RequestTimeout              quantity.Duration `json:"requestTimeout,omitempty" jsonschema:"default=60s" jsonschema_description:"--request-timeout; a request waits a quarter of it at most."`
	FlowControl                 string            `json:"flowControl,omitempty" jsonschema:"enum=PriorityAndFairness,enum=MaxInFlight,enum=None,default=PriorityAndFairness"`

	AdjustmentPhase AdjustmentPhase `json:"adjustmentPhase,omitempty"`
}

// Rules returns the rules by which the servers decide: those of their release, with the feature
// gates set. The error says that the release is not supported, or which gate it does not have; a
// valid scenario has none.
func (s *Servers) Rules() (*rules.Rules, error) {
	r, err := rules.For(document.Abridge(string(s.KubernetesVersion)))
	if err != nil {
		return nil, err
	}
	for _, gate := range slices.Sorted(maps.Keys(s.FeatureGates)) {
		if err := r.SetGate(gate, s.FeatureGates[gate]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// FeatureGates says which feature gates of a server are on and which are off; the others are as in
// its release.
type FeatureGates map[string]bool

// JSONSchema describes the type.
func (FeatureGates) JSONSchema() *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	for _, gate := range rules.Gates() {
		properties.Set(gate, &jsonschema.Schema{Type: "boolean"})
	}
	return &jsonschema.Schema{
		Type:                 "object",
		Properties:           properties,
		AdditionalProperties: jsonschema.FalseSchema,
		Description:          "--feature-gates, those on which flow control depends; each must exist in the release and not be locked.",
	}
}

// Version is a release of Kubernetes: "1.26", which stands for its newest patch release, or
// "1.26.8".
type Version string

// UnmarshalDocument implements document.Unmarshaler. A release without quotes is a number in YAML,
// and is taken as it is written, so that 1.20 is not 1.2.
func (v *Version) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	if n.Kind != document.String && n.Kind != document.Number {
		d.Fail(n, path, "is %v; want a version of Kubernetes, such as %q", n.Kind, rules.Latest().Version)
		return
	}
	*v = Version(n.Text)
}

// JSONSchema describes the type.
func (Version) JSONSchema() *jsonschema.Schema {
	releases := rules.Versions()
	return &jsonschema.Schema{
		Type:     "string",
		Pattern:  `^1\.[1-9][0-9]*(\.(0|[1-9][0-9]*))?$`,
		Default:  rules.Latest().Version,
		Examples: []any{releases[len(releases)-1], releases[0]},
		Description: fmt.Sprintf("Release of the servers: a minor release from %s to %s, which stands for its newest patch release, or a patch release.",
			releases[0], releases[len(releases)-1]),
	}
}

func (c *checker) servers() {
	s := &c.scenario.Spec.Servers
	switch {
	case s.Replicas < 1:
		c.Fail("spec.servers.replicas", "%d: want 1", s.Replicas)
	case s.Replicas > 1:
		c.Fail("spec.servers.replicas", "%d: several replicas are not supported yet; want 1", s.Replicas)
	}
	if release, err := rules.For(document.Abridge(string(s.KubernetesVersion))); err != nil {
		c.Fail("spec.servers.kubernetesVersion", "%v", err)
	} else {
		for gate, on := range s.FeatureGates { // in any order, as errors are sorted by position
			if err := release.SetGate(document.Abridge(gate), on); err != nil {
				c.Fail(document.Join("spec.servers.featureGates", gate), "%v", err)
			}
		}
	}
	c.Enum("spec.servers.flowControl", s.FlowControl, PriorityAndFairness, MaxInFlight, NoFlowControl)
	for _, limit := range []struct {
		field string
		value int
	}{{"maxRequestsInflight", s.MaxRequestsInflight}, {"maxMutatingRequestsInflight", s.MaxMutatingRequestsInflight}} {
		if limit.value < 0 || limit.value > math.MaxInt32/2 {
			c.Fail("spec.servers."+limit.field, "%d: want 0 to %d", limit.value, math.MaxInt32/2)
		}
	}
	if s.FlowControl == PriorityAndFairness && s.MaxRequestsInflight == 0 && s.MaxMutatingRequestsInflight == 0 {
		c.Fail("spec.servers.maxRequestsInflight",
			"is 0, and so is maxMutatingRequestsInflight; want more than 0 for one of them: PriorityAndFairness divides their sum")
	}
	if s.RequestTimeout <= 0 {
		c.Fail("spec.servers.requestTimeout", "want more than 0s")
	}
}
