package tune

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"apfsim/experiment"
	"apfsim/experiment/fit/check"
	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
)

// Options say what is searched.
type Options struct {
	Scenario    *scenario.Scenario // with the thresholds that are wanted if there are no Goals; a replay is divided by users: see Divide
	Goals       metric.Thresholds  // nil for the goals of the scenario
	Victims     bool               // without goals: they are about harmed workloads that do not cause the harm themselves
	Kinds       []string           // that are allowed
	Levels      []string           // to which requests may be moved though the rules forbid it: see mayReceive
	Remedies    []result.RemedyID  // of which the cheapest candidates are looked for besides the answer
	Protect     []string           // names of metrics with tags that must not get worse
	Probability float64            // with which a run must hold
	Confidence  float64            // of the confirmation
	Budget      int                // greatest number of runs
	Time        time.Duration      // after which no run of a candidate is begun; 0 for no bound
	Fit         *check.Report      // of the scenario, if it is fitted to a log and that is known; else nil
	Load        []string           // factors by which the scenario was loaded, as they were given

	Version string           // of the program
	Dir     string           // folder in which finished runs are kept; "": they are not
	Part    experiment.Shard // the part of the candidates that is tried; the zero value is all of them

	Progress func(done, all int) // of candidates; nil for none
}

// The test by which candidates are rejected: runs that pass with a probability of acceptable or less are rejected, those
// with good or more are not. MostRuns ends a test of a candidate in between, about which either answer is right.
const (
	acceptable = 0.8
	good       = 0.95
)

// seedsApart is how far the seeds of a confirmation are from those of the search and of other confirmations.
const seedsApart = 1 << 32

// search is a walk up the costs.
type search struct {
	*Options
	ctx     context.Context
	began   time.Time
	late    bool               // Options.Time is over
	present *scenario.Scenario // with the goals as its thresholds
	problem *problem
	whole   *search // of a search at another size, that of the present one; nil for that itself
	sized   bool    // the sizes of the servers are those of a catalogue
	fewer   bool    // the size has fewer seats than the present one
	alpha   float64 // error of the whole answer: 1 − Confidence
	beta    float64 // probability of rejecting one good candidate

	replayed bool  // a log is replayed, which is the same with every seed
	phased   bool  // each run of a replay has another phase of the adjustments
	invented bool  // names of users are drawn anew for each run
	held     Holds // the goals that are asked for, in the present configuration
	runs     int   // that were taken
	attempts int   // confirmations
	failing  []int // indices of the goals that fail in the present configuration

	explained *experiment.Trial // the run that says what is wrong: the first in which a goal fails
	journal   *journal
	first     []*experiment.Trial // runs of the present configuration with the seeds of the search, in their order
	sent      []map[string]int64  // for these seeds, how many requests arrive in any configuration
	all       []*Candidate        // the cheapest first
	results   map[*Candidate]*trials
}

// trials is what is known of a candidate.
type trials struct {
	Runs, Passes int
	Decision     Decision
	Because      string // it is not the answer; "" of one of which nothing is known yet
	fresh        Holds  // of a confirmation that the budget or the time has ended

	failed  []int    // how often each goal failed
	excess  *float64 // the greatest value/limit − 1 of a goal that failed, of the runs of which it is known
	ranAway bool     // a run was ended because of its events
}

// Infeasible is the error of a scenario that tune cannot search.
type Infeasible struct{ Reason string }

// Error implements error.
func (e *Infeasible) Error() string { return e.Reason }

// errBudget ends a search whose runs or whose time are used up.
var errBudget = fmt.Errorf("tune: the budget is used up")

// usedUp says whether no more runs of candidates may be made.
func (s *search) usedUp() bool { return s.over() || s.runs >= s.Budget }

// over says whether the time is over.
func (s *search) over() bool {
	s.late = s.late || s.Time > 0 && time.Since(s.began) >= s.Time
	return s.late
}

