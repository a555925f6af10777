// Package cluster has what a scenario says of its servers besides their flow control: how fast they
// are, what is between them and their clients, how they start and stop, and what happens to them
// during the run.
package cluster

import (
	"apfsim/document"
	"apfsim/sim/quantity"
)

// Memory is how much memory a server has, and what takes it. A server that needs more than the limit is
// killed.
type Memory struct {
	Limit      quantity.Bytes `json:"limit,omitempty" jsonschema_description:"Without it, memory is counted and never ends the server."`
	Base       quantity.Bytes `json:"base,omitempty" jsonschema_description:"What the server takes without requests."`
	ListFactor float64        `json:"listFactor,omitempty" jsonschema:"minimum=0" document:"maximum=1e6" jsonschema_description:"Bytes that a list takes while it executes, for each byte of its objects; without it 5 before 1.33 and 1.1 from then on."`
	Watch      quantity.Bytes `json:"watch,omitempty" jsonschema_description:"What an open watch takes; without it 75kB."`
}

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
}

// Probe is a load balancer's health check.
type Probe struct {
	Path      string            `json:"path,omitempty" jsonschema:"enum=/readyz,enum=/healthz,enum=/livez,default=/readyz" jsonschema_description:"/healthz and /livez stay healthy while a server stops, until it no longer listens."`
	Interval  quantity.Duration `json:"interval,omitempty" jsonschema:"default=10s,exclusiveMinimum=0s"`
	Failures  int               `json:"failures,omitempty" jsonschema:"default=2,minimum=1" document:"maximum=32767" jsonschema_description:"Probes in a row that must fail before the server gets no more connections."`
	Successes int               `json:"successes,omitempty" jsonschema:"default=2,minimum=1" document:"maximum=32767" jsonschema_description:"Probes in a row that must succeed before it gets connections again."`
}

// Shutdown is how a server stops. The fields are the flags of kube-apiserver, except hooks and killAfter.
type Shutdown struct {
	Delay                       quantity.Duration `json:"delay,omitempty" jsonschema_description:"--shutdown-delay-duration: the server is not ready but serves everything."`
	SendRetryAfter              bool              `json:"sendRetryAfter,omitempty" jsonschema_description:"--shutdown-send-retry-after: new requests are answered 429 instead of refused."`
	WatchTerminationGracePeriod quantity.Duration `json:"watchTerminationGracePeriod,omitempty" jsonschema_description:"--shutdown-watch-termination-grace-period: open watches are ended over this time."`
	Hooks                       quantity.Duration `json:"hooks,omitempty" jsonschema_description:"How long the hooks before the shutdown take; the server serves at least as long."`
	KillAfter                   quantity.Duration `json:"killAfter,omitempty" jsonschema_description:"When the server is killed if it has not ended, as terminationGracePeriodSeconds; without it, never."`
	WatchLeak                   int               `json:"watchLeak,omitempty" jsonschema:"minimum=0" jsonschema_description:"Watches that end at once at the begin of the grace period, before their rate is limited."`
	HookError                   bool              `json:"hookError,omitempty" jsonschema_description:"A hook before the shutdown returns an error: the process ends when the hooks are over, without waiting for anything."`
	Audit                       quantity.Duration `json:"audit,omitempty" jsonschema_description:"How long the audit backend takes to shut down, which it does when the requests in flight are over."`
}

