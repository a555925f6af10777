package client

import (
	"math"

	"apfsim/sim/random"
	"apfsim/sim/scenario/traffic"
)

// process yields the times at which one client sends a request by itself, in
// nanoseconds since its workload's start and never decreasing. After the last, and after
// the workload's end if it likes, it yields never.
type process interface {
	next() (ns float64)
}

var never = math.Inf(1)

const second = 1e9

// newProcess returns an open-loop process of which nobody wants to hear after endNs, nil
// for arrivals of another kind. The process calls open for the stream it draws from. A Poisson process is
// in the room that is given.
func newProcess(a *traffic.Arrivals, open func(*random.Stream), endNs int64, room *poisson) process {
	switch {
	case a.Constant != nil:
		// One unit of expected arrivals apart, beginning anywhere within the first.
		p := &ramping{rate: float64(a.Constant.Rate) / second}
		open(&p.random)
		p.level = p.random.Float64()
		return p
	case a.Poisson != nil:
		room.meanNs = second / float64(a.Poisson.Rate)
		open(&room.random)
		return room
	case a.Ramping != nil:
		p := &ramping{rate: float64(a.Ramping.StartRate) / second, stages: a.Ramping.Stages}
		open(&p.random)
		if a.Ramping.Process == traffic.ProcessPoisson {
			p.poisson, p.level = true, p.random.ExpFloat64()
		} else {
			p.level = p.random.Float64()
		}
		return p
	case a.OnOff != nil:
		p := &onOff{meanNs: second / float64(a.OnOff.Rate), arrivals: a.OnOff, end: float64(endNs)}
		open(&p.random)
		p.onUntil = float64(a.OnOff.On.Sample(&p.random.Rand))
		return p
	case a.Burst != nil:
		return &burst{arrivals: a.Burst}
	}
	return nil
}

// poisson is a Poisson process of constant rate.
type poisson struct {
	random random.Stream
	meanNs float64 // between arrivals
	at     float64
}

func (p *poisson) next() float64 {
	p.at += p.random.ExpFloat64() * p.meanNs
	return p.at
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
	stages  []traffic.Stage

	begin    float64 // of the present stage, in ns
	expected float64 // arrivals expected before it
	rate     float64 // at its beginning, per ns
}

func (p *ramping) next() float64 {
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
		return never
	}
	return p.take(p.begin + (p.level-p.expected)/p.rate)
}

func (p *ramping) take(at float64) float64 {
	if p.poisson {
		p.level += p.random.ExpFloat64()
	} else {
		p.level++
	}
	return at
}

// invert returns the t ≥ 0 at which rate·t + slope·t²/2 reaches n, in the form that loses
// no digits when the slope is small.
func invert(n, rate, slope float64) float64 {
	if n == 0 {
		return 0 // with a rate of 0, too, where the form has no value
	}
	return 2 * n / (rate + math.Sqrt(max(0, rate*rate+2*slope*n)))
}

// onOff is a Poisson process that pauses. As gaps are memoryless, one that the end of an
// on period cuts off is drawn afresh when the next begins.
type onOff struct {
	random   random.Stream
	meanNs   float64
	arrivals *traffic.OnOffArrivals
	at       float64
	onUntil  float64
	end      float64
}

func (p *onOff) next() float64 {
	for p.at <= p.end {
		p.at += p.random.ExpFloat64() * p.meanNs
		if p.at < p.onUntil {
			return p.at
		}
		p.at = p.onUntil + float64(p.arrivals.Off.Sample(&p.random.Rand))
		p.onUntil = p.at + float64(p.arrivals.On.Sample(&p.random.Rand))
	}
	return never
}

// burst sends a number of requests evenly over a while, again and again.
type burst struct {
	arrivals *traffic.BurstArrivals
	sent     int // in the present burst
	bursts   int // complete
}

func (p *burst) next() float64 {
	a := p.arrivals
	if p.sent == a.Requests {
		if a.Every == 0 {
			return never
		}
		p.sent = 0
		p.bursts++
	}
	at := float64(a.At) + float64(p.bursts)*float64(a.Every) + float64(a.Over)*float64(p.sent)/float64(a.Requests)
	p.sent++
	return at
}
