package result

import (
	"apfsim/core/queueset"
)

// Series is the course of a run at one priority level, over the whole duration with its
// warm-up.
type Series struct {
	Level   string // "" for the requests that flow control does not see
	Limited bool   // whether its points' limits mean anything
	Points  []Point

	// QueueLengths are the requests waiting in each queue at the beginning of each
	// point's interval; nil where nothing waits.
	QueueLengths [][]int32
}

// Point is one interval of a series. Seats, waiting requests and limits are time-weighted
// means over the interval; the others are counts.
type Point struct {
	StartNs, EndNs      int64
	SeatsInUse          float64
	ExecutingRequests   float64 // those in additional latency included
	WaitingRequests     float64
	WaitingSeats        float64
	CurrentLimit        float64
	NominalLimit        float64 // not in series.csv
	Arrived, Dispatched int64
	Rejected            [queueset.Rejections]int64 // by reason
	Jain                *float64                   // nil without service or demand
}

// Seconds returns the length of the interval.
func (p *Point) Seconds() float64 { return float64(p.EndNs-p.StartNs) / 1e9 }

// RejectedTotal returns the rejections for whatever reason.
func (p *Point) RejectedTotal() int64 {
	total := int64(0)
	for _, n := range p.Rejected {
		total += n
	}
	return total
}

// Quiet says whether no request arrived: then none was present either, as the series begins
// with the run.
func (s *Series) Quiet() bool {
	for i := range s.Points {
		if s.Points[i].Arrived > 0 {
			return false
		}
	}
	return true
}

// Queued says whether any request was found waiting in a queue.
func (s *Series) Queued() bool {
	for _, lengths := range s.QueueLengths {
		if lengths != nil {
			return true
		}
	}
	return false
}

// Interval returns how long the intervals of the series of a run should be: the least of
// 1, 2, 5, 10, ... milliseconds that makes at most 400 of them.
func Interval(durationNs int64) int64 {
	for unit := int64(1_000_000); ; unit *= 10 {
		for _, factor := range []int64{1, 2, 5} {
			interval := unit * factor
			if durationNs <= 400*interval {
				return interval
			}
		}
	}
}
