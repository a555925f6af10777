package upgrade

import (
	"context"
	"errors"
	"math/bits"
	"sort"
	"time"

	"apfsim/experiment"
	"apfsim/experiment/tune"
	"apfsim/reports/collect"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
)

const (
	replays = 10 // runs of a replay, one for each phase of the adjustments
	figures = 10 // least number of runs of the present settings
)

// delays, graces and chances are the values that are tried.
var (
	delays  = grid([3]int64{0, 30, 1}, [3]int64{35, 60, 5}, [3]int64{70, 120, 10})
	graces  = grid([3]int64{0, 2, 1}, [3]int64{5, 20, 5}, [3]int64{30, 60, 30})
	chances = []float64{0, 0.001, 0.002, 0.005, 0.01, 0.02}
)

// grid returns durations from one to another in steps, all in seconds.
func grid(parts ...[3]int64) (all []int64) {
	for _, p := range parts {
		for seconds := p[0]; seconds <= p[1]; seconds += p[2] {
			all = append(all, seconds*int64(time.Second))
		}
	}
	return all
}

// Tried are settings that were run, and which goals did not hold in how many runs.
type Tried struct {
	Settings
	tune.Holds
	Refused  int  `json:"refusedInRuns"`
	Lost     int  `json:"lostInRuns"`
	Rejected int  `json:"rejectedInRuns"`
	Enough   bool `json:"enough"` // whether the runs accept them

	only  bool       // only whether requests are refused was asked
	fresh tune.Holds // of a confirmation that the time has ended
}

// fails counts a goal that did not hold.
func (t *Tried) fails(goal int) {
	*[...]*int{refusedGoal: &t.Refused, lostGoal: &t.Lost, rejectedGoal: &t.Rejected}[goal]++
}

// search looks for the smallest settings with which no request is refused.
type search struct {
	*Options
	ctx   context.Context
	began time.Time
	w     *Workload
	alpha float64 // error of the whole answer: 1 − Confidence
	beta  float64 // probability of rejecting one good value

	goals    metric.Thresholds
	delays   []int64 // after which a server is not killed at once
	graces   []int64 // that the release has
	runs     int
	attempts int // confirmations
	decided  int // settings
	tried    []*Tried

	present struct {
		first *experiment.Trial // the first run in which a goal failed, or else the first one
		tune.Holds
		rollout Rollout
	}
	found struct {
		*Settings // nil if none suffice
		tune.Holds
		rollout Rollout
	}
}

// newSearch returns the search for the settings of a workload.
func newSearch(ctx context.Context, o *Options) *search {
	s := &search{Options: o, ctx: ctx, began: time.Now(), w: o.Workload, alpha: 1 - o.Confidence, goals: nothingRefused(), delays: delays, graces: graces}
	if kill := int64(o.Workload.Scenario.Spec.Servers.Shutdown.KillAfter); kill > 0 {
		s.delays = delays[:max(1, sort.Search(len(delays), func(i int) bool { return delays[i] >= kill }))]
	}
	if !o.From.Server.WatchGracePeriod {
		s.graces = []int64{0}
	}
	s.beta = s.alpha / float64(2*bits.Len(uint(len(s.delays)))+len(s.graces)*len(chances))
	return s
}

// errTime ends a search whose time is over.
var errTime = errors.New("upgrade: the time is over")

// next returns the next of some runs, or errTime.
func (s *search) next(runs *experiment.Trials) (*experiment.Trial, error) {
	if s.Time > 0 && time.Since(s.began) >= s.Time {
		return nil, errTime
	}
	run, err := runs.Next()
	if err == nil {
		s.runs++
	}
	return run, err
}

// begin starts runs of some settings.
func (s *search) begin(c Settings, goals metric.Thresholds, first uint64, n int, early bool) *experiment.Trials {
	w := s.w
	return experiment.BeginTrials(s.ctx, experiment.Plan{N: n, Early: early, Run: func(i int) *scenario.Scenario { return w.scenarioOf(c, goals, first, i) }})
}

// maxRuns is how many runs settings are tried with at most.
func (s *search) maxRuns() int {
	if s.w.Replay {
		return replays
	}
	return tune.MostRuns
}

// newTest returns the test of settings. A replay is accepted if all its runs hold.
func (s *search) newTest(beta float64) tune.Test {
	if s.w.Replay {
		return &tune.Every{Of: replays}
	}
	return tune.NewTest(s.alpha, beta)
}

// passed says whether the first goals held, and the servers were restarted.
func passed(run *experiment.Trial, goals int) bool {
	if run.Phases == nil || run.Phases.EndNs < 0 {
		return false
	}
	for _, i := range run.Failed() {
		if i < goals {
			return false
		}
	}
	return true
}

