package tune

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/experiment"
	"apfsim/reports/advice"
	"apfsim/reports/compare"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
)

// Answer is the answer to the question which change suffices: tune.json contains it.
type Answer struct {
	SchemaVersion string   `json:"schemaVersion"`
	Needed        bool     `json:"needed"` // whether the goals do not hold without a change
	Goals         []string `json:"goals"`
	Candidates    int      `json:"candidates"`
	Runs          int      `json:"runs"`        // of all configurations together
	Confidence    *float64 `json:"confidence"`  // null of a replay: one log is one run
	Probability   *float64 `json:"probability"` // with which a run holds, if the answer is right; null of a replay
	Procedure     string   `json:"procedure"`

	Present     Holds      `json:"present"`         // of the present configuration
	Selected    *Candidate `json:"selected"`        // nil if no change is needed, or if none of the candidates suffices
	Confirmed   *Holds     `json:"confirmed"`       // of Selected, in fresh runs
	Tight       *Tight     `json:"tight,omitempty"` // a smaller change that holds, and is not robust
	Closest     *Closest   `json:"closest,omitempty"`
	OutOfBudget bool       `json:"outOfBudget,omitempty"` // the runs were used up before all candidates were tried

	// These are of the selected change or, if none suffices, of the closest one. Before and After are of runs with the same
	// seeds, which are those of the confirmation.
	Thresholds []GoalValue `json:"thresholds"`
	Before     []Figure    `json:"before"`
	After      []Figure    `json:"after"`
	Better     []Effect    `json:"better"`
	Worse      []Effect    `json:"worse"`
	Seats      []SeatsMove `json:"seats,omitempty"` // levels whose nominal limit changes

	Undo    []string      `json:"undo"`    // commands that take the selected change back, in their order
	Measure []Measurement `json:"measure"` // what shows in a cluster whether the change does what is expected
	Breaks  []Break       `json:"breaks"`  // the answer, repeated with other executions and loads

	Eliminated []Eliminated    `json:"eliminated"`
	NotTried   []string        `json:"notTried"` // kinds of changes
	Needs      []string        `json:"needs"`    // if none suffices: what would be needed, in sentences
	Clients    []string        `json:"clients"`  // what clients could do instead, in sentences
	Trust      []result.Trust  `json:"trust"`    // how far the answer can be trusted
	Verdict    *result.Overall `json:"verdict"`  // on a run of the present configuration

	// ByRemedy are the cheapest candidates of the remedies that the options name.
	ByRemedy []Tried `json:"-"`

	search   *search
	ofRuns   []result.Trust    // reasons to trust the compared runs less, with the change if there is one
	pictured [2]*result.Result // of the present configuration and of the changed one, with the seed of the run that is explained; nil without
}

// Tight is a candidate that was confirmed and costs less than the selected one, but does not hold with more load or longer
// executions.
type Tight struct {
	*Candidate
	Holds
}

// Closest is the candidate whose goals held in most runs, if none suffices.
type Closest struct {
	*Candidate
	Holds
	Fails  string   `json:"fails"`  // the goal that failed most often
	Excess *float64 `json:"excess"` // the greatest value/limit − 1 of a goal that failed; null if it is not known

	// Of a search that was ended: fresh runs of a confirmation that was begun, and with which probability a run holds at
	// least, by these or else by the others.
	Fresh   *Holds   `json:"fresh,omitempty"`
	AtLeast *float64 `json:"atLeast,omitempty"`
}

// Figure is a statistic over several runs.
type Figure struct {
	Statistic string  `json:"statistic"`
	Unit      string  `json:"unit"`
	Mean      float64 `json:"mean"`
	Half      float64 `json:"half"` // of the 95 % interval; 0 without one
}

// Effect is a significant change of a statistic.
type Effect struct {
	Statistic string  `json:"statistic"`
	Unit      string  `json:"unit"`
	Before    float64 `json:"before"`
	After     float64 `json:"after"`
}

// SeatsMove is the nominal limit of a level before and after, in seats of one server; 0 of a level that does not exist.
type SeatsMove struct {
	Level  string `json:"level"`
	Before int    `json:"before"`
	After  int    `json:"after"`
}

