package machine

import "math"

// turns lets the jobs of a machine take turns on its places, of which there is one for each core (round robin).
// Jobs for which there is no place wait, in the order of their coming. A job that is on a place gives way when
// it has been served for a turn and somebody waits, and then waits behind all others. If nobody waits, it keeps its place until
// somebody comes, and gives way at once then.
//
// A job of several visits has a part of its demand in each. When a part has been served, it waits behind all others, and has a new turn
// then, also if nobody else waits.
//
// The m jobs that are on a place progress at the speed n·v(n)/m each, so that the machine serves as much as without turns. As
// they progress alike, their turns are over in the order in which they have got their places.
//
// Invariant: a job waits only if no place is free.
type turns struct {
	places int
	turn   float64 // ns of demand

	jobs    []turn // by slots
	placed  list   // in the order in which they have got their places
	waiting list   // in the order in which they get one
}

// turn is what is known of a job of a machine with turns besides its end.
type turn struct {
	// left is what is left of the demand of the visit of a job that waits, and V at the end of the turn of one that is on a place.
	left           float64
	part           float64 // of the demand, in each visit
	visits         int32   // after this one
	order          uint64
	previous, next int32 // in its list
}

// list is a doubly linked list of jobs.
type list struct {
	first, last int32
	n           int
}

// waits is the index in the heap of a job that waits.
const waits = -1

// Small is the part of a core that is no place of its own. Cores that are measured are seldom whole.
const Small = 0.25

// Places returns how many jobs progress at a time if they take turns.
func Places(cores float64) int { return max(1, int(math.Ceil(cores-Small))) }

func newTurns(cores, turn float64) *turns { return &turns{places: Places(cores), turn: turn} }

// begin takes note of a job that begins, with the demand of each of its visits.
func (t *turns) begin(slot, visits int32, part float64) {
	for len(t.jobs) <= int(slot) {
		t.jobs = append(t.jobs, turn{})
	}
	t.jobs[slot].visits, t.jobs[slot].part = visits-1, part
}

// over returns V at the end of the turn that is over first.
func (t *turns) over() float64 { return t.jobs[t.placed.first].left }

// add adds a job to the end of a list.
func (t *turns) add(l *list, slot int32) {
	if l.n == 0 {
		l.first = slot
	} else {
		t.jobs[l.last].next = slot
		t.jobs[slot].previous = l.last
	}
	l.last = slot
	l.n++
}

// drop takes a job out of a list.
func (t *turns) drop(l *list, slot int32) {
	j := &t.jobs[slot]
	if l.first == slot {
		l.first = j.next
	} else {
		t.jobs[j.previous].next = j.next
	}
	if l.last == slot {
		l.last = j.previous
	} else {
		t.jobs[j.next].previous = j.previous
	}
	l.n--
}

// after returns the demand of the visits of a job after this one.
func (t *turns) after(slot int32) float64 { return float64(t.jobs[slot].visits) * t.jobs[slot].part }

// place gives a job a place, of the demand of whose visit so much is left.
func (m *Machine) place(slot int32, order uint64, left float64) {
	t := m.turns
	t.jobs[slot].order, t.jobs[slot].left = order, m.served+t.turn
	t.add(&t.placed, slot)
	m.push(job{m.served + left, order, slot})
}

// wait makes a job wait behind all others.
func (m *Machine) wait(slot int32, order uint64, left float64) {
	t := m.turns
	t.jobs[slot].order, t.jobs[slot].left = order, left
	t.add(&t.waiting, slot)
	m.at[slot] = waits
}

// replace gives the place that is free to the first job that waits, if there is one.
func (m *Machine) replace() {
	if t := m.turns; t.waiting.n > 0 {
		slot := t.waiting.first
		t.drop(&t.waiting, slot)
		m.place(slot, t.jobs[slot].order, t.jobs[slot].left)
	}
}

// leave takes a job out, wherever it is.
func (m *Machine) leave(slot int32) {
	if m.at[slot] == waits {
		m.turns.drop(&m.turns.waiting, slot)
		return
	}
	m.turns.drop(&m.turns.placed, slot)
	m.pull(slot)
	m.replace()
}

// endTurn ends the turn that is over first.
func (m *Machine) endTurn() {
	t := m.turns
	m.served = max(m.served, t.over()) // rounding may have left a little
	slot := t.placed.first
	j := m.heap[m.at[slot]]
	t.drop(&t.placed, slot)
	m.pull(slot)
	m.replace()
	m.wait(slot, j.order, max(0, j.end-m.served))
}

// endVisit ends a visit of the job whose visit ends first, which has others.
func (m *Machine) endVisit() {
	t := m.turns
	j := m.heap[0]
	m.served = max(m.served, j.end) // rounding may have left a little
	visited := &t.jobs[j.slot]
	visited.visits--
	m.pull(j.slot)
	t.drop(&t.placed, j.slot)
	m.wait(j.slot, j.order, visited.part)
	m.replace()
}
