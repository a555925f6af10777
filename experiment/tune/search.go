package tune

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"apfsim/experiment"
	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
)

// Options say what is searched.
type Options struct {
	Scenario    *scenario.Scenario // with the thresholds that are wanted if there are no Goals
	Goals       metric.Thresholds  // nil for the goals of the scenario
	Kinds       []string           // that are allowed
	Protect     []string           // names of metrics with tags that must not get worse
	Probability float64            // with which a run must hold
	Confidence  float64            // of the confirmation
	Budget      int                // greatest number of runs

	Progress func(done, all int) // of candidates; nil for none
}

// The test by which candidates are rejected: runs that pass with a probability of acceptable or less are rejected, those
// with good or more are not. mostRuns ends a test of a candidate in between, about which either answer is right.
const (
	acceptable = 0.8
	good       = 0.95
	mostRuns   = 300
)

// seedsApart is how far the seeds of a confirmation are from those of the search and of other confirmations.
const seedsApart = 1 << 32

// search is a walk up the costs.
type search struct {
	*Options
	ctx     context.Context
	present *scenario.Scenario // with the goals as its thresholds
	problem *problem
	alpha   float64 // error of the whole answer: 1 − Confidence
	beta    float64 // probability of rejecting one good candidate

	held     Holds // the goals that are asked for, in the present configuration
	runs     int   // that were taken
	attempts int   // confirmations
	failing  []int // indices of the goals that fail in the present configuration

	first   []*experiment.Trial // runs of the present configuration with the seeds of the search, in their order
	all     []*Candidate        // the cheapest first
	results map[*Candidate]*trials
}

// trials is what is known of a candidate.
type trials struct {
	Runs, Passes int
	Decision     Decision
	Because      string // it is not the answer; "" of one of which nothing is known yet

	failed   []int   // how often each goal failed
	excess   float64 // the greatest value/limit − 1 of a goal that failed
	measured bool    // whether excess is known of a run
	ranAway  bool    // a run was ended because of its events
}

// Infeasible is the error of a scenario that tune cannot search.
type Infeasible struct{ Reason string }

// Error implements error.
func (e *Infeasible) Error() string { return e.Reason }

// errBudget ends a search whose runs are used up.
var errBudget = fmt.Errorf("tune: the budget is used up")

// Run searches for the cheapest change with which the goals hold.
func Run(ctx context.Context, o Options) (*Answer, error) {
	s := &search{Options: &o, ctx: ctx, alpha: 1 - o.Confidence, results: map[*Candidate]*trials{}}
	sc := *o.Scenario
	s.present = &sc
	if err := s.check(); err != nil {
		return nil, err
	}
	if sc.Spec.Servers.AdjustmentPhase.After == 0 {
		sc.Spec.Servers.AdjustmentPhase.Random = true // else one phase decides
	}
	if err := experiment.ChooseWarmups(ctx, []*scenario.Scenario{&sc}, noProgress{}); err != nil {
		return nil, err
	}
	asked, err := s.goals()
	if err != nil {
		return nil, err
	}
	a := &Answer{SchemaVersion: result.SchemaVersion, Needed: true, Confidence: o.Confidence, Probability: o.Probability, Eliminated: []Eliminated{},
		Before: []Figure{}, After: []Figure{}, Better: []Effect{}, Worse: []Effect{}, search: s}
	needed, explained, err := s.tryPresent(asked)
	if err != nil {
		return nil, err
	}
	a.Verdict = explained.Summary.Verdict
	for i := range s.present.Spec.Thresholds {
		t := &s.present.Spec.Thresholds[i]
		a.Goals = append(a.Goals, t.Key+": "+t.Text)
	}
	a.Procedure = s.procedure()
	a.Present = s.held
	if !needed {
		a.Needed = false
		a.Runs = s.runs
		return a, nil
	}
	if s.problem, err = newProblem(s.present, explained.Summary, explained.Parts, o.Kinds); err != nil {
		return nil, err
	}
	s.all = s.problem.candidates()
	decisions := 0
	for _, f := range s.problem.families {
		decisions += f.decisions()
	}
	s.beta = s.alpha / float64(max(1, decisions))
	a.Procedure = s.procedure()
	a.Candidates = len(s.all)
	selected, confirmed, err := s.walk()
	if err != nil && err != errBudget {
		return nil, err
	}
	a.OutOfBudget = err == errBudget
	if selected != nil {
		a.Selected, a.Confirmed = selected, &Holds{confirmed.passes, len(confirmed.all)}
		if err := a.compare(confirmed); err != nil {
			return nil, err
		}
	} else {
		a.findClosest()
	}
	a.eliminated()
	a.Runs = s.runs
	return a, nil
}

