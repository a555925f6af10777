package tune

import (
	"slices"

	"apfsim/experiment"
	"apfsim/reports/compare"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
)

// Tried is the cheapest candidate of a remedy that the search accepted. Only that of the selected change is confirmed.
type Tried struct {
	Remedy     result.RemedyID
	*Candidate          // nil if none was accepted
	Decision   Decision // Undecided if there is no candidate, or if the budget was used up before all were tried

	// Before and After are which parts of the requests that the goals are about are not served.
	Before, After Share
}

// Share is a part of requests over several runs.
type Share struct {
	Mean float64
	Half float64 // of the 95 % interval by Student's t; 0 if all runs are equal
}

// byRemedy looks for the cheapest candidate of each of the wanted remedies.
func (s *search) byRemedy(selected *Candidate) (all []Tried, err error) {
	for _, remedy := range s.Remedies {
		t := Tried{Remedy: remedy}
		if selected != nil && selected.Remedy == remedy {
			t.Candidate, t.Decision = selected, Accepted
		} else if err := s.cheapest(&t); err != nil {
			return nil, err
		}
		if t.Decision == Accepted {
			if err := s.measure(&t); err != nil {
				return nil, err
			}
		}
		all = append(all, t)
	}
	return all, nil
}

// cheapest looks for the cheapest candidate of a remedy.
func (s *search) cheapest(t *Tried) (err error) {
	for _, c := range s.all {
		if c.Remedy != t.Remedy {
			continue
		}
		if c.family.monotone && !c.family.searched {
			err = s.bisect(c.family)
		}
		if err == nil && s.trialsOf(c).Because == "" {
			err = s.decide(c)
		}
		switch {
		case err == errBudget:
			t.Decision = Undecided
			return nil
		case err != nil:
			return err
		case s.trialsOf(c).Decision == Accepted:
			t.Candidate, t.Decision = c, Accepted
			return nil
		}
		t.Decision = Rejected
	}
	return nil
}

// measuredRuns is how many runs say which part of the requests is not served with a remedy.
const measuredRuns = Replays

// measure runs the present configuration and a candidate with the seeds of the search.
func (s *search) measure(t *Tried) error {
	for _, side := range []struct {
		sc *scenario.Scenario
		to *Share
	}{{s.present, &t.Before}, {t.scenarioOf(s.present), &t.After}} {
		runs := experiment.BeginTrials(s.ctx, s.plan(side.sc, s.present.Spec.Seed, measuredRuns))
		defer runs.Stop()
		var all []float64
		for range measuredRuns {
			run, err := runs.Next()
			if err != nil {
				return err
			}
			all = append(all, s.notServed(run))
		}
		*side.to = shareOf(all)
	}
	return nil
}

// notServed returns which part of the requests that the goals are about is not served in a run.
func (s *search) notServed(run *experiment.Trial) float64 {
	var about []string
	for i := range s.present.Spec.Thresholds {
		addName(&about, s.present.Spec.Thresholds[i].Tag(metric.TagWorkload))
	}
	var not, sent int64
	for i := range run.Summary.Workloads {
		w := &run.Summary.Workloads[i]
		if len(about) == 0 || slices.Contains(about, w.Name) {
			not, sent = not+w.NotServed.Total(), sent+w.Arrived
		}
	}
	if sent == 0 {
		return 0
	}
	return float64(not) / float64(sent)
}

// shareOf returns the mean of some values with its interval.
func shareOf(all []float64) Share {
	e := compare.EstimateOf(all)
	return Share{Mean: e.Mean, Half: *e.High - e.Mean}
}

// Elsewhere is in how many runs of another scenario of the same users no request of the users that the goals are about is
// rejected, or waits for a second at the 99th percentile: without the selected change, and with it.
type Elsewhere struct {
	Before Holds `json:"before"`
	After  Holds `json:"after"`
	// With the change, and the ends of the interval of the capacity; nil if the scenario has none.
	LeastCapacity    *Holds `json:"leastCapacity,omitempty"`
	GreatestCapacity *Holds `json:"greatestCapacity,omitempty"`
}

// Proves says whether the other scenario is evidence for the change: without it, the goals do not hold in each run.
func (e *Elsewhere) Proves() bool { return e.Before.Passes < e.Before.Runs }

// Elsewhere runs the selected change in another scenario of the same users, such as one that is fitted to a log that is
// replayed. Without runs, the goals are about none of its users.
func (a *Answer) Elsewhere(sc *scenario.Scenario) (e Elsewhere, err error) {
	s := a.search
	own := *sc
	if phase := &own.Spec.Servers.AdjustmentPhase; phase.After == 0 {
		phase.Random = true
	}
	if own.Spec.Thresholds, err = s.goalsOfUsers(sc); err != nil || len(own.Spec.Thresholds) == 0 {
		return e, err
	}
	if e.Before, err = s.holds(&own, measuredRuns); err != nil {
		return e, err
	}
	changed, confirmation := a.Selected.scenarioOf(&own), ConfirmationRuns(s.Probability, s.alpha, 0)
	if e.After, err = s.holds(changed, confirmation); err != nil {
		return e, err
	}
	least, greatest := ends(changed)
	for _, end := range []struct {
		sc *scenario.Scenario
		to **Holds
	}{{withCapacity(changed, least), &e.LeastCapacity}, {withCapacity(changed, greatest), &e.GreatestCapacity}} {
		if end.sc == nil {
			continue
		}
		h, err := s.holds(end.sc, confirmation)
		if err != nil {
			return e, err
		}
		*end.to = &h
	}
	return e, nil
}

// holds runs a scenario n times with the seeds that follow its own, and returns in how many runs its goals hold.
func (s *search) holds(sc *scenario.Scenario, n int) (h Holds, err error) {
	runs := experiment.BeginTrials(s.ctx, experiment.Plan{N: n, Early: true, Run: func(i int) *scenario.Scenario {
		run := *sc
		run.Spec.Seed += uint64(i)
		return &run
	}})
	defer runs.Stop()
	for range n {
		run, err := runs.Next()
		if err != nil {
			return h, err
		}
		if h.Runs++; run.Passed() {
			h.Passes++
		}
	}
	return h, nil
}

// goalsOfUsers returns the goals for the workloads of another scenario whose users the goals are about.
func (s *search) goalsOfUsers(sc *scenario.Scenario) (metric.Thresholds, error) {
	users := map[string]bool{}
	for i := range s.present.Spec.Thresholds {
		for k := range s.present.Spec.Workload {
			w := &s.present.Spec.Workload[k]
			if w.Name == s.present.Spec.Thresholds[i].Tag(metric.TagWorkload) {
				user, _ := w.As.For(0)
				users[user] = true
			}
		}
	}
	var texts []string
	for i := range sc.Spec.Workload {
		w := &sc.Spec.Workload[i]
		for k := range w.Clients {
			if user, _ := w.As.For(k); users[user] {
				texts = append(texts, "rejected{workload:"+w.Name+"}: rate == 0", "wait{workload:"+w.Name+"}: p99 < 1s")
				break
			}
		}
	}
	if len(texts) == 0 {
		return nil, nil
	}
	return ParseGoals(sc, texts)
}
