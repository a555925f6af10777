package tune

import (
	"fmt"
	"strings"
	"testing"

	"apfsim/experiment/fit"
	"apfsim/experiment/fit/check"
)

// familyOf returns the candidates that differ in one value.
func familyOf(t *testing.T, a *Answer, name string) []*Candidate {
	t.Helper()
	for _, f := range a.search.problem.families {
		if f.name == name {
			return f.all
		}
	}
	t.Fatalf("no candidates are called %s", name)
	return nil
}

// The reason of a number of shares is the number of seats, and the nearest one below it that does not suffice. Values that
// were not run, or lie beyond, are no reasons.
func TestSharesAreExplainedBySeats(t *testing.T) {
	a := listedAnew(t, Usual)
	all := familyOf(t, a, "nominalConcurrencyShares of workload-low")
	for _, i := range []int{0, 2, 5} {
		a.search.trialsOf(all[i]).add5Failures()
	}
	chosen := all[4]
	a.explainChanges(chosen)
	seats := func(c *Candidate) int { return a.search.seatsWith(c, "workload-low") }
	want := fmt.Sprintf("the least that gives %d seats; %d seats (%s shares) held in 0 of 5 runs, and failed rejected{workload:elephants}: rate == 0",
		seats(chosen), seats(all[2]), textOf(all[2].Changes[0].To))
	if got := chosen.Changes[0].Because; got != want {
		t.Errorf("the reason is %q, want %q", got, want)
	}
}

// add5Failures adds five runs in which the first goal failed.
func (t *trials) add5Failures() {
	t.Runs, t.failed[0], t.Decision = 5, 5, Rejected
}

// Each field of a new level and of its FlowSchema has a reason, and those that were not searched say so.
func TestEachFieldOfANewLevelIsExplained(t *testing.T) {
	a := listedAnew(t, Usual)
	c := familyOf(t, a, "own-level elephants")[3]
	a.explainChanges(c)
	searched := 0
	for i := range c.Changes {
		ch := &c.Changes[i]
		switch {
		case ch.Because == "":
			t.Errorf("%s has no reason", ch.where())
		case strings.HasSuffix(ch.Path, "nominalConcurrencyShares"):
			searched++
			if !strings.HasPrefix(ch.Because, "the least that gives ") {
				t.Errorf("%s: got the reason %q, want the number of seats", ch.where(), ch.Because)
			}
		case ch.Kind == "PriorityLevelConfiguration" && !strings.HasPrefix(ch.Because, "not searched"):
			t.Errorf("%s: got the reason %q, want that it was not searched", ch.where(), ch.Because)
		}
	}
	if searched != 1 {
		t.Errorf("%d fields are shares, want 1", searched)
	}
}

// A fitted scenario says how much of its log it describes.
func TestFitIsAReasonToTrustTheAnswerLess(t *testing.T) {
	f := &check.Report{Report: &fit.Report{Requests: 1000, LeftOut: 20}, Check: &check.Check{Within: 40, Rows: make([]check.Row, 45)}}
	const want = "The scenario is fitted to a log of 1000 requests, of which it leaves out 20; 40 of 45 statistics of the log are in the range of its runs."
	if got := fitText(f); !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
}
