package collect

import (
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// loadBeyondMeasured counts the executions that end while more requests execute at their server than its executions were measured
// with. How long these take was not measured. Without a law, executions are those of the load at which they were measured.
type loadBeyondMeasured struct {
	measured    int
	average     float64 // requests at a time when executions were measured; 0 if it is not known, or does not matter
	unknown     bool    // there is no law that says how long they take
	executing   []int   // by server
	ended, more int64   // executions of the window, and those among more than were measured
}

// beyondShare is the part of the executions beyond which a run is one of another load than was measured. Of what was
// measured, it is at most a hundredth, which varies from run to run if the server is nearly full. Without a law, no such run
// is ok, so that it must be more certain.
const (
	beyondShare  = 0.05
	unknownShare = 0.1
)

// newLoadBeyondMeasured returns nil if the scenario does not say with how many concurrent requests its executions were
// measured.
func newLoadBeyondMeasured(s *scenario.Servers) *loadBeyondMeasured {
	if s.Capacity == nil || s.Capacity.Measured == 0 && s.Capacity.Average == 0 {
		return nil
	}
	return &loadBeyondMeasured{measured: s.Capacity.Measured, average: s.Capacity.Average, unknown: !s.Capacity.IsSet(), executing: make([]int, max(1, s.Replicas))}
}

func (c *loadBeyondMeasured) begin(r *server.Request) { c.executing[r.Server]++ }

// end counts the end of an execution. counts says whether the request belongs to the window.
func (c *loadBeyondMeasured) end(r *server.Request, counts bool) {
	if counts {
		c.ended++
		if c.measured > 0 && c.executing[r.Server] > c.measured {
			c.more++
		}
	}
	c.executing[r.Server]--
}

// averageMore is the excess of the average over the measured one that is tolerated, because both are averages of random
// requests.
const averageMore = 1.25

// trust adds the reason BeyondFit or UnknownCapacity if the run, whose window takes so long, goes beyond what was measured.
func (c *loadBeyondMeasured) trust(s *result.Summary, windowNs int64) {
	l := &result.LoadBeyondMeasured{Measured: c.measured, Share: float64(c.more) / float64(max(1, c.ended)), Unknown: c.unknown}
	if e := s.Total.Execution; c.average > 0 && e != nil {
		// By Little's law.
		if x := float64(e.Count) * float64(e.MeanNs) / float64(windowNs) / float64(len(c.executing)); x > averageMore*c.average {
			l.Executing, l.Average = x, c.average
		}
	}
	most := beyondShare
	if c.unknown {
		most = unknownShare
	}
	if l.Executing > 0 || l.Share > most {
		s.TrustLoad(l)
	}
}
