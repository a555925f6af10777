package main

import (
	"errors"
	"fmt"
	"math"
)

// check returns what is implausible about the results in a regime, nil for nothing:
//
//   - every request that arrived has come to one end, and rounds do not differ;
//   - so many arrived in the time simulated as the load says;
//   - where a request needs a seat, the seats were not used more than there are, and as far
//     as there were requests for them;
//   - upstream and apfsim reject the same share, what waits at the end counted with it, for
//     the shorter run has had less time to fill its queues;
//   - they do reject once load is above 1 for long enough;
//   - below that, with nothing rejected, requests wait as long on average as in M/M/c: the
//     order in which equals are served does not change the mean (Erlang C);
//   - a request log changes nothing.
func check(r *regime, l load, results []*result) error {
	var wrong []error
	report := func(s *result, format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("%s: %s: %s", r.name, s.peer.name, fmt.Sprintf(format, args...)))
	}
	oneLevel := l.queuing.Queues > 0
	for _, s := range results {
		m := &s.rounds[0]
		for i := range s.rounds {
			if !m.sameWork(&s.rounds[i]) {
				report(s, "round %d simulated %+v, the first %+v", i+1, s.rounds[i], *m)
			}
		}
		if sum := m.Completed + m.Rejected + m.Waiting + m.Executing; m.Arrived == 0 || sum != m.Arrived {
			report(s, "%d requests arrived, and %d came to an end or are there still", m.Arrived, sum)
			continue
		}
		seconds := float64(m.SimulatedNs) / 1e9
		if got, want := float64(m.Arrived)/seconds, l.rate(); !near(got, want, tolerance(m)) {
			report(s, "%.0f requests a second arrived; want about %.0f", got, want)
		}
		if !s.peer.seats {
			if m.Rejected > 0 || m.Waiting > 0 {
				report(s, "requests waited or were rejected: %+v", *m)
			}
			continue
		}
		if !oneLevel {
			if m.MeanWaitNs <= 0 {
				report(s, "no request had to wait")
			}
			continue
		}
		load := l.utilisation()
		if got, want := float64(m.Completed)/float64(m.Arrived), 1/max(1, load); !l.closed && !near(got, want, tolerance(m)) {
			report(s, "%.2f %% of the requests were served; want about %.2f %%", 100*got, 100*want)
		}
		backlog := l.queuing.Queues * l.queuing.QueueLengthLimit
		if s.peer.queues {
			if m.Waiting > backlog {
				report(s, "%d requests wait in queues for %d", m.Waiting, backlog)
			}
			if surplus := float64(m.Arrived) * (1 - 1/load); m.Rejected == 0 && surplus > 1.25*float64(backlog) {
				report(s, "nothing was rejected")
			}
		}
		if load < 1 && !l.closed && m.Rejected == 0 {
			want := erlangWaitNs(l.seats, load, l.groups[0].serviceNs)
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
			report(b, "%.2f %% rejected or waiting; %s has %.2f %%", 100*y, a.peer.name, 100*x)
		}
	}
	if a, b := named(results, peerApfsim), named(results, peerLogging); a != nil && b != nil && !a.rounds[0].sameWork(&b.rounds[0]) {
		report(b, "simulated %+v, without the log %+v", b.rounds[0], a.rounds[0])
	}
	return errors.Join(wrong...)
}

// sameWork says whether two measurements differ in time and memory at most.
func (m *measurement) sameWork(other *measurement) bool {
	a, b := *m, *other
	a.ElapsedNs, a.PeakBytes, b.ElapsedNs, b.PeakBytes = 0, 0, 0, 0
	return a == b
}

// surplus is the share of the requests that was rejected or waits.
func (m *measurement) surplus() float64 {
	return float64(m.Rejected+m.Waiting) / float64(m.Arrived)
}

// tolerance is the relative error allowed of a sum over the requests: five standard
// deviations of as many exponential times.
func tolerance(m *measurement) float64 { return 5 / math.Sqrt(float64(m.Arrived)) }

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance*want }

// erlangWaitNs returns the mean wait in M/M/c at a load below 1: Erlang's C times the mean
// service, over c·(1−load).
func erlangWaitNs(servers int, load, serviceNs float64) float64 {
	offered := load * float64(servers)
	b := 1.0 // Erlang's B, by its recursion over the servers
	for i := 1; i <= servers; i++ {
		b = offered * b / (float64(i) + offered*b)
	}
	c := b / (1 - load*(1-b))
	return c * serviceNs / (float64(servers) * (1 - load))
}
