package scenario

import (
	"apfsim/document"
	"apfsim/sim/quantity"
)

// ServerChange is the effect of an event on servers, apart from their configuration: exactly one field
// is given.
type ServerChange struct {
	Rollout *Rollout     `json:"rollout,omitempty" jsonschema_description:"Restarts the servers one after another."`
	Stop    *Target      `json:"stop,omitempty" jsonschema_description:"Stops a server in order, as SIGTERM does."`
	Start   *Target      `json:"start,omitempty" jsonschema_description:"Starts a server that is stopped or crashed."`
	Crash   *Target      `json:"crash,omitempty" jsonschema_description:"Ends the process of a server at once; the kernel resets its connections."`
	Lose    *Target      `json:"lose,omitempty" jsonschema_description:"Takes the node of a server away: its connections are silent."`
	Speed   *SpeedChange `json:"speed,omitempty" jsonschema_description:"Changes the speed of a server with a capacity."`
}

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

// IsSet says whether the change has a field.
func (c *ServerChange) IsSet() bool { return *c != ServerChange{} }

// check checks the change that an event at path makes of so many servers.
func (c *ServerChange) check(to *document.Checker, path string, servers int, capacity bool) {
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
