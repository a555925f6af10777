package flowcontrol

import (
	"apfsim/core/estimate"
	"apfsim/core/queueset"
	"apfsim/core/rules"
	"apfsim/core/seats"
)

// Queues is what holds the requests of one priority level: the queues that they wait in and the
// seats that they execute on. There is one implementation for each way of queuing in the
// releases of Kubernetes, and the rules say which one a level gets. What the methods do is
// described at queueset.QueueSet. Every method that takes the time may start requests, and calls
// the host for each before it returns.
type Queues interface {
	QueuesView

	Hand(flowHash uint64) queueset.Hand
	Arrive(nowNs int64, r *queueset.Request, hand *queueset.Hand) queueset.Rejection
	Finish(nowNs int64, r *queueset.Request) (additionalNs int64)
	Release(nowNs int64, r *queueset.Request)
	TimeOut(nowNs int64, r *queueset.Request)
	Cancel(nowNs int64, r *queueset.Request)
	Configure(nowNs int64, config queueset.Config, limit int)
	TakeDemand(nowNs int64) seats.DemandStatistics
}

// QueuesView is what can be read of the queues of a level: what debug dumps, metrics and
// statistics show. None of its methods changes any later decision. Two views of the same queues
// are equal.
type QueuesView interface {
	Limit() int      // concurrency limit in force, in seats
	Idle() bool      // nothing waits and nothing executes
	Waiting() int    // requests
	Executing() int  // requests, without those in additional latency
	SeatsInUse() int // by requests in additional latency too

	Len() int                        // queues, surplus ones among them
	QueueLength(i int) int           // requests that wait in queue i
	Queue(i int) queueset.QueueState // what queue i holds

	R() estimate.SeatSeconds // progress meter, as of the last call that took the time
	Epochs() queueset.Epochs
	Starts(r *queueset.Request) queueset.Starts
	Probe(nowNs int64, work estimate.Work, hand *queueset.Hand) (p queueset.Probe, rejection queueset.Rejection, waits bool)
}

var _ Queues = (*queueset.QueueSet)(nil)

// newQueues returns the empty queues of a level, as the rules have them.
func newQueues(nowNs int64, r *rules.Rules, config queueset.Config, limit int, host queueset.Host) Queues {
	return queueset.New(nowNs, r, config, limit, host)
}
