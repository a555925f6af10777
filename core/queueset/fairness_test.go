package queueset

import (
	"container/heap"
	"fmt"
	"math"
	"testing"
	"time"

	"apfsim/core/estimate"
	"apfsim/core/rules"
)

// client is a number of threads that send requests of one flow. Each sends its next when
// its last has executed and it has thought for a while; a think time below 0 sends it that
// much before the last finishes. A thread that is rejected gives up.
type client struct {
	hash           uint64
	threads, calls int
	execution      time.Duration
	think          time.Duration
	work           estimate.Work
	split          bool // half of the threads begin at half time, with half of the calls
}

// clientOf returns a client whose requests take one seat for a second.
func clientOf(hash uint64, threads, calls int, think time.Duration) client {
	return client{hash: hash, threads: threads, calls: calls, execution: time.Second, think: think,
		work: estimate.Work{InitialSeats: 1, FinalSeats: 1}}
}

func (c client) wide(seats int) client {
	c.work.InitialSeats = seats
	return c
}

func (c client) padded(seats int, latency time.Duration) client {
	c.work.FinalSeats, c.work.AdditionalLatencyNs = seats, int64(latency)
	return c
}

func (c client) halved() client {
	c.split = true
	return c
}

// contest is what the clients of one set get of its seats.
type contest struct {
	config   Config
	limit    int
	clients  []client
	duration time.Duration // of what is evaluated; the clients go on until they are through
}

// score is what became of a contest.
type score struct {
	seatNs   [2][]float64 // by half and client: seats × time executing
	rejected int
	epochs   int // how often R was wound back
	duration time.Duration
}

// average returns the seats that a client had on average over the whole.
func (s *score) average(client int) float64 {
	return (s.seatNs[0][client] + s.seatNs[1][client]) / float64(s.duration)
}

// averageOf returns the seats that a client had on average over the first or second half.
func (s *score) averageOf(half, client int) float64 {
	return s.seatNs[half][client] / float64(s.duration/2)
}

// match is a contest under way.
type match struct {
	Host // TimedOut is not called
	contest
	score  score
	set    *QueueSet
	agenda agenda
	nowNs  int64
	order  int
}

// call is a thread's request, and the thread.
type call struct {
	Request
	client  int
	left    int // calls to come after this one
	startNs int64
}

// step is something to come: a call is sent, finishes, or gives back its seats.
type step struct {
	atNs  int64
	order int
	do    func()
}

type agenda []step

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].atNs < a[j].atNs || a[i].atNs == a[j].atNs && a[i].order < a[j].order
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(step)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

func (m *match) schedule(afterNs int64, do func()) {
	m.order++
	heap.Push(&m.agenda, step{m.nowNs + afterNs, m.order, do})
}

// play plays a contest until every thread is through.
func (c contest) play() *score {
	m := &match{contest: c, score: score{duration: c.duration}}
	m.set = New(0, rules.Latest(), c.config, c.limit, m)
	for half := range m.score.seatNs {
		m.score.seatNs[half] = make([]float64, len(c.clients))
	}
	for i, cl := range c.clients {
		for j := range cl.threads {
			// No two begin together.
			atNs, calls := int64(90*j+20*i), cl.calls
			if cl.split && j >= cl.threads/2 {
				atNs += int64(c.duration / 2)
				calls /= 2
			}
			m.schedule(atNs, func() { m.send(i, calls) })
		}
	}
	for r := m.set.R(); len(m.agenda) > 0; r = m.set.R() {
		next := heap.Pop(&m.agenda).(step)
		m.nowNs = next.atNs
		next.do()
		if m.set.R() < r {
			m.score.epochs++
		}
	}
	return &m.score
}

func (m *match) send(client, calls int) {
	if calls == 0 {
		return
	}
	c := &call{client: client, left: calls - 1}
	c.Owner, c.Work = c, m.clients[client].work
	if arrive(m.set, m.nowNs, &c.Request, m.clients[client].hash) != NotRejected {
		m.score.rejected++
	}
}

