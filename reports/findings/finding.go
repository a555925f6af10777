// Package findings states what is noteworthy in a result. Each finding is a fixed template with
// numbers: parts such as "wait p99 12.3 s, max 12.4 s" in a fixed order, separated by semicolons. A
// part without samples is left out.
//
// Run, Replications and Comparison return the findings of the three kinds of reports. The package
// judge decides which of them are good and which are bad.
package findings

import (
	"fmt"
	"strings"

	"apfsim/reports/judge"
)

// Finding is one noteworthy fact about a workload, a priority level or flows.
type Finding struct {
	Group     string // heading above consecutive findings of the same group
	Judgement judge.Judgement
	Subject   string // name of the workload, the priority level, the flow or the statistic
	Text      string // the figures, without a full stop
}

// parts collects the parts of a finding's text.
type parts []string

func (p *parts) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p parts) text() string { return strings.Join(p, "; ") }

// listed returns the number of names and the first of them: "(12): a, b, c, ...".
func listed(names []string, most int) string {
	text := fmt.Sprintf("(%d): %s", len(names), strings.Join(names[:min(most, len(names))], ", "))
	if len(names) > most {
		text += ", ..."
	}
	return text
}
