package result

import (
	"apfsim/core/queueset"
)

// Series are the statistics of one priority level over time, in intervals of equal length. They
// cover the whole run, including the warm-up.
type Series struct {
	Level   string // "" for the requests that flow control does not limit
	Limited bool   // whether the points have limits
	Points  []Point

	// QueueLengths are the numbers of requests that wait in each queue at the beginning of each
	// point's interval; nil for a point at which nothing waits.
	QueueLengths [][]int32
}

// Point is one interval of a series. Seats, waiting requests and limits are time-weighted
// means over the interval; the others are counts.
type Point struct {
	StartNs, EndNs      int64
	SeatsInUse          float64
	ExecutingRequests   float64 // including those in additional latency
	WaitingRequests     float64
	WaitingSeats        float64
	CurrentLimit        float64
	NominalLimit        float64 // not in series.csv
	Arrived, Dispatched int64
	Rejected            [queueset.Rejections]int64 // by reason
	Jain                *float64                   // nil without service or demand

	// Seat-seconds that requests were expected to occupy, not in series.csv: those in the system at the start of the
	// interval that had not been served yet, together with those that arrived in it; and those that are left at its end.
	AskedSeatSeconds, LeftSeatSeconds float64
}

// Seconds returns the length of the interval.
func (p *Point) Seconds() float64 { return float64(p.EndNs-p.StartNs) / 1e9 }

// RejectedTotal returns the rejections for all reasons.
func (p *Point) RejectedTotal() int64 {
	total := int64(0)
	for _, n := range p.Rejected {
		total += n
	}
	return total
}

// Quiet says whether no request arrived. No request was present either, because the series begins
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

// Interval returns the length of the intervals for a run: the least of 1, 2, 5, 10, ...
// milliseconds for which there are at most 400 intervals.
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

// SeatSeconds returns the seats that a priority level had in the window, times seconds.
func (r *Result) SeatSeconds(level string) (sum float64) {
	for _, series := range r.Series {
		if series.Level != level {
			continue
		}
		for i := range series.Points {
			if p := &series.Points[i]; p.StartNs >= r.Summary.WarmupNs {
				sum += p.CurrentLimit * p.Seconds()
			}
		}
	}
	return sum
}