// Dispatched implements Host.
func (m *match) Dispatched(r *Request) {
	c := r.Owner.(*call)
	c.startNs = m.nowNs
	cl := &m.clients[c.client]
	m.schedule(int64(cl.execution+cl.think), func() { m.send(c.client, c.left) })
	m.schedule(int64(cl.execution), func() { m.finish(c) })
}

// HeldBack implements Host.
func (m *match) HeldBack(*Request) {}

func (m *match) finish(c *call) {
	halfNs := int64(m.duration / 2)
	for half := range m.score.seatNs {
		fromNs, toNs := int64(half)*halfNs, int64(half+1)*halfNs
		within := max(0, min(m.nowNs, toNs)-max(c.startNs, fromNs))
		m.score.seatNs[half][c.client] += float64(c.Work.InitialSeats) * float64(within)
	}
	if additionalNs := m.set.Finish(m.nowNs, &c.Request); additionalNs > 0 {
		m.schedule(additionalNs, func() { m.set.Release(m.nowNs, &c.Request) })
	}
}

// off returns by which part of the expected an average is off.
func off(average, want float64) float64 { return math.Abs(average-want) / want }

// TestUniformClients holds the queue set to the scenarios of
// k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset, queueset_test.go, with their
// parameters and the margins that they accept. A client's demand is threads × seats ×
// execution / (execution + think) seats; what it is expected to have is its max-min fair
// share of the limit.
func TestUniformClients(t *testing.T) {
	const (
		a, b    = 1001001001, 2002002002 // hashes of two flows
		quarter = 91 * 24 * time.Hour
	)
	long := func(c client) client { // a quarter of a year instead of a second
		c.execution *= quarter / time.Second
		c.think *= quarter / time.Second
		return c
	}
	for _, c := range []struct {
		name string
		contest
		want   []float64
		margin float64
		epochs int
	}{
		// One flow demands 1 seat of 1.
		{name: "one client", contest: contest{Config{9, 3, 8}, 1, []client{clientOf(a, 1, 21, 0)}, 20 * time.Second},
			want: []float64{1}},
		// 8/2 and 8/2 of 4.
		{name: "alike, a hand of 1", contest: contest{Config{9, 1, 8}, 4, []client{
			clientOf(a, 8, 20, time.Second-1), clientOf(b, 8, 20, time.Second-1)}, 50 * time.Second},
			want: []float64{2, 2}, margin: 0.01},
		{name: "alike, a hand of 3", contest: contest{Config{8, 3, 16}, 4, []client{
			clientOf(400900100100, 8, 30, time.Second-1), clientOf(300900200200, 8, 30, time.Second-1)}, 60 * time.Second},
			want: []float64{2, 2}, margin: 0.03},
		// 8/2 and 7/1.5 of 4: both want more than half.
		{name: "different, both want more", contest: contest{Config{9, 1, 8}, 4, []client{
			clientOf(a, 8, 20, time.Second), clientOf(b, 7, 30, time.Second/2)}, 40 * time.Second},
			want: []float64{2, 2}, margin: 0.01},
		// The same, 500 seats wide and for years: R passes 2^64 units several times.
		{name: "R is wound back", contest: contest{Config{9, 1, 8}, 2000, []client{
			long(clientOf(a, 8, 20, time.Second)).wide(500), long(clientOf(b, 7, 30, time.Second/2)).wide(500)}, 40 * quarter},
			want: []float64{1000, 1000}, margin: 0.01, epochs: 8},
		// 4/2 and 2/2 of 3: the second has all that it wants, the first what is left.
		{name: "different, one wants less", contest: contest{Config{9, 1, 6}, 3, []client{
			clientOf(a, 4, 20, time.Second-1), clientOf(b, 2, 20, time.Second-1)}, 20 * time.Second},
			want: []float64{2, 1}, margin: 0.01},
		// 13/2 and 7·2/2 of 6.
		{name: "one is wider", contest: contest{Config{64, 7, 13}, 6, []client{
			clientOf(10010010010010, 13, 10, time.Second-1), clientOf(20020020020020, 7, 10, time.Second-1).wide(2)}, 20 * time.Second},
			want: []float64{3, 3}, margin: 0.155},
		// Each of the five wants more than 6/5: 15·2/2, or 15·7/2 with requests of 7 seats.
		{name: "one is wider than the limit", contest: contest{Config{64, 7, 35}, 6, []client{
			clientOf(40040040040040, 15, 21, time.Second-1).wide(2), clientOf(50050050050050, 15, 21, time.Second-1).wide(2),
			clientOf(60060060060060, 15, 21, time.Second-1).wide(2), clientOf(70070070070070, 15, 21, time.Second-1).wide(2),
			clientOf(90090090090090, 15, 21, time.Second-1).wide(7)}, 400 * time.Second},
			want: []float64{1.2, 1.2, 1.2, 1.2, 1.2}, margin: 0.35},
		// 5·3/2, whatever the limit.
		{name: "exempt, no seats", contest: contest{Config{Queues: Unlimited}, 0, []client{clientOf(a, 5, 20, time.Second).wide(3)}, 40 * time.Second}, want: []float64{7.5}, margin: 1e-8},
		{name: "exempt, two seats", contest: contest{Config{Queues: Unlimited}, 2, []client{clientOf(a, 5, 20, time.Second).wide(3)}, 40 * time.Second}, want: []float64{7.5}, margin: 1e-8},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.play()
			for i, want := range c.want {
				t.Logf("client %d has %.6f seats, off by %.4f", i, s.average(i), off(s.average(i), want))
				if off(s.average(i), want) > c.margin {
					t.Errorf("client %d has %v seats on average, want %v to %v of it", i, s.average(i), want, c.margin)
				}
			}
			if s.rejected > 0 || s.epochs != c.epochs {
				t.Errorf("%d rejected, R wound back %d times, want 0 and %d", s.rejected, s.epochs, c.epochs)
			}
		})
	}
}

