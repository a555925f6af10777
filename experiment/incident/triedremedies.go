//go:build !js

package incident

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"apfsim/experiment"
	"apfsim/experiment/fit"
	fitcheck "apfsim/experiment/fit/check"
	"apfsim/experiment/tune"
	"apfsim/reports/format"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// Remedy is a change that may help.
type Remedy struct {
	ID       result.RemedyID `json:"id"`
	Sentence string          `json:"sentence"`
	Tried    bool            `json:"tried"`
	Holds    *bool           `json:"holds"` // whether none of the requests that were hurt by others is rejected any more, in all replays; null if it was not tried
	// NotServed is which part of these requests is not served; null unless it holds.
	NotServed *NotServed `json:"notServed"`
	Worse     []string   `json:"worse"`          // who loses; of the cheapest remedy that holds
	File      string     `json:"file,omitempty"` // has the change, if it is the cheapest
	// Fitted is what the cheapest remedy does in a scenario that is fitted to the log.
	Fitted *tune.Elsewhere `json:"fitted,omitempty"`
}

// NotServed is a part of requests before and after a change.
type NotServed struct {
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Half   float64 `json:"half"` // of the 95 % interval of After
}

// What the search for remedies may cost. One log is replayed once for each candidate that fails, and ten times for each
// that does not.
const (
	mostSimulated = 40_000_000 // requests
	mostReplays   = 1000
	leastReplays  = 40
)

// The claim of the search: see tune.Options.
const (
	remedyProbability = 0.9
	remedyConfidence  = 0.95
)

// tryRemedies looks for the changes that prevent the harm in the replay, and tries the cheapest one in a scenario that is
// fitted to the log, too. The folder of the import has its files.
func (d *Diagnosis) tryRemedies(ctx context.Context, imported *Options) error {
	dir := imported.Dir
	if !d.ReplayTrusted || d.Verdict.Status != result.Harm || len(d.Remedies) == 0 {
		return nil
	}
	sc, err := experiment.LoadOne(filepath.Join(dir, ScenarioFile), loader.Options{})
	var infeasible *tune.Infeasible
	if err == nil {
		sc, err = tune.Divide(sc)
	}
	if errors.As(err, &infeasible) {
		return nil // none of them can be tried
	}
	if err != nil {
		return err
	}
	o := tune.Options{Scenario: sc, Victims: true, Kinds: tune.Usual, Probability: remedyProbability, Confidence: remedyConfidence,
		Budget: min(mostReplays, max(leastReplays, mostSimulated/int(max(1, d.imported.Requests.InTrace))))}
	if imported.Progress != nil {
		o.Progress = imported.Progress("candidates")
	}
	for i := range d.Remedies {
		o.Remedies = append(o.Remedies, d.Remedies[i].ID)
	}
	answer, err := tune.Run(ctx, o)
	if errors.As(err, &infeasible) || err == nil && !answer.Needed {
		return nil
	}
	if err != nil {
		return err
	}
	d.answer = answer
	d.addRemedies()
	if answer.Selected == nil {
		return nil
	}
	fitted, err := fittedTo(ctx, dir)
	if err != nil {
		return err
	}
	e, err := answer.Elsewhere(fitted)
	if err == nil && e.After.Runs > 0 {
		d.Remedies[0].Fitted = &e
	}
	return err
}

