package workload

import (
	"iter"
	"math"

	"apfsim/sim/random"
)

// Process yields the times at which one client sends a request by itself, in
// nanoseconds since its workload's start and never decreasing. After the last, and after
// the workload's end if it likes, it yields infinity. If it has searched for long, it yields a time at
// which nothing is sent, and from which it goes on: a search must not keep the event loop busy.
type Process interface {
	Next() (ns float64, sends bool)
}

var never = math.Inf(1)

// New returns an open-loop process of which nobody wants to hear after endNs, nil
// for arrivals of another kind. The process calls open for the stream it draws from. A Poisson process is
// in the room that is given.
func NewProcess(a *Arrivals, open func(*random.Stream), endNs int64, room *PoissonProcess) Process {
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
		if a.Ramping.Process == ProcessPoisson {
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

// Times yields the times at which a client of an open-loop workload sends requests by itself, in nanoseconds since the
// start of the workload and before an end: those of the client with this index of a workload of this name, in a run with
// this seed. It yields nothing for arrivals that depend on responses, or on a trace.
func ArrivalTimes(a *Arrivals, seed uint64, workload string, index int, endNs int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		p := NewProcess(a, func(s *random.Stream) { s.Open(seed, workload, index, "arrivals") }, endNs, &PoissonProcess{})
		for p != nil {
			at, sends := p.Next()
			if at >= float64(endNs) || sends && !yield(int64(at)) {
				return
			}
		}
	}
}

// Poisson is a Poisson process of constant rate.
type PoissonProcess struct {
	random random.Stream
	meanNs float64 // between arrivals
	at     float64
}

// Next returns the time of the next arrival, in nanoseconds. There is always one.
func (p *PoissonProcess) Next() (float64, bool) {
	p.at += p.random.ExpFloat64() * p.meanNs
	return p.at, true
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

// burst sends a number of requests evenly over a while, again and again.
type burst struct {
	arrivals *BurstArrivals
	sent     int // in the present burst
	bursts   int // complete
}

func (p *burst) Next() (float64, bool) {
	a := p.arrivals
	if p.sent == a.Requests {
		if a.Every == 0 {
			return never, false
		}
		p.sent = 0
		p.bursts++
	}
	at := float64(a.At) + float64(p.bursts)*float64(a.Every) + float64(a.Over)*float64(p.sent)/float64(a.Requests)
	p.sent++
	return at, true
}
