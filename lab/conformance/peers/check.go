package main

import (
	"errors"
	"fmt"
	"math"
)

// check returns the reasons why the results in a regime are implausible, or nil if they are
// plausible. It checks that:
//
//   - every request that arrived has one final state, and all rounds have the same results;
//   - the arrival rate is that of the load, unless the clients have behaviours, whose rate changes;
//   - if requests need seats, the share of completed requests follows from the load and the seats;
//   - upstream and apfsim reject the same share of the requests, where requests that still wait
//     count as rejected, because a shorter run has had less time to fill its queues;
//   - requests are rejected if the load is above 1 for long enough to fill the queues;
//   - if the load is below 1 and nothing is rejected, the mean wait is that of M/M/c (Erlang C),
//     because the order in which similar requests are served does not change the mean;
//   - the results with a request log are the same as without.
func check(r *regime, l load, results []*peerResult) error {
	var implausible []error
	report := func(s *peerResult, format string, args ...any) {
		implausible = append(implausible, fmt.Errorf("%s: %s: %s", r.name, s.peer.name, fmt.Sprintf(format, args...)))
	}
	oneLevel := l.queuing.Queues > 0
	for _, s := range results {
		m := &s.rounds[0]
		for i := range s.rounds {
			if !m.sameWork(&s.rounds[i]) {
				report(s, "round %d has the result %+v, the first round %+v", i+1, s.rounds[i], *m)
			}
		}
		if sum := m.Completed + m.Rejected + m.Waiting + m.Executing; m.Arrived == 0 || sum != m.Arrived {
			report(s, "%d requests arrived, but %d were completed, rejected, waiting or executing", m.Arrived, sum)
			continue
		}
		seconds := float64(m.SimulatedNs) / 1e9
		if got, want := float64(m.Arrived)/seconds, l.rate(); r.perSecond == 0 && !near(got, want, tolerance(m)) {
			report(s, "%.0f requests per second arrived; want about %.0f", got, want)
		}
		if !s.peer.seats {
			if m.Rejected > 0 || m.Waiting > 0 {
				report(s, "requests waited or were rejected: %+v", *m)
			}
			continue
		}
		if !oneLevel {
			if m.MeanWaitNs <= 0 {
				report(s, "no request waited")
			}
			continue
		}
		load := l.utilisation()
		if got, want := float64(m.Completed)/float64(m.Arrived), 1/max(1, load); !l.closed && !near(got, want, tolerance(m)) {
			report(s, "%.2f %% of the requests were completed; want about %.2f %%", 100*got, 100*want)
		}
		backlog := l.servers * l.queuing.Queues * l.queuing.QueueLengthLimit
		if s.peer.queues {
			if m.Waiting > backlog {
				report(s, "%d requests are waiting; the queues hold at most %d", m.Waiting, backlog)
			}
			if surplus := float64(m.Arrived) * (1 - 1/load); m.Rejected == 0 && surplus > 1.25*float64(backlog) {
				report(s, "no request was rejected")
			}
		}
		if load < 1 && !l.closed && m.Rejected == 0 {
			want := erlangWaitNs(l.seats/l.servers, load, l.groups[0].serviceNs)
			if !near(m.MeanWaitNs, want, max(0.1, 20*tolerance(m))) {
				report(s, "requests waited %.0f ns on average; want about %.0f", m.MeanWaitNs, want)
			}
		}
	}
	for _, pair := range [][2]string{{peerUpstream, peerQueueSet}, {peerUpstream, peerApfsim}, {peerQueueSet, peerApfsim}} {
		a, b := named(results, pair[0]), named(results, pair[1])
		if a == nil || b == nil {
			continue
		}
		if x, y := a.rounds[0].surplus(), b.rounds[0].surplus(); math.Abs(x-y) > 0.02 {
			report(b, "%.2f %% of the requests were rejected or waiting; %s has %.2f %%", 100*y, a.peer.name, 100*x)
		}
	}
	if a, b := named(results, peerApfsim), named(results, peerLogging); a != nil && b != nil && !a.rounds[0].sameWork(&b.rounds[0]) {
		report(b, "the result is %+v, without the log %+v", b.rounds[0], a.rounds[0])
	}
	return errors.Join(implausible...)
}

// sameWork reports whether two measurements are equal except for time and memory.
func (m *measurement) sameWork(other *measurement) bool {
	a, b := *m, *other
	a.ElapsedNs, a.PeakBytes, b.ElapsedNs, b.PeakBytes = 0, 0, 0, 0
	return a == b
}

// surplus returns the share of the requests that were rejected or are waiting.
func (m *measurement) surplus() float64 {
	return float64(m.Rejected+m.Waiting) / float64(m.Arrived)
}

// tolerance returns the allowed relative error of a sum over the requests: five standard
// deviations of the mean of as many exponential times.
func tolerance(m *measurement) float64 { return 5 / math.Sqrt(float64(m.Arrived)) }

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance*want }

// erlangWaitNs returns the mean wait in M/M/c at a load ρ below 1, in nanoseconds:
//
//	C(c, c·ρ) · service / (c·(1−ρ))
//
// where C is Erlang's C formula and c is the number of servers.
func erlangWaitNs(servers int, load, serviceNs float64) float64 {
	offered := load * float64(servers)
	b := 1.0 // Erlang's B, computed by the recursion over the number of servers
	for i := 1; i <= servers; i++ {
		b = offered * b / (float64(i) + offered*b)
	}
	c := b / (1 - load*(1-b))
	return c * serviceNs / (float64(servers) * (1 - load))
}
