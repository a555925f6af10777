// Package clock is virtual time: the events that are still to come, in a total order.
package clock

// Queue holds pending events of type E and yields them by time; at one instant by class,
// and within a class in the order in which they were scheduled. Times are nanoseconds
// since the start of the run. The zero value is an empty queue at time 0.
type Queue[E any] struct {
	nowNs     int64
	scheduled uint64
	heap      []entry[E] // 4-ary: the children of i are 4i+1 to 4i+4
	lanes     map[int64]*lane[E]
	busy      []*lane[E] // the lanes in which a timer runs
	first     *lane[E]   // the one of them whose first timer is next; nil when none runs
}

// key orders events: by time, then by class and sequence number.
type key struct {
	atNs  int64
	order uint64 // class in the top 8 bits, sequence number below
}

func (k key) before(other key) bool {
	return k.atNs < other.atNs || k.atNs == other.atNs && k.order < other.order
}

type entry[E any] struct {
	key
	event E
}

// NowNs returns the time of the event that Next yielded last.
func (q *Queue[E]) NowNs() int64 { return q.nowNs }

func (q *Queue[E]) key(atNs int64, class uint8) key {
	if atNs < q.nowNs {
		panic("clock: an event was scheduled in the past")
	}
	q.scheduled++
	return key{atNs, uint64(class)<<56 | q.scheduled}
}

// Schedule adds an event. Lower classes come first at the same instant.
func (q *Queue[E]) Schedule(atNs int64, class uint8, event E) {
	e := entry[E]{q.key(atNs, class), event}
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(q.heap[parent].key) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = e
}

// Next takes out the first event and moves time on to it, unless it is not due before
// untilNs or there is none: then it returns false.
func (q *Queue[E]) Next(untilNs int64) (event E, ok bool) {
	if q.first != nil && (len(q.heap) == 0 || q.first.head.key.before(q.heap[0].key)) {
		t := q.first.head
		if t.atNs >= untilNs {
			return event, false
		}
		q.nowNs = t.atNs
		q.Stop(t)
		return t.event, true
	}
	if len(q.heap) == 0 || q.heap[0].atNs >= untilNs {
		return event, false
	}
	q.nowNs = q.heap[0].atNs
	return q.pop(), true
}

func (q *Queue[E]) pop() E {
	heap := q.heap
	top := heap[0].event
	last := len(heap) - 1
	e := heap[last]
	heap[last] = entry[E]{}
	heap = heap[:last]
	q.heap = heap
	if last == 0 {
		return top
	}
	i := 0
	for {
		least := 4*i + 1
		if least >= last {
			break
		}
		for c := least + 1; c < min(4*i+5, last); c++ {
			if heap[c].before(heap[least].key) {
				least = c
			}
		}
		if !heap[least].before(e.key) {
			break
		}
		heap[i] = heap[least]
		i = least
	}
	heap[i] = e
	return top
}
