// Package queueset implements the queues and the seats of one priority level, and the order in which
// waiting requests get the seats: the algorithm "Fair Queuing for Server Requests" of KEP-1040 as
// k8s.io/apiserver implements it (util/flowcontrol/fairqueuing/queueset). A caller makes a [QueueSet]
// with its [Host], which it calls with the arrivals and the ends of requests and which tells the host
// what has started.
package queueset

import (
	"fmt"
	"math"

	"apfsim/core/dealer"
	"apfsim/core/estimate"
	"apfsim/core/rules"
	"apfsim/core/seats"
)

// Config says how a level queues.
type Config struct {
	Queues           int // 0 rejects a request that finds no seat; Unlimited admits every request
	HandSize         int
	QueueLengthLimit int // requests waiting in one queue
}

// Unlimited is the number of queues of the exempt level: every request is dispatched at once.
const Unlimited = -1

// R is wound back by epoch when it reaches the high mark, so that it does not overflow. In float64 it
// is not.
const (
	epoch    = virtual(math.MaxUint64 / 2)
	highMark = epoch + epoch/2
)

// Host is the server around a QueueSet. The QueueSet reports to it which waiting requests are
// dispatched, held back or timed out. Its methods are called in the middle of a QueueSet's method
// and must not call back.
type Host interface {
	// Dispatched says that r executes from now on, and that the host owes a Finish.
	Dispatched(r *Request)
	// HeldBack says that r is the next to be dispatched, and that some seats are free but fewer
	// than it needs. No other request is dispatched before it. It may be the one that arrives.
	HeldBack(r *Request)
	// TimedOut says that r, which was overdue, has left its queue: another request is just
	// arriving at the queue. It is called under rules with LazyWaitLimit only, and for requests
	// that have an OverdueNs.
	TimedOut(nowNs int64, r *Request)
}

// QueueSet is one priority level: its queues, its seats and its progress meter R. While
// any queue is active (has requests waiting or executing), R advances, in seat-seconds per
// second, at
//
//	dR/dt = min(limit, seats in use + seats waiting) / active queues
//
// which is the rate at which fluid fair queuing would serve every active queue. The releases
// differ in details of the algorithm, which the switches of rules.Rules describe: under older ones,
// the waiting requests do not count in dR/dt.
//
// Every method that takes the time advances R first; times never go back. Invariants: the sums
// equal those over the queues' requests; seatsInUse exceeds the limit only after the limit has
// been lowered, or while one request that is wider than the limit executes.
type QueueSet struct {
	host       Host
	rules      *rules.Rules
	arithmetic arithmetic // the rules', as guessNs
	guessNs    int64
	config     Config
	dealer     *dealer.Dealer // nil without queues
	limit      int            // concurrency limit, in seats

	queues []*queue
	work   []estimate.SeatSeconds // by queue: that of its waiting requests; side by side, because each arrival compares a hand
	heads  heads                  // by queue: R at which its oldest request would finish
	picks  int                    // queues chosen from hands so far
	robin  int                    // the queue of the latest dispatch

	r         virtual
	rNs       int64 // when R was last advanced
	active    int   // queues with requests waiting or executing
	seatsWant int   // over the queues: seats in use and seats waiting

	waiting      int
	seatsWaiting int
	executing    int
	seatsInUse   int
	demand       seats.Demand
	// demandLeak is the seats that upstream adds to the demand on enqueue and never subtracts,
	// because dispatch has reduced the request's FinalSeats in between. They count as demand
	// for as long as the level exists.
	demandLeak int

	latestS virtual // R at which the latest request dispatched from a queue was to start
	epochs  Epochs
}

type queue struct {
	index         int // -1 once removed
	first, last   *Request
	waiting       int
	executing     int
	seatsInUse    int
	seatsWaiting  int
	nextDispatchR virtual // R at which its oldest request is to start
	left          uint64  // requests that have waited in it and left it
	activations   int     // how often it has become active
	formerR       virtual // nextDispatchR before the latest activation, see Probe
}

func (q *queue) active() bool { return q.waiting > 0 || q.executing > 0 }

