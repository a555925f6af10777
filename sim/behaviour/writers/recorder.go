package writers

import (
	"container/list"
	"fmt"
	"slices"

	"apfsim/sim/api"
	"apfsim/sim/behaviour"
	"apfsim/sim/random"
	"apfsim/sim/scenario/behaviours"
)

// The constants of recorders (k8s.io/client-go, tools/record/event.go and events_cache.go).
const (
	recorderQueue     = 1000                       // maxQueuedEvents
	recorderTries     = 12                         // maxTriesPerEvent
	recorderSleepNs   = 10 * second                // defaultSleepDuration
	recorderCache     = 4096                       // maxLruCacheEntries
	aggregateMessages = 10                         // defaultAggregateMaxEvents
	aggregateNs       = 600 * second               // defaultAggregateIntervalInSeconds
	spamBurst         = 25                         // defaultSpamBurst
	spamPerSecond     = float64(float32(1. / 300)) // defaultSpamQPS, in the precision of upstream's limiter
)

// recorder records events of core/v1 (k8s.io/client-go, tools/record). What happens goes into a queue, which
// drops it when it is full. One at a time is taken from the queue, and
//
//	is combined with others   if there have been 10 different messages for its object, with at most 600 s
//	                          between one and the next
//	is dropped                if the bucket of its object is empty: 25 events, and one more every 300 s
//	becomes a PATCH           if there has been the same one before: its count. If the event is no longer
//	                          there, a POST follows.
//	becomes a POST            otherwise
//
// An answer other than success drops it. Without an answer it is tried again, while the queue waits.
type recorder struct {
	client   behaviour.Client
	settings *behaviours.EventRecorder
	arrivals random.Stream
	chance   random.Stream

	queue   []happening // not yet taken
	present happening
	busy    bool
	tried   int
	posts   bool // the present request is the POST
	count   int64
	name    string

	aggregates lru[int, *aggregate]
	logged     lru[eventKey, loggedEvent]
	buckets    lru[int, *spamBucket]
}

// happening is one occurrence of an event.
type happening struct {
	atNs            int64
	object, message int
}

// combined stands for the message of combined events.
const combined = -1

// eventKey is what repeats are recognized by.
type eventKey struct{ object, message int }

type loggedEvent struct {
	count int64
	name  string
}

// aggregate is which messages there have been for an object.
type aggregate struct {
	messages []int
	lastNs   int64
}

type spamBucket struct {
	tokens float64
	atNs   int64
}

// NewEventRecorder returns a recorder.
func NewEventRecorder(c behaviour.Client, s *behaviours.EventRecorder) behaviour.Behaviour {
	r := &recorder{client: c, settings: s}
	c.Stream(&r.arrivals, "events")
	c.Stream(&r.chance, "event recorder")
	return r
}

// Start implements Behaviour.
func (r *recorder) Start(nowNs int64) { r.wait(nowNs) }

// wait waits for the next event to happen.
func (r *recorder) wait(nowNs int64) {
	if r.settings.Rate <= 0 {
		return
	}
	gapNs := r.arrivals.ExpFloat64() / float64(r.settings.Rate) * float64(second)
	newTimer(r.client, r.happen).in(nowNs, int64(min(gapNs, random.LongestNs/2)))
}

// happen lets one event happen.
func (r *recorder) happen(nowNs int64) {
	r.wait(nowNs)
	r.record(happening{nowNs, r.arrivals.IntN(r.settings.Objects), r.arrivals.IntN(r.settings.Reasons)})
}

// record puts an event into the queue.
func (r *recorder) record(h happening) {
	if len(r.queue) == recorderQueue {
		r.drop(h.atNs, h)
		return
	}
	r.queue = append(r.queue, h)
	r.work(h.atNs)
}

// work takes events from the queue until one of them needs a request.
func (r *recorder) work(nowNs int64) {
	for !r.busy && len(r.queue) > 0 {
		r.present = r.queue[0]
		r.queue = r.queue[1:]
		key := r.combine(nowNs)
		log, _ := r.logged.get(key)
		if log.count == 0 {
			log.name = fmt.Sprintf("%s.%x", r.objectName(r.present.object), r.present.atNs)
		}
		log.count++
		r.logged.put(key, log)
		if !r.allowed(nowNs) {
			r.drop(nowNs, r.present)
			continue
		}
		r.busy, r.tried, r.count, r.name = true, 0, log.count, log.name
		r.send(nowNs, log.count == 1)
	}
}

