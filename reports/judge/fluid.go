package judge

import (
	"math"

	"apfsim/reports/result"
)

// fluid is the work at a priority level over time, in seat-seconds. With other seats or other work, it says how much would have had
// to wait or to be rejected: a queue of a fluid, which forgets all chance.
//
// Where executions took longer than alone, because of machines, webhooks, etcd or the network, work is what it takes alone, and a
// seat does less than a second of it in a second: rate.
type fluid struct {
	before float64 // work that waited when the window began
	steps  []step
	room   float64 // work that can wait before more is rejected; +Inf if nothing was rejected
}

// step is one interval of a fluid.
type step struct {
	seconds        float64
	work           float64 // that arrived
	arrived        float64 // requests
	retries        float64 // of arrived, the part that were retries
	limit, nominal float64 // seats
	borrowed       float64 // the greatest ratio of the limit to the nominal one up to now
	rejected       float64 // work
	waiting        float64 // work, at the end
	used           float64 // seats in use, on average

	rate float64            // work that a seat does in a second
	lost [lostParts]float64 // parts of the time of seats in which they do no work
}

// lostPart is a reason why a seat does less work than it could.
type lostPart int

const (
	lostCalls   lostPart = iota // webhooks and aggregated servers
	lostSpeed                   // machines were slow by themselves
	lostSharing                 // requests shared the processor
	lostEtcd                    // calls to etcd hindered each other
	lostSending                 // answers shared the network
	lostParts
)

// lostLeast is the part of the time of its seats from which on it matters what a level loses.
const lostLeast = 0.05

// newFluid returns the work of a level, whose flows asked for so many seat-seconds.
func (d *diagnosis) newFluid(points []result.Point, queues bool, e *result.LevelEvidence, demand float64) *fluid {
	f := &fluid{room: math.Inf(1)}
	aloneSeconds, slow := d.aloneSeconds(e)
	left, most, rejected, borrowed := 0.0, 0.0, int64(0), 1.0
	for i := range points {
		p := &points[i]
		// What is left of requests that execute is half of them, on average.
		waiting := 0.0
		if p.WaitingSeats > 0 {
			waiting = p.LeftSeatSeconds * p.WaitingSeats / (p.WaitingSeats + p.SeatsInUse/2)
		}
		if slow {
			waiting = p.WaitingRequests * aloneSeconds
		}
		before := left
		left = p.LeftSeatSeconds
		if p.EndNs <= d.Summary.WarmupNs {
			f.before = waiting
			continue
		}
		if p.NominalLimit >= 1 {
			borrowed = max(borrowed, p.CurrentLimit/p.NominalLimit)
		}
		s := step{seconds: p.Seconds(), work: max(0, p.AskedSeatSeconds-before), limit: p.CurrentLimit, nominal: p.NominalLimit,
			borrowed: borrowed, waiting: waiting, used: p.SeatsInUse, arrived: float64(p.Arrived), rate: 1}
		if n := p.RejectedTotal(); n > 0 {
			s.rejected = max(0, p.AskedSeatSeconds-p.SeatsInUse*s.seconds-left)
			if slow {
				s.rejected = float64(n) * aloneSeconds
			}
			rejected += n
		}
		if e != nil && i < len(e.Steps) && p.Arrived > 0 {
			s.retries = min(1, float64(e.Steps[i].Retries)/float64(p.Arrived))
		}
		if slow {
			s.work = s.arrived * aloneSeconds
			if i < len(e.Steps) && e.Steps[i].Spent.TotalNs > 0 {
				d.lose(&s, &e.Steps[i].Spent, d.factorAt(i))
			} else if n := len(f.steps); n > 0 {
				s.rate, s.lost = f.steps[n-1].rate, f.steps[n-1].lost
			}
		}
		most = max(most, waiting)
		f.steps = append(f.steps, s)
	}
	if !slow {
		f.correct(demand)
	}
	if rejected > 0 {
		f.room = 0
		if queues {
			f.room = most
		}
	}
	return f
}