// New returns an empty set that follows the rules of a release. The configuration must be valid.
func New(nowNs int64, r *rules.Rules, config Config, limit int, host Host) *QueueSet {
	s := &QueueSet{host: host, rules: r, arithmetic: arithmetic(r.Arithmetic), guessNs: r.ServiceGuessNs,
		rNs: nowNs, demand: seats.NewDemand(nowNs)}
	s.r = s.arithmetic.zero()
	s.Configure(nowNs, config, limit)
	return s
}

// Configure puts another configuration and concurrency limit into force. New queues are added at
// once. Surplus queues get no more requests; as long as there are any, a queue is removed when it
// becomes inactive and releases seats.
func (s *QueueSet) Configure(nowNs int64, config Config, limit int) {
	s.advance(nowNs)
	if config.Queues > 0 {
		d, err := dealer.New(config.Queues, config.HandSize)
		if err != nil {
			panic("queueset: invalid configuration: " + err.Error())
		}
		s.dealer = d
		if len(s.queues) < config.Queues {
			for len(s.queues) < config.Queues {
				s.queues = append(s.queues, &queue{index: len(s.queues), nextDispatchR: s.arithmetic.zero()})
				s.work = append(s.work, 0)
			}
			s.updateHeads()
		}
	}
	s.config, s.limit = config, limit
	s.dispatch(nowNs)
}

// Hand is the queues that the requests of a flow may wait in.
type Hand struct {
	size   int32 // 0 when requests are not queued
	queues [dealer.MaxHandSize]int32
}

// Queues returns the indices of the queues, in the order dealt.
func (h *Hand) Queues() []int {
	var queues []int
	for _, q := range h.queues[:h.size] {
		queues = append(queues, int(q))
	}
	return queues
}

// Hand returns the hand of the flow with the given hash. It holds until Configure changes
// the number of queues or the hand size.
func (s *QueueSet) Hand(flowHash uint64) (h Hand) {
	if s.config.Queues <= 0 {
		return h
	}
	h.size = int32(s.config.HandSize)
	for i, q := range s.dealer.Deal(flowHash, make([]int, s.config.HandSize)) {
		h.queues[i] = int32(q)
	}
	return h
}

// Arrive takes a request of the flow that has the hand. The request is rejected, or waits, or is
// dispatched before the method returns; others may be dispatched too.
func (s *QueueSet) Arrive(nowNs int64, r *Request, hand *Hand) Rejection {
	s.advance(nowNs)
	r.set, r.queue, r.arrivalR = s, nil, s.r
	if s.config.Queues <= 0 {
		if !s.accommodates(r.Seats()) {
			return ConcurrencyLimit
		}
		s.start(nowNs, r)
		return NotRejected
	}
	r.totalWork = s.totalWork(r.Work)
	q := s.shortest(hand)
	if s.rules.LazyWaitLimit {
		s.removeOverdue(nowNs, q)
	}
	if s.seatsInUse >= s.limit && q.waiting >= s.config.QueueLengthLimit {
		return QueueFull
	}
	if !q.active() {
		s.active++
		q.activations++
		q.formerR, q.nextDispatchR = q.nextDispatchR, s.r
	}
	r.queue = q
	if s.waiting == 0 && s.seatsInUse < s.limit && s.accommodates(r.Seats()) {
		// It would be the only one in its queue's FIFO, and leave it at once.
		if s.rules.Bound == rules.BoundAtArrival {
			q.nextDispatchR = max(q.nextDispatchR, r.arrivalR)
		}
		s.seat(nowNs, q, r)
		return NotRejected
	}
	s.enqueue(nowNs, q, r)
	s.dispatch(nowNs)
	return NotRejected
}

// totalWork is the work that a queue is charged for a request before the request has executed.
func (s *QueueSet) totalWork(w estimate.Work) estimate.SeatSeconds {
	work := estimate.SeatsTimesDuration(float64(w.InitialSeats), s.guessNs)
	if w.AdditionalLatencyNs != 0 { // most requests have none
		work += estimate.SeatsTimesDuration(float64(w.FinalSeats), w.AdditionalLatencyNs)
	}
	return work
}