// combine returns by what repeats of the present event are recognized (EventAggregate). The messages of an
// object are never more than nine: when one makes ten, any of them is forgotten.
func (r *recorder) combine(nowNs int64) eventKey {
	a, ok := r.aggregates.get(r.present.object)
	if !ok || nowNs-a.lastNs > aggregateNs {
		a = &aggregate{}
	}
	if !slices.Contains(a.messages, r.present.message) {
		a.messages = append(a.messages, r.present.message)
	}
	a.lastNs = nowNs
	r.aggregates.put(r.present.object, a)
	if len(a.messages) < aggregateMessages {
		return eventKey{r.present.object, r.present.message}
	}
	i := r.chance.IntN(len(a.messages))
	a.messages = slices.Delete(a.messages, i, i+1)
	return eventKey{r.present.object, combined}
}

// allowed takes a token from the bucket of the present event's object (EventSourceObjectSpamFilter).
func (r *recorder) allowed(nowNs int64) bool {
	b, ok := r.buckets.get(r.present.object)
	if !ok {
		b = &spamBucket{tokens: spamBurst, atNs: nowNs}
	}
	b.tokens = min(spamBurst, b.tokens+float64(nowNs-b.atNs)/float64(second)*spamPerSecond)
	b.atNs = nowNs
	r.buckets.put(r.present.object, b)
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// send writes the present event. It belongs to the namespace default, as events of objects without one do.
func (r *recorder) send(nowNs int64, post bool) {
	r.posts = post
	q := &behaviour.Request{Verb: "patch", Resource: "events", Namespace: "default", Name: r.name,
		Call: api.Call{Body: &api.Body{Stamp: r.count}}}
	if post {
		q.Verb, q.Name, q.Call.Body.Name = "create", "", r.name
	}
	r.client.Send(nowNs, q)
}

// Answered implements Behaviour (recordEvent and recordToSink).
func (r *recorder) Answered(nowNs int64, _ int32, a *api.Answer) {
	switch {
	case succeeded(a):
		r.client.Note(nowNs, behaviour.Note{Kind: behaviour.WriteDone, Object: r.objectName(r.present.object), Ns: nowNs - r.present.atNs, N: int64(r.tried) + 1})
	case !r.posts && a.Status == 404:
		r.send(nowNs, true)
		return
	case a.Status != 0:
		r.drop(nowNs, r.present)
	default:
		if r.again(nowNs) {
			return
		}
		r.drop(nowNs, r.present)
	}
	r.busy = false
	r.work(nowNs)
}

// again tries the present event again later, unless that was the last time. The first wait is shorter by
// chance, so that recorders do not come back together.
func (r *recorder) again(nowNs int64) bool {
	r.tried++
	if r.tried >= recorderTries {
		return false
	}
	waitNs := int64(recorderSleepNs)
	if r.tried == 1 {
		waitNs = int64(float64(waitNs) * r.chance.Float64())
	}
	newTimer(r.client, func(nowNs int64) { r.send(nowNs, r.count == 1) }).in(nowNs, waitNs)
	return true
}

func (r *recorder) drop(nowNs int64, h happening) {
	r.client.Note(nowNs, behaviour.Note{Kind: behaviour.EventDropped, Object: r.objectName(h.object), Ns: nowNs - h.atNs})
}

func (r *recorder) objectName(i int) string { return fmt.Sprintf("object-%d-%d", r.client.Index(), i) }

// Received implements Behaviour. A recorder does not watch.
func (r *recorder) Received(int64, int32, *api.Event) {}

// lru is a map that keeps the recorderCache entries that were used last (k8s.io/utils/lru). Its zero value is
// empty.
type lru[K comparable, V any] struct {
	entries map[K]*list.Element
	order   list.List // of *entry, the last used one first
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func (l *lru[K, V]) get(k K) (v V, ok bool) {
	e, ok := l.entries[k]
	if !ok {
		return v, false
	}
	l.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

func (l *lru[K, V]) put(k K, v V) {
	if e, ok := l.entries[k]; ok {
		e.Value.(*entry[K, V]).value = v
		l.order.MoveToFront(e)
		return
	}
	if l.entries == nil {
		l.entries = map[K]*list.Element{}
	}
	l.entries[k] = l.order.PushFront(&entry[K, V]{k, v})
	if l.order.Len() > recorderCache {
		oldest := l.order.Back()
		delete(l.entries, oldest.Value.(*entry[K, V]).key)
		l.order.Remove(oldest)
	}
}
