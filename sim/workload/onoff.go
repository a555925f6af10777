package workload

import (
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// OnOffArrivals are Poisson arrivals while a client is on, and none while it is off. A
// client begins on.
type OnOffArrivals struct {
	Rate quantity.Rate         `json:"rate" document:"required" jsonschema:"exclusiveMinimum=0/s"`
	On   quantity.Distribution `json:"on" document:"required" jsonschema_description:"How long the client sends."`
	Off  quantity.Distribution `json:"off" document:"required" jsonschema_description:"How long it then pauses."`
}

// onOff is a Poisson process that pauses. As gaps are memoryless, one that the end of an
// on period cuts off is drawn afresh when the next begins.
type onOff struct {
	random   random.Stream
	meanNs   float64
	arrivals *OnOffArrivals
	at       float64
	onUntil  float64
	end      float64
}

func (p *onOff) Next() (float64, bool) {
	for periods := 0; p.at <= p.end; periods++ {
		if periods == mostPeriods {
			return p.at, false
		}
		p.at += p.random.ExpFloat64() * p.meanNs
		if p.at < p.onUntil {
			return p.at, true
		}
		p.at = p.onUntil + float64(p.arrivals.Off.Sample(&p.random.Rand))
		p.onUntil = p.at + float64(p.arrivals.On.Sample(&p.random.Rand))
	}
	return never, false
}

// mostPeriods is how many on periods without an arrival are looked at before other events have their turn.
const mostPeriods = 1024
