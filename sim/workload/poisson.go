package workload

import (
	"apfsim/document"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// SteadyArrivals are an open loop whose rate does not change. They are given as the rate of each client, or in total as that
// of all clients together.
type SteadyArrivals struct {
	Rate  quantity.Rate `json:"rate,omitempty" jsonschema:"exclusiveMinimum=0/s" jsonschema_description:"Of each client."`
	Total quantity.Rate `json:"total,omitempty" jsonschema:"exclusiveMinimum=0/s" jsonschema_description:"Of all clients together, in the place of rate."`
}

var steadyRates = document.FieldNames[SteadyArrivals]()

// UnmarshalDocument implements document.Unmarshaler.
func (s *SteadyArrivals) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain SteadyArrivals
	d.DecodeOneOf(n, path, steadyRates, (*plain)(s))
}

// divide replaces the total by the rate of each client.
func (s *SteadyArrivals) divide(clients int) {
	if s != nil && s.Total > 0 {
		s.Rate, s.Total = s.Total/quantity.Rate(max(1, clients)), 0
	}
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
