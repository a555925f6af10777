package queueset

import (
	"math"
	"math/big"
	"slices"

	"apfsim/core/estimate"
)

// model is a queue set as plain as can be. It keeps no sums: whenever it wants one it
// goes through all requests. Its progress meter is an integer without end, which never
// has to be wound back; only what is shown of it leaves out the epochs.
type model struct {
	config Config
	limit  int

	queues   []*modelQueue
	requests []*modelRequest // all that wait or hold seats, in the order of arrival
	robin    int             // the queue dispatched from last
	deals    int             // hands dealt so far

	r      *big.Int // in units of 1e-8 seat-seconds
	epochs int64    // left out of what is shown
	failed int      // of them, though something shown was less than an epoch
	nowNs  int64

	started []int         // who has started since this was last cleared
	starts  []Starts      // what those out of queues were chosen from
	held    []int         // who did not fit
	demands []modelDemand // of the period, in order
	kept    int           // seats in the demand of requests that were made narrower
}

type modelQueue struct{ nextDispatchR *big.Int }

type modelRequest struct {
	number     int
	work       estimate.Work
	queue      *modelQueue // nil for one that went past the queues
	phase      phase
	arrivalR   *big.Int
	totalWork  *big.Int
	dispatchNs int64
}

func (r *modelRequest) seats() int { return max(r.work.InitialSeats, r.work.FinalSeats) }

// modelDemand is how many seats were asked for from a time on.
type modelDemand struct {
	fromNs int64
	seats  int
}

const (
	modelEpoch    = 1<<63 - 1
	modelHighMark = 1<<63 + 1<<62 - 2
	modelGuessNs  = 3_000_000
)

// newModel returns a model at time 0 whose meter stands at r.
func newModel(r uint64, config Config, limit int) *model {
	m := &model{r: new(big.Int).SetUint64(r), demands: []modelDemand{{}}}
	m.configure(0, config, limit)
	return m
}

// product is the work of so many seats for so long: rounded to units of 1e-8 seat-seconds,
// half away from zero.
func product(seats float64, ns int64) *big.Int {
	return big.NewInt(int64(math.Round(seats * float64(ns) / 10)))
}

func add(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) }
func sub(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }

// inPhase returns the requests of a queue (of all queues and none: nil) in one of the phases.
func (m *model) inPhase(q *modelQueue, phases ...phase) []*modelRequest {
	var found []*modelRequest
	for _, r := range m.requests {
		if (q == nil || r.queue == q) && slices.Contains(phases, r.phase) {
			found = append(found, r)
		}
	}
	return found
}

// seats returns the sum of the requests' seats.
func (m *model) seats(requests []*modelRequest) int {
	sum := 0
	for _, r := range requests {
		sum += r.seats()
	}
	return sum
}

func (m *model) seatsInUse() int { return m.seats(m.inPhase(nil, executing, finalPhase)) }

func (m *model) isActive(q *modelQueue) bool { return len(m.inPhase(q, waiting, executing)) > 0 }

func (m *model) workWaiting(q *modelQueue) *big.Int {
	sum := new(big.Int)
	for _, r := range m.inPhase(q, waiting) {
		sum.Add(sum, r.totalWork)
	}
	return sum
}

func (m *model) advance(nowNs int64) {
	elapsedNs := nowNs - m.nowNs
	m.nowNs = nowNs
	active, want := 0, 0
	for _, q := range m.queues {
		if m.isActive(q) {
			active++
		}
		want += m.seats(m.inPhase(q, waiting, executing, finalPhase))
	}
	if active == 0 {
		return
	}
	rate := math.Min(float64(want), float64(m.limit)) / float64(active)
	m.r = add(m.r, product(rate, elapsedNs))
	if m.shown(m.r).Cmp(new(big.Int).SetUint64(modelHighMark)) < 0 {
		return
	}
	least := new(big.Int).SetUint64(modelEpoch)
	isOld := func(reading *big.Int) bool { return m.wrapped(reading).Cmp(least) < 0 }
	if slices.ContainsFunc(m.queues, func(q *modelQueue) bool { return m.isActive(q) && isOld(q.nextDispatchR) }) ||
		slices.ContainsFunc(m.inPhase(nil, waiting), func(r *modelRequest) bool { return isOld(r.arrivalR) }) {
		m.failed++
	}
	m.epochs++
	for _, q := range m.queues {
		if !m.isActive(q) {
			q.nextDispatchR = m.past() // shows 0
		}
	}
}