// Eliminated is a candidate, or several of one family, and why it is not the answer.
type Eliminated struct {
	ID      string `json:"id"`
	Class   Class  `json:"class"`
	Cost    Cost   `json:"cost"` // of the cheapest of several
	After   int    `json:"after"`
	Passes  int    `json:"passes"`
	Because string `json:"because"`
	Fails   string `json:"fails,omitempty"` // the goal that failed most often
}

// ParseGoals parses texts such as "wait{workload:mice}: p99 < 1s". The error names the text that is wrong, or the metrics,
// tags and workloads that the scenario does not have. A replay is to be divided before.
func ParseGoals(sc *scenario.Scenario, texts []string) (metric.Thresholds, error) {
	text, err := thresholdsText(texts)
	if err != nil {
		return nil, err
	}
	var all metric.Thresholds
	wrong := yaml.Decode("--goal", []byte(text), &all)
	if len(wrong) == 0 {
		wrong = sc.CheckThresholds(all)
	}
	for i := range wrong {
		wrong[i].Position = document.Position{} // in a text that nobody wrote
	}
	return all, wrong.Err()
}

// thresholdsText returns the thresholds that texts mean as YAML for the field of a scenario.
func thresholdsText(texts []string) (string, error) {
	var keys []string
	all := map[string][]string{}
	for _, text := range texts {
		key, expression, ok := cutLast(text, ": ")
		if !ok {
			return "", fmt.Errorf("--goal: %q: want METRIC: EXPRESSION, such as 'rejected{workload:mice}: rate == 0'", text)
		}
		key = strings.TrimSpace(key)
		if all[key] == nil {
			keys = append(keys, key)
		}
		all[key] = append(all[key], strings.TrimSpace(expression))
	}
	var parts []string
	for _, key := range keys {
		var text strings.Builder // messages show it, so that < stays as it is
		for _, part := range []any{key, all[key]} {
			encoder := json.NewEncoder(&text)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(part); err != nil {
				return "", err
			}
		}
		name, expressions, _ := strings.Cut(strings.TrimSpace(text.String()), "\n")
		parts = append(parts, name+": "+expressions)
	}
	return "{" + strings.Join(parts, ", ") + "}", nil
}

