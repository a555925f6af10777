package server

import (
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/sim/random"
)

// isHealthCheck says whether a request is for one of the health checks of a server.
func isHealthCheck(a *classify.Attributes) bool {
	return !a.IsResource() && slices.Contains(served[:3], a.Path)
}

// etcdLimitNs is how long the check etcd waits for an answer (--etcd-healthcheck-timeout).
const etcdLimitNs = 2_000_000_000

// health is how a server finds out whether etcd answers: with a store, each health check reads from it, unless the query
// excludes that. (A server reads once a second at most, and otherwise takes the result of the read before.)
type health struct {
	latencies random.Stream
	free      []*etcdRead
}

// etcdRead is a read from etcd for a health check.
type etcdRead struct {
	server *Server
	check  Ref
}

// asksEtcd says whether a request is a health check that reads from etcd.
func (s *Server) asksEtcd(r *Request) bool {
	return s.deps.Store != nil && isHealthCheck(&r.Attributes) && !slices.Contains(strings.Split(r.Query, "&"), "exclude=etcd")
}

// askEtcd makes a health check read from etcd. It fails if there is no answer in time.
func (s *Server) askEtcd(nowNs int64, r *Request) {
	r.Details.step = inEtcd
	r.next = s.events.Schedule(nowNs+etcdLimitNs, uint8(Finish), Event{Kind: Finish, Owner: s.index, Request: r})
	var read *etcdRead
	if n := len(s.health.free); n > 0 {
		read = s.health.free[n-1]
		s.health.free = s.health.free[:n-1]
	} else {
		read = &etcdRead{server: s}
	}
	read.check = r.Ref()
	s.runState.handlers.store.Check(nowNs, &s.health.latencies, read)
}

// Ring implements clock.Alarm: etcd has answered.
func (e *etcdRead) Ring(nowNs int64) {
	s, r := e.server, e.check.Request()
	s.health.free = append(s.health.free, e)
	if r == nil || r.phase != atServer || r.Details.step != inEtcd || r.FinishNs >= 0 {
		return
	}
	s.unschedule(&r.next)
	s.finish(nowNs, r, Response{Status: int(r.success)})
}
