package registry

import (
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/watchcache"
)

// stream is an open watch, or one that is being opened.
type stream struct {
	watcher  *watchcache.Watcher // nil before the cache has been asked for it
	answered bool
	bytes    int64 // of the initial events
	deadline streamEnd
}

// streamEnd ends a watch at its deadline.
type streamEnd struct {
	op    *Operation
	alarm clock.AlarmID
}

// beginWatch is WATCH. Whatever goes wrong after its options have been read is an event of the stream.
func (op *Operation) beginWatch(nowNs int64) {
	r, cache := op.registry, op.resource.cache
	o := op.Call.Options
	op.defaultWatch(&o)
	if o.Version.Word != "" {
		op.refuse(api.NoReason)
		op.finish(nowNs)
		return
	}
	if cache != nil && !cache.Ready() && !r.rules.RefuseWithoutCache {
		op.awaitReady(nowNs)
		return
	}
	lastsNs := o.TimeoutSeconds * 1e9
	if lastsNs <= 0 {
		lastsNs = int64(float64(r.settings.MinRequestTimeoutNs) * (1 + r.timeouts.Float64()))
	}
	options := watchcache.WatchOptions{Options: o, Namespace: op.Namespace, Name: op.Name, Selector: op.selector,
		Matches: op.Call.Matches, Compresses: r.compresses && !op.Accept.Uncompressed, ReadNs: op.ReadNs}
	if op.Namespace == "" && !op.selects() {
		options.Matches = op.resource.data.Counted() // all
	}
	if lastsNs > 0 { // it may be over already, if the server has been slow or the cache was not ready
		options.DeadlineNs = max(nowNs, op.beganNs+lastsNs)
	}
	s := &op.stream
	if cache == nil {
		s.watcher = op.resource.direct.Watch(options, op)
	} else if watcher, answer := cache.Watch(nowNs, options, op); answer == nil {
		s.watcher = watcher
	} else {
		op.Answer = *answer
		op.Answer.Items = -1
		op.finish(nowNs)
		return
	}
	if options.DeadlineNs > 0 {
		s.deadline.op = op
		s.deadline.alarm = r.alarms.Set(options.DeadlineNs, &s.deadline)
	}
	s.watcher.Begin(nowNs) // the operation may be over when it returns
}

// Opened is called when the stream begins. The machine reads and encodes the initial events first.
func (op *Operation) Opened(nowNs int64, w *watchcache.Watcher) {
	walked, sent := w.Initial()
	op.work.Walked += walked
	op.work.Initial += sent
	c := op.registry.costs
	bytes := sent * op.resource.data.AverageBytes() // each is encoded for this watcher alone
	compressionNs := int64(0)
	if w.Compressed() {
		compressionNs = bytes * int64(c.CompressedKilobyte) / 1000
	}
	if op.stream.answered { // a watch of etcd itself, which has no seats any more
		op.registry.host.Dispatched(nowNs, nil, int(sent), compressionNs)
		w.Proceed(nowNs)
		return
	}
	op.step = watchOpens
	op.work.Bytes, op.stream.bytes = op.work.Bytes+bytes, bytes
	op.serve(nowNs, sent*int64(c.InitialEvent)+bytes*int64(op.encodedKilobyte())/1000+compressionNs+max(walked-sent, 0)*int64(c.InitialWalk))
}

func (op *Operation) proceed(nowNs int64) { op.stream.watcher.Proceed(nowNs) }

// Received passes an event on.
func (op *Operation) Received(nowNs int64, e *api.Event) { op.registry.host.Received(nowNs, op, e) }

// Counted passes the number of initial events on that have no objects.
func (op *Operation) Counted(nowNs int64, n int64) { op.registry.host.Counted(nowNs, op, n) }

// Initialized answers the request: the stream goes on without seats.
func (op *Operation) Initialized(nowNs int64) { op.open(nowNs) }

// open answers the request, and returns whether its client is there.
func (op *Operation) open(nowNs int64) bool {
	op.stream.answered = true
	op.Answer.Status = 200
	op.Answer.Source = api.FromCache
	if op.resource.cache == nil {
		op.Answer.Source = api.FromEtcd
	}
	return op.done(nowNs)
}

// Ended is called when the stream has ended.
func (op *Operation) Ended(nowNs int64) {
	if !op.stream.answered && !op.open(nowNs) {
		return
	}
	r := op.registry
	r.alarms.Cancel(&op.stream.deadline.alarm)
	r.host.Ended(nowNs, op)
	op.release()
}

// Ring ends a watch whose time is over.
func (e *streamEnd) Ring(nowNs int64) {
	e.alarm = clock.AlarmID{}
	op := e.op
	op.closeStream(nowNs)
	op.Ended(nowNs)
}

// closeStream ends the stream without a word.
func (op *Operation) closeStream(nowNs int64) {
	op.registry.alarms.Cancel(&op.stream.deadline.alarm)
	if w := op.stream.watcher; w != nil {
		op.stream.watcher = nil
		w.Stop(nowNs)
	}
}
