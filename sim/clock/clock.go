// Package clock implements virtual time: a queue of pending events that yields them in a total
// order, so that two runs process the same events in the same order.
package clock

import (
	"math"
	"math/bits"
)

// Queue holds pending events of type E. It yields them in the order of their time, then of their
// class, then in the order in which they were scheduled. Times are in nanoseconds since the start
// of the run. The zero value is an empty queue at time 0.
//
// It is a hierarchical timing wheel (Varghese and Lauck, "Hashed and Hierarchical Timing
// Wheels", 1987). A time is a number of eleven digits in base 64, and each digit has 64 slots. An
// event is in a slot of the highest digit in which its time differs from the current time. When
// time reaches a slot, the events of the slot move to slots of lower digits.
//
// Each event moves at most once for each digit, so that the cost of scheduling, cancelling and
// yielding an event does not depend on the number of pending events. Invariant: the events in a
// slot are in the order in which they were scheduled, because moving a slot keeps the order.
// Therefore the queue never compares two events.
type Queue[E any] struct {
	nowNs  int64
	nodes  []node[E]                   // node 0 is not used, because index 0 means no node
	free   int32                       // first of the unused nodes, which are linked by next
	due    uint64                      // bit i: events of class i are due now
	digits uint64                      // bit i: digit i has a slot that is not empty
	slots  [digits]uint64              // of digit i, bit j: slot j is not empty
	lists  [digits*base + Classes]list // the slots of each digit, lowest digit first; then the events due now, by class
}

// Classes is the number of classes of events.
const Classes = 24

const (
	digitBits = 6
	base      = 1 << digitBits
	digits    = (63 + digitBits - 1) / digitBits
	dueNow    = digits * base // index of the list of events of class 0 that are due now
	unused    = math.MaxUint16
)

type node[E any] struct {
	atNs       int64
	event      E
	next, prev int32  // in its list
	list       uint16 // index of its list; unused while the node has no event
	class      uint8
}

// list is a doubly linked list of nodes, in the order in which they were scheduled. An index of
// 0 means no node.
type list struct{ head, tail int32 }

// Handle identifies a pending event until Next yields it or Cancel removes it; its owner forgets it then. No event has
// the zero value.
type Handle int32

// NowNs returns the current time: the time of the last event that Next yielded.
func (q *Queue[E]) NowNs() int64 { return q.nowNs }

// Schedule adds an event at the current time or later. Of the events at the same time, Next
// yields those of lower classes first.
func (q *Queue[E]) Schedule(atNs int64, class uint8, event E) Handle {
	if atNs < q.nowNs {
		panic("clock: Schedule at a time before NowNs")
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

// Cancel removes a pending event.
func (q *Queue[E]) Cancel(h Handle) {
	n := &q.nodes[h]
	if n.list == unused {
		panic("clock: Cancel of an event that is not pending")
	}
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

// Next removes the first event, advances time to it and returns it; ok is false if no event is
// pending.
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
		if i == l.tail { // the only event of the first slot is the first event
			n := &q.nodes[i]
			q.nowNs, event = n.atNs, n.event
			*l = list{}
			q.vacateSlot(digit, slot)
			q.release(i, n)
			return event, true
		}
		// Advance time to the beginning of the slot, and move its events to lower digits.
		beyond := digitBits * (digit + 1)
		q.nowNs = q.nowNs>>beyond<<beyond | int64(slot)<<(digitBits*digit%64)
		*l = list{}
		q.vacateSlot(digit, slot)
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
		q.due &= q.due - 1 // the lowest bit
	} else {
		q.nodes[l.head].prev = 0
	}
	q.release(i, n)
	return event, true
}

// NextNs returns the time of the event that Next would yield, and does not advance time; ok is false if
// no event is pending. For a caller that lets events happen in real time. Its cost grows with the number of
// events that are about to be moved to lower digits.
func (q *Queue[E]) NextNs() (atNs int64, ok bool) {
	if q.due != 0 {
		return q.nowNs, true
	}
	if q.digits == 0 {
		return 0, false
	}
	digit := bits.TrailingZeros64(q.digits)
	i := q.lists[digit*base+bits.TrailingZeros64(q.slots[digit])].head
	for atNs = q.nodes[i].atNs; i != 0; i = q.nodes[i].next {
		atNs = min(atNs, q.nodes[i].atNs)
	}
	return atNs, true
}

// insert appends node i, to which n points, to the list for its time.
func (q *Queue[E]) insert(i int32, n *node[E]) {
	var to int
	if differ := uint64(n.atNs ^ q.nowNs); differ == 0 {
		to = dueNow + int(n.class)
		q.due |= 1 << (n.class % 64)
	} else {
		digit := uint(bits.Len64(differ)-1) / digitBits
		slot := uint(n.atNs>>(digitBits*digit%64)) % base
		to = int(digit*base + slot)
		q.digits |= 1 << (digit % 64)
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

// vacate clears the bits of a list that has become empty.
func (q *Queue[E]) vacate(at int) {
	if at >= dueNow {
		q.due &^= 1 << ((at - dueNow) % 64)
		return
	}
	q.vacateSlot(at/base, at%base)
}

// vacateSlot clears the bits of a slot of a digit that has become empty.
func (q *Queue[E]) vacateSlot(digit, slot int) {
	q.slots[digit] &^= 1 << (slot % base)
	if q.slots[digit] == 0 {
		q.digits &^= 1 << (digit % 64)
	}
}

// release adds a node to the unused ones, and drops its event so that the garbage collector can
// free it.
func (q *Queue[E]) release(i int32, n *node[E]) {
	var none E
	n.event, n.next, n.list = none, q.free, unused
	q.free = i
}

// grow adds a node and returns its index.
func (q *Queue[E]) grow() int32 {
	if len(q.nodes) == 0 {
		q.nodes = make([]node[E], 1, 64)
		q.nodes[0].list = unused
	}
	q.nodes = append(q.nodes, node[E]{})
	return int32(len(q.nodes) - 1)
}
