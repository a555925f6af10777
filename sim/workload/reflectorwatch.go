package workload

import (
	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/metric"
)

const (
	// minWatchSeconds is the least time-out that a reflector gives to a watch, and maxWatchSeconds the
	// greatest (defaultMinWatchTimeout and defaultMaxWatchTimeout).
	minWatchSeconds = 300
	maxWatchSeconds = 600
	// shortWatchNs is how long a watch without any event must last at least: a shorter one has failed
	// (handleAnyWatch, VeryShortWatchError).
	shortWatchNs = 1_000_000_000
)

// sendWatchList opens a watch that sends all objects first (Reflector.watchList). The first one is for the
// latest version, unlike the first list.
func (r *Reflector) sendWatchList(nowNs int64) {
	o := request.Options{Match: request.NotOlderThan, SendInitialEvents: true, SendInitialEventsGiven: true, Bookmarks: true}
	if r.version != 0 && !r.unavailable { // rewatchResourceVersion
		o.Version = request.At(r.version)
	}
	r.openWatch(nowNs, o, newInitial(r.handler != nil))
}

// sendWatch opens a watch from the version of the copy (Reflector.watch).
func (r *Reflector) sendWatch(nowNs int64) {
	r.openWatch(nowNs, request.Options{Version: request.At(r.version), Bookmarks: !r.NoBookmarks}, nil)
}

func (r *Reflector) openWatch(nowNs int64, o request.Options, i *initial) {
	o.TimeoutSeconds = minWatchSeconds + int64(r.chance.Float64()*(maxWatchSeconds-minWatchSeconds))
	r.watch = watch{sentNs: nowNs, initial: i}
	q := r.Request("watch", o)
	q.Unlimited = true
	if r.PerEvent.IsSet() {
		q.ReadNs = r.PerEvent.Sample(&r.chance.Rand)
	}
	r.send(nowNs, watchToken, q)
}

// Received is Machine's, for a token of the reflector (handleAnyWatch).
func (r *Reflector) Received(nowNs int64, token int32, e *api.Event) {
	w := &r.watch
	if e.Type == api.Error {
		r.client.HangUp(nowNs, token)
		r.watchFailed(nowNs, e.Failure)
		return
	}
	w.events++
	switch {
	case w.initial != nil && e.Type != api.Bookmark:
		w.initial.apply(e)
	case w.initial != nil && e.InitialEnd:
		r.endInitial(nowNs, e)
	case w.initial == nil:
		r.version = e.Version
		if e.Type != api.Bookmark {
			r.client.Note(nowNs, Note{Event: metric.EventLate, Object: r.Resource, Ns: nowNs - e.AtNs})
			r.apply(nowNs, e)
		}
	}
}

// endInitial ends the initial events of a watch, which goes on as if it began now.
func (r *Reflector) endInitial(nowNs int64, e *api.Event) {
	objects, items := r.watch.initial.all()
	r.watch = watch{sentNs: nowNs}
	r.replace(nowNs, objects, items+e.Counted)
	r.caughtUp(nowNs, e.Version)
}

// watchAgain opens another watch like the one that has just ended.
func (r *Reflector) watchAgain(nowNs int64) {
	if r.watch.initial != nil {
		r.sendWatchList(nowNs)
		return
	}
	r.sendWatch(nowNs)
}

// watchEnded is called when a watch is over, or has not begun.
func (r *Reflector) watchEnded(nowNs int64, a *api.Answer) {
	switch {
	case a.Status != statusOK && a.Failure != api.BrokenConnection && a.Failure != api.ClientTimedOut:
		r.watchFailed(nowNs, a)
	case r.watch.events == 0 && nowNs-r.watch.sentNs < shortWatchNs:
		r.giveWatchUp(nowNs, metric.AfterFailure)
	default:
		// A connection that breaks, or times out, is no error but the end of a watch: rest/request.go, Watch,
		// and apimachinery's watch/streamwatcher.go, receive.
		r.client.Note(nowNs, Note{Event: metric.WatchEnded, Object: r.Resource, Ns: nowNs - r.watch.sentNs})
		r.watchAgain(nowNs)
	}
}

// watchFailed is called when a watch could not be opened, or has received an error instead of an event.
// Connections that are refused and rejections say nothing about the version (isWatchErrorRetriable).
func (r *Reflector) watchFailed(nowNs int64, a *api.Answer) {
	switch {
	case a.Failure == api.FailedToConnect || a.Status == statusTooManyRequests:
		r.client.Note(nowNs, Note{Event: metric.WatchFailed, Object: r.Resource})
		r.after(nowNs, r.watchAgain)
	case r.expired(nowNs, a):
		if r.watch.initial != nil {
			r.unavailable = true
			r.sendWatchList(nowNs)
			return
		}
		r.leave(nowNs, r.reason)
	default:
		r.giveWatchUp(nowNs, metric.AfterFailure)
	}
}

// giveWatchUp is called when a watch has failed otherwise: if it was to send all objects first, a list
// follows in the same round.
func (r *Reflector) giveWatchUp(nowNs int64, reason string) {
	r.client.Note(nowNs, Note{Event: metric.WatchFailed, Object: r.Resource})
	if r.watch.initial != nil {
		r.fallBehind(nowNs, reason)
		r.beginList(nowNs)
		return
	}
	r.leave(nowNs, reason)
}
