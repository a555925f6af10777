package queueset

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"apfsim/core/estimate"

	"pgregory.net/rapid"
)

// Whatever comes, the ledger is in order, the sums are those of what the queues hold, R
// does not go back, and nothing waits that could start. When all that executes has
// finished nothing is left, and every request has ended in one way.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLedger(t, startR(t))
		for _, o := range operations(t) {
			l.doInOrder(o)
		}
		l.drain()
	})
}

// Whatever comes, the set does as the model does.
func TestAsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := startR(t)
		l, m := newLedger(t, r), newModel(uint64(r), firstConfig, firstLimit)
		for _, o := range operations(t) {
			if out, done := l.do(o); done {
				m.do(l, o, out)
				m.compare(l)
			}
		}
	})
}

// doInOrder carries out an operation as do does, and looks whether all is in order after it.
func (l *ledger) doInOrder(o operation) (out outcome, done bool) {
	before := l.set.R()
	queued := l.set.config.Queues > 0
	out, done = l.do(o)
	if !done {
		return out, done
	}
	after := l.set.R()
	if wound := after + estimate.SeatSeconds(epoch); after < before && (wound < estimate.SeatSeconds(highMark) || wound < before) {
		l.fail("R goes back from %d to %d", before, after)
	}
	l.checkSums()
	switch {
	case o.kind == timeOut || o.kind == cancel:
		// It frees no seat, and nothing starts for it: though the next in the queue may be
		// narrower, it waits for the next call,
		if len(l.started) > 0 {
			l.fail("%v start when a request leaves its queue", l.started)
		}
	case o.kind == arrival && (!queued || out.rejection != NotRejected):
		// one that concerns the queues.
	default:
		l.checkWorkConservation()
	}
	return out, done
}

// checkSums adds up what there is, for the whole set and by queue.
func (l *ledger) checkSums() {
	s := l.set
	want := make([]QueueState, s.Len())
	nWaiting, seatsWaiting, nExecuting, seatsInUse := 0, 0, 0, 0
	for _, e := range l.present {
		q := &QueueState{}
		if i := e.Queue(); i >= 0 {
			q = &want[i]
		}
		switch e.entered {
		case waiting:
			nWaiting++
			seatsWaiting += e.askedSeats()
			q.PendingRequests++
			q.InitialSeatsSum += e.asked.InitialSeats
			q.MaxSeatsSum += e.askedSeats()
			q.TotalWorkSum += e.totalWork
		case executing:
			nExecuting++
			q.ExecutingRequests++
			fallthrough
		case finalPhase:
			seatsInUse += e.Seats()
			q.SeatsInUse += e.Seats()
		}
	}
	if s.Waiting() != nWaiting || s.SeatsWaiting() != seatsWaiting || s.Executing() != nExecuting || s.SeatsInUse() != seatsInUse {
		l.fail("%d wait for %d seats, %d execute, %d seats are in use; the set says %d, %d, %d, %d",
			nWaiting, seatsWaiting, nExecuting, seatsInUse, s.Waiting(), s.SeatsWaiting(), s.Executing(), s.SeatsInUse())
	}
	if s.Idle() != (nWaiting+nExecuting == 0) {
		l.fail("idle is %v, with %d waiting and %d executing", s.Idle(), nWaiting, nExecuting)
	}
	for i := range want {
		want[i].NextDispatchR = s.Queue(i).NextDispatchR
		if got := s.Queue(i); got != want[i] || s.QueueLength(i) != want[i].PendingRequests {
			l.fail("queue %d holds %+v; it says %+v", i, want[i], got)
		}
	}
	gone := 0
	for _, n := range l.counts {
		gone += n
	}
	if l.arrived != len(l.present)+gone {
		l.fail("%d have arrived, %d are there and %d have gone", l.arrived, len(l.present), gone)
	}
}

// checkWorkConservation looks for a request that waits though it could start: one that is
// first in its queue, would be through before any other, and for which there are seats.
// Where several would be through first, the turn decides which of them is chosen; it is
// enough then that one of them does not fit.
func (l *ledger) checkWorkConservation() {
	s := l.set
	if s.Waiting() == 0 || s.SeatsInUse() >= s.Limit() {
		return
	}
	heads := make([]*entry, s.Len())
	for _, e := range l.phased(waiting) {
		if i := e.Queue(); heads[i] == nil {
			heads[i] = e
		}
	}
	least := estimate.SeatSeconds(math.MaxUint64)
	allFit := false
	for i, head := range heads {
		if head == nil {
			continue
		}
		fits := s.SeatsInUse()+head.askedSeats() <= s.Limit() ||
			head.askedSeats() > s.Limit() && s.Executing() == 0 ||
			s.config.Queues == Unlimited
		switch through := s.Queue(i).NextDispatchR + head.totalWork; {
		case through < least:
			least, allFit = through, fits
		case through == least:
			allFit = allFit && fits
		}
	}
	if allFit {
		l.fail("%d requests wait, %d of %d seats are in use, and the chosen one would fit", s.Waiting(), s.SeatsInUse(), s.Limit())
	}
}

