// Package observe has what several observers of a run read from requests and priority levels, such as
// [SeatsOf] and [LevelState].
package observe

import (
	"apfsim/core/config"
	"apfsim/core/flowcontrol"
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
	Queues() flowcontrol.QueuesView
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
