package server

import (
	"math"
	"slices"
	"strings"

	"apfsim/core/rules"
	"apfsim/sim/metric"
)

// A server stops in these steps (k8s.io/apiserver, server/genericapiserver.go, RunWithContext):
//
//	told to stop                      /readyz fails. The hooks before the shutdown and the delay begin.
//	hooks and delay over (N)          New requests are answered 429, or no longer reach the server: without
//	                                  SendRetryAfter the listener closes now. Open watches begin to end, if
//	                                  there is a grace period for them.
//	requests and watches over (D)     With SendRetryAfter the listener closes now.
//	all connections closed, or limit  60 s (the request timeout) after the listener has closed, or 2 s with
//	                                  SendRetryAfter, the HTTP server does not wait for them any longer.
//	audit backend shut down           The process ends, and with it what is still in flight.
type stop struct {
	delayOver, hooksOver bool
	closed               bool // the listener
	httpStopped          bool
	auditOver            bool
	watchesLeft          bool // the grace period of the watches is over
	polls                int  // of the HTTP server
	watchEndNs           int64
	watchSlotNs          int64   // when the next open watch may end
	watchSpacingNs       float64 // between them
	watchesEnded         int     // since the grace period began
}

// Retry-After of a server that stops, in seconds.
const (
	stoppingRetryAfterSeconds  = 5 // with 429, server/filters/with_retry_after.go
	waitGroupRetryAfterSeconds = 1 // with 503, server/filters/waitgroup.go
)

// httpLimitNs is how long the HTTP server waits for connections with SendRetryAfter.
const httpLimitNs = 2_000_000_000

// minimumWatchRate is how many open watches may end per second at least.
const minimumWatchRate = 200

// planOf returns how servers of a release stop: they do not have the flags of later ones.
func planOf(s *Shutdown, r *rules.Rules) Shutdown {
	plan := *s
	plan.SendRetryAfter = plan.SendRetryAfter && r.Server.SendRetryAfter
	if !r.Server.WatchGracePeriod {
		plan.WatchTerminationGracePeriod = 0
	}
	if r.Server.PacedWatchEnds {
		plan.WatchLeak = 0
	}
	return plan
}

// Stop tells the server to stop, as SIGTERM does. The second time, the process ends at once.
func (s *Server) Stop(nowNs int64) {
	switch {
	case s.stage == Off:
		return
	case s.stage > Ready:
		s.Crash(nowNs)
		return
	}
	l := &s.process
	s.drop(becomeReady)
	l.stop = stop{}
	s.transit(nowNs+int64(l.plan.Delay), delayOver)
	s.transit(nowNs+int64(l.plan.Hooks), hooksOver)
	if l.plan.KillAfter > 0 {
		s.transit(nowNs+int64(l.plan.KillAfter), kill)
	}
	s.enter(nowNs, Stopping)
}

// advance takes the steps of a stop that nothing holds back any longer.
func (s *Server) advance(nowNs int64) {
	st, plan, f := &s.process.stop, &s.process.plan, &s.process.inFlight
	if s.stage == Stopping && st.delayOver && (st.hooksOver || !s.rules.Server.HooksHoldRequests) {
		// Up to 1.24, new requests are refused when the delay is over, whatever the hooks do.
		if !plan.SendRetryAfter && s.hooksLetClose() {
			s.closeListener(nowNs)
		}
		s.beginWatchGrace(nowNs)
		s.enter(nowNs, NotAccepting)
	}
	if s.stage == NotAccepting && f.groups[requests] == 0 &&
		(plan.WatchTerminationGracePeriod == 0 || st.watchesLeft || f.groups[openWatches] == 0) {
		if plan.SendRetryAfter && s.hooksLetClose() {
			s.closeListener(nowNs)
		}
		s.drop(watchGraceOver)
		s.transit(nowNs+int64(plan.Audit), auditOver)
		s.enter(nowNs, Draining)
	}
	if s.stage >= NotAccepting && !st.closed && s.hooksLetClose() && (s.stage == Draining || !plan.SendRetryAfter) {
		s.closeListener(nowNs)
	}
	if s.stage == Draining && st.hooksOver && st.auditOver && st.httpStopped {
		s.end(nowNs, Reset)
	}
}

// hooksLetClose says whether the hooks before the shutdown allow the listener to close: up to 1.22 they
// do not matter.
func (s *Server) hooksLetClose() bool {
	return s.process.stop.hooksOver || !s.rules.Server.HooksHoldListener
}

// closeListener closes the listener and ends the connections in order. The context of the controllers
// ends, too.
func (s *Server) closeListener(nowNs int64) {
	st := &s.process.stop
	st.closed = true
	s.freeze()
	limitNs := int64(s.deps.Settings.RequestTimeout)
	if s.process.plan.SendRetryAfter {
		limitNs = httpLimitNs
	}
	s.transit(nowNs+limitNs, httpLimit)
	s.transit(nowNs, pollClosed)
	s.network.Disconnect(nowNs, s, GoAway)
}

