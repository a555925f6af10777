package workload

import (
	"fmt"

	"apfsim/sim/api"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// EventRecorder records events of objects (k8s.io/client-go, tools/record).
type EventRecorder struct {
	Rate    quantity.Rate `json:"rate" document:"required" jsonschema:"exclusiveMinimum=0/s" jsonschema_description:"Events that the component has, a second, by a Poisson process."`
	Objects int           `json:"objects,omitempty" jsonschema:"default=1,minimum=1" document:"maximum=1000000" jsonschema_description:"How many objects they are about, evenly by chance."`
	Reasons int           `json:"reasons,omitempty" jsonschema:"default=1,minimum=1" document:"maximum=1000000" jsonschema_description:"How many different messages there are for one object, evenly by chance."`
	QPS     float64       `json:"qps,omitempty" jsonschema:"default=5" document:"maximum=1e9" message:"{value}: want {want}, or less than 0 for no limit" jsonschema_description:"Of the client's rate limiter; negative for none."`
	Burst   int           `json:"burst,omitempty" jsonschema:"default=10"`
}

func (s *EventRecorder) check(c *checker, path string) { c.bucket(path, s.QPS, s.Burst) }

func (s *EventRecorder) resources() []string { return []string{"events"} }

func (s *EventRecorder) rateLimit() *RateLimit { return clientGoLimit(s.QPS, s.Burst) }

// The constants of recorders (k8s.io/client-go, tools/record/event.go).
const (
	recorderQueue   = 1000        // maxQueuedEvents
	recorderTries   = 12          // maxTriesPerEvent
	recorderSleepNs = 10 * second // defaultSleepDuration
)

// recorder records events of core/v1 (k8s.io/client-go, tools/record). What happens goes into a queue, which
// drops it when it is full. One at a time is taken from the queue, and written as an eventCorrelator says. An answer other
// than success drops it. Without an answer it is tried again, while the queue waits.
type recorder struct {
	client   Client
	settings *EventRecorder
	arrivals random.Stream
	chance   random.Stream

	queue   []eventOccurrence // not yet taken
	present eventOccurrence
	busy    bool
	tried   int
	posts   bool // the present request is the POST
	write   eventWrite

	correlator eventCorrelator[int] // by the index of the object
}

// eventOccurrence is one occurrence of an event.
type eventOccurrence struct {
	atNs            int64
	object, message int
}

// Machine returns a recorder.
func (s *EventRecorder) Machine(c Client) Machine {
	r := &recorder{client: c, settings: s}
	c.Stream(&r.arrivals, "events")
	c.Stream(&r.chance, "event recorder")
	r.correlator.Chance = &r.chance
	return r
}

// Start implements Machine.
func (r *recorder) Start(nowNs int64) { r.wait(nowNs) }

// wait waits for the next event to happen.
func (r *recorder) wait(nowNs int64) {
	if r.settings.Rate <= 0 {
		return
	}
	gapNs := r.arrivals.ExpFloat64() / float64(r.settings.Rate) * float64(second)
	newTimer(r.client, r.queueNextEvent).setAfter(nowNs, int64(min(gapNs, random.LongestNs/2)))
}

// queueNextEvent queues one new event and schedules the next.
func (r *recorder) queueNextEvent(nowNs int64) {
	r.wait(nowNs)
	r.record(eventOccurrence{nowNs, r.arrivals.IntN(r.settings.Objects), r.arrivals.IntN(r.settings.Reasons)})
}

// record puts an event into the queue.
func (r *recorder) record(h eventOccurrence) {
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
		write, ok := r.correlator.Correlate(nowNs, r.present.atNs, r.present.object, r.objectName(r.present.object), r.present.message)
		if !ok {
			r.drop(nowNs, r.present)
			continue
		}
		r.busy, r.tried, r.write = true, 0, write
		r.send(nowNs, write.Count == 1)
	}
}

// send writes the present event. It belongs to the namespace default, as events of objects without one do.
func (r *recorder) send(nowNs int64, post bool) {
	r.posts = post
	q := &APIRequest{Verb: "patch", Resource: "events", Namespace: "default", Name: r.write.Name,
		Call: api.Call{Body: &api.Body{Stamp: r.write.Count}}}
	if post {
		q.Verb, q.Name, q.Call.Body.Name = "create", "", r.write.Name
	}
	r.client.Send(nowNs, q)
}

// Answered implements Machine (recordEvent and recordToSink).
func (r *recorder) Answered(nowNs int64, _ int32, a *api.Answer) {
	switch {
	case succeeded(a):
		r.client.Note(nowNs, Note{Event: metric.WriteDone, Object: r.objectName(r.present.object), Ns: nowNs - r.present.atNs, N: int64(r.tried) + 1})
	case !r.posts && a.Status == 404:
		r.send(nowNs, true)
		return
	case a.Status != 0:
		r.drop(nowNs, r.present)
	default:
		if r.retryLater(nowNs) {
			return
		}
		r.drop(nowNs, r.present)
	}
	r.busy = false
	r.work(nowNs)
}

// retryLater tries the present event again later, unless that was the last time. The first wait is shorter by
// chance, so that recorders do not come back together.
func (r *recorder) retryLater(nowNs int64) bool {
	r.tried++
	if r.tried >= recorderTries {
		return false
	}
	waitNs := int64(recorderSleepNs)
	if r.tried == 1 {
		waitNs = int64(float64(waitNs) * r.chance.Float64())
	}
	newTimer(r.client, func(nowNs int64) { r.send(nowNs, r.write.Count == 1) }).setAfter(nowNs, waitNs)
	return true
}

func (r *recorder) drop(nowNs int64, h eventOccurrence) {
	r.client.Note(nowNs, Note{Event: metric.EventDropped, Object: r.objectName(h.object), Ns: nowNs - h.atNs})
}

func (r *recorder) objectName(i int) string { return fmt.Sprintf("object-%d-%d", r.client.Index(), i) }

// Received implements Machine. A recorder does not watch.
func (r *recorder) Received(int64, int32, *api.Event) {}
