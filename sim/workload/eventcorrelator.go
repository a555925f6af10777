package workload

import (
	linked "container/list"
	"fmt"
	"slices"

	"apfsim/sim/random"
)

// The constants of recorders (k8s.io/client-go, tools/record/events_cache.go).
const (
	eventCache        = 4096                       // maxLruCacheEntries
	aggregateMessages = 10                         // defaultAggregateMaxEvents
	aggregateNs       = 600_000_000_000            // defaultAggregateIntervalInSeconds
	spamBurst         = 25                         // defaultSpamBurst
	spamPerSecond     = float64(float32(1. / 300)) // defaultSpamQPS, in the precision of upstream's limiter
)

// eventCorrelator says how a client writes the events that it has, by the objects that these are about
// (k8s.io/client-go, tools/record, eventCorrelator). An event
//
//	is combined with others   if there have been 10 different messages for its object, with at most 600 s
//	                          between one and the next
//	is dropped                if the bucket of its object is empty: 25 events, and one more every 300 s
//	becomes a PATCH           if there has been the same one before: its count. If the event is no longer
//	                          there, a POST follows.
//	becomes a POST            otherwise, with a name that no other event has
type eventCorrelator[K comparable] struct {
	// Chance draws which message is forgotten when there are too many.
	Chance *random.Stream

	aggregates lru[K, *aggregate]
	logged     lru[eventKey[K], eventWrite]
	buckets    lru[K, *spamBucket]
}

// eventWrite is the object with which an event is recorded: the Count of its occurrences is 1 where it is created.
type eventWrite struct {
	Name  string
	Count int64
}

// combined stands for the message of combined events.
const combined = -1

// eventKey is what repeats are recognized by.
type eventKey[K comparable] struct {
	object  K
	message int
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

// eventName returns the name of an event of an object of a name that has happened at a time.
func eventName(object string, atNs int64) string { return fmt.Sprintf("%s.%x", object, atNs) }

// Correlate takes an event that has happened at atNs with a message for an object of a name. It returns what is written;
// ok is false if it is dropped.
func (c *eventCorrelator[K]) Correlate(nowNs, atNs int64, object K, name string, message int) (w eventWrite, ok bool) {
	key := c.combine(nowNs, object, message)
	w, _ = c.logged.get(key)
	if w.Count == 0 {
		w.Name = eventName(name, atNs)
	}
	w.Count++
	c.logged.put(key, w)
	return w, c.allowed(nowNs, object)
}

// combine returns by what repeats of an event are recognized (EventAggregate). The messages of an object are never more
// than nine: when one makes ten, any of them is forgotten.
func (c *eventCorrelator[K]) combine(nowNs int64, object K, message int) eventKey[K] {
	a, ok := c.aggregates.get(object)
	if !ok || nowNs-a.lastNs > aggregateNs {
		a = &aggregate{}
	}
	if !slices.Contains(a.messages, message) {
		a.messages = append(a.messages, message)
	}
	a.lastNs = nowNs
	c.aggregates.put(object, a)
	if len(a.messages) < aggregateMessages {
		return eventKey[K]{object, message}
	}
	i := c.Chance.IntN(len(a.messages))
	a.messages = slices.Delete(a.messages, i, i+1)
	return eventKey[K]{object, combined}
}

// allowed takes a token from the bucket of an object (EventSourceObjectSpamFilter).
func (c *eventCorrelator[K]) allowed(nowNs int64, object K) bool {
	b, ok := c.buckets.get(object)
	if !ok {
		b = &spamBucket{tokens: spamBurst, atNs: nowNs}
	}
	b.tokens = min(spamBurst, b.tokens+float64(nowNs-b.atNs)/1e9*spamPerSecond)
	b.atNs = nowNs
	c.buckets.put(object, b)
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// lru is a map that keeps the eventCache entries that were used last (k8s.io/utils/lru). Its zero value is
// empty.
type lru[K comparable, V any] struct {
	entries map[K]*linked.Element
	order   linked.List // of *entry, the last used one first
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
		l.entries = map[K]*linked.Element{}
	}
	l.entries[k] = l.order.PushFront(&entry[K, V]{k, v})
	if l.order.Len() > eventCache {
		oldest := l.order.Back()
		delete(l.entries, oldest.Value.(*entry[K, V]).key)
		l.order.Remove(oldest)
	}
}
