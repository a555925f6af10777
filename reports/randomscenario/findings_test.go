package randomscenario

import (
	"strings"

	"apfsim/reports/report"
)

// claims are the findings of a run, of which each must be claimed by a property that says when there is one.
type claims struct {
	*check
	all     []report.Finding
	claimed []bool
}

func claimsOf(c *check) *claims {
	all := report.RunDocument(c.ran.Result).Findings
	return &claims{c, all, make([]bool, len(all))}
}

// expect claims the finding of a subject whose text contains a part, which must be there if and only if it is wanted, and
// returns it, nil if there is none.
func (a *claims) expect(want bool, group, subject, part string) (found *report.Finding) {
	n := 0
	for i := range a.all {
		if f := &a.all[i]; f.Group == group && f.Subject == subject && strings.Contains(f.Text, part) {
			found, a.claimed[i] = f, true
			n++
		}
	}
	if want && n != 1 || !want && n != 0 {
		a.fail("%d findings of %s %q with the text %q, want one: %v", n, group, subject, part, want)
	}
	return found
}

// failUnclaimed fails for each finding that no property has claimed: it is of a kind that none knows, or should not be there.
func (a *claims) failUnclaimed() {
	for i, f := range a.all {
		if !a.claimed[i] {
			a.fail("no property knows the finding %+v", f)
		}
	}
}