// Requests of a second, with a thought between them and with additional latency ("pad"),
// from one thread of each client. A thread can send its next a thought after its last has
// executed, but the seats of the last are held for the pad: where no other is free, a lone
// thread executes for 1 s of every 1 s + max(think, pad). These are exact, over 24 s, which
// all the periods divide.
func TestThinkAndPad(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		think, pad           time.Duration
		final, limit, number int
		want                 float64 // seats of each client
	}{
		// Thinking alone: 1 s of every 2. Two take turns at one seat.
		{s, 0, 1, 1, 1, 1. / 2}, {s, 0, 1, 2, 1, 1. / 2}, {s, 0, 2, 2, 1, 1. / 2},
		{s, 0, 1, 1, 2, 1. / 2}, {s, 0, 1, 2, 2, 1. / 2}, {s, 0, 2, 2, 2, 1. / 2},
		// The pad alone. Where it holds all seats, one executes for 1 s of every 2, and two in
		// turns for 1 s of every 4. With a second seat one is not held up, and two are as one
		// was with one seat.
		{0, s, 1, 1, 1, 1. / 2}, {0, s, 1, 2, 1, 1}, {0, s, 2, 2, 1, 1. / 2},
		{0, s, 1, 1, 2, 1. / 4}, {0, s, 1, 2, 2, 1. / 2}, {0, s, 2, 2, 2, 1. / 4},
		// A pad shorter than the thought does not show, but where two take turns of 1.5 s.
		{s, s / 2, 1, 1, 1, 1. / 2}, {s, s / 2, 1, 2, 1, 1. / 2}, {s, s / 2, 2, 2, 1, 1. / 2},
		{s, s / 2, 1, 1, 2, 1. / 3}, {s, s / 2, 1, 2, 2, 1. / 2}, {s, s / 2, 2, 2, 2, 1. / 3},
		// A pad longer than the thought hides it, but where there is a second seat for the
		// only thread, which then executes for 1 s of every 1.5.
		{s / 2, s, 1, 1, 1, 1. / 2}, {s / 2, s, 1, 2, 1, 2. / 3}, {s / 2, s, 2, 2, 1, 1. / 2},
		{s / 2, s, 1, 1, 2, 1. / 4}, {s / 2, s, 1, 2, 2, 1. / 2}, {s / 2, s, 2, 2, 2, 1. / 4},
	} {
		t.Run(fmt.Sprintf("think %v, pad %v on %d seats, limit %d, %d clients", c.think, c.pad, c.final, c.limit, c.number), func(t *testing.T) {
			clients := []client{
				clientOf(1001001001, 1, 25, c.think).padded(c.final, c.pad),
				clientOf(2002002002, 1, 25, c.think).padded(c.final, c.pad),
			}[:c.number]
			got := contest{Config{9, 3, 8}, c.limit, clients, 24 * s}.play()
			for i := range clients {
				if got.average(i) != c.want {
					t.Errorf("client %d has %v seats on average, want %v", i, got.average(i), c.want)
				}
			}
		})
	}
}

