package collect

import (
	"math/bits"

	"apfsim/core/config"
	"apfsim/core/queueset"
	"apfsim/core/seats"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/server"
)

// fairness returns the fair shares of a level's flows over the window, in seat-nanoseconds and in
// the order of its flows, and the statistics that follow from them.
func (l *level) fairness() (shares []float64, fair *result.Fairness) {
	demands, services := make([]float64, len(l.flows)), make([]float64, len(l.flows))
	total := 0.0
	for i, f := range l.flows {
		demands[i], services[i] = f.demand, f.service
		total += services[i]
	}
	shares = l.divider.FairShares(total, demands)
	index, ok := measure.Jain(services, shares)
	if !ok {
		return shares, nil
	}
	fair = &result.Fairness{Jain: index}
	for i, f := range l.flows {
		if shares[i] <= 0 {
			continue
		}
		ratio := services[i] / shares[i]
		fair.MaxMinError = max(fair.MaxMinError, measure.Abs(services[i]-shares[i])/shares[i])
		if fair.Flows == 0 || ratio < fair.LeastRatio {
			fair.LeastRatio, fair.LeastRatioFlow = ratio, f.name()
		}
		fair.Flows++
	}
	return shares, fair
}

// contender is a flow that was queued or rejected in an interval, so that it has a share of the interval.
type contender struct {
	flow int32 // its index
	at   int   // among the demands
}

// level is the state of one priority level. The level without a name has the requests that flow control
// does not handle.
type level struct {
	index  int // in the order of first appearance
	name   string
	known  bool // to flow control: spec and limits are set
	exists bool // known and not removed
	spec   config.PriorityLevelSpec
	limits seats.Limits

	// Concurrency limits as they are now, in seats; 0 once removed.
	limit   int // the current one
	nominal int

	limitSteps []limitStep
	dispatched int64          // requests, since the run began
	senders    measure.Bitset // the workloads that have sent requests to it

	kinds    []levelKind // by kind, where the demand is measured
	allKinds kindUsage
	noAnswer noAnswer
	steps    []result.LevelStep // by interval, of the window; as far as there is anything
	wideWait wideRequestWait

	rejectedByWidth int64 // see result.LevelEvidence

	flows  []*flow // in the order of first appearance
	names  names
	shares []float64 // their fair shares, once they are known; seat-nanoseconds
	active []uint64  // bit by flow: it has had requests in the current interval

	// By flow: the points in which it had queued requests, without those of the warm-up. They are not part of
	// the flow, because events do not need them.
	queuedIn []measure.Bitset

	// How long the requests had waited that were still queued at the end of the run; nil before that.
	stillQueued map[*flow][]int64

	fromNs    int64 // start of the window
	sinceNs   int64 // up to when the window's peak and saturation are complete
	settledNs int64 // up to when all integrals of the window and of the interval are complete

	// Of the current interval.
	seatsInUse, seatsWaiting integral
	waiting, executing       integral // requests

	window windowUse
	now    intervalUse

	points  []result.Point
	lengths [][]int32 // of the queues, at the beginning of each point's interval
	divider measure.Divider
	demands []float64   // scratch
	serves  []float64   // scratch
	closing []contender // scratch
	excess  []float64   // by flow: what it asked for above its fair share in intervals in which it was queued or rejected, in seat-nanoseconds
}

// windowUse integrates over the window. Three hundred seats in use for a year would overflow
// an int64; up to 2⁵³ the sums are exact.
type windowUse struct {
	seatNs      float64 // seats in use
	waitingNs   float64 // requests waiting, while the level existed
	saturatedNs int64
	spanNs      int64 // while the level existed
	peak        int   // seats in use

	// The integral of seats in use over the current limit, up to the last change of the
	// limit; and the integral of the seats in use since then.
	ratio         float64
	ratioNs       int64 // how long the limit was greater than 0
	seatNsAtLimit float64

	// What seatsInUse and waiting of the level were when the window began, or at settledNs.
	seatNsBefore, waitingNsBefore int64
}