// check returns an error for a scenario that cannot be searched.
func (s *search) check() error {
	spec := &s.present.Spec
	if spec.Servers.FlowControl != "PriorityAndFairness" {
		return &Infeasible{"the servers have no PriorityAndFairness, whose configuration is searched; remove spec.servers.flowControl"}
	}
	for i := range spec.Events {
		if spec.Events[i].Apply != nil {
			return &Infeasible{"an event of the scenario changes the flow-control objects, so that there is no present configuration; remove the events with apply"}
		}
	}
	for i := range spec.Workload {
		if spec.Workload[i].Arrivals.Trace != nil {
			return &Infeasible{"the scenario replays a trace, which is the same with every seed; use the scenario that 'apfsim import --fit' makes of the log"}
		}
	}
	return nil
}

// goals sets the thresholds of the present configuration: those that are asked for, whose number it returns, and after
// them the goals of the scenario.
func (s *search) goals() (asked int, err error) {
	spec := &s.present.Spec
	var own metric.Thresholds
	for i := range spec.Thresholds {
		t := spec.Thresholds[i]
		given := slices.ContainsFunc(s.Goals, func(g metric.Threshold) bool { return g.Key == t.Key && g.Text == t.Text && g.Over == t.Over })
		if t.Kind != metric.Expect && !given {
			own = append(own, t)
		}
	}
	spec.Thresholds = append(slices.Clone(s.Goals), own...)
	if len(s.Goals) > 0 {
		return len(s.Goals), nil
	}
	if len(own) > 0 {
		return len(own), nil
	}
	run, err := s.one(s.present, spec.Seed)
	if err != nil {
		return 0, err
	}
	var texts []string
	if v := run.Summary.Verdict; v != nil {
		var harmed []string
		for i := range v.Harmed {
			if v.Harmed[i].NotServed.Total() > 0 {
				addName(&harmed, v.Harmed[i].Workload)
			}
		}
		for _, w := range harmed {
			texts = append(texts, "notServed{workload:"+w+"}: count == 0")
		}
	}
	if len(texts) == 0 {
		texts = []string{"notServed: count == 0"}
	}
	text, wrong := ThresholdsText(texts)
	if wrong != nil {
		return 0, wrong
	}
	if spec.Thresholds, err = parseThresholds(text); err != nil {
		return 0, err
	}
	return len(spec.Thresholds), nil
}

// one makes one run.
func (s *search) one(sc *scenario.Scenario, seed uint64) (*experiment.Trial, error) {
	runs := experiment.BeginTrials(s.ctx, sc, seed, 1, false, 0)
	defer runs.Stop()
	s.runs++
	return runs.Next()
}

// tryPresent decides whether a change is needed, by the goals that are asked for. Goals of the scenario beside them that
// do not hold in each run are no goals any more. It returns the run that explains what is wrong: the first one in which a
// goal fails, or else the first one.
func (s *search) tryPresent(asked int) (needed bool, explained *experiment.Trial, err error) {
	runs := experiment.BeginTrials(s.ctx, s.present, s.present.Spec.Seed, mostRuns, false, 0)
	defer runs.Stop()
	test := SPRT{P0: acceptable, P1: good, Alpha: s.alpha, Beta: s.alpha}
	failed := make([]bool, len(s.present.Spec.Thresholds))
	for decision := Undecided; decision == Undecided && len(s.first) < mostRuns; {
		run, err := runs.Next()
		if err != nil {
			return false, nil, err
		}
		s.runs++
		s.first = append(s.first, run)
		passed := true
		for _, i := range run.Failed() {
			failed[i] = true
			passed = passed && i >= asked
		}
		if explained == nil && !passed {
			explained = run
		}
		decision = test.Add(passed)
		needed = decision != Accepted
	}
	s.held = Holds{test.Passes, test.Runs}
	if explained == nil {
		explained = s.first[0]
	}
	var kept metric.Thresholds
	for i, t := range s.present.Spec.Thresholds {
		if i < asked && failed[i] {
			s.failing = append(s.failing, len(kept))
		}
		if i < asked || !failed[i] {
			kept = append(kept, t)
		}
	}
	sc := *s.present
	sc.Spec.Thresholds = kept
	s.present = &sc
	return needed, explained, nil
}

