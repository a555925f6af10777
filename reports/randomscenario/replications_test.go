package randomscenario

import (
	"errors"
	"regexp"

	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/judge"
	"apfsim/reports/report"
)

var seedLine = regexp.MustCompile(`(?m)^  seed: .*$`)

// replications runs a scenario with another seed, too, and checks that a workload or a level of both runs together has a
// check mark if and only if all was well on average, and a cross if and only if something was bad, by the logs as far as
// they tell.
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

// together checks one finding of several runs.
func (a *check) together(f report.Finding, runs []*check) {
	var lost, queued, p99, longest, virtualP99, virtualRejected, starved, shortfall mean
	var stallNs int64
	var waits, probes int64
	dispatched := false
	for _, c := range runs {
		var o others
		counted := func(l *Line) bool { return l.Workload == f.Subject }
		if f.Group == "Priority levels" {
			counted = func(l *Line) bool { return l.PriorityLevel == f.Subject }
		}
		seen := c.servedOf(counted)
		s := c.ran.Result.Summary
		for i := range s.Workloads {
			if g := &s.Workloads[i]; f.Group == "Workloads" && g.Name == f.Subject {
				o = othersOfWorkload(g)
				if v := g.VirtualWait; v != nil && v.Wait != nil {
					o.virtualP99Ns = v.Wait.P99Ns
					probes += v.Wait.Count
				}
			}
		}
		for i := range s.PriorityLevels {
			if p := &s.PriorityLevels[i]; f.Group == "Priority levels" && p.Name == f.Subject {
				o = othersOfLevel(p)
				if p.Fairness != nil {
					shortfall.add(1 - p.Fairness.LeastRatio)
				}
			}
		}
		stallNs = max(stallNs, o.stallNs)
		starved.add(float64(o.starvedNs))
		virtualP99.add(float64(o.virtualP99Ns))
		virtualRejected.add(o.virtualRejected)
		if seen.arrived == 0 {
			continue
		}
		lost.add(float64(seen.lost) / float64(seen.arrived))
		queued.add(float64(len(seen.queuedFor)) / float64(seen.arrived))
		if len(seen.waits) > 0 {
			dispatched = true
			waits += int64(len(seen.waits))
			ns, _ := worst(seen.waits)
			p99.add(ns)
		}
		_, most := worst(append(seen.waits, seen.queuedFor...))
		longest.add(float64(most))
	}
	value := func(m mean) float64 { return m.sum / max(1, m.n) }
	if waits < enough {
		p99 = mean{}
	}
	if probes < enough {
		virtualP99 = mean{}
	}
	o := others{stallNs: stallNs, starvedNs: int64(value(starved)), virtualP99Ns: int64(value(virtualP99)), virtualRejected: value(virtualRejected)}
	if value(lost) > 0 || value(longest) > 0 {
		o.shortfall = value(shortfall)
	}
	const below = 1 - 1./1024 // percentiles are at most that much too high
	well := lost.sum == 0 && dispatched && value(queued) <= 0.01 && value(longest) <= 1e9 && o.well()
	bad := value(lost) >= 0.001 || !dispatched || value(queued) >= 0.1 || value(longest) >= 10e9 || o.bad()
	ticked, crossed := f.Judgement == judge.Good, f.Judgement == judge.Bad
	if ns := value(p99); ticked && (!well || ns > 100e6) || !ticked && well && ns <= 100e6*below || crossed && !bad && ns < 1e9*below || !crossed && (bad || ns >= 1e9) {
		a.fail("both runs of %s %s: judged %q; not served %v, queued %v, wait p99 %v, max %v, and else %+v", f.Group, f.Subject, f.Judgement, value(lost), value(queued), ns, value(longest), o)
	}
}
