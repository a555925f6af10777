package watchcache

// fifo is a queue. The zero value is empty.
type fifo[T any] struct {
	items []T // those before head are gone
	head  int
}

func (q *fifo[T]) len() int { return len(q.items) - q.head }

func (q *fifo[T]) push(item T) {
	if q.head > 32 && q.head > len(q.items)/2 {
		kept := copy(q.items, q.items[q.head:])
		clear(q.items[kept:])
		q.items, q.head = q.items[:kept], 0
	}
	q.items = append(q.items, item)
}

// first returns the item that pop returns next.
func (q *fifo[T]) first() *T { return &q.items[q.head] }

// waiting returns the items, the first one first.
func (q *fifo[T]) waiting() []T { return q.items[q.head:] }

func (q *fifo[T]) pop() T {
	item := q.items[q.head]
	clear(q.items[q.head : q.head+1])
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return item
}

func (q *fifo[T]) clear() {
	clear(q.items)
	q.items, q.head = q.items[:0], 0
}