// past is how much of a reading of the meter is not shown.
func (m *model) past() *big.Int {
	return new(big.Int).Mul(big.NewInt(m.epochs), new(big.Int).SetUint64(modelEpoch))
}

func (m *model) shown(reading *big.Int) *big.Int { return sub(reading, m.past()) }

// wrapped is what is shown of a reading, modulo 2⁶⁴.
func (m *model) wrapped(reading *big.Int) *big.Int {
	return new(big.Int).Mod(m.shown(reading), new(big.Int).Lsh(big.NewInt(1), 64))
}

func (m *model) configure(nowNs int64, config Config, limit int) {
	m.advance(nowNs)
	m.config, m.limit = config, limit
	for len(m.queues) < config.Queues {
		m.queues = append(m.queues, &modelQueue{m.past()}) // shows 0
	}
	m.dispatch()
}

// hand takes cards off a deck, each time the one at the position that the hash says.
func (m *model) hand(hash uint64) []*modelQueue {
	deck := slices.Clone(m.queues[:m.config.Queues])
	var hand []*modelQueue
	for range m.config.HandSize {
		left := uint64(len(deck))
		at := hash % left
		hash /= left
		hand = append(hand, deck[at])
		deck = slices.Delete(deck, int(at), int(at)+1)
	}
	return hand
}

func (m *model) arrive(nowNs int64, number int, work estimate.Work, hash uint64) Rejection {
	m.advance(nowNs)
	r := &modelRequest{number: number, work: work, arrivalR: m.r}
	if m.config.Queues <= 0 {
		if !m.fits(r.seats()) {
			return ConcurrencyLimit
		}
		m.requests = append(m.requests, r)
		m.start(r)
		return NotRejected
	}
	r.totalWork = add(product(float64(work.InitialSeats), modelGuessNs),
		product(float64(work.FinalSeats), work.AdditionalLatencyNs))
	hand := m.hand(hash)
	first := m.deals % len(hand)
	m.deals++
	q := hand[first]
	for _, other := range slices.Concat(hand[first:], hand[:first]) {
		if m.workWaiting(other).Cmp(m.workWaiting(q)) < 0 {
			q = other
		}
	}
	if m.seatsInUse() >= m.limit && len(m.inPhase(q, waiting)) >= m.config.QueueLengthLimit {
		return QueueFull
	}
	if !m.isActive(q) {
		q.nextDispatchR = m.r
	}
	r.queue, r.phase = q, waiting
	m.requests = append(m.requests, r)
	m.note()
	m.bound(q)
	m.dispatch()
	return NotRejected
}

func (m *model) bound(q *modelQueue) {
	if line := m.inPhase(q, waiting); len(line) > 0 && q.nextDispatchR.Cmp(line[0].arrivalR) < 0 {
		q.nextDispatchR = line[0].arrivalR
	}
}

func (m *model) fits(seats int) bool {
	switch {
	case m.config.Queues < 0:
		return true
	case seats > m.limit:
		return len(m.inPhase(nil, executing)) == 0
	}
	return m.seatsInUse()+seats <= m.limit
}

func (m *model) dispatch() {
	for len(m.inPhase(nil, waiting)) > 0 && m.seatsInUse() < m.limit {
		best := -1
		var least *big.Int
		for i := range m.queues {
			i = (m.robin + 1 + i) % len(m.queues)
			line := m.inPhase(m.queues[i], waiting)
			if len(line) == 0 {
				continue
			}
			if finish := add(m.queues[i].nextDispatchR, line[0].totalWork); least == nil || finish.Cmp(least) < 0 {
				best, least = i, finish
			}
		}
		q := m.queues[best]
		r := m.inPhase(q, waiting)[0]
		if !m.fits(r.seats()) {
			m.held = append(m.held, r.number)
			return
		}
		m.starts = append(m.starts, m.startsFor(q))
		m.robin = best
		if r.work.FinalSeats > m.limit {
			finalWork, _ := new(big.Float).SetInt(product(float64(r.work.FinalSeats), r.work.AdditionalLatencyNs)).Float64()
			m.kept += r.seats()
			r.work.FinalSeats = m.limit
			m.kept -= r.seats()
			r.work.AdditionalLatencyNs = int64(finalWork / float64(m.limit) * 10)
		}
		m.start(r)
		q.nextDispatchR = add(q.nextDispatchR, r.totalWork)
		m.bound(q)
	}
}

