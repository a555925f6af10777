// Package observe has what several observers of a run read from requests and priority levels, such as
// [SeatsOf] and [LevelState].
package observe

import (
	"apfsim/core/config"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/core/seats"
	"apfsim/sim/server"
)

// Levels returns the priority levels of a server; none if it has no flow control.
type Levels interface {
	Levels() []*flowcontrol.Level
}

// LevelState is the part of a priority level that observers read.
type LevelState interface {
	Name() string
	Spec() *config.PriorityLevelSpec
	Limits() seats.Limits
	CurrentLimit() int
	Queues() *queueset.QueueSet
}

// SeatsOf returns the seats that a request occupies or would have occupied; 1 if flow control did not
// estimate any.
func SeatsOf(r *server.Request) int { return max(1, r.Seats()) }

// AskedBy returns the seats that a request waits for.
func AskedBy(r *server.Request) int { return max(1, int(r.SeatsAsked)) }

// QueueOf returns a request's queue; -1 if it has none. A request that flow control does not handle
// may still have the queue of an earlier request that used the same memory.
func QueueOf(r *server.Request) int {
	if r.Flow == nil {
		return -1
	}
	return r.Queue()
}

// NoWorkload is the index of no workload.
const NoWorkload = -1

// Present says whether a request that is given up was queued or held seats. One that was rejected was
// not, and neither was a watch that had been initialised.
func Present(r *server.Request) bool {
	return r.Rejection == queueset.NotRejected && (r.FinishNs < 0 || r.KeepsSeats() && !r.IsWatch())
}

// ByServer returns an observer of all servers that passes what happens at each to the observer with its
// index. They must all be of one kind: what one is not called for, none is.
func ByServer(each []server.Observer) server.Observer {
	if len(each) == 1 {
		return each[0]
	}
	request := func(get func(*server.Observer) func(int64, *server.Request)) func(int64, *server.Request) {
		if get(&each[0]) == nil {
			return nil
		}
		return func(nowNs int64, r *server.Request) { get(&each[r.Server])(nowNs, r) }
	}
	of := func(get func(*server.Observer) func(int64, *server.Server)) func(int64, *server.Server) {
		if get(&each[0]) == nil {
			return nil
		}
		return func(nowNs int64, s *server.Server) { get(&each[s.Index()])(nowNs, s) }
	}
	all := server.Observer{
		Arrived:    request(func(o *server.Observer) func(int64, *server.Request) { return o.Arrived }),
		Queued:     request(func(o *server.Observer) func(int64, *server.Request) { return o.Queued }),
		Dispatched: request(func(o *server.Observer) func(int64, *server.Request) { return o.Dispatched }),
		Rejected:   request(func(o *server.Observer) func(int64, *server.Request) { return o.Rejected }),
		Executed:   request(func(o *server.Observer) func(int64, *server.Request) { return o.Executed }),
		Released:   request(func(o *server.Observer) func(int64, *server.Request) { return o.Released }),
		Refused:    request(func(o *server.Observer) func(int64, *server.Request) { return o.Refused }),
		GivenUp:    request(func(o *server.Observer) func(int64, *server.Request) { return o.GivenUp }),
		Answered:   request(func(o *server.Observer) func(int64, *server.Request) { return o.Answered }),
		HeldBack:   request(func(o *server.Observer) func(int64, *server.Request) { return o.HeldBack }),
		Adjusted:   of(func(o *server.Observer) func(int64, *server.Server) { return o.Adjusted }),
		Changed:    of(func(o *server.Observer) func(int64, *server.Server) { return o.Changed }),
	}
	if each[0].Tick != nil {
		all.Tick = func(nowNs int64, servers []*server.Server) (nextNs int64) {
			for i := range each {
				if next := each[i].Tick(nowNs, servers); next > nowNs && (nextNs == 0 || next < nextNs) {
					nextNs = next
				}
			}
			return nextNs
		}
	}
	return all
}
