package collect

import (
	"fmt"

	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// crowd counts the executions that end while more requests execute at their server than its executions were measured
// with. How long these take was not measured. Without a law, executions are those of the load at which they were measured.
type crowd struct {
	measured    int
	average     float64 // requests at a time when executions were measured; 0 if it is not known, or does not matter
	unknown     bool    // there is no law that says how long they take
	executing   []int   // by server
	ended, more int64   // executions of the window, and those among more than were measured
}

// crowdShare is the part of the executions beyond which a run is one of another load than was measured. Of what was
// measured, it is at most a hundredth, which varies from run to run if the server is nearly full.
const crowdShare = 0.1

// newCrowd returns nil if the scenario does not say up to what executions were measured.
func newCrowd(s *scenario.Servers) *crowd {
	if s.Capacity == nil || s.Capacity.Measured == 0 && s.Capacity.Average == 0 {
		return nil
	}
	return &crowd{measured: s.Capacity.Measured, average: s.Capacity.Average, unknown: !s.Capacity.Given(), executing: make([]int, max(1, s.Replicas))}
}

func (c *crowd) begin(r *server.Request) { c.executing[r.Server]++ }

// end ends an execution. Counts says whether it is one of the window.
func (c *crowd) end(r *server.Request, counts bool) {
	if counts {
		c.ended++
		if c.measured > 0 && c.executing[r.Server] > c.measured {
			c.more++
		}
	}
	c.executing[r.Server]--
}

// averageMore is by how much the average may be greater than the measured one, because both are those of random requests.
const averageMore = 1.25

// trust adds the reason BeyondFit or UnknownCapacity if the run, whose window takes so long, goes beyond what was measured.
func (c *crowd) trust(s *result.Summary, windowNs int64) {
	if e := s.Total.Execution; c.average > 0 && e != nil {
		// By Little's law.
		if x := float64(e.Count) * float64(e.MeanNs) / float64(windowNs) / float64(len(c.executing)); x > averageMore*c.average {
			s.AddTrust(result.UnknownCapacity, fmt.Sprintf("a server executes %s requests at a time on average. The executions are those of a server that executes %s, and its capacity is unknown: it may be much slower",
				format.Digits(x), format.Digits(c.average)))
			return
		}
	}
	share := float64(c.more) / float64(max(1, c.ended))
	if share <= crowdShare {
		return
	}
	id, text := result.BeyondFit, fmt.Sprintf("%s of the requests execute when more than %d do at a time, up to which the capacity was measured: how the server executes more is extrapolated", format.Percent(share), c.measured)
	if c.unknown {
		id, text = result.UnknownCapacity, fmt.Sprintf("%s of the requests execute when more than %d do at a time. The executions are those of a server that seldom executes more, and its capacity is unknown: it may be much slower", format.Percent(share), c.measured)
	}
	s.AddTrust(id, text)
}
