package machine

import (
	"math"

	"apfsim/document"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// Collection is garbage collection, as a program in Go does it: one is due whenever the jobs have been served so much since the last one
// began, because they allocate memory in proportion to their work. While it lasts, the jobs have half of the cores. The collector
// works on a quarter of them, and the jobs help it with about as much when they allocate (runtime/mgcpacer.go).
type Collection struct {
	Every quantity.Duration `json:"every" document:"required" jsonschema:"exclusiveMinimum=0s" jsonschema_description:"Processor time that requests are served from the beginning of a collection to that of the next one."`
	Lasts quantity.Duration `json:"lasts" document:"required" jsonschema:"exclusiveMinimum=0s" jsonschema_description:"How long one lasts."`
}

// left is the part of the cores that jobs have while garbage is collected.
const left = 0.5

// Check checks the collections at path, of a machine with so many cores.
func (c *Collection) Check(to *document.Checker, path string, cores float64) {
	if cores == 0 && !to.Failed(path) {
		to.Fail(path, "needs cores, of which the collector takes a part; set cores, or leave collection out")
	}
}

// collections are those of a machine.
type collections struct {
	every float64 // ns of demand
	lasts int64   // ns

	served float64 // since the last one began
	endNs  int64   // of the one that goes on, 0 if none does
}

func newCollections(c *Collection) *collections {
	return &collections{every: float64(c.Every), lasts: int64(c.Lasts)}
}

// due returns when the next collection begins or ends if nothing happens before. Jobs are served so much per time, together.
func (c *collections) due(nowNs int64, throughput float64) int64 {
	if c.endNs > 0 {
		return max(nowNs, c.endNs)
	}
	return nowNs + max(0, int64(min(math.Ceil((c.every-c.served)/throughput), random.LongestNs)))
}

// change begins or ends a collection that is due.
func (c *collections) change(nowNs int64) {
	if c.endNs > 0 {
		c.endNs = 0
		return
	}
	c.served = max(0, c.served-c.every)
	c.endNs = nowNs + c.lasts
}