// decisions returns how many candidates of a family have to be decided rightly for the right answer: of a monotone one,
// those that bisect looks at.
func (f *family) decisions() int {
	if !f.monotone {
		return len(f.all)
	}
	return min(len(f.all), 2*bits.Len(uint(len(f.all)))+2)
}

// walk goes up the costs until a candidate is confirmed. It returns nil if none is.
func (s *search) walk() (*Candidate, *confirmation, error) {
	for i, c := range s.all {
		if s.Progress != nil {
			s.Progress(i, len(s.all))
		}
		if c.family.monotone && !c.family.searched {
			if err := s.bisect(c.family); err != nil {
				return nil, nil, err
			}
		}
		known := s.of(c)
		if known.Because != "" {
			continue
		}
		if err := s.decide(c); err != nil {
			return nil, nil, err
		}
		if known.Decision != Accepted {
			continue
		}
		confirmed, err := s.confirm(c)
		if err != nil {
			return nil, nil, err
		}
		if confirmed != nil {
			return c, confirmed, nil
		}
	}
	return nil, nil, nil
}

// of returns what is known of a candidate.
func (s *search) of(c *Candidate) *trials {
	if s.results[c] == nil {
		s.results[c] = &trials{failed: make([]int, len(s.present.Spec.Thresholds))}
	}
	return s.results[c]
}

// decide runs a candidate until the test accepts or rejects it.
func (s *search) decide(c *Candidate) error {
	known := s.of(c)
	if known.Decision != Undecided {
		return nil
	}
	sc := c.scenarioOf(s.present)
	runs := experiment.BeginTrials(s.ctx, sc, sc.Spec.Seed, mostRuns, true, s.mostEvents())
	defer runs.Stop()
	test := s.test()
	for known.Decision == Undecided && known.Runs < mostRuns {
		run, err := s.take(runs)
		if err != nil {
			return err
		}
		passed, why := run.Passed(), ""
		if passed {
			if why, err = s.protected(run, func() (*experiment.Trial, error) { return s.presentRun(known.Runs) }); err != nil {
				return err
			}
			passed = why == ""
		}
		known.add(run, passed)
		known.Decision = test.Add(passed)
		if known.Decision == Rejected {
			known.Because = s.rejection(known)
			if why != "" {
				known.Because += "; " + why
			}
		}
	}
	if known.Decision == Undecided {
		known.Decision, known.Because = Rejected, fmt.Sprintf("held in %d of %d runs, which is neither enough nor too few", known.Passes, known.Runs)
	}
	return nil
}

// moreEvents is how many times as many events as now a run of a candidate may have.
const moreEvents = 20

// mostEvents is how many events a run of a candidate may have.
func (s *search) mostEvents() uint64 { return moreEvents * s.first[0].Events }

// take returns the next run, unless the budget is used up.
func (s *search) take(runs *experiment.Trials) (*experiment.Trial, error) {
	if s.runs >= s.Budget {
		return nil, errBudget
	}
	s.runs++
	return runs.Next()
}

// presentRun returns a run of the present configuration with a seed of the search, counted from 0.
func (s *search) presentRun(i int) (*experiment.Trial, error) {
	for len(s.first) <= i {
		run, err := s.one(s.present, s.present.Spec.Seed+uint64(len(s.first)))
		if err != nil {
			return nil, err
		}
		s.first = append(s.first, run)
	}
	return s.first[i], nil
}

// add adds a run.
func (t *trials) add(run *experiment.Trial, passed bool) {
	t.Runs++
	if passed {
		t.Passes++
	}
	for _, i := range run.Failed() {
		t.failed[i]++
	}
	if run.RanAway {
		t.ranAway = true
	}
	if run.Replication == nil {
		return
	}
	for i := range run.Summary.Thresholds {
		if v := &run.Summary.Thresholds[i]; !v.Passed && v.Value != nil && v.Limit != 0 {
			t.excess, t.measured = max(t.excess, *v.Value/v.Limit-1), true
		}
	}
}