// lost returns the parts of the execution time that were lost, by reason. The machines were factor times as fast as
// usual.
func (d *diagnosis) lost(spent *result.Spent, factor float64) (lost [lostParts]float64) {
	if spent.TotalNs <= 0 {
		return lost
	}
	bySpeed := min(spent.SlowNs, spent.ServedNs*max(0, 1-factor))
	lost[lostCalls] = spent.CallsNs / spent.TotalNs
	lost[lostSpeed], lost[lostSharing] = bySpeed/spent.TotalNs, (spent.SlowNs-bySpeed)/spent.TotalNs
	lost[lostSending] = spent.SlowSentNs / spent.TotalNs
	if e := d.Evidence; e.EtcdTookNs > e.EtcdAloneNs {
		lost[lostEtcd] = spent.StoredNs / spent.TotalNs * (1 - float64(e.EtcdAloneNs)/float64(e.EtcdTookNs))
	}
	return lost
}

// lose notes what a level lost in an interval.
func (d *diagnosis) lose(s *step, spent *result.Spent, factor float64) {
	s.lost = d.lost(spent, factor)
	for _, part := range s.lost {
		s.rate -= part
	}
	s.rate = max(s.rate, 1e-4)
}

// aloneSeconds returns the seat-seconds that a request of a level takes alone on average, and whether requests took longer than that.
func (d *diagnosis) aloneSeconds(e *result.LevelEvidence) (seconds float64, slow bool) {
	if e == nil || e.Executed == 0 {
		return 0, false
	}
	lost := 0.0
	for _, part := range d.lost(&e.Spent, 1) {
		lost += part
	}
	return e.Spent.TotalNs * max(1-lost, 1e-4) / float64(e.Executed) / 1e9, lost >= lostLeast
}

// factorAt returns the speed of the machines themselves in an interval of the series, weighted with the requests in service.
func (d *diagnosis) factorAt(i int) float64 {
	sum, n := 0.0, 0.0
	for _, s := range d.ServerSeries {
		if p := &s.Points[i]; p.InService > 0 && p.Factor > 0 {
			sum, n = sum+float64(p.InService)*p.Factor, n+float64(p.InService)
		}
	}
	if n == 0 {
		return 1
	}
	return sum / n
}

// harm is the result of a fluid: the rejected work in seat-seconds, and the waiting work in seat-seconds times seconds.
type harm struct{ over, area float64 }

// run returns the harm with a part of the work, and with seats that do other work: seats returns what they do in a second.
func (f *fluid) run(part, seats func(*step) float64) (h harm) {
	backlog := f.before
	for i := range f.steps {
		s := &f.steps[i]
		backlog = max(0, backlog+part(s)*s.work-seats(s)*s.seconds)
		if backlog > f.room {
			h.over += backlog - f.room
			backlog = f.room
		}
		h.area += backlog * s.seconds
	}
	return h
}

// correct makes the work that arrives the demand of all flows. Of requests whose executions follow from what servers do, the series
// has what was expected of them when they arrived, and the demand has what it became. If that is far from it, the work
// arrives as the requests do.
func (f *fluid) correct(demand float64) {
	work, arrived := 0.0, 0.0
	for i := range f.steps {
		work, arrived = work+f.steps[i].work, arrived+f.steps[i].arrived
	}
	if work == 0 || arrived == 0 {
		return
	}
	expected := math.Abs(demand/work-1) < 0.2
	for i := range f.steps {
		if s := &f.steps[i]; expected {
			s.work *= demand / work
		} else {
			s.work = demand * s.arrived / arrived
		}
	}
}

// work returns the work that arrived, or a part of it.
func (f *fluid) work(part func(*step) float64) (sum float64) {
	for i := range f.steps {
		sum += part(&f.steps[i]) * f.steps[i].work
	}
	return sum
}

// observed returns the harm as it was.
func (f *fluid) observed() (h harm) {
	for i := range f.steps {
		s := &f.steps[i]
		h.over += s.rejected
		h.area += s.waiting * s.seconds
	}
	return h
}

// rejectionSeconds is the wait that a rejection counts as: the longest that a request waits by default.
const rejectionSeconds = 15

// sum returns both as one number, in seat-seconds times seconds.
func (h harm) sum() float64 { return h.area + rejectionSeconds*h.over }

// relief returns which part of the harm is gone, from 0 to 1.
func (h harm) relief(without harm) float64 {
	if h.sum() <= 0 {
		return 0
	}
	return min(1, max(0, 1-without.sum()/h.sum()))
}

// workOf is what the seats of a level did in a second.
func workOf(s *step) float64 { return s.limit * s.rate }

func all(*step) float64 { return 1 }

// first is the work without retries.
func first(s *step) float64 { return 1 - s.retries }
