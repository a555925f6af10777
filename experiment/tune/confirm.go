package tune

import (
	"fmt"
	"slices"

	"apfsim/experiment"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
)

// confirmation is the fresh runs of a candidate that was confirmed.
type confirmation struct {
	Holds
	first uint64              // seed
	runs  []*experiment.Trial // in the order of the seeds; nil of those that were known
}

// confirm runs a candidate with fresh seeds. It returns nil if it is not confirmed. A replay has no fresh seeds: that each
// of its runs passed is all that it can show.
func (s *search) confirm(c *Candidate) (*confirmation, error) {
	if s.replayed {
		return &confirmation{Holds{Replays, Replays}, s.present.Spec.Seed, make([]*experiment.Trial, Replays)}, nil
	}
	s.attempts++
	decides := NewConfirmation(s.attempts, s.Probability, s.alpha)
	done := &confirmation{first: FirstSeed(s.present.Spec.Seed, s.attempts)}
	runs := s.draw(c, done.first, decides.Most())
	defer runs.stop()
	decision, held, err := Until(decides, decides.Most(), func() (bool, error) {
		o, run, err := runs.next()
		if err != nil {
			return false, err
		}
		done.runs = append(done.runs, run)
		return o.Passed, nil
	})
	if err == errBudget {
		s.trialsOf(c).fresh = held
	}
	if err != nil {
		return nil, err
	}
	if done.Holds = held; decision == Accepted {
		return done, nil
	}
	known := s.trialsOf(c)
	known.Because = fmt.Sprintf("held in %d of %d runs, but only in %d of %d fresh ones", known.Passes, known.Runs, done.Passes, done.Runs)
	return nil, nil
}

// complete returns runs of a candidate with consecutive seeds to their ends. Those that are nil, or were ended early because
// of a goal, are made again.
func (s *search) complete(c *Candidate, first uint64, known []*experiment.Trial) ([]*experiment.Trial, error) {
	var again []int
	for i, run := range known {
		if run == nil || run.Replication == nil && !run.RanAway {
			again = append(again, i)
		}
	}
	sc := c.scenarioOf(s.present)
	p := experiment.Plan{N: len(again), MostEvents: s.mostEvents(), Run: func(i int) *scenario.Scenario { return s.variant(sc, first+uint64(again[i])) }}
	runs := experiment.BeginTrials(s.ctx, p)
	defer runs.Stop()
	all := slices.Clone(known)
	for _, i := range again {
		run, err := runs.Next()
		if err != nil {
			return nil, err
		}
		all[i] = run
	}
	return all, nil
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

// ProtectedName returns the statistic by which a metric is protected: the rate of a number of requests, and the 99th
// percentile of a duration.
func ProtectedName(text string) (metric.Name, error) {
	if n, err := metric.ParseName(text + ".rate"); err == nil {
		return n, nil
	}
	return metric.ParseName(text + ".p(99)")
}