// Finish ends the execution of a dispatched request. It returns for how long the request
// keeps its seats: if positive, the host owes a Release that much later.
func (s *QueueSet) Finish(nowNs int64, r *Request) (additionalNs int64) {
	s.mustBe(r, executing)
	s.advance(nowNs)
	s.executing--
	if q := r.queue; q != nil {
		q.executing--
		if !q.active() {
			s.active--
		}
		q.nextDispatchR = s.arithmetic.correct(q.nextDispatchR, r.Work.InitialSeats, s.guessNs, nowNs-r.dispatchNs)
		s.bound(q)
	}
	r.phase = finalPhase
	additionalNs = max(0, r.Work.AdditionalLatencyNs)
	if additionalNs == 0 {
		s.release(nowNs, r)
	}
	s.dispatch(nowNs)
	return additionalNs
}

// Release takes back the seats of a request at the end of its additional latency.
func (s *QueueSet) Release(nowNs int64, r *Request) {
	s.mustBe(r, finalPhase)
	s.advance(nowNs)
	s.release(nowNs, r)
	s.dispatch(nowNs)
}

// TimeOut removes a request that is still waiting at its wait limit; under rules with
// LazyWaitLimit, at its deadline. Nothing is dispatched in its place: it held no seat.
func (s *QueueSet) TimeOut(nowNs int64, r *Request) {
	s.mustBe(r, waiting)
	if s.arithmetic.float() {
		// The request has left when R is advanced, so that it did not count since the last event.
		s.drop(r)
		s.advance(nowNs)
	} else {
		s.advance(nowNs)
		s.drop(r)
	}
	s.noteDemand(nowNs)
	if s.rules.BoundAfterDrop {
		s.bound(r.queue)
	} else {
		s.updateHead(r.queue)
	}
}

// Cancel removes a request whose client has gone while the request waited. Upstream ends the
// wait of both kinds of request by the same context, and so cannot distinguish a client that
// has gone from a wait limit or a deadline: Cancel is TimeOut in every effect. A request that
// executes is not cancelled here; it keeps its seats until Finish.
func (s *QueueSet) Cancel(nowNs int64, r *Request) { s.TimeOut(nowNs, r) }

// removeOverdue removes the overdue requests of a queue that another request has come to. They are
// the oldest ones.
func (s *QueueSet) removeOverdue(nowNs int64, q *queue) {
	removed := false
	for r := q.first; r != nil && r.isOverdue(nowNs); r = q.first {
		s.drop(r)
		s.host.TimedOut(nowNs, r)
		removed = true
	}
	if removed {
		s.noteDemand(nowNs)
		s.bound(q)
	}
}

// drop removes a request that waits.
func (s *QueueSet) drop(r *Request) {
	s.dequeue(r.queue, r)
	if !r.queue.active() {
		s.active--
	}
	r.phase = absent
}

func (s *QueueSet) mustBe(r *Request, want phase) {
	if r.set != s || r.phase != want {
		panicOfPhase(r, want)
	}
}

// panicOfPhase panics. It is not inlined, so that mustBe, which every request calls, is.
//
//go:noinline
func panicOfPhase(r *Request, want phase) {
	panic(fmt.Sprintf("queueset: the request is %v; want one of this queue set that is %v", r.phase, want))
}

// advance brings R up to now. Nothing has changed since it was last called.
func (s *QueueSet) advance(nowNs int64) {
	elapsedNs := nowNs - s.rNs
	if elapsedNs < 0 {
		panic("queueset: the time is before that of an earlier call")
	}
	s.rNs = nowNs
	if s.active == 0 {
		return
	}
	s.r = s.arithmetic.advance(s.r, s.rate(), elapsedNs)
	if s.r >= highMark && !s.arithmetic.float() {
		s.windBack()
	}
}

// rate is dR/dt. Some queue must be active.
func (s *QueueSet) rate() float64 {
	want := s.seatsWant
	if !s.rules.WaitingProgress {
		want -= s.seatsWaiting
	}
	return float64(min(want, s.limit)) / float64(s.active)
}

// futureR returns R at a time before which nothing changes.
func (s *QueueSet) futureR(nowNs int64) virtual {
	if s.active == 0 {
		return s.r
	}
	return s.arithmetic.advance(s.r, s.rate(), nowNs-s.rNs)
}

