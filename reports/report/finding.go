package report

import (
	"fmt"
	"strings"

	"apfsim/reports/judge"
)

// Finding is one noteworthy fact about a workload, a priority level or flows. Its text is a fixed template with
// numbers: parts such as "wait p99 12.3 s, max 12.4 s" in a fixed order, separated by semicolons. A
// part without samples is left out. Package judge decides which findings are good and which are bad.
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
func listed(names []string, maxNames int) string {
	text := fmt.Sprintf("(%d): %s", len(names), strings.Join(names[:min(maxNames, len(names))], ", "))
	if len(names) > maxNames {
		text += ", ..."
	}
	return text
}