// worstGoal returns the goal that failed most often; "" if none did.
func (s *search) worstGoal(t *trials) string {
	most := -1
	for i, n := range t.failed {
		if n > 0 && (most < 0 || n > t.failed[most]) {
			most = i
		}
	}
	if most < 0 {
		return ""
	}
	threshold := &s.present.Spec.Thresholds[most]
	return threshold.Key + ": " + threshold.Text
}

// tooMuch says whether a rejected candidate failed only goals that hold now: it went too far.
func (s *search) tooMuch(t *trials) bool {
	if t.ranAway {
		return false
	}
	for _, i := range s.failing {
		if t.failed[i] > 0 {
			return false
		}
	}
	return true
}

// hopeless says whether the value of a family that is farthest from the present one does not suffice either: it fails in
// each run until the test rejects it. That is asked only if each goal that fails now is about one workload, whose own
// seats and places grow with the value; a goal about all requests may fail there because of others.
func (s *search) hopeless(f *family) (bool, error) {
	for _, i := range s.failing {
		if s.present.Spec.Thresholds[i].Tag(metric.TagWorkload) == "" {
			return false, nil
		}
	}
	c := f.all[len(f.all)-1]
	sc := c.scenarioOf(s.present)
	runs := experiment.BeginTrials(s.ctx, sc, sc.Spec.Seed, mostRuns, true, s.mostEvents())
	defer runs.Stop()
	test, known := s.test(), &trials{failed: make([]int, len(s.present.Spec.Thresholds))}
	for known.Decision == Undecided {
		run, err := s.take(runs)
		if err != nil {
			return false, err
		}
		if run.Passed() {
			return false, nil
		}
		known.add(run, false)
		known.Decision = test.Add(false)
	}
	if s.tooMuch(known) {
		return false, nil
	}
	known.Because = s.rejection(known)
	s.results[c] = known
	return true, nil
}

// test returns the test of a candidate. One that is accepted wrongly costs a confirmation; one that is rejected wrongly is
// lost.
func (s *search) test() SPRT { return SPRT{P0: acceptable, P1: good, Alpha: s.alpha, Beta: s.beta} }

// rejection says why a candidate was rejected.
func (s *search) rejection(t *trials) string {
	text := fmt.Sprintf("held in %d of %d runs", t.Passes, t.Runs)
	if g := s.worstGoal(t); g != "" {
		text += "; failed " + g
	} else if t.ranAway {
		text += fmt.Sprintf("; had more than %d times as many events as now", moreEvents)
	}
	return text
}

// bisect finds the value of a monotone family that is nearest to the present one and suffices. It goes away from the
// present value in steps that double, until a value suffices or breaks what holds now, and then halves what is left.
func (s *search) bisect(f *family) error {
	f.searched = true
	n := len(f.all)
	low, high, found := -1, n, false
	if hopeless, err := s.hopeless(f); err != nil {
		return err
	} else if hopeless {
		low = n - 1
	}
	look := func(i int) error {
		if err := s.decide(f.all[i]); err != nil {
			return err
		}
		switch t := s.of(f.all[i]); {
		case t.Decision == Accepted:
			high, found = i, true
		case s.tooMuch(t):
			high = i
		default:
			low = i
		}
		return nil
	}
	for i, step := 0, 1; high == n && low < n-1; i, step = min(i+step, n-1), step*2 {
		if err := look(i); err != nil {
			return err
		}
	}
	for high-low > 1 && high < n {
		if err := look((low + high) / 2); err != nil {
			return err
		}
	}
	for i, c := range f.all {
		t := s.of(c)
		switch {
		case t.Decision != Undecided:
		case !found && low >= 0 && i < low:
			t.Because = "not run: less than a value that does not suffice"
		case !found:
			t.Because = "not run: more than a value that breaks a goal that holds now"
		case i < high:
			t.Because = "not run: less than a value that does not suffice"
		}
	}
	return nil
}

// procedure says how the answer was found.
func (s *search) procedure() string {
	text := fmt.Sprintf("SPRT of p0 %v and p1 %v", acceptable, good)
	if s.beta > 0 {
		text += fmt.Sprintf(", alpha %.3g, beta %.3g", s.alpha, s.beta)
	}
	return text + fmt.Sprintf("; exact confirmation with fresh seeds, attempt j with %s/2^j", format.Percent(s.alpha))
}