// poll looks whether all connections are closed, as net/http does: after 1 ms, then in intervals that
// double up to 500 ms, each of them longer by a random part of at most a tenth, of which this is the
// mean.
func (s *Server) poll(nowNs int64) {
	if s.network.Open(nowNs, s) == 0 {
		s.httpStopped(nowNs)
		return
	}
	st := &s.process.stop
	interval := min(1_000_000<<min(st.polls, 9), 500_000_000)
	st.polls++
	s.transit(nowNs+int64(interval)*21/20, pollClosed)
}

// httpStopped is called when the HTTP server has stopped.
func (s *Server) httpStopped(nowNs int64) {
	s.process.stop.httpStopped = true
	s.drop(pollClosed)
	s.drop(httpLimit)
	s.advance(nowNs)
}

// beginWatchGrace makes the open watches end, if there is a grace period for them. All of them try to
// leave at once. Some have left before they are counted (watchLeak), and a rate lets go the others: so
// many per second that all of them have left at the end of the period, but at least minimumWatchRate
// (k8s.io/apimachinery, util/waitgroup/ratelimited_waitgroup.go: Done and Wait).
func (s *Server) beginWatchGrace(nowNs int64) {
	st, graceNs := &s.process.stop, int64(s.process.plan.WatchTerminationGracePeriod)
	n := s.process.inFlight.groups[openWatches]
	if graceNs == 0 || n == 0 {
		return
	}
	counted := max(0, n-s.process.plan.WatchLeak)
	rate := max(minimumWatchRate, float64(counted)/(float64(graceNs)/1e9))
	st.watchEndNs, st.watchSlotNs, st.watchSpacingNs = nowNs+graceNs, nowNs, 1e9/rate
	s.transit(st.watchEndNs, watchGraceOver)
	first := &s.process.inFlight.first
	for d := first.following; d != first; d = d.following {
		if d.group == openWatches && d.request.FinishNs >= 0 {
			s.unschedule(&d.request.next) // a watch that its handler ends has none
			s.endWatch(nowNs, d.request)
		}
	}
}

// endWatch schedules the end of a watch that is initialized while the watches of the server end.
func (s *Server) endWatch(nowNs int64, r *Request) {
	st := &s.process.stop
	atNs := nowNs
	if st.watchesEnded >= s.process.plan.WatchLeak {
		slot := max(st.watchSlotNs, nowNs)
		if slot < st.watchEndNs { // the rate limiter does not delay what would leave after the grace period
			atNs, st.watchSlotNs = slot, slot+int64(math.Round(st.watchSpacingNs))
		}
	}
	st.watchesEnded++
	r.next = s.events.Schedule(atNs, uint8(WatchEnd), Event{Kind: WatchEnd, Owner: s.index, Request: r})
}

// endsWatches says whether a watch that is initialized now ends by the grace period of a stop.
func (s *Server) endsWatches(r *Request) bool {
	return s.stage >= NotAccepting && s.process.plan.WatchTerminationGracePeriod > 0 && r.Details.group == openWatches
}

// served are the paths that a server that stops serves as long as it listens.
var served = []string{"/readyz", "/livez", "/healthz", "/metrics"}

// loopbackUser is the user of a server's requests to itself, of which the user agent begins with
// kube-apiserver/.
const loopbackUser = "system:apiserver"

// turnAway refuses a request that a server that is not there or that stops does not take, and returns
// whether it does.
func (s *Server) turnAway(nowNs int64, r *Request) bool {
	plan := &s.process.plan
	response, why := Response{Failure: FailedToConnect}, metric.ConnectionRefused
	switch a := &r.Attributes; {
	case !s.Listens():
	case s.stage < NotAccepting:
		return false
	case a.User == loopbackUser || !a.IsResource() && slices.ContainsFunc(served, func(path string) bool { return strings.HasPrefix(a.Path, path) }):
		return false
	case plan.SendRetryAfter:
		why = metric.ShuttingDown
		response = Response{Status: StatusTooManyRequests, RetryAfterSeconds: stoppingRetryAfterSeconds, CloseConnection: true}
	case a.LongRunning() && (a.Verb != "watch" || plan.WatchTerminationGracePeriod == 0):
		return false
	default:
		why = metric.ShuttingDown
		response = Response{Status: StatusServiceUnavailable, RetryAfterSeconds: waitGroupRetryAfterSeconds}
	}
	r.Server = s.index
	s.runState.Refuse(nowNs, r, why, s.clients, response)
	return true
}

// statusOf returns the status of the response to a request that was executed.
func (s *Server) statusOf(r *Request) int {
	if s.stage != Ready && isHealthCheck(&r.Attributes) && !s.Healthy(r.Attributes.Path) {
		return StatusInternalServerError
	}
	return StatusOK
}
