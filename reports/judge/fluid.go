package judge

import (
	"math"

	"apfsim/reports/result"
)

// fluid is the work at a priority level over time, in seat-seconds, as the series of a run has it. With other seats or
// other work, it says how much would have had to wait or to be rejected: a queue of a fluid, which forgets all chance.
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
	limit, nominal float64 // seats
	borrowed       float64 // the greatest ratio of the limit to the nominal one up to now
	rejected       float64 // work
	waiting        float64 // work, at the end
	used           float64 // seats in use, on average
	speed          float64 // of the machines themselves; 1 if they have none
}

// newFluid returns the work of a level.
func (d *diagnosis) newFluid(points []result.Point, queues bool) *fluid {
	f := &fluid{room: math.Inf(1)}
	left, most, rejected, borrowed := 0.0, 0.0, int64(0), 1.0
	for i := range points {
		p := &points[i]
		// What is left of requests that execute is half of them, on average.
		waiting := 0.0
		if p.WaitingSeats > 0 {
			waiting = p.LeftSeatSeconds * p.WaitingSeats / (p.WaitingSeats + p.SeatsInUse/2)
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
			borrowed: borrowed, waiting: waiting, used: p.SeatsInUse, arrived: float64(p.Arrived), speed: d.speedAt(i)}
		if n := p.RejectedTotal(); n > 0 {
			s.rejected = max(0, p.AskedSeatSeconds-p.SeatsInUse*s.seconds-left)
			rejected += n
		}
		most = max(most, waiting)
		f.steps = append(f.steps, s)
	}
	if rejected > 0 {
		f.room = 0
		if queues {
			f.room = most
		}
	}
	return f
}

// speedAt returns the speed of the machines themselves in an interval of the series, weighted with the requests in service.
func (d *diagnosis) speedAt(i int) float64 {
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

// harm is what a fluid says: the work that is rejected, and the work that waits, in seat-seconds and times seconds.
type harm struct{ over, area float64 }

// run returns the harm with a part of the work and with other seats.
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

func limitOf(s *step) float64 { return s.limit }

func all(*step) float64 { return 1 }

// only returns the same part of the work of all steps.
func only(part float64) func(*step) float64 { return func(*step) float64 { return part } }