// intervalUse integrates over the current interval.
type intervalUse struct {
	limitNs, nominalNs  float64 // a limit may be 10⁹ seats
	arrived, dispatched int64
	rejected            [queueset.Rejections]int64
}

func (l *level) exempt() bool { return l.spec.Type == config.TypeExempt }

func (l *level) enter(nowNs int64, seats int) {
	l.advance(nowNs)
	l.waiting.add(nowNs, 1)
	l.seatsWaiting.add(nowNs, seats)
	l.now.arrived++
}

func (l *level) start(nowNs int64, asked, seats int) {
	l.advance(nowNs)
	l.stopWaiting(nowNs, asked)
	l.seatsInUse.add(nowNs, seats)
	l.executing.add(nowNs, 1)
	l.dispatched++
	l.now.dispatched++
}

func (l *level) refuse(nowNs int64, seats int, why queueset.Rejection) {
	l.advance(nowNs)
	l.stopWaiting(nowNs, seats)
	l.now.rejected[why]++
}

// abandon removes a request that waits, because its server has ended.
func (l *level) abandon(nowNs int64, seats int) {
	l.advance(nowNs)
	l.stopWaiting(nowNs, seats)
}

func (l *level) stopWaiting(nowNs int64, seats int) {
	l.waiting.add(nowNs, -1)
	l.seatsWaiting.add(nowNs, -seats)
}

func (l *level) leave(nowNs int64, seats int) {
	l.advance(nowNs)
	l.seatsInUse.add(nowNs, -seats)
	l.executing.add(nowNs, -1)
}

func (l *level) adjust(nowNs int64, s server.LevelState, by string) {
	l.settle(nowNs)
	l.known, l.exists, l.spec, l.limits = true, true, *s.Spec(), s.Limits()
	l.setLimits(nowNs, s.CurrentLimit(), l.limits.Nominal, by)
}

// setLimits changes the limits of a level that is settled; by says why, see result.LimitChange.
func (l *level) setLimits(nowNs int64, limit, nominal int, by string) {
	l.nominal = nominal
	if limit != l.limit {
		l.window.endLimit(l.limit)
		l.limit = limit
	}
	l.recordLimits(nowNs, by)
}

// advance must be called before the requests or the limits of the level change.
func (l *level) advance(nowNs int64) {
	d := nowNs - l.sinceNs
	if d == 0 {
		return
	}
	if nowNs >= l.fromNs {
		w := &l.window
		if l.sinceNs < l.fromNs {
			d = nowNs - l.fromNs
			w.seatNsBefore, w.waitingNsBefore = l.seatsInUse.valueAt(l.fromNs), l.waiting.valueAt(l.fromNs)
		}
		if d > 0 { // not what ends when the window begins
			w.peak = max(w.peak, l.seatsInUse.value)
		}
		if l.exists && (l.waiting.value > 0 || l.seatsInUse.value >= l.limit) {
			w.saturatedNs += d
		}
	}
	l.sinceNs = nowNs
}

// settle must be called before the limits change and at the end of an interval.
func (l *level) settle(nowNs int64) {
	l.advance(nowNs)
	d := float64(nowNs - l.settledNs)
	l.now.limitNs += float64(l.limit) * d
	l.now.nominalNs += float64(l.nominal) * d
	if nowNs > l.fromNs {
		l.window.add(l, nowNs)
	}
	l.settledNs = nowNs
}

func (w *windowUse) add(l *level, nowNs int64) {
	seatNs, waitingNs := l.seatsInUse.valueAt(nowNs), l.waiting.valueAt(nowNs)
	usedNs, waitedNs := float64(seatNs-w.seatNsBefore), float64(waitingNs-w.waitingNsBefore)
	w.seatNsBefore, w.waitingNsBefore = seatNs, waitingNs
	w.seatNs += usedNs
	if !l.exists { // seats may still be occupied for additional latency
		return
	}
	d := nowNs - max(l.settledNs, l.fromNs)
	w.spanNs += d
	w.waitingNs += waitedNs
	if l.limit > 0 {
		w.ratioNs += d
		w.seatNsAtLimit += usedNs
	}
}

