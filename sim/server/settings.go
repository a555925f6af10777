package server

import (
	"maps"
	"slices"

	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/sim/machine"
	"apfsim/sim/quantity"
)

// Ways in which a server limits its requests.
const (
	PriorityAndFairness = "PriorityAndFairness"
	MaxInFlight         = "MaxInFlight"
	NoFlowControl       = "None"
)

// MostReplicas bounds the number of servers of a run.
const MostReplicas = 100

// Settings are the settings of the servers of a scenario. All servers have the same, except that their
// releases may differ.
type Settings struct {
	Replicas                    int               `json:"replicas,omitempty" also:"count,instances" jsonschema:"default=1,minimum=1,maximum=100" jsonschema_description:"Number of servers, each with queues and seats of its own."`
	KubernetesVersion           Versions          `json:"kubernetesVersion,omitempty" also:"version,release,k8sVersion"`
	FeatureGates                FeatureGates      `json:"featureGates,omitempty" also:"gates"`
	MaxRequestsInflight         int               `json:"maxRequestsInflight,omitempty" also:"maxInflight" jsonschema:"default=400,minimum=0" document:"maximum=1073741823" jsonschema_description:"--max-requests-inflight; PriorityAndFairness limits by its sum with maxMutatingRequestsInflight."`
	MaxMutatingRequestsInflight int               `json:"maxMutatingRequestsInflight,omitempty" also:"maxMutatingInflight" jsonschema:"default=200,minimum=0" document:"maximum=1073741823" jsonschema_description:"--max-mutating-requests-inflight."`
	RequestTimeout              quantity.Duration `json:"requestTimeout,omitempty" also:"timeout" jsonschema:"default=60s,exclusiveMinimum=0s" jsonschema_description:"--request-timeout; a request waits a quarter of it at most."`
	FlowControl                 string            `json:"flowControl,omitempty" jsonschema:"enum=PriorityAndFairness,enum=MaxInFlight,enum=None,default=PriorityAndFairness"`

	Seats  *Seats  `json:"seats,omitempty" jsonschema_description:"Other numbers than those by which kube-apiserver estimates the seats of requests: what-if only, as no flag sets them."`
	WhatIf *WhatIf `json:"whatIf,omitempty" jsonschema_description:"Other rules of flow control than those of any release, as have been proposed."`

	AdjustmentPhase AdjustmentPhase `json:"adjustmentPhase,omitempty"`

	Capacity *machine.Capacity     `json:"capacity,omitempty" jsonschema_description:"How fast a server executes; without it, executions take as long as the workload says however many there are."`
	Memory   *Memory               `json:"memory,omitempty" jsonschema_description:"The memory of a server."`
	Network  *Egress               `json:"network,omitempty" jsonschema_description:"The network by which answers leave a server; without it, they are sent in no time. Needs spec.store."`
	Handover quantity.Distribution `json:"handover,omitempty" jsonschema_description:"How long a request has its seats before its execution begins; without it 0s."`

	// ChangeRules, if it is not nil, changes the rules of each server before the run: with it, a program tries a rule that no
	// release has. It must be set after the scenario has been loaded. A scenario file cannot say it.
	ChangeRules func(r *rules.Rules) `json:"-"`
}

// Releases returns the releases of the servers at the start, by their index, as which they are simulated.
func (s *Settings) Releases() (versions []string) {
	if len(s.KubernetesVersion) == 0 { // of a scenario that has not been loaded
		return nil
	}
	for i := range s.Replicas {
		version := string(s.KubernetesVersion.At(i))
		if r, err := rules.For(version); err == nil {
			version = r.Version
		}
		versions = append(versions, version)
	}
	return versions
}

// Rules returns the rules by which the first server decides, see RulesFor.
func (s *Settings) Rules() (*rules.Rules, error) { return s.RulesFor(s.KubernetesVersion.At(0)) }

// RulesFor returns the rules by which servers of a release decide, with the feature
// gates set, with the Seats, with WhatIf, and with ChangeRules. The error says that the release is not supported, or which gate it does not have; a
// valid scenario has none.
func (s *Settings) RulesFor(version Version) (*rules.Rules, error) {
	r, err := s.ReleaseRules(version)
	if err != nil {
		return nil, err
	}
	s.Seats.set(r)
	s.WhatIf.set(r)
	if s.ChangeRules != nil {
		s.ChangeRules(r)
	}
	return r, nil
}

// ReleaseRules is RulesFor without the Seats, WhatIf and ChangeRules: the rules of a kube-apiserver.
func (s *Settings) ReleaseRules(version Version) (*rules.Rules, error) {
	r, err := rules.For(document.Abridge(string(version)))
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

// Version is a release of Kubernetes: "1.26", which stands for its newest patch release, or
// "1.26.8". A file may also name it as kubectl prints it, see rules.Canonical.
type Version string

// UnmarshalDocument implements document.Unmarshaler. A release without quotes is a number in YAML,
// and is taken as it is written, so that 1.20 is not 1.2.
func (v *Version) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	if n.Kind != document.String && n.Kind != document.Number {
		d.Fail(n, path, "is %v; want a version of Kubernetes, such as %q", n.Kind, rules.Default().Version)
		return
	}
	*v = Version(rules.Canonical(n.Text))
}

// Versions are the releases of the servers: one for all, or one for each.
type Versions []Version

// At returns the release of the server with an index.
func (v Versions) At(server int) Version {
	if len(v) == 1 {
		return v[0]
	}
	return v[server]
}

// UnmarshalDocument implements document.Unmarshaler.
func (v *Versions) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	if n.Kind == document.List {
		*v = nil
		type plain []Version
		d.Decode(n, path, (*plain)(v))
		return
	}
	*v = make(Versions, 1)
	d.Decode(n, path, &(*v)[0])
}
