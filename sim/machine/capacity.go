package machine

import (
	"math"

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

	Calibrated *Calibration `json:"calibrated,omitempty" jsonschema_description:"With which request the capacity was measured. A run does not depend on it; apfsim import --fit keeps the throughput of that request."`

	WatchEvent   quantity.Duration `json:"watchEvent,omitempty" jsonschema_description:"Time of one core that sending one event to one watcher takes; a write sends one to each open watch of its resource."`
	Measured     int               `json:"measured,omitempty" jsonschema:"minimum=0" jsonschema_description:"Requests at a time up to which executions were measured; a run in which more execute says so. Alone, it says that the capacity is unknown, and executions take as long as without it."`
	Average      float64           `json:"average,omitempty" jsonschema:"minimum=0" jsonschema_description:"Requests that executed at a time on average when executions were measured whose capacity is unknown; a run in which more execute says so."`
	Interval     *Interval         `json:"interval,omitempty" jsonschema_description:"What the capacity is known to: bounds of its 95 % intervals. The statistics of a run do not depend on it: apfsim run shows what they are with both ends, and apfsim tune repeats its answer with them."`
	MinimumCores float64           `json:"minimumCores,omitempty" jsonschema:"minimum=0" document:"maximum=1e6" jsonschema_description:"Cores that are left to requests however many events are sent; without it a tenth of cores."`
}

// Calibration is the request with which a capacity was measured, and how long it executed alone on the server. What was measured is a throughput, c/demand
// with cores alone. Where the same request takes longer alone, as on a machine whose processors sleep between requests, more cores are the same
// throughput.
type Calibration struct {
	Verb        string            `json:"verb" document:"required"`
	Group       string            `json:"group,omitempty"`
	Resource    string            `json:"resource" document:"required"`
	Subresource string            `json:"subresource,omitempty"`
	Namespace   string            `json:"namespace,omitempty"`
	Name        string            `json:"name,omitempty"`
	Demand      quantity.Duration `json:"demand" document:"required" jsonschema:"exclusiveMinimum=0s" jsonschema_description:"How long it executes alone on the server."`
}

// Interval is the 95 % confidence interval of each parameter of a measured capacity. A parameter without bounds is
// exact.
type Interval struct {
	Cores      *Bounds `json:"cores,omitempty"`
	Contention *Bounds `json:"contention,omitempty"`
	Coherency  *Bounds `json:"coherency,omitempty"`
}

// Bounds are the ends of a 95 % confidence interval.
type Bounds struct {
	Low  float64  `json:"low,omitempty" jsonschema:"minimum=0" document:"maximum=1e6"`
	High *float64 `json:"high,omitempty" jsonschema:"minimum=0" document:"maximum=1e6" jsonschema_description:"Without it there is no upper bound."`
}

// Bounds returns the least and the greatest capacity of the interval, or nil if there is no interval. There is no greatest one without an upper bound if
// events of watches take cores, because they would cost nothing. Their speeds enclose
// those of all capacities of the interval, with however many requests. Without an upper bound of the contention or of the
// coherency, the least capacity has the value of c.
func (c *Capacity) Bounds() (least, greatest *Capacity) {
	if c.Interval == nil {
		return nil, nil
	}
	low, high := *c, *c
	low.Interval, high.Interval = nil, nil
	if b := c.Interval.Cores; b != nil {
		low.Cores, high.Cores = b.Low, 0 // no bound
		if b.High != nil {
			high.Cores = *b.High
		}
	}
	for _, p := range []struct {
		bounds    *Bounds
		low, high *float64
	}{{c.Interval.Contention, &low.Contention, &high.Contention}, {c.Interval.Coherency, &low.Coherency, &high.Coherency}} {
		if p.bounds == nil {
			continue
		}
		*p.high = p.bounds.Low
		if p.bounds.High != nil {
			*p.low = *p.bounds.High
		}
	}
	if high.Cores == 0 && c.WatchEvent > 0 {
		return &low, nil
	}
	return &low, &high
}

// check checks that the interval of a parameter contains its value.
func (b *Bounds) check(to *document.Checker, at string, value float64) {
	switch {
	case b == nil:
	case b.High != nil && *b.High < b.Low:
		to.Fail(at+".high", "%v: want at least low, %v", *b.High, b.Low)
	case math.IsInf(value, 1) && b.High != nil:
		to.Fail(at, "does not contain the value, no bound; want none if it is not the interval of this capacity")
	case value < b.Low || b.High != nil && value > *b.High:
		to.Fail(at, "does not contain the value, %v; want none if it is not the interval of this capacity", value)
	}
}

// Speed is a factor of the speed from a time on.
type Speed struct {
	At     quantity.Duration `json:"at" document:"required" jsonschema_description:"From the start of the run."`
	Factor float64           `json:"factor" document:"required,maximum=1e6" jsonschema:"exclusiveMinimum=0" message:"{value}: want {want}; to take a server away, use stop or crash"`
}

// IsSet says whether servers have a capacity. One that only says with how many requests executions were measured is unknown, and
// changes nothing.
func (c *Capacity) IsSet() bool {
	return c != nil && (c.Measured == 0 && c.Average == 0 || c.Cores != 0 || c.Contention != 0 || c.Coherency != 0 || c.Speed != nil || c.WatchEvent != 0)
}

// Check checks the capacity at path.
func (c *Capacity) Check(to *document.Checker, path string) {
	if c.Average > 0 && (c.Cores != 0 || c.Contention != 0 || c.Coherency != 0) {
		to.Fail(path+".average", "is of executions whose capacity is unknown; want none beside cores, contention or coherency")
	}
	if c.MinimumCores > 0 && c.MinimumCores > c.Cores {
		to.Fail(path+".minimumCores", "%v: want at most cores, %v", c.MinimumCores, c.Cores)
	}
	if c.WatchEvent > 0 && c.Cores == 0 {
		to.Fail(path+".watchEvent", "needs cores, which the events take away from requests")
	}
	if c.Calibrated != nil && c.Cores == 0 {
		to.Fail(path+".calibrated", "needs cores, which were measured with that request; set cores, or leave calibrated out")
	}
	if i := c.Interval; i != nil {
		cores := c.Cores
		if cores == 0 {
			cores = math.Inf(1) // no bound
		}
		i.Cores.check(to, path+".interval.cores", cores)
		i.Contention.check(to, path+".interval.contention", c.Contention)
		i.Coherency.check(to, path+".interval.coherency", c.Coherency)
		if i.Cores != nil && i.Cores.Low == 0 {
			to.Fail(path+".interval.cores.low", "0: want more than 0")
		}
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