func cutLast(text, separator string) (before, after string, ok bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

// unneeded completes the answer that no change is needed.
func (a *Answer) unneeded() error {
	a.Needed = false
	now := newSample(a.search.present)
	for _, run := range a.search.first {
		now.add(run)
	}
	before := now.Replications()
	a.Thresholds = goalValues(a.search.present.Spec.Thresholds, now.measured(before), nil)
	a.Before, a.ofRuns = a.figures(before), trustOf(before)
	if err := a.repeat(a.search.present, 1); err != nil {
		return err
	}
	return a.complete(nil)
}

// confirmed completes the answer that a change suffices.
func (a *Answer) confirmed(done *found) error {
	c := done.c
	a.Selected, a.Confirmed = c, &done.Holds
	if t := done.tight; t != nil {
		a.Tight = &Tight{t.c, t.Holds}
	}
	a.explainChanges(c)
	most := comparedRuns
	if a.search.over() {
		most = closestRuns
	}
	if err := a.compare(c, done.first, done.runs[:min(len(done.runs), most)]); err != nil {
		return err
	}
	a.Undo = a.undo()
	if err := a.repeat(c.scenarioOf(a.search.present), a.search.attempts+1); err != nil {
		return err
	}
	return a.complete(c)
}

// comparedRuns is how many runs of a confirmation are compared with the present configuration at most. More of them would
// say hardly more of who gains and who loses.
const comparedRuns = 60

// closestRuns is in how many runs the closest candidate is compared with the present configuration: as many as the interval
// of a percentile needs.
const closestRuns = 10

// completeWithoutCandidate completes the answer that no candidate suffices.
func (a *Answer) completeWithoutCandidate() error {
	if err := a.findClosest(); err != nil {
		return err
	}
	a.Needs = a.needs()
	if a.Closest == nil {
		return a.complete(nil)
	}
	a.explainChanges(a.Closest.Candidate)
	if err := a.compare(a.Closest.Candidate, a.search.present.Spec.Seed, make([]*experiment.Trial, closestRuns)); err != nil {
		return err
	}
	return a.complete(a.Closest.Candidate)
}

// complete adds what all answers have. c is the candidate that the answer shows, nil without one.
func (a *Answer) complete(c *Candidate) error {
	a.Trust = a.trust(c)
	if !a.Needed {
		return a.draw(nil)
	}
	a.Clients = append(a.Clients, a.search.problem.clientNotes()...)
	for _, kind := range Kinds {
		if kind == serverChanges && a.search.sized {
			continue // the catalogue has them
		}
		if (kind != "clients" || len(a.search.problem.missingLimits()) > 0) && !slices.Contains(a.search.Kinds, kind) {
			a.NotTried = append(a.NotTried, kind)
		}
	}
	return a.draw(c)
}

// compare compares runs of a candidate with runs of the present configuration with the same seeds. Those that are known may
// have been ended early, or be nil; they are then made again as a whole.
func (a *Answer) compare(c *Candidate, first uint64, known []*experiment.Trial) error {
	s := a.search
	changed, err := s.complete(c, first, known)
	if err != nil {
		return err
	}
	runs := experiment.BeginTrials(s.ctx, s.plan(s.present, first, len(changed)))
	defer runs.Stop()
	sides := [2]*sample{newSample(s.present), newSample(s.present)}
	for _, after := range changed {
		before, err := runs.Next()
		if err != nil {
			return err
		}
		s.runs++
		sides[0].add(before)
		sides[1].add(after)
	}
	before, after := sides[0].Replications(), sides[1].Replications()
	a.Thresholds = goalValues(s.present.Spec.Thresholds, sides[0].measured(before), sides[1].measured(after))
	a.Before, a.After, a.ofRuns = a.figures(before), a.figures(after), trustOf(after)
	if len(after.Seeds) > 0 {
		a.compareFigures(before, after)
	}
	now := divide(s.problem, c.scenarioOf(s.present))
	a.compareSeats(now)
	a.Measure = a.measurements(c, now, before, after)
	return nil
}

// trustOf returns the reasons to trust runs less.
func trustOf(r *compare.Replications) []result.Trust {
	if r.Verdict == nil {
		return nil
	}
	return r.Verdict.Trust
}

// compareFigures finds who gains and who loses.
func (a *Answer) compareFigures(before, after *compare.Replications) {
	found := compare.Compare("present", before, "changed", after)
	for i := range found.Changes {
		ch := &found.Changes[i]
		if ch.Outcome != compare.Changed || !ofWorkload(&ch.ID) {
			continue
		}
		effect := Effect{ch.Name, ch.Unit, ch.Base, ch.Head}
		switch {
		case loses(&ch.ID, ch.Base, ch.Head):
			a.Worse = append(a.Worse, effect)
		case loses(&ch.ID, ch.Head, ch.Base):
			a.Better = append(a.Better, effect)
		}
	}
}

// compareSeats finds the levels whose nominal limits change.
func (a *Answer) compareSeats(now *advice.SeatDivision) {
	present := a.search.problem.seats
	for i := range present.Levels {
		l := &present.Levels[i]
		if changed := seatsOf(now, l.Name); changed != nil && changed.Nominal != l.Nominal {
			a.Seats = append(a.Seats, SeatsMove{l.Name, l.Nominal, changed.Nominal})
		}
	}
	for i := range now.Levels {
		if l := &now.Levels[i]; seatsOf(present, l.Name) == nil {
			a.Seats = append(a.Seats, SeatsMove{Level: l.Name, After: l.Nominal})
		}
	}
}

// ofWorkload says whether a statistic is one that says who gains and who loses.
func ofWorkload(n *metric.Name) bool {
	percent, is := n.Percent()
	return len(n.Tags) == 1 && n.Tags[0].Name == metric.TagWorkload && (n.Metric == "rejected" && n.Stat == "rate" || n.Metric == "wait" && is && percent == 99 || compare.SeenByClient(n))
}

// figures returns the statistics of the goals and those that say who gains and who loses.
func (a *Answer) figures(r *compare.Replications) []Figure {
	var of []string
	for i := range a.search.present.Spec.Thresholds {
		name := a.search.present.Spec.Thresholds[i].Name()
		addName(&of, name.String())
	}
	for i := range r.Statistics {
		if ofWorkload(&r.Statistics[i].ID) {
			addName(&of, r.Statistics[i].Name)
		}
	}
	byName, all := r.ByName(), []Figure{}
	for _, name := range of {
		e := byName[name]
		if e == nil {
			continue // percentiles that summaries do not have
		}
		f := Figure{Statistic: name, Unit: e.Unit}
		var low, high float64
		f.Mean, low, high = e.Printed()
		f.Half = max(high-f.Mean, f.Mean-low)
		all = append(all, f)
	}
	return all
}

// mostTied is how many candidates that hold in as many runs are compared by how much they fail.
const mostTied = 50

// findClosest finds the candidate whose goals held in most runs, and of several the one with the smallest excess. One more
// run, which is made to its end, says how much a candidate fails whose runs were all ended early.
func (a *Answer) findClosest() error {
	s := a.search
	var tied []*Candidate
	for _, c := range s.all {
		t := s.results[c]
		if t == nil || t.Runs == 0 {
			continue
		}
		if len(tied) > 0 {
			best := s.results[tied[0]]
			switch x, y := t.Passes*best.Runs, best.Passes*t.Runs; {
			case x < y:
				continue
			case x > y:
				tied = tied[:0]
			}
		}
		tied = append(tied, c)
	}
	if len(tied) == 0 {
		return nil
	}
	best := tied[0]
	for _, c := range tied[:min(len(tied), mostTied)] {
		t := s.results[c]
		if t.excess == nil && len(tied) > 1 {
			run, err := s.runOnce(c.scenarioOf(s.present), s.present.Spec.Seed)
			if err != nil {
				return err
			}
			s.runs++
			t.excess = excessOf(run)
		}
		if than := s.results[best].excess; t.excess != nil && (than == nil || *t.excess < *than) {
			best = c
		}
	}
	t := s.results[best]
	c := &Closest{Candidate: best, Holds: Holds{t.Passes, t.Runs}, Fails: s.worstGoal(t), Excess: t.excess}
	if a.Closest = c; a.OutOfBudget && !s.replayed {
		known := c.Holds
		if t.fresh.Runs > 0 {
			known, c.Fresh = t.fresh, &t.fresh
		}
		least := known.AtLeast(s.alpha)
		c.AtLeast = &least
	}
	return nil
}

// eliminated lists why the candidates are not the answer: those that were run, and the others of each family together.
func (a *Answer) eliminated() {
	type group struct {
		family  *family
		because string
	}
	together := map[group]int{} // index in Eliminated
	for _, c := range a.search.all {
		t := a.search.trialsOf(c)
		if c == a.Selected {
			continue
		}
		e := Eliminated{ID: c.ID, Class: c.Class, Cost: c.Cost, After: t.Runs, Passes: t.Passes, Because: t.Because}
		if t.Decision == Rejected {
			e.Fails = a.search.worstGoal(t)
		}
		if a.Tight != nil && c == a.Tight.Candidate {
			e.Because = "tight: does not hold with more load or longer executions"
		} else if e.Because == "" && a.Selected != nil {
			e.Because = "costs more than a change that holds"
		} else if e.Because == "" {
			e.Because = "the budget or the time was used up"
		}
		if t.Runs > 0 || len(c.family.all) == 1 {
			a.Eliminated = append(a.Eliminated, e)
			continue
		}
		g := group{c.family, e.Because}
		if at, ok := together[g]; ok {
			first, _, _ := strings.Cut(a.Eliminated[at].ID, " to ")
			a.Eliminated[at].ID = first + " to " + valueOfID(c)
			continue
		}
		together[g] = len(a.Eliminated)
		a.Eliminated = append(a.Eliminated, e)
	}
	slices.SortStableFunc(a.Eliminated, func(x, y Eliminated) int { return x.Cost.Compare(y.Cost) })
}

// valueOfID returns the value at the end of the ID of a candidate in a family of several.
func valueOfID(c *Candidate) string { return c.ID[strings.LastIndex(c.ID, " ")+1:] }

// noProgress shows no progress of runs.
type noProgress struct{}

func (noProgress) Begin(time.Duration) experiment.RunProgress { return noProgress{} }
func (noProgress) Update(int64, uint64)                       {}
func (noProgress) Finish()                                    {}
