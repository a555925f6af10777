package network

import "apfsim/sim/quantity"

// The policies of a load balancer.
const (
	Random           = "Random"
	RoundRobin       = "RoundRobin"
	LeastConnections = "LeastConnections"
)

// LoadBalancer chooses the server of each connection.
type LoadBalancer struct {
	Policy string `json:"policy,omitempty" jsonschema:"enum=Random,enum=RoundRobin,enum=LeastConnections,default=Random"`
	Probe  *Probe `json:"probe,omitempty" jsonschema_description:"How it finds out which servers are ready; without it, it does not, and chooses among all."`

	Readiness bool `json:"readiness,omitempty" jsonschema_description:"It chooses among the servers whose pods are ready, as a Service in front of the pods of servers does: by servers.probes.readiness, and without probes of its own."`
}

// Probe is a load balancer's health check.
type Probe struct {
	Path      string            `json:"path,omitempty" jsonschema:"enum=/readyz,enum=/healthz,enum=/livez,default=/readyz" jsonschema_description:"/healthz and /livez stay healthy while a server stops, until it no longer listens."`
	Interval  quantity.Duration `json:"interval,omitempty" jsonschema:"default=10s,exclusiveMinimum=0s"`
	Failures  int               `json:"failures,omitempty" jsonschema:"default=2,minimum=1" document:"maximum=32767" jsonschema_description:"Probes in a row that must fail before the server gets no more connections."`
	Successes int               `json:"successes,omitempty" jsonschema:"default=2,minimum=1" document:"maximum=32767" jsonschema_description:"Probes in a row that must succeed before it gets connections again."`
}

// The kinds of connections of a workload's clients.
const (
	HTTP2      = "HTTP2"
	PerRequest = "PerRequest"
)

// Between the clients of a workload and the servers.
const (
	ThroughLoadBalancer = "LoadBalancer"
	ThroughService      = "Service" // kubernetes, to whose endpoints kube-proxy connects clients in the cluster
)
