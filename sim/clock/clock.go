// Package clock is virtual time: the events that are still to come, in a total order.
package clock

import "math/bits"

// Queue holds pending events of type E and yields them by time; at one instant by class,
// and within a class in the order in which they were scheduled. Times are nanoseconds
// since the start of the run. The zero value is an empty queue at time 0.
//
// It is a hierarchical timing wheel (Varghese and Lauck, "Hashed and Hierarchical Timing
// Wheels", 1987). A time is a number of eleven digits to base 64, and an event waits in
// the slot of the highest digit in which its time differs from now: there are 64 slots
// for each digit. As time reaches a slot, its events move on to slots of lower digits. So
// scheduling, cancelling and yielding an event cost the same however many are pending,
// and no two events are ever compared: those of one slot are in the order in which they
// were scheduled, which moving on keeps.
type Queue[E any] struct {
	nowNs  int64
	nodes  []node[E] // the first stands for none
	free   int32     // list of nodes not in use, by next
	due    uint64    // bit i: events of class i are due now
	digits uint64    // bit i: a slot of digit i is occupied
	slots  [digits]uint64
	lists  [digits*base + Classes]list // the slots of each digit, lowest first; then the classes due now
}

// Classes is how many classes of events there can be.
const Classes = 16

const (
	digitBits = 6
	base      = 1 << digitBits
	digits    = (63 + digitBits - 1) / digitBits
	dueNow    = digits * base // the list of the first class
)

type node[E any] struct {
	atNs       int64
	event      E
	next, prev int32
	list       uint16
	class      uint8
}

// list is a doubly linked list of nodes, 0 being none.
type list struct{ head, tail int32 }

// Handle names a pending event until it is yielded or cancelled. No event has the zero value.
type Handle int32

// NowNs returns the time of the event that Next yielded last.
func (q *Queue[E]) NowNs() int64 { return q.nowNs }

// Schedule adds an event, now or later. Lower classes come first at the same instant.
func (q *Queue[E]) Schedule(atNs int64, class uint8, event E) Handle {
	if atNs < q.nowNs {
		panic("clock: an event was scheduled in the past")
	}
	i := q.free
	if i == 0 {
		i = q.grow()
	}
	n := &q.nodes[i]
	q.free = n.next
	n.atNs, n.event, n.class = atNs, event, class
	q.insert(i, n)
	return Handle(i)
}

// Cancel takes out a pending event.
func (q *Queue[E]) Cancel(h Handle) {
	n := &q.nodes[h]
	l := &q.lists[n.list]
	if n.prev == 0 {
		l.head = n.next
	} else {
		q.nodes[n.prev].next = n.next
	}
	if n.next == 0 {
		l.tail = n.prev
	} else {
		q.nodes[n.next].prev = n.prev
	}
	if l.head == 0 {
		q.vacate(int(n.list))
	}
	q.release(int32(h), n)
}

// Next takes out the first event and moves time on to it. Without one it returns false.
func (q *Queue[E]) Next() (event E, ok bool) {
	for q.due == 0 {
		if q.digits == 0 {
			return event, false
		}
		digit := bits.TrailingZeros64(q.digits)
		slot := bits.TrailingZeros64(q.slots[digit])
		at := digit*base + slot
		l := &q.lists[at]
		i := l.head
		if i == l.tail { // alone in its slot, it is before all others
			n := &q.nodes[i]
			q.nowNs, event = n.atNs, n.event
			*l = list{}
			q.vacate(at)
			q.release(i, n)
			return event, true
		}
		// Time reaches the slot.
		beyond := digitBits * (digit + 1)
		q.nowNs = q.nowNs>>beyond<<beyond | int64(slot)<<(digitBits*digit)
		*l = list{}
		q.vacate(at)
		for i != 0 {
			n := &q.nodes[i]
			next := n.next
			q.insert(i, n)
			i = next
		}
	}
	l := &q.lists[dueNow+bits.TrailingZeros64(q.due)]
	i := l.head
	n := &q.nodes[i]
	event = n.event
	l.head = n.next
	if l.head == 0 {
		l.tail = 0
		q.vacate(int(n.list))
	} else {
		q.nodes[l.head].prev = 0
	}
	q.release(i, n)
	return event, true
}

// insert appends node i, which is n, to the list that its time belongs to.
func (q *Queue[E]) insert(i int32, n *node[E]) {
	var to int
	if differ := uint64(n.atNs ^ q.nowNs); differ == 0 {
		to = dueNow + int(n.class)
		q.due |= 1 << n.class
	} else {
		digit := uint(bits.Len64(differ)-1) / digitBits
		slot := uint(n.atNs>>(digitBits*digit)) % base
		to = int(digit*base + slot)
		q.digits |= 1 << digit
		q.slots[digit] |= 1 << slot
	}
	l := &q.lists[to]
	n.list, n.prev, n.next = uint16(to), l.tail, 0
	if l.tail == 0 {
		l.head = i
	} else {
		q.nodes[l.tail].next = i
	}
	l.tail = i
}

// vacate notes that a list has become empty.
func (q *Queue[E]) vacate(at int) {
	if at >= dueNow {
		q.due &^= 1 << (at - dueNow)
		return
	}
	digit := at / base
	q.slots[digit] &^= 1 << (at % base)
	if q.slots[digit] == 0 {
		q.digits &^= 1 << digit
	}
}

// release puts a node on the list of those not in use.
func (q *Queue[E]) release(i int32, n *node[E]) {
	var none E
	n.event, n.next = none, q.free
	q.free = i
}

// grow makes more nodes, and returns one of them.
func (q *Queue[E]) grow() int32 {
	if len(q.nodes) == 0 {
		q.nodes = make([]node[E], 1, 64)
	}
	q.nodes = append(q.nodes, node[E]{})
	return int32(len(q.nodes) - 1)
}