// drain finishes everything. At a limit of 0 nothing starts any more, and what waits has
// to time out.
func (l *ledger) drain() {
	for len(l.present) > 0 {
		o := operation{kind: finish, afterNs: 1}
		switch {
		case len(l.phased(executing)) > 0:
		case len(l.phased(finalPhase)) > 0:
			o.kind = release
		case l.set.Limit() == 0:
			o.kind = timeOut
		default:
			l.fail("%d requests wait for ever", len(l.present))
		}
		l.doInOrder(o)
	}
	if !l.set.Idle() || l.set.SeatsInUse() != 0 {
		l.fail("everything has gone, and idle is %v with %d seats in use", l.set.Idle(), l.set.SeatsInUse())
	}
}

// do carries out, on the model, an operation that the ledger has carried out on the set,
// and compares what came of it.
func (m *model) do(l *ledger, o operation, out outcome) {
	m.started, m.starts, m.held = nil, nil, nil
	switch o.kind {
	case arrival:
		if want := m.arrive(l.nowNs, out.subject.number, o.work, o.hash); out.rejection != want {
			l.fail("request %d is rejected: %q, want %q", out.subject.number, out.rejection, want)
		}
	case finish:
		if want := m.finish(l.nowNs, out.subject.number); out.additionalNs != want {
			l.fail("request %d keeps its seats for %d ns, want %d", out.subject.number, out.additionalNs, want)
		}
	case release:
		m.release(l.nowNs, out.subject.number)
	case timeOut, cancel:
		m.leaveQueue(l.nowNs, out.subject.number)
	case configuration:
		average, most := m.takeDemand(l.nowNs)
		want, _ := average.Float64()
		// The set sums up in float64, some hundred terms.
		if math.Abs(out.demand.Average-want) > 1e-9*want || out.demand.Max != float64(most) {
			l.fail("the demand was %v seats on average and %v at most, want %v and %d", out.demand.Average, out.demand.Max, want, most)
		}
		m.configure(l.nowNs, o.config, o.limit)
	}
	if !slices.Equal(l.started, m.started) {
		l.fail("requests %v start, want %v", l.started, m.started)
	}
	if !slices.Equal(l.starts, m.starts) {
		l.fail("they are chosen from %v, want %v", l.starts, m.starts)
	}
	if !slices.Equal(l.held, m.held) {
		l.fail("requests %v are held back, want %v", l.held, m.held)
	}
}

// compare compares all that can be seen of the set with the model.
func (m *model) compare(l *ledger) {
	s := l.set
	if want := m.modulo(m.r); s.R() != want {
		l.fail("R is %d, want %d", s.R(), want)
	}
	if want := (Epochs{Succeeded: int(m.epochs) - m.failed, Failed: m.failed}); s.Epochs() != want {
		l.fail("R was wound back so often: %+v, want %+v", s.Epochs(), want)
	}
	if s.Len() != len(m.queues) {
		l.fail("there are %d queues, want %d", s.Len(), len(m.queues))
	}
	for i, q := range m.queues {
		line := m.inPhase(q, waiting)
		want := QueueState{
			PendingRequests:   len(line),
			ExecutingRequests: len(m.inPhase(q, executing)),
			SeatsInUse:        m.seats(m.inPhase(q, executing, finalPhase)),
			NextDispatchR:     m.modulo(q.nextDispatchR),
			MaxSeatsSum:       m.seats(line),
			TotalWorkSum:      estimate.SeatSeconds(m.workWaiting(q).Uint64()),
		}
		for _, r := range line {
			want.InitialSeatsSum += r.work.InitialSeats
		}
		if got := s.Queue(i); got != want {
			l.fail("queue %d is %+v, want %+v", i, got, want)
		}
	}
	if s.SeatsInUse() != m.seatsInUse() || s.Executing() != len(m.inPhase(nil, executing)) ||
		s.SeatsWaiting() != m.seats(m.inPhase(nil, waiting)) || s.Waiting() != len(m.inPhase(nil, waiting)) {
		l.fail("%d execute and %d seats are in use, want %d and %d; %d wait for %d seats, want %d and %d",
			s.Executing(), s.SeatsInUse(), len(m.inPhase(nil, executing)), m.seatsInUse(),
			s.Waiting(), s.SeatsWaiting(), len(m.inPhase(nil, waiting)), m.seats(m.inPhase(nil, waiting)))
	}
}

// modulo returns what the set shows for a reading of the model's meter.
func (m *model) modulo(reading *big.Int) estimate.SeatSeconds {
	return estimate.SeatSeconds(m.wrapped(reading).Uint64())
}