// windBack subtracts an epoch from R and from every reading taken of it.
func (s *QueueSet) windBack() {
	s.r -= epoch
	failed := false
	for _, q := range s.queues {
		if !q.active() {
			q.nextDispatchR = 0 // not used before the next arrival, which sets it to R
			continue
		}
		failed = failed || q.nextDispatchR < epoch
		q.nextDispatchR -= epoch
		for r := q.first; r != nil; r = r.next {
			failed = failed || r.arrivalR < epoch
			r.arrivalR -= epoch
		}
		s.updateHead(q)
	}
	if failed {
		s.epochs.Failed++
	} else {
		s.epochs.Succeeded++
	}
}

// shortest returns the queue of a hand with the least work waiting; by the older rules, with the
// fewest requests waiting. The first queue to be compared rotates from request to request, unless
// the rules are older, so that flows with common queues do not all prefer the same one when several
// are equal.
func (s *QueueSet) shortest(h *Hand) *queue {
	picks := s.picks
	s.picks++
	return s.pick(h, picks)
}

// pick returns what shortest returns after a number of picks.
func (s *QueueSet) pick(h *Hand, picks int) *queue {
	from := 0
	if s.rules.RotateHand {
		from = picks % int(h.size)
	}
	if s.rules.JoinLeastWork {
		return s.leastWork(h, from)
	}
	return s.fewest(h, from)
}

// leastWork returns the queue of a hand with the least work waiting; of several, the first from
// position i on, cyclically.
func (s *QueueSet) leastWork(h *Hand, i int) *queue {
	hand := h.queues[:h.size]
	best := hand[i]
	least := s.work[best]
	for _, q := range hand[i+1:] {
		if work := s.work[q]; work < least {
			best, least = q, work
		}
	}
	for _, q := range hand[:i] {
		if work := s.work[q]; work < least {
			best, least = q, work
		}
	}
	return s.queues[best]
}

// fewest returns the queue of a hand with the fewest requests waiting; of several, the first from
// position i on, cyclically.
func (s *QueueSet) fewest(h *Hand, i int) *queue {
	hand := h.queues[:h.size]
	best := s.queues[hand[i]]
	for range len(hand) - 1 {
		if i++; i == len(hand) {
			i = 0
		}
		if q := s.queues[hand[i]]; q.waiting < best.waiting {
			best = q
		}
	}
	return best
}

func (s *QueueSet) enqueue(nowNs int64, q *queue, r *Request) {
	r.phase = waiting
	r.next, r.prev = nil, q.last
	if q.last == nil {
		q.first = r
	} else {
		q.last.next = r
	}
	q.last = r
	q.waiting++
	q.seatsWaiting += r.Seats()
	s.work[q.index] += r.totalWork
	s.waiting++
	s.seatsWaiting += r.Seats()
	s.seatsWant += r.Seats()
	s.noteDemand(nowNs)
	s.bound(q)
}

