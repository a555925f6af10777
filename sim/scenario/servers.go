package scenario

import (
	"fmt"
	"maps"
	"slices"

	"apfsim/core/maintain"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/sim/machine"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario/cluster"

	"github.com/invopop/jsonschema"
)

// Ways in which a server limits its requests.
const (
	PriorityAndFairness = "PriorityAndFairness"
	MaxInFlight         = "MaxInFlight"
	NoFlowControl       = "None"
)

// MostReplicas bounds the number of servers of a run.
const MostReplicas = 100

// Servers configures the simulated API servers, which are all the same but for their releases.
type Servers struct {
	Replicas                    int               `json:"replicas,omitempty" also:"count,instances" jsonschema:"default=1,minimum=1,maximum=100" jsonschema_description:"Number of servers, each with queues and seats of its own."`
	KubernetesVersion           Versions          `json:"kubernetesVersion,omitempty" also:"version,release,k8sVersion"`
	FeatureGates                FeatureGates      `json:"featureGates,omitempty" also:"gates"`
	MaxRequestsInflight         int               `json:"maxRequestsInflight,omitempty" also:"maxInflight" jsonschema:"default=400,minimum=0" document:"maximum=1073741823" jsonschema_description:"--max-requests-inflight; PriorityAndFairness limits by its sum with maxMutatingRequestsInflight."`
	MaxMutatingRequestsInflight int               `json:"maxMutatingRequestsInflight,omitempty" also:"maxMutatingInflight" jsonschema:"default=200,minimum=0" document:"maximum=1073741823" jsonschema_description:"--max-mutating-requests-inflight."`
	RequestTimeout              quantity.Duration `json:"requestTimeout,omitempty" also:"timeout" jsonschema:"default=60s,exclusiveMinimum=0s" jsonschema_description:"--request-timeout; a request waits a quarter of it at most."`
	FlowControl                 string            `json:"flowControl,omitempty" jsonschema:"enum=PriorityAndFairness,enum=MaxInFlight,enum=None,default=PriorityAndFairness"`

	AdjustmentPhase AdjustmentPhase `json:"adjustmentPhase,omitempty"`

	Capacity     *machine.Capacity     `json:"capacity,omitempty" jsonschema_description:"How fast a server executes; without it, executions take as long as the workload says however many there are."`
	Memory       *cluster.Memory       `json:"memory,omitempty" jsonschema_description:"The memory of a server."`
	Handover     quantity.Distribution `json:"handover,omitempty" jsonschema_description:"How long a request has its seats before its execution begins; without it 0s."`
	LoadBalancer *cluster.LoadBalancer `json:"loadBalancer,omitempty" jsonschema_description:"What chooses the server of each connection; without it, at random among the servers that listen."`
	GoawayChance float64               `json:"goawayChance,omitempty" jsonschema:"minimum=0,maximum=0.02" message:"{value}: want {want}, as kube-apiserver accepts" jsonschema_description:"--goaway-chance: the probability that a request makes its client connect anew."`
	Shutdown     cluster.Shutdown      `json:"shutdown,omitempty" jsonschema_description:"How a server stops."`
	Startup      cluster.Startup       `json:"startup,omitempty" jsonschema_description:"How a server starts."`
	Maintenance  bool                  `json:"maintenance,omitempty" jsonschema_description:"Every server maintains the flow-control objects, each minute from its own start; events with apply are an operator's writes."`

	MaintenancePhases []quantity.Duration `json:"maintenancePhases,omitempty" jsonschema_description:"For each server, when it first maintains the objects, less than 1m; without it, the servers are evenly spread over the minute."`
}

// MaintenancePhaseNs returns when a server that is there from the beginning first maintains the
// flow-control objects. Such servers have started at different times before the run; as these are not
// known, they are evenly spread over the minute.
func (s *Servers) MaintenancePhaseNs(server int) int64 {
	if len(s.MaintenancePhases) > 0 {
		return int64(s.MaintenancePhases[server])
	}
	return int64(server) * maintain.PeriodNs / int64(s.Replicas)
}

// Releases returns the releases of the servers at the start, by their index.
func (s *Servers) Releases() (versions []string) {
	if len(s.KubernetesVersion) == 0 { // of a scenario that has not been loaded
		return nil
	}
	for i := range s.Replicas {
		versions = append(versions, string(s.KubernetesVersion.At(i)))
	}
	return versions
}

// Rules returns the rules by which the first server decides, see RulesFor.
func (s *Servers) Rules() (*rules.Rules, error) { return s.RulesFor(s.KubernetesVersion.At(0)) }

