package machine

import (
	"apfsim/document"
	"apfsim/sim/quantity"
)

// Capacity says how fast a server executes requests, or etcd transactions. With n requests in service, each progresses
// at the speed
//
//	v(n) = s · min(1, c/n) / (1 + σ·(n-1) + κ·n·(n-1))
//
// of a request that is alone on an idle server, which is the Universal Scalability Law (Gunther,
// "Guerrilla Capacity Planning", 2007). Without cores, min(1, c/n) is 1.
type Capacity struct {
	Cores      float64 `json:"cores,omitempty" jsonschema:"minimum=0" document:"maximum=1e6" jsonschema_description:"c: requests that are in service without slowing each other; without it there is no bound."`
	Contention float64 `json:"contention,omitempty" jsonschema:"minimum=0" document:"maximum=1e6" jsonschema_description:"σ: the part of the work that only one request at a time can do."`
	Coherency  float64 `json:"coherency,omitempty" jsonschema:"minimum=0" document:"maximum=1e6" jsonschema_description:"κ: what each pair of requests costs; above 0, throughput falls when more requests are in service."`
	Speed      []Speed `json:"speed,omitempty" jsonschema_description:"s: factors of the speed over time, in order of time; 1 before the first."`

	WatchEvent   quantity.Duration `json:"watchEvent,omitempty" jsonschema_description:"Time of one core that sending one event to one watcher takes; a write sends one to each open watch of its resource."`
	Measured     int               `json:"measured,omitempty" jsonschema:"minimum=0" jsonschema_description:"Requests at a time up to which the capacity was measured; a run that executes more on average has a warning. Without it there is none."`
	MinimumCores float64           `json:"minimumCores,omitempty" jsonschema:"minimum=0" document:"maximum=1e6" jsonschema_description:"Cores that are left to requests however many events are sent; without it a tenth of cores."`
}

// Speed is a factor of the speed from a time on.
type Speed struct {
	At     quantity.Duration `json:"at" document:"required" jsonschema_description:"From the start of the run."`
	Factor float64           `json:"factor" document:"required,maximum=1e6" jsonschema:"exclusiveMinimum=0" message:"{value}: want {want}; to take a server away, use stop or crash"`
}

// Check checks the capacity at path.
func (c *Capacity) Check(to *document.Checker, path string) {
	if c.MinimumCores > 0 && c.MinimumCores > c.Cores {
		to.Fail(path+".minimumCores", "%v: want at most cores, %v", c.MinimumCores, c.Cores)
	}
	if c.WatchEvent > 0 && c.Cores == 0 {
		to.Fail(path+".watchEvent", "needs cores, which the events take away from requests")
	}
	last := quantity.Duration(-1)
	for i, s := range c.Speed {
		at := document.Index(path+".speed", i)
		if s.At <= last {
			to.Fail(at+".at", "%v: want more than that of the one before, %v", s.At, last)
		}
		last = s.At
	}
}