func (s *QueueSet) dequeue(q *queue, r *Request) {
	if r.prev == nil {
		q.first = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next == nil {
		q.last = r.prev
	} else {
		r.next.prev = r.prev
	}
	r.next, r.prev = nil, nil
	q.left++
	q.waiting--
	q.seatsWaiting -= r.Seats()
	s.work[q.index] -= r.totalWork
	s.waiting--
	s.seatsWaiting -= r.Seats()
	s.seatsWant -= r.Seats()
}

// bound is to be called when a queue's virtual start or its oldest request has changed. With
// BoundAtArrival it applies the anti-windup measure: a queue that could not use its share must not
// accumulate it, so the virtual start of its oldest request is not before the request's arrival.
func (s *QueueSet) bound(q *queue) {
	if q.first != nil && q.nextDispatchR < q.first.arrivalR && s.rules.Bound == rules.BoundAtArrival {
		q.nextDispatchR = q.first.arrivalR
	}
	s.updateHead(q)
}

// boundAtDispatch is the anti-windup measure of the releases before: when a queue is dispatched
// from, its virtual start, without what it has been charged for the requests that execute, is not
// before R.
func (s *QueueSet) boundAtDispatch(q *queue) {
	charged := estimate.SeatsTimesDuration(float64(q.executing), s.guessNs)
	if s.r > s.arithmetic.subtract(q.nextDispatchR, charged) {
		q.nextDispatchR = s.arithmetic.add(s.r, charged)
	}
}

// updateHead updates the queue's entry in heads.
func (s *QueueSet) updateHead(q *queue) {
	switch {
	case q.index < 0:
	case q.first == nil:
		s.heads.set(q.index, never)
	default:
		s.heads.set(q.index, s.arithmetic.add(q.nextDispatchR, q.first.totalWork))
	}
}

func (s *QueueSet) updateHeads() {
	s.heads.reset(len(s.queues))
	for _, q := range s.queues {
		s.updateHead(q)
	}
}

// dispatch starts as many waiting requests as possible, each time the one with the least virtual
// finish. If that one does not fit, no other is started.
func (s *QueueSet) dispatch(nowNs int64) {
	for s.waiting > 0 && s.seatsInUse < s.limit {
		q := s.queues[s.heads.first(s.robin+1)]
		r := q.first
		if !s.accommodates(r.Seats()) {
			s.host.HeldBack(r)
			return
		}
		s.dequeue(q, r)
		s.seat(nowNs, q, r)
	}
}

// seat starts the oldest request of a queue.
func (s *QueueSet) seat(nowNs int64, q *queue, r *Request) {
	if r.Work.FinalSeats > s.limit {
		s.demandLeak += r.Seats()
		finalWork := estimate.SeatsTimesDuration(float64(r.Work.FinalSeats), r.Work.AdditionalLatencyNs)
		r.Work.FinalSeats = s.limit
		r.Work.AdditionalLatencyNs = finalWork.DurationPerSeat(float64(s.limit))
		s.demandLeak -= r.Seats()
	}
	s.robin = q.index
	s.latestS = q.nextDispatchR
	if s.rules.Bound == rules.BoundAtDispatch {
		s.boundAtDispatch(q)
	}
	q.executing++
	q.seatsInUse += r.Seats()
	s.seatsWant += r.Seats()
	q.nextDispatchR = s.arithmetic.add(q.nextDispatchR, r.totalWork)
	s.bound(q)
	s.start(nowNs, r)
}

// start seats a request.
func (s *QueueSet) start(nowNs int64, r *Request) {
	r.phase, r.dispatchNs = executing, nowNs
	s.executing++
	s.seatsInUse += r.Seats()
	s.noteDemand(nowNs)
	s.host.Dispatched(r)
}

// accommodates says whether a request of so many seats may start now. A request that is wider
// than the limit may if no other executes.
func (s *QueueSet) accommodates(seats int) bool {
	switch {
	case s.config.Queues == Unlimited:
		return true
	case seats > s.limit:
		return s.executing == 0
	}
	return s.seatsInUse+seats <= s.limit
}

func (s *QueueSet) release(nowNs int64, r *Request) {
	r.phase = absent
	s.seatsInUse -= r.Seats()
	s.noteDemand(nowNs)
	q := r.queue
	if q == nil {
		return
	}
	q.seatsInUse -= r.Seats()
	if q.index < 0 {
		return
	}
	s.seatsWant -= r.Seats()
	if len(s.queues) > s.config.Queues && !q.active() {
		s.remove(q)
	}
}

// remove removes an inactive queue; the indices above it move down by one, and the round-robin
// index if it is not below it.
func (s *QueueSet) remove(q *queue) {
	s.queues = append(s.queues[:q.index], s.queues[q.index+1:]...)
	s.work = append(s.work[:q.index], s.work[q.index+1:]...)
	for _, above := range s.queues[q.index:] {
		above.index--
	}
	if s.robin >= q.index {
		s.robin--
	}
	s.seatsWant -= q.seatsInUse
	q.index = -1
	s.updateHeads()
}

func (s *QueueSet) noteDemand(nowNs int64) {
	s.demand.Set(nowNs, s.seatsInUse+s.seatsWaiting+s.demandLeak)
}

// TakeDemand returns the statistics of the seat demand, in use and waiting, since the
// last call, and begins the next period.
func (s *QueueSet) TakeDemand(nowNs int64) seats.DemandStatistics { return s.demand.Take(nowNs) }
