package workload

import (
	"math"

	"apfsim/document"
	"apfsim/sim/clock"
	"apfsim/sim/quantity"
)

// Queue is a work queue's limiter of failures (k8s.io/client-go, util/workqueue): an item that has failed n
// times waits for the larger of base·2^n, at most max, and of what a token bucket that all items share says.
type Queue struct {
	Base  quantity.Duration `json:"base,omitempty" jsonschema:"default=5ms"`
	Max   quantity.Duration `json:"max,omitempty" jsonschema:"default=1000s"`
	QPS   float64           `json:"qps,omitempty" jsonschema:"default=10,minimum=0" document:"maximum=1e9" message:"{value}: want {want}; 0 for no bucket" jsonschema_description:"0 for no bucket, as controller-runtime."`
	Burst int               `json:"burst,omitempty" jsonschema:"default=100,minimum=0"`
}

// UnmarshalDocument implements document.Unmarshaler.
func (q *Queue) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	document.SetDefaults(q)
	named(d, n, path, []string{"Default"}, func(string) {}, func() {
		type plain Queue
		d.Decode(n, path, (*plain)(q))
	})
}

func (q *Queue) check(c *checker, path string) {
	if q.Max < q.Base {
		c.Fail(path+".max", "%v: want at least base, %v", q.Max, q.Base)
	}
	c.bucket(path, q.QPS, q.Burst)
}

// queue is a work queue (k8s.io/client-go, util/workqueue): it has each item once, gives it to one worker at a
// time, and again afterwards if it was added meanwhile. An item that has failed is added again after a while,
// which its limiter says.
//
// Invariant: an item is known if it waits, is dirty or processing, or has failed before.
type queue struct {
	alarms  *clock.Alarms
	limiter limiter
	items   map[string]*item
	ready   []*item // first in, first out
	added   func(nowNs int64)
}

// item is one that the queue knows, by its key.
type item struct {
	queue      *queue
	key        string
	dirty      bool // it is to be processed
	processing bool
	failures   int
	addedNs    int64 // when it became dirty
	startedNs  int64 // while it is processing, the addedNs of that time
	waitsNs    int64 // until when it waits before it is added again
	wait       clock.AlarmID
}

// newQueue returns an empty queue, which calls added when an item has become ready.
func newQueue(alarms *clock.Alarms, s *Queue, added func(nowNs int64)) *queue {
	return &queue{alarms: alarms, limiter: newLimiter(s), items: map[string]*item{}, added: added}
}

func (q *queue) item(key string) *item {
	it := q.items[key]
	if it == nil {
		it = &item{queue: q, key: key}
		q.items[key] = it
	}
	return it
}

// release forgets an item of which nothing needs to be known.
func (q *queue) release(it *item) {
	if !it.dirty && !it.processing && it.failures == 0 && !it.wait.Pending() {
		delete(q.items, it.key)
	}
}

// add makes an item be processed.
func (q *queue) add(nowNs int64, key string) { q.makeDirty(nowNs, q.item(key)) }

func (q *queue) makeDirty(nowNs int64, it *item) {
	if it.dirty {
		return
	}
	it.dirty, it.addedNs = true, nowNs
	if !it.processing {
		q.ready = append(q.ready, it)
		q.added(nowNs)
	}
}

// get returns the next item, which is processing until done; nil if none is ready.
func (q *queue) get() *item {
	if len(q.ready) == 0 {
		return nil
	}
	it := q.ready[0]
	q.ready[0] = nil
	q.ready = q.ready[1:]
	it.dirty, it.processing, it.startedNs = false, true, it.addedNs
	return it
}

// backlog returns how many items are ready, and how long the first of them has been.
func (q *queue) backlog(nowNs int64) (depth int, oldestNs int64) {
	if len(q.ready) == 0 {
		return 0, 0
	}
	return len(q.ready), nowNs - q.ready[0].addedNs
}

// done ends the processing of an item.
func (q *queue) done(nowNs int64, it *item) {
	it.processing = false
	if it.dirty {
		q.ready = append(q.ready, it)
		q.added(nowNs)
	}
	q.release(it)
}

// forget forgets the failures of an item.
func (q *queue) forget(it *item) {
	it.failures = 0
	q.release(it)
}

// addLimited adds an item that has failed again, when the limiter says. If it waits already, the earlier time
// counts (delaying_queue.go, insert).
func (q *queue) addLimited(nowNs int64, it *item) {
	waitNs := q.limiter.waitNs(nowNs, it.failures)
	it.failures++
	atNs := nowNs + waitNs
	if it.wait.Pending() {
		if it.waitsNs <= atNs {
			return
		}
		q.alarms.Cancel(&it.wait)
	}
	it.waitsNs = atNs
	it.wait = q.alarms.Set(atNs, it)
}

// Ring implements clock.Alarm: the item has waited.
func (it *item) Ring(nowNs int64) {
	it.wait = clock.AlarmID{}
	it.queue.makeDirty(nowNs, it)
}

// limiter says how long an item waits that has failed (default_rate_limiters.go,
// DefaultTypedControllerRateLimiter): base·2^failures, at most max, and at least until a bucket that all items
// share has a token.
type limiter struct {
	baseNs, maxNs int64
	shared        *bucket // nil for none, as controller-runtime
}

func newLimiter(s *Queue) limiter {
	l := limiter{baseNs: int64(s.Base), maxNs: int64(s.Max)}
	if s.QPS > 0 {
		l.shared = newBucket(s.QPS, s.Burst)
	}
	return l
}

// waitNs returns how long an item waits now that has failed so often before.
func (l *limiter) waitNs(nowNs int64, failures int) (waitNs int64) {
	waitNs = int64(min(float64(l.baseNs)*math.Pow(2, float64(failures)), float64(l.maxNs)))
	if l.shared != nil {
		waitNs = max(waitNs, l.shared.Take(nowNs)-nowNs)
	}
	return waitNs
}
