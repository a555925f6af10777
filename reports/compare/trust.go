package compare

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// runsTrust collects the reasons of single runs to trust statistics less: of each kind and priority level, the sentence of
// the first run that has it, and how many runs have it.
type runsTrust struct {
	reasons []runsReason // in the order of the first runs that have them
}

type runsReason struct {
	result.Trust        // of the first run
	seed         uint64 // of that run
	runs         int
}

// add adds the reasons of a run. A run has at most one of a kind for each level.
func (t *runsTrust) add(s *result.Summary) {
	if s.Verdict == nil {
		return
	}
	for _, next := range s.Verdict.Trust {
		i := slices.IndexFunc(t.reasons, func(r runsReason) bool { return r.ID == next.ID && r.Level == next.Level })
		if i < 0 {
			i = len(t.reasons)
			t.reasons = append(t.reasons, runsReason{Trust: next, seed: s.Seed})
		}
		t.reasons[i].runs++
	}
}

// all returns the reasons of all runs together. Those that most runs have are first.
func (t *runsTrust) all(runs int) []result.Trust {
	all := []result.Trust{}
	sorted := slices.Clone(t.reasons)
	slices.SortStableFunc(sorted, func(a, b runsReason) int { return b.runs - a.runs })
	for _, r := range sorted {
		reason := r.Trust
		if runs > 1 {
			reason.Runs = r.runs
			reason.Sentence = fmt.Sprintf("in %d of %d runs, first with seed %d: %s", r.runs, runs, r.seed, reason.Sentence)
		}
		all = append(all, reason)
	}
	return all
}

// SidesVerdict is what is known of the runs of each side as a whole.
type SidesVerdict struct {
	Base *result.Overall `json:"base,omitempty"` // omitted if it says nothing
	Head *result.Overall `json:"head,omitempty"` // likewise
}

func sidesVerdict(base, head *Replications) *SidesVerdict {
	if base.Verdict == nil && head.Verdict == nil {
		return nil
	}
	return &SidesVerdict{base.Verdict, head.Verdict}
}

// unsteadyText says in few words why runs are not in steady state, by the kinds of reasons.
var unsteadyText = map[string]string{result.NotSteady: "trend", result.Load1: "overload", result.Drift: "overload at the end",
	result.Backlog: "backlog at the end", result.ShortWarmupID: "short warm-up"}

// warnOfWindow says for which window the comparison holds if runs of a side are not in steady state. Then the changes may be
// others in longer runs.
func (c *Comparison) warnOfWindow() {
	var found []string
	for _, side := range []struct {
		name string
		*Replications
	}{{"base", c.BaseRuns}, {"head", c.HeadRuns}} {
		if side.Verdict == nil {
			continue
		}
		var reasons []string
		for _, r := range side.Verdict.Trust {
			if !result.DependsOnWindow(r.ID) {
				continue
			}
			text := unsteadyText[r.ID]
			if r.Level != "" {
				text += " of " + format.Printable(r.Level)
			}
			if r.Runs > 0 {
				text += fmt.Sprintf(" in %d of %d runs", r.Runs, len(side.Seeds))
			}
			reasons = append(reasons, text)
		}
		if len(reasons) > 0 {
			found = append(found, side.name+": "+strings.Join(reasons, ", "))
		}
	}
	if len(found) == 0 {
		return
	}
	window := func(s *Side) string {
		return fmt.Sprintf("the window from %s to %s", format.Moment(s.WarmupNs), format.Moment(s.DurationNs))
	}
	holds := window(&c.Base)
	if head := window(&c.Head); head != holds {
		holds += " of the base and " + head + " of the head"
	}
	c.Warnings = append(c.Warnings, fmt.Sprintf("not in steady state (%s): the changes hold for %s, and may be others in longer runs", strings.Join(found, "; "), holds))
}