// Run searches for the cheapest change with which the goals hold.
func Run(ctx context.Context, o Options) (*Answer, error) {
	s, needed, err := begin(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.journal.close()
	a := s.newAnswer(needed)
	if !needed {
		err := a.unneeded()
		a.Runs = s.runs
		return a, err
	}
	found, err := s.walk()
	if err != nil && err != errBudget {
		return nil, err
	}
	a.OutOfBudget = err == errBudget
	var selected *Candidate
	if found != nil {
		selected = found.c
		err = a.confirmed(found)
	} else {
		err = a.completeWithoutCandidate()
	}
	if err != nil {
		return nil, err
	}
	if a.ByRemedy, err = s.byRemedy(selected); err != nil {
		return nil, err
	}
	a.eliminated()
	a.Runs = s.runs
	return a, nil
}

// RunPart makes the runs of a part of the candidates and keeps them in the folder of the options. It returns how many runs
// are there.
func RunPart(ctx context.Context, o Options) (runs int, err error) {
	s, needed, err := begin(ctx, o)
	if err != nil {
		return 0, err
	}
	defer s.journal.close()
	if needed {
		_, err = s.walk()
	}
	if err != nil && err != errBudget {
		return 0, err
	}
	return len(s.journal.known), s.journal.close()
}

// begin runs the present configuration and lists the candidates, if a change is needed.
func begin(ctx context.Context, o Options) (s *search, needed bool, err error) {
	s, asked, err := prepare(ctx, o)
	if err == nil {
		needed, err = s.examine(asked)
	}
	if err == nil && needed {
		err = s.keepServed()
	}
	if err == nil {
		err = s.openJournal()
	}
	if err == nil && needed {
		err = s.list()
	}
	return s, needed, err
}

// prepare returns the search with the goals as the thresholds of the present configuration, and how many of them are asked for.
func prepare(ctx context.Context, o Options) (s *search, asked int, err error) {
	s = &search{Options: &o, ctx: ctx, began: time.Now(), alpha: 1 - o.Confidence, results: map[*Candidate]*trials{}}
	sc := *o.Scenario
	s.present = &sc
	if err := s.check(); err != nil {
		return nil, 0, err
	}
	s.replayed = replays(&sc)
	if phase := &s.present.Spec.Servers.AdjustmentPhase; phase.After == 0 { // else one phase decides
		s.phased = s.replayed
		phase.Random = !s.replayed
	}
	if err := experiment.ChooseWarmups(ctx, []*scenario.Scenario{s.present}, noProgress{}); err != nil {
		return nil, 0, err
	}
	if asked, err = s.goals(); err != nil {
		return nil, 0, err
	}
	s.invented = invents(s.present)
	return s, asked, nil
}

// examine runs the present configuration, and notes what its runs say.
func (s *search) examine(asked int) (needed bool, err error) {
	if needed, s.explained, err = s.tryPresent(asked); err != nil {
		return false, err
	}
	s.countSent()
	return needed, nil
}

// openJournal opens the journal of a search whose goals are known.
func (s *search) openJournal() error {
	head, err := s.headOf()
	if err != nil {
		return err
	}
	s.journal, err = openJournal(s.Dir, head)
	return err
}

// list lists the candidates.
func (s *search) list() (err error) {
	if s.problem, err = newProblem(s.present, s.explained.Summary, s.explained.Parts, s.Options); err != nil {
		return err
	}
	s.all = s.problem.candidates()
	decisions := 0
	for _, f := range s.problem.families {
		decisions += f.decisions()
	}
	s.beta = s.alpha / float64(max(1, decisions))
	return nil
}

// newAnswer returns the answer as far as it is known before the candidates are tried.
func (s *search) newAnswer(needed bool) *Answer {
	a := &Answer{SchemaVersion: result.SchemaVersion, Needed: needed, Procedure: s.procedure(), Present: s.held, Candidates: len(s.all),
		Verdict: s.explained.Summary.Verdict, Eliminated: []Eliminated{}, Thresholds: []GoalValue{}, Before: []Figure{}, After: []Figure{},
		Better: []Effect{}, Worse: []Effect{}, Undo: []string{}, Measure: []Measurement{}, Breaks: []Break{}, NotTried: []string{}, Needs: []string{}, Clients: []string{},
		search: s}
	if !s.replayed {
		a.Confidence, a.Probability = &s.Confidence, &s.Options.Probability
	}
	for i := range s.present.Spec.Thresholds {
		a.Goals = append(a.Goals, goalText(&s.present.Spec.Thresholds[i]))
	}
	return a
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
	return nil
}

// tryPresent decides whether a change is needed, by the goals that are asked for. Goals of the scenario beside them that
// do not hold in each run are no goals any more. It returns the run that explains what is wrong: the first one in which a
// goal fails because of its value, or else the first one.
func (s *search) tryPresent(asked int) (needed bool, explained *experiment.Trial, err error) {
	runs := experiment.BeginTrials(s.ctx, s.plan(s.present, s.present.Spec.Seed, MostRuns))
	defer runs.Stop()
	test := s.newTest(s.alpha)
	failed := make([]bool, len(s.present.Spec.Thresholds))
	decision, held, err := Until(test, MostRuns, func() (bool, error) {
		run, err := runs.Next()
		if err != nil {
			return false, err
		}
		s.runs++
		s.first = append(s.first, run)
		passed := true
		for _, i := range run.Failed() {
			failed[i] = true
			passed = passed && i >= asked
		}
		if !passed && (explained == nil || !hasValue(explained) && hasValue(run)) {
			explained = run
		}
		return passed, nil
	})
	if err != nil {
		return false, nil, err
	}
	needed, s.held = decision != Accepted, held
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

// hasValue says whether a threshold that does not hold in a run has a value. One without any sample explains nothing.
func hasValue(run *experiment.Trial) bool {
	return slices.ContainsFunc(run.Summary.Thresholds, func(v result.Verdict) bool { return !v.Passed && v.Value != nil })
}

// decisions returns how many candidates of a family have to be decided rightly for the right answer: of a monotone one,
// those that bisect looks at.
func (f *family) decisions() int {
	if !f.monotone {
		return len(f.all)
	}
	return min(len(f.all), 2*bits.Len(uint(len(f.all)))+2)
}

// walk goes up the costs until a candidate is confirmed, and from there on until one is robust: see moreRobust. It returns nil if none
// is confirmed. A part of the candidates ends with the first one that is accepted: the confirmation is left to whoever has all parts.
func (s *search) walk() (*found, error) {
	units := map[*family]int{}
	for i, c := range s.all {
		if s.Progress != nil {
			s.Progress(i, len(s.all))
		}
		unit := i
		if first, ok := units[c.family]; ok && c.family.monotone {
			unit = first // one machine bisects the whole family
		} else {
			units[c.family] = i
		}
		if s.Part.Of > 1 && unit%s.Part.Of != s.Part.Index {
			continue
		}
		if c.family.monotone && !c.family.searched {
			if err := s.bisect(c.family); err != nil {
				return nil, err
			}
		}
		if s.trialsOf(c).Because != "" {
			continue
		}
		if err := s.decide(c); err != nil {
			return nil, err
		}
		if s.trialsOf(c).Decision != Accepted {
			continue
		}
		if s.Part.Of > 1 {
			return nil, nil
		}
		confirmed, err := s.confirm(c)
		if err != nil {
			return nil, err
		}
		if confirmed != nil {
			return s.moreRobust(c, confirmed)
		}
	}
	return nil, nil
}

// trialsOf returns what is known of a candidate.
func (s *search) trialsOf(c *Candidate) *trials {
	if s.results[c] == nil {
		s.results[c] = &trials{failed: make([]int, len(s.present.Spec.Thresholds))}
	}
	return s.results[c]
}

// decide runs a candidate until the test accepts or rejects it.
func (s *search) decide(c *Candidate) error {
	known := s.trialsOf(c)
	if known.Decision != Undecided {
		return nil
	}
	runs := s.draw(c, s.present.Spec.Seed, MostRuns)
	defer runs.stop()
	worse := ""
	decision, _, err := Until(s.newTest(s.beta), MostRuns, func() (bool, error) {
		o, _, err := runs.next()
		if err != nil {
			return false, err
		}
		known.add(o)
		worse = o.Worse
		return o.Passed, nil
	})
	switch {
	case err != nil:
		return err
	case decision == Undecided:
		known.Because = fmt.Sprintf("held in %d of %d runs, which is neither enough nor too few", known.Passes, known.Runs)
	case decision == Rejected:
		known.Because = s.rejection(known)
		if worse != "" {
			known.Because += "; " + worse
		}
	}
	known.Decision = Rejected
	if decision == Accepted {
		known.Decision = Accepted
	}
	return nil
}

// add adds a run.
func (t *trials) add(o *outcome) {
	t.Runs++
	if o.Passed {
		t.Passes++
	}
	for _, i := range o.Failed {
		t.failed[i]++
	}
	t.ranAway = t.ranAway || o.RanAway
	if o.Excess != nil && (t.excess == nil || *o.Excess > *t.excess) {
		t.excess = o.Excess
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
	return goalText(&s.present.Spec.Thresholds[most])
}

// tooMuch says whether a rejected candidate failed only goals that hold now: it went too far. Runs that were ended early tell
// of one goal only, so that one more run is made to its end.
func (s *search) tooMuch(c *Candidate, t *trials) (bool, error) {
	if t.ranAway || s.failsNow(t) {
		return false, nil
	}
	run, err := s.runOnce(c.scenarioOf(s.present), s.present.Spec.Seed)
	if err != nil {
		return false, err
	}
	s.runs++
	whole := &trials{failed: make([]int, len(t.failed))}
	whole.add(&outcome{Failed: run.Failed()})
	return !s.failsNow(whole), nil
}

// failsNow says whether one of the goals failed that fail in the present configuration.
func (s *search) failsNow(t *trials) bool {
	return slices.ContainsFunc(s.failing, func(i int) bool { return t.failed[i] > 0 })
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
	runs := s.draw(c, s.present.Spec.Seed, MostRuns)
	defer runs.stop()
	known := &trials{failed: make([]int, len(s.present.Spec.Thresholds))}
	decision, held, err := Until(firstPass{s.newTest(s.beta)}, MostRuns, func() (bool, error) {
		o, _, err := runs.next()
		if err != nil {
			return false, err
		}
		known.add(o)
		return o.Passed, nil
	})
	if err != nil || held.Passes > 0 {
		return false, err
	}
	known.Decision = decision
	if much, err := s.tooMuch(c, known); err != nil || much {
		return false, err
	}
	known.Because = s.rejection(known)
	s.results[c] = known
	return true, nil
}

// firstPass is a test that ends with the first run that passes.
type firstPass struct{ Test }

// Add implements Test.
func (f firstPass) Add(passed bool) Decision {
	if passed {
		return Accepted
	}
	return f.Test.Add(false)
}

// newTest returns the test of a configuration, which rejects one whose runs hold with a probability of good or more with
// the probability beta. One that is accepted wrongly costs a confirmation; one that is rejected wrongly is lost.
func (s *search) newTest(beta float64) Test {
	if s.replayed {
		return &Every{Of: Replays}
	}
	return NewTest(s.alpha, beta)
}

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
	low, found := -1, false
	if hopeless, err := s.hopeless(f); err != nil {
		return err
	} else if hopeless {
		low = n - 1
	}
	low, high, err := Bisect(low, n, func(i int) (bool, error) {
		if err := s.decide(f.all[i]); err != nil {
			return false, err
		}
		t := s.trialsOf(f.all[i])
		if found = t.Decision == Accepted; found {
			return true, nil
		}
		return s.tooMuch(f.all[i], t)
	})
	if err != nil {
		return err
	}
	for i, c := range f.all {
		t := s.trialsOf(c)
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
	if s.replayed {
		return fmt.Sprintf("%d runs of the replay of each candidate, all of which must hold", Replays)
	}
	text := fmt.Sprintf("SPRT of p0 %v and p1 %v", acceptable, good)
	if s.beta > 0 {
		text += fmt.Sprintf(", alpha %.3g, beta %.3g", s.alpha, s.beta)
	}
	return text + fmt.Sprintf("; exact confirmation with fresh seeds, that of candidate j with %s/(j(j+1))", format.Percent(s.alpha))
}
