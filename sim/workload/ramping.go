package workload

import (
	"math"

	"apfsim/document"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// RampingArrivals change their rate: linearly over each stage, from the rate before it to
// its own; the last rate then holds.
type RampingArrivals struct {
	Process   string        `json:"process,omitempty" jsonschema:"enum=poisson,enum=constant,default=poisson"`
	StartRate quantity.Rate `json:"startRate,omitempty" jsonschema_description:"The rate before the first stage."`
	Stages    []Stage       `json:"stages" document:"required" jsonschema:"minItems=1"`
}

// Processes of RampingArrivals.
const (
	ProcessConstant = "constant"
	ProcessPoisson  = "poisson"
)

// Stage is a part of RampingArrivals. A duration of 0 makes the rate jump.
type Stage struct {
	Duration quantity.Duration `json:"duration" document:"required"`
	Rate     quantity.Rate     `json:"rate" document:"required" jsonschema_description:"The rate at the stage's end."`
}

func (c *checker) ramping(path string, r *RampingArrivals) {
	if len(r.Stages) == 0 {
		c.Fail(path+".stages", "is empty: want one stage at least")
	}
	most, sum := r.StartRate, quantity.Duration(0)
	for i := range r.Stages {
		most = max(most, r.Stages[i].Rate)
		// Summed up stage by stage, so that it cannot overflow.
		if sum += r.Stages[i].Duration; sum > quantity.Longest {
			c.Fail(document.Index(path+".stages", i)+".duration", "the stages take more than a hundred years")
			return
		}
	}
	if most <= 0 && len(r.Stages) > 0 {
		c.Fail(path+".stages", "no stage has a rate above 0/s")
	}
}

// expected returns the integral of the rate over the first seconds.
func (r *RampingArrivals) expected(seconds float64) float64 {
	n, rate := 0.0, float64(r.StartRate)
	for _, stage := range r.Stages {
		length := float64(stage.Duration) / 1e9
		if length >= seconds {
			end := rate
			if length > 0 {
				end += (float64(stage.Rate) - rate) * seconds / length
			}
			return n + (rate+end)/2*seconds
		}
		n += (rate + float64(stage.Rate)) / 2 * length
		seconds -= length
		rate = float64(stage.Rate)
	}
	return n + rate*seconds
}

// ramping has a rate that changes linearly within stages and stays at the last one's. It
// yields the times at which the expected number of arrivals, the integral of the rate,
// reaches certain levels: those at distances of 1 make a constant process, those at
// exponential distances a Poisson process of that rate (Çinlar, "Introduction to
// Stochastic Processes", 1975).
type ramping struct {
	random  random.Stream
	poisson bool
	level   float64 // of the next arrival
	stages  []Stage

	begin    float64 // of the present stage, in ns
	expected float64 // arrivals expected before it
	rate     float64 // at its beginning, per ns
}

func (p *ramping) Next() (float64, bool) {
	for len(p.stages) > 0 {
		s := p.stages[0]
		length, end := float64(s.Duration), float64(s.Rate)/second
		inStage := (p.rate + end) / 2 * length
		if p.level < p.expected+inStage {
			return p.take(p.begin + invert(p.level-p.expected, p.rate, (end-p.rate)/length))
		}
		p.expected += inStage
		p.begin += length
		p.rate = end
		p.stages = p.stages[1:]
	}
	if p.rate == 0 {
		return never, false
	}
	return p.take(p.begin + (p.level-p.expected)/p.rate)
}

func (p *ramping) take(at float64) (float64, bool) {
	if p.poisson {
		p.level += p.random.ExpFloat64()
	} else {
		p.level++
	}
	return at, true
}

// invert returns the t ≥ 0 at which rate·t + slope·t²/2 reaches n, in the form that loses
// no digits when the slope is small.
func invert(n, rate, slope float64) float64 {
	if n == 0 {
		return 0 // with a rate of 0, too, where the form has no value
	}
	return 2 * n / (rate + math.Sqrt(max(0, rate*rate+2*slope*n)))
}
