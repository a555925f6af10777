// Package findings states what stands out in a result, in fixed sentences with numbers.
package findings

import (
	"apfsim/reports/judge"
)

// Finding says in plain language how somebody fared.
type Finding struct {
	Group     string // heading of the findings that follow one another with the same Group
	Judgement judge.Judgement
	Subject   string // a workload's, a priority level's, a flow's name
	Text      string // of which the subject is the beginning
}
