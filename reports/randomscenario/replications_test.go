package randomscenario

import (
	"errors"
	"math"
	"regexp"
	"slices"

	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/judge"
	"apfsim/reports/report"
)

var seedLine = regexp.MustCompile(`(?m)^  seed: .*$`)

// replications runs a scenario with another seed, too, and checks that a workload or a level of both runs together has a
// check mark only if all was well, and a cross if and only if victims were harmed, by the logs as far as they tell.
func replications(s *Scenario, first *Ran) error {
	other := *s
	other.YAML = seedLine.ReplaceAllString(s.YAML, "  seed: 4711")
	second, err := other.Run()
	if err != nil {
		return err
	}
	both := compare.NewReplicator("random", 0, nil)
	var checks []*check
	for _, r := range []*Ran{first, second} {
		both.Add(collect.NewReplication(r.Result))
		c, err := newCheck(r)
		if err != nil {
			return err
		}
		checks = append(checks, c)
	}
	r := both.Replications()
	a := &check{}
	for _, f := range report.ReplicationFindings(r, r.ByName()) {
		a.together(f, checks)
	}
	return errors.Join(a.found...)
}

// together checks one finding of several runs: sums of requests, and means of the longest stalls.
func (a *check) together(f report.Finding, runs []*check) {
	var arrived, lost, unsure, every int
	longestNs, stallNs := int64(0), int64(0)
	for _, c := range runs {
		if f.Group == "Workloads" && c.sharesFlows(f.Subject) {
			return
		}
		counted := func(l *Line) bool { return l.Workload == f.Subject }
		if f.Group == "Priority levels" {
			counted = func(l *Line) bool { return l.PriorityLevel == f.Subject }
		}
		limited := c.limitedFlows()
		every += c.servedOf(counted).lost
		victims := c.servedOf(func(l *Line) bool { return counted(l) && !limited[flowKey(l.PriorityLevel, l.Flow)] })
		arrived, lost, unsure = arrived+victims.arrived, lost+victims.lost, unsure+victims.unsure
		longestNs = max(longestNs, slices.Max(append(victims.waits, 0)))
		s := c.ran.Result.Summary
		for i := range s.Workloads {
			if g := &s.Workloads[i]; f.Group == "Workloads" && g.Name == f.Subject {
				stallNs = max(stallNs, stallOf(g))
			}
		}
		for i := range s.PriorityLevels {
			if p := &s.PriorityLevels[i]; f.Group == "Priority levels" && p.Name == f.Subject {
				stallNs = max(stallNs, stallOf(&p.Group))
				if p.Starvation != nil {
					stallNs = max(stallNs, p.Starvation.MaxNs)
				}
			}
		}
	}
	n := float64(lost)
	surely := lost >= 3 && n-1.645*math.Sqrt(n) >= 0.001*float64(arrived)
	maybe := lost+unsure >= 3 && n+float64(unsure) >= 0.001*float64(arrived) || longestNs >= 999e6 || stallNs >= 5e9
	if good, bad := f.Judgement == judge.Good, f.Judgement == judge.Bad; good && every > 0 || bad && !maybe || !bad && surely {
		a.fail("both runs of %s %s: judged %q; %d of %d were not served, waited %d ns at most, stalled for %d ns", f.Group, f.Subject, f.Judgement, lost, arrived, longestNs, stallNs)
	}
}
