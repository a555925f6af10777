package tune

import (
	"fmt"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// needs says, if none of the candidates suffices, what would be needed.
func (a *Answer) needs() (all []string) {
	all = []string{}
	p, s := a.search.problem, &a.search.present.Spec.Servers
	if all = append(all, p.missingLimits()...); p.onlyByClients() {
		return all
	}
	if p.beyond != nil {
		return append(append(all, p.sentences(result.NoChange, result.MoreReplicas)...), p.beyond.Sentence)
	}
	byLevel, total := p.asked()
	seats := (s.MaxRequestsInflight + s.MaxMutatingRequestsInflight) * s.Replicas
	if total > float64(seats) {
		all = append(all, fmt.Sprintf("All requests together ask for %s on average, and there are %d: however the seats are divided, some requests are rejected or wait longer and longer. Fewer or shorter requests are needed, or more seats.",
			seatsText(total), seats))
	} else {
		all = append(all, fmt.Sprintf("All requests together ask for %s on average, and there are %d: what is missing is not their number, but how they are divided, or shorter executions, which no configuration gives.",
			seatsText(total), seats))
	}
	for _, l := range p.levels {
		if nominal := seatsOf(p.seats, l).Nominal * s.Replicas; byLevel[l] > float64(nominal) {
			all = append(all, fmt.Sprintf("The requests of %s ask for %s on average, and its nominal limit is %d.", l, seatsText(byLevel[l]), nominal))
		}
	}
	if a.OutOfBudget {
		more := fmt.Sprintf("--budget %d", 2*a.search.Budget)
		if a.search.late {
			more = "--time " + (2 * a.search.Time).String()
		}
		all = append(all, "Candidates that were not run may suffice: "+more+".")
	}
	return all
}

// asked returns how many seats the requests of each level ask for on average, at all servers, and those of all levels that are
// limited together.
func (p *problem) asked() (byLevel map[string]float64, total float64) {
	seconds := float64(p.summary.DurationNs-p.summary.WarmupNs) / 1e9
	byLevel = map[string]float64{}
	add := func(f *result.Flow) {
		seats := f.DemandSeatSeconds / seconds
		byLevel[f.PriorityLevel] += seats
		if l := p.Objects.PriorityLevel(f.PriorityLevel); l != nil && l.Spec.Limited != nil {
			total += seats
		}
	}
	for i := range p.summary.Flows {
		add(&p.summary.Flows[i])
	}
	for i := range p.summary.OtherFlows {
		add(&p.summary.OtherFlows[i].Flow)
	}
	return byLevel, total
}

func seatsText(x float64) string { return format.Number(x) + " seats" }

// notTriedText names the kinds of changes that were not tried.
func (a *Answer) notTriedText() string {
	command, were := "tune", "were"
	if a.search.sized {
		command = "plan"
	}
	if len(a.NotTried) == 1 {
		were = "was"
	}
	return fmt.Sprintf("%s of change %s not tried: apfsim %s --allow %s.", format.Counted(len(a.NotTried), "other kind"), were, command, strings.Join(a.NotTried, ","))
}