// tryPresent runs the present settings.
func (s *search) tryPresent() error {
	n := s.maxRuns()
	runs := s.begin(s.w.present, s.goals, s.w.Scenario.Spec.Seed, n, false)
	defer runs.Stop()
	var all []*experiment.Trial
	next := func() error {
		run, err := runs.Next()
		if err != nil {
			return err
		}
		s.runs++
		if run.Phases.EndNs < 0 {
			return errNoRollout
		}
		all = append(all, run)
		s.present.rollout.add(s.w.Scenario, run.Phases)
		return nil
	}
	for len(all) < min(figures, n) {
		if err := next(); err != nil {
			return err
		}
	}
	if s.present.rollout.Before.NotServed.Rejected > 0 {
		s.goals = s.goals[:rejectedGoal]
	}
	i := 0
	_, held, err := tune.Until(s.newTest(s.alpha), n, func() (bool, error) {
		if i == len(all) {
			if err := next(); err != nil {
				return false, err
			}
		}
		i++
		return passed(all[i-1], len(s.goals)), nil
	})
	if err != nil {
		return err
	}
	for ; i < len(all); i++ { // all that were made count
		held.Runs++
		if passed(all[i], len(s.goals)) {
			held.Passes++
		}
	}
	for _, run := range all {
		if s.present.first == nil && !passed(run, len(s.goals)) {
			s.present.first = run
		}
	}
	if s.present.first == nil {
		s.present.first = all[0]
	}
	s.present.Holds = held
	return nil
}

// decide runs settings until the runs accept or reject them.
func (s *search) decide(c Settings, goals metric.Thresholds) (*Tried, error) {
	s.decided++
	if s.Progress != nil {
		s.Progress(s.decided, max(s.decided, 2*bits.Len(uint(len(s.delays)))+1))
	}
	runs := s.begin(c, goals, s.w.Scenario.Spec.Seed, s.maxRuns(), true)
	defer runs.Stop()
	t := &Tried{Settings: c, only: len(goals) < len(s.goals)}
	decision, held, err := tune.Until(s.newTest(s.beta), s.maxRuns(), func() (bool, error) {
		run, err := s.next(runs)
		if err != nil {
			return false, err
		}
		for _, goal := range run.Failed() {
			t.fails(goal)
		}
		return passed(run, len(goals)), nil
	})
	if t.Holds, t.Enough = held, decision == tune.Accepted; err == nil || err == errTime && held.Runs > 0 {
		s.tried = append(s.tried, t)
	}
	return t, err
}

// leastDelay returns the index of the smallest delay with which no request is refused, or len(s.delays). A longer delay
// never refuses more, so that it is enough to look at some. Neither of the other settings lets a server that stops listen
// for longer, or a load balancer notice earlier, so that they are 0.
func (s *search) leastDelay() (int, error) {
	_, high, err := tune.Bisect(-1, len(s.delays), func(i int) (bool, error) {
		t, err := s.decide(Settings{DelayNs: s.delays[i]}, s.goals[:refusedGoal+1])
		return err == nil && t.Enough, err
	})
	return high, err
}

// mostDelays is how many delays are walked from the one that the bisection finds. If none of them is confirmed, requests are
// refused whatever the delay is.
const mostDelays = 4

// walk goes up the delays, and for each of them up the graces and chances, until settings are confirmed.
func (s *search) walk() error {
	at, err := s.leastDelay()
	for last := min(at+mostDelays, len(s.delays)); err == nil && at < last; at++ {
		var longer bool
		if longer, err = s.walkFrom(s.delays[at]); !longer {
			break
		}
	}
	return err
}

// walkFrom tries a delay with all graces and chances. It says whether a longer delay may suffice if none of them does:
// requests were refused.
func (s *search) walkFrom(delayNs int64) (longer bool, err error) {
	for _, graceNs := range s.graces {
		for _, chance := range chances {
			c := Settings{delayNs, graceNs, chance}
			t, err := s.decide(c, s.goals)
			if err != nil {
				return false, err
			}
			if t.Enough {
				if err := s.confirm(c, t); err != nil || s.found.Settings != nil {
					return false, err
				}
				t.Enough = false
			}
			if t.Refused > 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

// confirm runs settings with fresh seeds, of which a replay has none.
func (s *search) confirm(c Settings, t *Tried) error {
	if s.w.Replay {
		return s.show(c)
	}
	s.attempts++
	decides := tune.NewConfirmation(s.attempts, s.Probability, s.alpha)
	runs := s.begin(c, s.goals, tune.FirstSeed(s.w.Scenario.Spec.Seed, s.attempts), decides.Most(), true)
	defer runs.Stop()
	var phases []*collect.Phases
	decision, held, err := tune.Until(decides, decides.Most(), func() (bool, error) {
		run, err := s.next(runs)
		if err != nil {
			return false, err
		}
		for _, goal := range run.Failed() {
			t.fails(goal)
		}
		if run.Phases != nil {
			phases = append(phases, run.Phases)
		}
		return passed(run, len(s.goals)), nil
	})
	if err == errTime {
		t.fresh = held
	}
	if err != nil || decision != tune.Accepted {
		return err
	}
	s.found.Settings, s.found.Holds = &c, held
	for _, p := range phases {
		s.found.rollout.add(s.w.Scenario, p)
	}
	return nil
}

// show runs the accepted settings of a replay for their figures.
func (s *search) show(c Settings) error {
	runs := s.begin(c, s.goals, 0, replays, false)
	defer runs.Stop()
	s.found.Settings, s.found.Holds = &c, tune.Holds{Passes: replays, Runs: replays}
	for range replays {
		run, err := runs.Next()
		if err != nil {
			return err
		}
		s.runs++
		s.found.rollout.add(s.w.Scenario, run.Phases)
	}
	return nil
}
