package tune

import (
	"fmt"

	"apfsim/experiment"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// confirmation is the fresh runs of an attempt.
type confirmation struct {
	Attempt
	first  uint64              // seed
	all    []*experiment.Trial // in the order of the seeds
	passes int
}

// confirm runs a candidate with fresh seeds. It returns nil if it is not confirmed.
func (s *search) confirm(c *Candidate) (*confirmation, error) {
	for range attemptsEach {
		s.attempts++
		done, err := s.attempt(c, AttemptOf(s.attempts, s.Probability, s.alpha))
		if err != nil || done != nil {
			return done, err
		}
	}
	return nil, nil
}

func (s *search) attempt(c *Candidate, a Attempt) (*confirmation, error) {
	sc := c.scenarioOf(s.present)
	done := &confirmation{Attempt: a, first: sc.Spec.Seed + uint64(a.Number)*seedsApart}
	runs := experiment.BeginTrials(s.ctx, sc, done.first, a.Runs, true, s.mostEvents())
	defer runs.Stop()
	for range a.Runs {
		run, err := s.take(runs)
		if err != nil {
			return nil, err
		}
		passed := run.Passed()
		if passed {
			why, err := s.protected(run, func() (*experiment.Trial, error) { return s.one(s.present, run.Seed) })
			if err != nil {
				return nil, err
			}
			passed = why == ""
		}
		done.all = append(done.all, run)
		if passed {
			done.passes++
		}
		if len(done.all)-done.passes > a.Failures {
			known := s.of(c)
			known.Because = fmt.Sprintf("held in %d of %d runs, but only in %d of %d fresh ones", known.Passes, known.Runs, done.passes, len(done.all))
			return nil, nil
		}
	}
	return done, nil
}

// Losses up to these are tolerated.
const (
	longerByShare = 0.2
	longerByNs    = 10_000_000
	moreRejected  = 0.001
)

// loses says whether a figure got worse by more than is tolerated.
func loses(n *metric.Name, before, after float64) bool {
	if n.Unit == metric.Nanoseconds {
		return after > before*(1+longerByShare) && after > before+longerByNs
	}
	return after > before+moreRejected
}

// protected says why a run is worse than that of the present configuration with the same seed; "" if no metric that is
// protected is.
func (s *search) protected(run *experiment.Trial, present func() (*experiment.Trial, error)) (string, error) {
	if len(s.Protect) == 0 {
		return "", nil
	}
	other, err := present()
	if err != nil {
		return "", err
	}
	for _, name := range s.Protect {
		n, err := ProtectedName(name)
		if err != nil {
			return "", err
		}
		before, note, ok := result.StatisticValue(other.Summary, &n)
		after, noteAfter, okAfter := result.StatisticValue(run.Summary, &n)
		if ok && okAfter && note == "" && noteAfter == "" && loses(&n, before, after) {
			return name + " got worse", nil
		}
	}
	return "", nil
}

// ProtectedName returns the statistic by which a metric is protected: the rate of a number of requests, and the 99th
// percentile of a duration.
func ProtectedName(text string) (metric.Name, error) {
	if n, err := metric.ParseName(text + ".rate"); err == nil {
		return n, nil
	}
	return metric.ParseName(text + ".p(99)")
}