// Startup is how a server starts.
type Startup struct {
	Duration quantity.Duration `json:"duration,omitempty" jsonschema:"default=0s" jsonschema_description:"From the start of the process, which listens at once, until /readyz succeeds."`
	Objects  quantity.Duration `json:"objects,omitempty" jsonschema_description:"From the start of the process until the flow-control objects are read; until then all requests but those of system:masters belong to catch-all."`
	Caches   quantity.Duration `json:"caches,omitempty" jsonschema_description:"From the start of the process until its watch caches are complete; until then watches are answered 429 (before 1.31 they wait), and from 1.36 on the server is not ready for up to 1m."`

	RestartAfter quantity.Duration `json:"restartAfter,omitempty" jsonschema_description:"From the end of a process that nobody has told to stop until it is started again; without it, only an event starts it."`
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

// Change is what an event does to servers besides their configuration: exactly one field is given.
type Change struct {
	Rollout *Rollout     `json:"rollout,omitempty" jsonschema_description:"Restarts the servers one after another."`
	Stop    *Target      `json:"stop,omitempty" jsonschema_description:"Stops a server in order, as SIGTERM does."`
	Start   *Target      `json:"start,omitempty" jsonschema_description:"Starts a server that is stopped or crashed."`
	Crash   *Target      `json:"crash,omitempty" jsonschema_description:"Ends the process of a server at once; the kernel resets its connections."`
	Lose    *Target      `json:"lose,omitempty" jsonschema_description:"Takes the node of a server away: its connections are silent."`
	Speed   *SpeedChange `json:"speed,omitempty" jsonschema_description:"Changes the speed of a server with a capacity."`
}

// Kinds are the names of the fields of Change.
var Kinds = []string{"rollout", "stop", "start", "crash", "lose", "speed"}

// Target is the server that an event happens to.
type Target struct {
	Server            int    `json:"server" document:"required" jsonschema:"minimum=0" jsonschema_description:"Index of the server, from 0."`
	KubernetesVersion string `json:"kubernetesVersion,omitempty" jsonschema_description:"Of start: the release of the server from then on."`
}

// Rollout restarts all servers, in the order of their indices: each stops, starts again at once when its
// process has ended, and is ready before the next one stops.
type Rollout struct {
	Interval          quantity.Duration `json:"interval,omitempty" jsonschema_description:"From the stop of a server to that of the next, at least."`
	KubernetesVersion string            `json:"kubernetesVersion,omitempty" jsonschema_description:"The release that the servers have after the restart."`
}

// SpeedChange gives a server another speed.
type SpeedChange struct {
	Server *int    `json:"server,omitempty" jsonschema_description:"Index of the server, from 0; without it, all servers."`
	Factor float64 `json:"factor" document:"required,maximum=1e6" jsonschema:"exclusiveMinimum=0" message:"{value}: want {want}; to take a server away, use stop or crash" jsonschema_description:"From then on, instead of that of the capacity."`
}

// Given says whether the change has a field.
func (c *Change) Given() bool { return *c != Change{} }

// Check checks the memory at path.
func (m *Memory) Check(to *document.Checker, path string) {
	if m.Limit > 0 && m.Base >= m.Limit {
		to.Fail(path+".base", "%d bytes: want less than limit, %d bytes", m.Base, m.Limit)
	}
}

// Check checks the startup at path.
func (s *Startup) Check(to *document.Checker, path string) {
	if s.Objects > s.Duration {
		to.Fail(path+".objects", "%v: want at most duration, %v, as a server is not ready before it has read the objects", s.Objects, s.Duration)
	}
}

// Check checks the change that an event at path makes of so many servers.
func (c *Change) Check(to *document.Checker, path string, servers int, capacity bool) {
	for _, target := range []struct {
		name string
		*Target
	}{{"stop", c.Stop}, {"start", c.Start}, {"crash", c.Crash}, {"lose", c.Lose}} {
		if target.Target == nil {
			continue
		}
		checkServer(to, path+"."+target.name+".server", target.Server, servers)
		if target.KubernetesVersion != "" && target.name != "start" {
			to.Fail(path+"."+target.name+".kubernetesVersion", "can be given with start or rollout only")
		}
	}
	if s := c.Speed; s != nil {
		if s.Server != nil {
			checkServer(to, path+".speed.server", *s.Server, servers)
		}
		if !capacity {
			to.Fail(path+".speed", "needs spec.servers.capacity; without it, executions take as long as the workload says")
		}
	}
}

// checkServer checks the index of a server.
func checkServer(to *document.Checker, path string, index, servers int) {
	if index < 0 || index >= servers {
		to.Fail(path, "%d: want an index from 0 to %d, as spec.servers.replicas is %d", index, servers-1, servers)
	}
}
