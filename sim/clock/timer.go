package clock

// Timer is an event that may be stopped before it comes. Embed it in what it belongs to.
// The zero value does not run.
//
// Timers of equal length come in the order in which they were started, so that starting
// and stopping one costs the same however many run.
type Timer[E any] struct {
	key
	event      E
	lane       *lane[E] // nil while it does not run
	prev, next *Timer[E]
}

// Running says whether the timer has been started and has neither come nor been stopped.
func (t *Timer[E]) Running() bool { return t.lane != nil }

// lane is the running timers of one length, in order.
type lane[E any] struct {
	head, tail *Timer[E]
	lengthNs   int64
	place      int // in Queue.busy
}

// Start lets event come lengthNs from now. The timer must not be running, and all timers
// of one length must be of one class.
func (q *Queue[E]) Start(t *Timer[E], lengthNs int64, class uint8, event E) {
	if t.lane != nil {
		panic("clock: a running timer was started")
	}
	l := q.lanes[lengthNs]
	if l == nil {
		if q.lanes == nil {
			q.lanes = map[int64]*lane[E]{}
		}
		l = &lane[E]{lengthNs: lengthNs, place: len(q.busy)}
		q.lanes[lengthNs] = l
		q.busy = append(q.busy, l)
	}
	t.key, t.event, t.lane = q.key(q.nowNs+lengthNs, class), event, l
	t.prev, t.next = l.tail, nil
	if l.tail == nil {
		l.head = t
	} else {
		l.tail.next = t
	}
	l.tail = t
	if q.first == nil || l.head.before(q.first.head.key) {
		q.first = l
	}
}

// Stop cancels a running timer.
func (q *Queue[E]) Stop(t *Timer[E]) {
	l := t.lane
	if l == nil {
		panic("clock: a timer was stopped that does not run")
	}
	if t.prev == nil {
		l.head = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		l.tail = t.prev
	} else {
		t.next.prev = t.prev
	}
	wasFirst := t.prev == nil && l == q.first
	t.lane, t.prev, t.next = nil, nil, nil
	if l.head == nil {
		q.drop(l)
	}
	if wasFirst {
		q.first = nil
		for _, l := range q.busy {
			if q.first == nil || l.head.before(q.first.head.key) {
				q.first = l
			}
		}
	}
}

// drop forgets a lane in which no timer runs: there may be as many lengths as timers.
func (q *Queue[E]) drop(l *lane[E]) {
	last := q.busy[len(q.busy)-1]
	q.busy[l.place] = last
	last.place = l.place
	q.busy = q.busy[:len(q.busy)-1]
	delete(q.lanes, l.lengthNs)
}