// addRemedies says which of the remedies hold, and puts these first, the cheapest before all others.
func (d *Diagnosis) addRemedies() {
	a := d.answer
	var all []Remedy
	if c := a.Selected; c != nil && !slices.ContainsFunc(d.Remedies, func(r Remedy) bool { return r.ID == c.Remedy }) {
		all = append(all, d.remedyOf(&tune.Tried{Remedy: c.Remedy, Candidate: c, Decision: tune.Accepted}))
	}
	for i := range a.ByRemedy {
		t := &a.ByRemedy[i]
		r := d.remedyOf(t)
		if r.Sentence == "" {
			r.Sentence = d.Remedies[i].Sentence
		}
		all = append(all, r)
	}
	rank := func(r *Remedy) int {
		switch {
		case r.File != "":
			return 0
		case r.Holds != nil && *r.Holds:
			return 1
		case r.Holds == nil:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(all, func(x, y Remedy) int { return rank(&x) - rank(&y) })
	causes := map[result.RemedyID][]string{}
	for i := range d.Verdict.Try {
		causes[d.Verdict.Try[i].Remedy] = d.Verdict.Try[i].Causes
	}
	d.Remedies = all
	d.Verdict.Try = d.Verdict.Try[:0]
	for i := range all {
		r := &all[i]
		if r.Holds != nil && !*r.Holds {
			continue // what does not help is no advice; the table of what was tried has it
		}
		of := causes[r.ID]
		if of == nil {
			of = []string{}
		}
		d.Verdict.Try = append(d.Verdict.Try, result.Remedy{Remedy: r.ID, Sentence: r.Sentence, Causes: of, Tried: r.Tried, Proved: r.Holds != nil && *r.Holds})
	}
}

// remedyOf returns what a search says of a remedy.
func (d *Diagnosis) remedyOf(t *tune.Tried) Remedy {
	r := Remedy{ID: t.Remedy, Worse: []string{}, Tried: t.Decision != tune.Undecided}
	if holds := t.Decision == tune.Accepted; r.Tried {
		r.Holds = &holds
	}
	if t.Candidate == nil {
		return r
	}
	r.Sentence = t.Sentence
	r.NotServed = &NotServed{t.Before.Mean, t.After.Mean, t.After.Half}
	if t.Candidate == d.answer.Selected {
		r.File = tune.ChangeFile
		for _, e := range d.answer.Worse {
			r.Worse = append(r.Worse, e.Text())
		}
	}
	return r
}

// fittedTo fits a scenario to the requests of an import.
func fittedTo(ctx context.Context, dir string) (*scenario.Scenario, error) {
	base, err := os.ReadFile(filepath.Join(dir, ScenarioFile))
	if err != nil {
		return nil, err
	}
	temporary, err := temporaryFolder()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary)
	file := filepath.Join(dir, TraceFile)
	fitted, err := fit.Fit(func() (io.ReadCloser, error) { return os.Open(file) },
		fit.Options{File: file, Name: fit.ScenarioName(filepath.Base(dir)), Base: base, BaseFile: filepath.Join(dir, ScenarioFile), Dir: temporary, Capacity: true})
	if err != nil {
		return nil, err
	}
	_, sc, err := fitcheck.Complete(ctx, fitted, filepath.Join(temporary, ScenarioFile), 0, nil)
	return sc, err
}

// remedyTable has the remedies that were tried.
func (d *Diagnosis) remedyTable() *report.Table {
	t := report.TextTable("What was tried", "change", "holds", "not served before", "after", "in the fitted scenario")
	t.Name, t.Caption = "remedies", "What was tried, in the replay of the log"
	for i := range d.Remedies {
		r := &d.Remedies[i]
		holds, before, after, fitted := "not tried", "–", "–", "–"
		if r.Holds != nil {
			holds = map[bool]string{true: "yes", false: "no"}[*r.Holds]
		}
		if r.NotServed != nil {
			before, after = format.Percent(r.NotServed.Before), format.Percent(r.NotServed.After)
		}
		if f := r.Fitted; f != nil {
			fitted = fittedText(f)
			if h := f.LeastCapacity; h != nil {
				fitted += fmt.Sprintf("; with the least capacity of its interval %d of %d", h.Passes, h.Runs)
			}
			if h := f.GreatestCapacity; h != nil {
				fitted += fmt.Sprintf("; with the greatest %d of %d", h.Passes, h.Runs)
			}
		}
		t.AddTexts(r.Sentence, holds, before, after, fitted)
	}
	return t
}

// fittedText says in how many runs of the fitted scenario a change holds, as far as that proves anything.
func fittedText(f *tune.Elsewhere) string {
	if !f.Proves() {
		return fmt.Sprintf("no proof: nobody is harmed in %d of %d runs without the change", f.Before.Passes, f.Before.Runs)
	}
	return fmt.Sprintf("%d of %d runs, before %d of %d", f.After.Passes, f.After.Runs, f.Before.Passes, f.Before.Runs)
}

// remedyNotes say who loses by the cheapest change, and how it was tried.
func (d *Diagnosis) remedyNotes() (all []string) {
	a := d.answer
	all = append(all, fmt.Sprintf("A change holds if the goals do in each of %d replays, with different times of the adjustments of limits. Goals: %s.",
		tune.Replays, strings.Join(a.Goals, "; ")))
	if r := &d.Remedies[0]; r.File != "" {
		loses := "nobody loses significantly"
		if len(r.Worse) > 0 {
			loses = "who loses by it: " + strings.Join(r.Worse, "; ")
		}
		all = append(all, fmt.Sprintf("The first change is the cheapest; %s. With -o DIR, DIR/%s has it, and says how to undo it.", loses, tune.ChangeFile))
	}
	return append(all, "'apfsim tune' searches with other goals and costs, and proves a change with a fitted scenario ('apfsim import --fit').")
}
