package workload

import (
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// ConstantArrivals are 1/rate apart.
type ConstantArrivals struct {
	Rate quantity.Rate `json:"rate" document:"required" jsonschema:"exclusiveMinimum=0/s"`
}

// PoissonArrivals are apart by exponentially distributed times with mean 1/rate.
type PoissonArrivals struct {
	Rate quantity.Rate `json:"rate" document:"required" jsonschema:"exclusiveMinimum=0/s"`
}

// Poisson is a Poisson process of constant rate.
type poissonProcess struct {
	random random.Stream
	meanNs float64 // between arrivals
	at     float64
}

// Next returns the time of the next arrival, in nanoseconds. There is always one.
func (p *poissonProcess) Next() (float64, bool) {
	p.at += p.random.ExpFloat64() * p.meanNs
	return p.at, true
}
