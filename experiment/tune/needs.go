package tune

import (
	"fmt"
	"math"
	"strings"
	"time"

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
		text := "Candidates that were not run may suffice"
		if more := a.search.more(); more != "" {
			text += ": " + more
		}
		all = append(all, text+".")
	}
	return all
}

// The greatest budget and time that are proposed. What may take longer is not worth a guess.
const (
	mostBudget = 100_000
	mostTime   = time.Hour
)

// more proposes a budget or a time for a search that was ended, in proportion to the candidates that are left: these take as
// many runs, and as long, as those that were decided. It is "" if none were, or if that is too much.
func (s *search) more() string {
	decided := 0
	for _, c := range s.all {
		if t := s.results[c]; t != nil && (t.Decision != Undecided || t.Because != "") {
			decided++
		}
	}
	if decided == 0 {
		return ""
	}
	factor := max(2, float64(len(s.all))/float64(decided))
	if s.late {
		if t := time.Duration(factor * float64(s.Time)); t <= mostTime {
			return "--time " + roundedUp(t).String()
		}
		return ""
	}
	if n := factor * float64(s.Budget); n <= mostBudget {
		return fmt.Sprintf("--budget %.0f", math.Ceil(n))
	}
	return ""
}

// roundedUp returns a duration with two digits at most, that is not shorter.
func roundedUp(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d > 99*unit {
		unit *= 10
	}
	return (d + unit - 1) / unit * unit
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