// RulesFor returns the rules by which servers of a release decide, with the feature
// gates set. The error says that the release is not supported, or which gate it does not have; a
// valid scenario has none.
func (s *Servers) RulesFor(version Version) (*rules.Rules, error) {
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
// "1.26.8". A file may also name it as kubectl prints it, see rules.Canonical.
type Version string

// UnmarshalDocument implements document.Unmarshaler. A release without quotes is a number in YAML,
// and is taken as it is written, so that 1.20 is not 1.2.
func (v *Version) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	if n.Kind != document.String && n.Kind != document.Number {
		d.Fail(n, path, "is %v; want a version of Kubernetes, such as %q", n.Kind, rules.Latest().Version)
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

// JSONSchema describes the type.
func (Versions) JSONSchema() *jsonschema.Schema {
	one := Version("").JSONSchema()
	each := *one
	each.Default, each.Examples = nil, nil
	least := uint64(1)
	return &jsonschema.Schema{
		OneOf:       []*jsonschema.Schema{one, {Type: "array", Items: &each, MinItems: &least}},
		Default:     one.Default,
		Description: "Release of all servers, or a list with one for each.",
	}
}

// JSONSchema describes the type.
func (Version) JSONSchema() *jsonschema.Schema {
	releases := rules.Versions()
	return &jsonschema.Schema{
		Type:     "string",
		Pattern:  `^v?1\.[1-9][0-9]*(\.(0|[1-9][0-9]*))?([-+].*)?$`,
		Default:  rules.Latest().Version,
		Examples: []any{releases[len(releases)-1], releases[0]},
		Description: fmt.Sprintf("Release of the servers: a minor release from %s to %s, which stands for its newest patch release, or a patch release; also as kubectl prints it, such as v1.33.4-gke.100.",
			releases[0], releases[len(releases)-1]),
	}
}

func (c *checker) servers() {
	s := &c.scenario.Spec.Servers
	if n := len(s.KubernetesVersion); n != 1 && n != s.Replicas {
		c.Fail("spec.servers.kubernetesVersion", "has %d releases for %d servers; want one for all, or one for each", n, s.Replicas)
	}
	for i, version := range s.KubernetesVersion {
		path := "spec.servers.kubernetesVersion"
		if len(s.KubernetesVersion) > 1 {
			path = document.Index(path, i)
		}
		c.release(path, version)
	}
	if s.FlowControl == PriorityAndFairness && s.MaxRequestsInflight == 0 && s.MaxMutatingRequestsInflight == 0 {
		c.Fail("spec.servers.maxRequestsInflight",
			"is 0, and so is maxMutatingRequestsInflight; want more than 0 for one of them: PriorityAndFairness divides their sum")
	}
	if s.Capacity != nil {
		s.Capacity.Check(c.Checker, "spec.servers.capacity")
	}
	if s.Memory != nil {
		s.Memory.Check(c.Checker, "spec.servers.memory")
	}
	s.Startup.Check(c.Checker, "spec.servers.startup")
	if s.Shutdown.SendRetryAfter {
		c.flag("spec.servers.shutdown.sendRetryAfter", func(r *rules.Rules) bool { return r.Server.SendRetryAfter })
	}
	if s.Shutdown.WatchTerminationGracePeriod > 0 {
		c.flag("spec.servers.shutdown.watchTerminationGracePeriod", func(r *rules.Rules) bool { return r.Server.WatchGracePeriod })
	}
	if s.Maintenance && s.FlowControl != PriorityAndFairness {
		c.Fail("spec.servers.maintenance", "needs PriorityAndFairness, whose objects are maintained")
	}
	if n := len(s.MaintenancePhases); n > 0 && !s.Maintenance {
		c.Fail("spec.servers.maintenancePhases", "needs maintenance")
	} else if n > 0 && n != s.Replicas {
		c.Fail("spec.servers.maintenancePhases", "has %d phases for %d servers; want one for each", n, s.Replicas)
	}
	for i, phase := range s.MaintenancePhases {
		if phase < 0 || phase >= maintain.PeriodNs {
			c.Fail(document.Index("spec.servers.maintenancePhases", i), "%v: want 0s to less than %v", phase, quantity.Duration(maintain.PeriodNs))
		}
	}
}

// release checks that a release is supported and has the feature gates.
func (c *checker) release(path string, version Version) {
	release, err := rules.For(document.Abridge(string(version)))
	if err != nil {
		c.Fail(path, "%v", err)
		return
	}
	for gate, on := range c.scenario.Spec.Servers.FeatureGates { // in any order, as errors are sorted by position
		if err := release.SetGate(document.Abridge(gate), on); err != nil {
			c.Fail(document.Join("spec.servers.featureGates", gate), "%v", err)
		}
	}
}

// flag checks that a server has, at some time, a release with a flag that older ones do not have.
func (c *checker) flag(path string, exists func(*rules.Rules) bool) {
	s := &c.scenario.Spec
	all := slices.Clone([]Version(s.Servers.KubernetesVersion))
	for i := range s.Events {
		if e := &s.Events[i]; e.Rollout != nil {
			all = append(all, Version(e.Rollout.KubernetesVersion))
		} else if e.Start != nil {
			all = append(all, Version(e.Start.KubernetesVersion))
		}
	}
	for _, v := range all {
		if r, err := rules.For(string(v)); err == nil && exists(r) {
			return
		}
	}
	c.Fail(path, "is a flag of servers of Kubernetes %s and later; the scenario has none of them", rules.Since(exists))
}
