// Package observe holds what observers of a run read of requests and priority levels.
package observe

import (
	"apfsim/core/config"
	"apfsim/core/flowcontrol"
	"apfsim/core/seats"
	"apfsim/sim/server"
)

// Levels gives the priority levels of a server, none where flow control is off.
type Levels interface {
	Levels() []*flowcontrol.Level
}

// LevelState is what is read of a priority level.
type LevelState interface {
	Name() string
	Spec() *config.PriorityLevelSpec
	Limits() seats.Limits
	CurrentLimit() int
	Queues() flowcontrol.QueuesView
}

// SeatsOf returns the seats that a request holds or would have held, 1 where flow control
// did not estimate any.
func SeatsOf(r *server.Request) int { return max(1, r.Seats()) }

// AskedBy returns the seats that a request waits for.
func AskedBy(r *server.Request) int { return max(1, int(r.SeatsAsked)) }

// QueueOf returns a request's queue, -1 if it has none. One that flow control does not see
// may still name the queue of the request that its memory was used for before.
func QueueOf(r *server.Request) int {
	if r.Flow == nil {
		return -1
	}
	return r.Queue()
}

const (
	NoWorkload = -1
)