// startsFor returns what a dispatch from the queue chooses from.
func (m *model) startsFor(chosen *modelQueue) Starts {
	var starts, discounted []estimate.SeatSeconds
	for _, q := range m.queues {
		if len(m.inPhase(q, waiting)) > 0 {
			inUse := m.seats(m.inPhase(q, executing, finalPhase))
			starts = append(starts, m.modulo(q.nextDispatchR))
			discounted = append(discounted, m.modulo(sub(q.nextDispatchR, product(float64(inUse), modelGuessNs))))
		}
	}
	return Starts{m.modulo(chosen.nextDispatchR), slices.Min(starts), slices.Max(starts), slices.Min(discounted), slices.Max(discounted)}
}

func (m *model) start(r *modelRequest) {
	r.phase, r.dispatchNs = executing, m.nowNs
	m.started = append(m.started, r.number)
	m.note()
}

func (m *model) numbered(number int) *modelRequest {
	i := slices.IndexFunc(m.requests, func(r *modelRequest) bool { return r.number == number })
	return m.requests[i]
}

func (m *model) finish(nowNs int64, number int) (additionalNs int64) {
	m.advance(nowNs)
	r := m.numbered(number)
	r.phase = finalPhase
	if q := r.queue; q != nil {
		q.nextDispatchR = sub(q.nextDispatchR, product(float64(r.work.InitialSeats), modelGuessNs-(nowNs-r.dispatchNs)))
		m.bound(q)
	}
	if r.work.AdditionalLatencyNs == 0 {
		m.leave(r)
	}
	m.dispatch()
	return r.work.AdditionalLatencyNs
}

func (m *model) release(nowNs int64, number int) {
	m.advance(nowNs)
	m.leave(m.numbered(number))
	m.dispatch()
}

// leave takes back a request's seats, and its queue with them if it is one too many.
func (m *model) leave(r *modelRequest) {
	m.drop(r)
	i := slices.Index(m.queues, r.queue)
	if i >= 0 && len(m.queues) > m.config.Queues && !m.isActive(r.queue) {
		m.queues = slices.Delete(m.queues, i, i+1)
		if m.robin >= i {
			m.robin--
		}
	}
}

func (m *model) drop(r *modelRequest) {
	i := slices.Index(m.requests, r)
	m.requests = slices.Delete(m.requests, i, i+1)
	m.note()
}

// leaveQueue removes a request that still waits, whether at its wait limit or because its client
// has gone.
func (m *model) leaveQueue(nowNs int64, number int) {
	m.advance(nowNs)
	r := m.numbered(number)
	m.drop(r)
	m.bound(r.queue)
}

// note writes down how many seats are asked for from now on. The seats that dispatch took
// off a request, which upstream never takes off the demand again, are asked for for ever.
func (m *model) note() {
	seats := m.seats(m.inPhase(nil, waiting, executing, finalPhase)) + m.kept
	m.demands = append(m.demands, modelDemand{m.nowNs, seats})
}

// takeDemand returns the average of the seats asked for since it was last called, or 0 for
// no time, and the most that there were, and begins another period.
func (m *model) takeDemand(nowNs int64) (average *big.Rat, most int) {
	sum := new(big.Int)
	for i, d := range m.demands {
		untilNs := nowNs
		if i+1 < len(m.demands) {
			untilNs = m.demands[i+1].fromNs
		}
		most = max(most, d.seats)
		sum.Add(sum, new(big.Int).Mul(big.NewInt(int64(d.seats)), big.NewInt(untilNs-d.fromNs)))
	}
	average = new(big.Rat)
	if elapsedNs := nowNs - m.demands[0].fromNs; elapsedNs > 0 {
		average.SetFrac(sum, big.NewInt(elapsedNs))
	}
	m.demands = []modelDemand{{nowNs, m.demands[len(m.demands)-1].seats}}
	return average, most
}
