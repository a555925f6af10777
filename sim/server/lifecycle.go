package server

import (
	"apfsim/core/filter"
	"apfsim/core/queueset"
	"apfsim/sim/clock"
	"apfsim/sim/metric"
)

// Stage is the stage of a server's lifecycle.
type Stage uint8

// The stages, in their order.
const (
	Off          Stage = iota // there is no process
	Starting                  // it listens, and serves what reaches it, but its health checks fail
	Ready                     // in order
	Stopping                  // it has been told to stop: /readyz fails, and everything is served
	NotAccepting              // it answers new requests 429 or 503, or no longer listens
	Draining                  // it has answered all requests; it waits for its connections to close
)

// String returns the stage as reports write it.
func (s Stage) String() string {
	return [...]string{"off", "starting", "ready", "stopping", "not accepting", "draining"}[s]
}

// Stage returns the server's stage.
func (s *Server) Stage() Stage { return s.stage }

// Listens says whether the server accepts connections.
func (s *Server) Listens() bool { return s.stage != Off && !s.process.stop.closed }

// Unreachable says whether the node of the server is gone: nothing refuses a connection, but nothing
// answers either.
func (s *Server) Unreachable() bool { return s.process.silent }

// Healthy says whether a probe of one of the server's health checks succeeds: /readyz, /livez or
// /healthz. None does before the hooks that follow the start have returned, except /livez in its grace period; a
// server that stops fails only /readyz. That etcd answers in time is another check, see askEtcd.
func (s *Server) Healthy(path string) bool {
	switch {
	case s.stage == Ready:
		return true
	case s.stage == Starting:
		return path == "/livez" && s.events.NowNs()-s.process.startNs < int64(s.process.startup.LivezGracePeriod)
	}
	return s.Listens() && path != "/readyz"
}

// Controls says whether the controllers of the server run: those that read the flow-control objects,
// adjust the limits of the levels, and maintain the objects. They begin when the objects have been read
// and end with the listener; after that the limits of a server that stops do not change any more.
func (s *Server) Controls() bool { return s.process.controls }

// Network is the network between the clients and the servers.
type Network interface {
	// Disconnect is called when the connections to s end, in the middle of an event: it must not
	// send anything.
	Disconnect(nowNs int64, s *Server, how Disconnection)
	// Open returns how many connections to s are open. A server that stops waits for them. One over
	// HTTP/2 that is idle at GoAway is closed a second later.
	Open(nowNs int64, s *Server) int
	// Silenced is called for each request that is in flight at a server when Silence ends it, and of
	// which the client is still waiting for a response. The network owes a call of Server.Break, when
	// the client notices that there will be none, unless it closes the connection before.
	Silenced(nowNs int64, r *Request)
}

// Disconnection is how connections to a server end.
type Disconnection uint8

// The disconnections.
const (
	// GoAway ends connections in order: what was sent on them is answered, and what comes is sent on
	// new ones.
	GoAway Disconnection = iota
	// Reset breaks connections at once.
	Reset
	// Silence says nothing: the node is gone, and clients find out by themselves.
	Silence
)

// processState is the state of the server's present process. The pending transitions are cancelled when it ends.
type processState struct {
	plan     Shutdown // of the release
	startup  Startup
	version  Version
	startNs  int64 // of this process
	silent   bool  // the node is gone
	controls bool
	readNs   int64        // when this process has read the flow-control objects
	cachesNs int64        // when its watch caches are complete
	latest   int          // index of the last event that has changed the flow-control objects; -1 before
	adjust   clock.Handle // the next periodic adjustment; 0 without one
	pending  [transitions]clock.Handle
	inFlight inFlight
	stop     stop
}

// transition is a scheduled step of a server's lifecycle. It is the Index of an Event of the kind Lifecycle.
type transition int32

const (
	readObjects    transition = iota // the flow-control objects have been read
	becomeReady                      // the hooks that follow the start have returned
	delayOver                        // --shutdown-delay-duration has passed
	hooksOver                        // the hooks before the shutdown have returned
	settled                          // no request is in flight any more
	watchGraceOver                   // --shutdown-watch-termination-grace-period has passed
	pollClosed                       // the HTTP server looks whether all connections are closed
	httpLimit                        // the HTTP server waits no longer
	auditOver                        // the audit backend has shut down
	kill                             // the process is killed
	lose                             // the node is lost
	restart                          // the process is started again after a crash

	transitions
)

// transit schedules a transition, in place of a pending one of its kind.
func (s *Server) transit(atNs int64, t transition) {
	s.drop(t)
	s.process.pending[t] = s.events.Schedule(atNs, uint8(Lifecycle), Event{Kind: Lifecycle, Owner: s.index, Index: int32(t)})
}

// drop cancels a pending transition.
func (s *Server) drop(t transition) { s.unschedule(&s.process.pending[t]) }

// lifecycle carries out an event of that kind.
func (s *Server) lifecycle(nowNs int64, t transition) {
	s.process.pending[t] = 0
	st := &s.process.stop
	switch t {
	case readObjects:
		s.control(nowNs)
	case becomeReady:
		s.enter(nowNs, Ready)
	case restart:
		s.Start(nowNs, "")
	case kill:
		s.end(nowNs, Reset)
	case lose:
		s.process.silent = true
		s.end(nowNs, Silence)
	case delayOver:
		st.delayOver = true
		s.advance(nowNs)
	case hooksOver:
		st.hooksOver = true
		if s.process.plan.HookError {
			s.end(nowNs, Reset)
			return
		}
		s.advance(nowNs)
	case settled:
		s.advance(nowNs)
	case watchGraceOver:
		st.watchesLeft = true
		s.advance(nowNs)
	case pollClosed:
		s.poll(nowNs)
	case httpLimit:
		s.httpStopped(nowNs)
	case auditOver:
		st.auditOver = true
		s.advance(nowNs)
	}
}

// enter makes the server enter a stage.
func (s *Server) enter(nowNs int64, stage Stage) {
	s.stage = stage
	for _, changed := range s.runState.observers.changed {
		changed(nowNs, s)
	}
}

// newFilter gives the server the flow control of a process whose controllers do not run yet. The controller's
// constructor digests an empty set of objects, so that only the mandatory ones exist.
func (s *Server) newFilter(nowNs int64) {
	s.states, s.replaceable = nil, nil
	s.begin(nowNs, s.runState.objects.mandatory(s), false)
	s.noteAdjusted(nowNs) // which has been called, too, when there were no levels to look at
}

// Refuse answers a request, which is then over, that has not reached the flow control of the server
// with the index r.Server.
func (s *RunState) Refuse(nowNs int64, r *Request, why metric.Refusal, clients Clients, response Response) {
	s.arrivals++
	r.Number = s.arrivals
	if r.ID == Unnumbered {
		r.ID = r.Number
	}
	r.Request = filter.Request{} // which may be that of an earlier request
	r.Bind(r)
	r.Flow = nil
	r.ArrivalNs, r.DispatchNs, r.FinishNs = nowNs, -1, -1
	r.Rejection, r.Lost, r.Opened, r.SeatsAsked = queueset.NotRejected, false, false, 0
	r.Refusal, r.Status, r.RetryAfterSeconds = why, int16(response.Status), int16(response.RetryAfterSeconds)
	for _, refused := range s.observers.refused {
		refused(nowNs, r)
	}
	for _, answered := range s.observers.answered {
		answered(nowNs, r)
	}
	clients.Responded(nowNs, r, response)
	s.recycle(r)
}