// endLimit adds the use under a limit that now changes.
func (w *windowUse) endLimit(limit int) {
	if limit > 0 {
		w.ratio += w.seatNsAtLimit / float64(limit)
	}
	w.seatNsAtLimit = 0
}

// sample adds the lengths of the queues of a server at the start of an interval; there are none if no
// request is queued. Queue i of one server and queue i of another are in the same hands.
func (l *level) sample(s server.LevelState) {
	if q := s.Queues(); q != nil {
		if q.Waiting() > 0 {
			lengths := make([]int32, max(q.Len(), len(l.lengthsNow())))
			copy(lengths, l.lengthsNow()) // those of other servers
			for i := range q.Len() {
				lengths[i] += int32(q.QueueLength(i))
			}
			l.setLengths(lengths)
		}
	}
}

// lengthsNow returns the lengths that have been sampled for the current interval.
func (l *level) lengthsNow() []int32 {
	if len(l.lengths) <= len(l.points) {
		return nil
	}
	return l.lengths[len(l.points)]
}

func (l *level) setLengths(lengths []int32) {
	for len(l.lengths) <= len(l.points) {
		l.lengths = append(l.lengths, nil)
	}
	l.lengths[len(l.points)] = lengths
}

func (l *level) closeInterval(fromNs, toNs int64) {
	l.settle(toNs)
	l.window.seatNsBefore, l.window.waitingNsBefore = 0, 0
	span := float64(toNs - fromNs)
	p := result.Point{
		StartNs: fromNs, EndNs: toNs,
		SeatsInUse:        float64(l.seatsInUse.restart(toNs)) / span,
		ExecutingRequests: float64(l.executing.restart(toNs)) / span,
		WaitingRequests:   float64(l.waiting.restart(toNs)) / span,
		WaitingSeats:      float64(l.seatsWaiting.restart(toNs)) / span,
		CurrentLimit:      l.now.limitNs / span,
		NominalLimit:      l.now.nominalNs / span,
		Arrived:           l.now.arrived, Dispatched: l.now.dispatched,
		Rejected: l.now.rejected,
	}
	l.now = intervalUse{}
	l.demands, l.serves, l.closing = l.demands[:0], l.serves[:0], l.closing[:0]
	total := 0.0
	for i := range l.active {
		for left := l.active[i]; left != 0; left &= left - 1 {
			bit := bits.TrailingZeros64(left)
			f := l.flows[64*i+bit]
			service, demand, queued := f.closeInterval(toNs)
			if queued && toNs > l.fromNs {
				l.queuedIn[f.index].Set(len(l.points))
				l.closing = append(l.closing, contender{f.index, len(l.demands)})
			}
			total += service
			p.AskedSeatSeconds += demand / 1e9
			p.LeftSeatSeconds += f.intervalDemand / 1e9 // with which the next one begins
			l.demands, l.serves = append(l.demands, demand), append(l.serves, service)
			if f.present == 0 {
				l.active[i] &^= 1 << bit
			}
		}
	}
	shares := l.divider.FairShares(total, l.demands)
	if jain, ok := measure.Jain(l.serves, shares); ok {
		p.Jain = &jain
	}
	for len(l.excess) < len(l.flows) && len(l.closing) > 0 {
		l.excess = append(l.excess, 0)
	}
	for _, c := range l.closing {
		l.excess[c.flow] += max(0, l.demands[c.at]-shares[c.at])
	}
	l.points = append(l.points, p)
	if len(l.lengths) < len(l.points) {
		l.lengths = append(l.lengths, nil)
	}
}