// Without queues the first to come is the first served, and nobody is treated fairly: of
// demands of 6/1.057 and 4/1.75 for 4 seats neither client has what is within 20 % of its
// fair share of 2.
func TestUnfairWithoutQueues(t *testing.T) {
	got := contest{Config{}, 4, []client{
		clientOf(1001001001, 6, 10, 57*time.Millisecond),
		clientOf(2002002002, 4, 15, 750*time.Millisecond),
	}, 13 * time.Second}.play()
	for i := range 2 {
		if off(got.average(i), 2) <= 0.2 {
			t.Errorf("client %d has %v seats on average: fair", i, got.average(i))
		}
	}
	if got.rejected == 0 {
		t.Error("nobody is rejected")
	}
}

// Every active queue is allocated the same part of the seats, also one that cannot use it.
// Such a queue does not save it up (the bound), but a queue that uses what the other leaves
// pays for it later.
//
// Of 3 seats one flow uses 2 and the other, with one thread, 1, for 20 s: that is fair, and
// what they have. R meanwhile grows by 3/2 a second, and the first flow's next dispatch by
// 2: after 20 s it is 10 seat-seconds ahead. When the second flow has two threads as well,
// it is behind by these 10, and has 2 seats to the other's 1 until it has caught up: 10 s.
// Then both have 1.5. Over these 20 s that makes 1.25 and 1.75, and not the fair 1.5, of
// which k8s.io/apiserver accepts to be off by more than 10 % and by at most 26 %.
func TestAheadOfTheAllocation(t *testing.T) {
	got := contest{Config{9, 1, 6}, 3, []client{
		clientOf(1001001001, 2, 40, -1),
		clientOf(2002002002, 2, 40, -1).halved(),
	}, 40 * time.Second}.play()
	for i, want := range []float64{2, 1} {
		if average := got.averageOf(0, i); off(average, want) > 0.01 {
			t.Errorf("client %d has %v seats on average in the first half, want %v to 0.01 of it", i, average, want)
		}
	}
	for i, want := range []float64{1.25, 1.75} {
		average := got.averageOf(1, i)
		t.Logf("client %d has %v seats in the second half", i, average)
		// A request more or less in 20 s is 0.05 seats.
		if math.Abs(average-want) > 0.05 {
			t.Errorf("client %d has %v seats on average in the second half, want %v to 0.05", i, average, want)
		}
		if d := off(average, 1.5); d <= 0.1 || d > 0.26 {
			t.Errorf("client %d is off its fair share by %v in the second half, want more than 0.1 and at most 0.26", i, d)
		}
	}
	if got.rejected > 0 {
		t.Errorf("%d rejected", got.rejected)
	}
}
