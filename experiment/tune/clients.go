package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim/workload"
)

// clientKind is the kind of a change of a client: a field of the scenario, which nothing but the client itself can apply.
const clientKind = "client"

// clientLimit is another rate limit of the clients of workloads.
type clientLimit struct {
	workloads []string
	workload.RateLimit
}

// applyTo returns the workloads of a scenario with the limit. A limit that a behaviour brings is then one of the workload.
func (l *clientLimit) applyTo(all []workload.Workload) []workload.Workload {
	all = slices.Clone(all)
	for i := range all {
		if slices.Contains(l.workloads, all[i].Name) {
			limit := l.RateLimit
			all[i].RateLimit = &limit
		}
	}
	return all
}

// changes are the fields that differ. A workload without a limit of its own gets all of one.
func (l *clientLimit) changes(all []workload.Workload) (changes []Change) {
	for i := range all {
		w := &all[i]
		if !slices.Contains(l.workloads, w.Name) {
			continue
		}
		add := func(field string, from, to any) {
			if from != to || w.RateLimit == nil {
				changes = append(changes, Change{Kind: clientKind, Name: w.Name, Path: fmt.Sprintf("spec.workload[%s].rateLimit.%s", w.Name, field), From: from, To: to})
			}
		}
		now := w.Limit()
		add("qps", now.QPS, l.QPS)
		add("burst", now.Burst, l.Burst)
	}
	return changes
}

// mostRaised is how many times as high a limit is raised at most, unless the clients want to send more at a time.
const mostRaised = 4

// clientLimits raises the rate limits of clients that wait for them: their rate by one per second at a time, and their burst by
// one up to what came in the busiest second. A burst beyond that would hide for the length of a run that the rate is too low.
func (p *problem) clientLimits() {
	for _, c := range p.causes {
		if c.Kind != result.ByClientLimit {
			continue
		}
		present := *p.workload(c.Workloads[0]).Limit()
		who := format.Listed(c.Workloads, 3, "")
		candidate := func(field string, value, steps int, limit workload.RateLimit, sentence string) *Candidate {
			return &Candidate{ID: fmt.Sprintf("%s of %s %d", field, who, value), Remedy: result.RaiseClientLimit, Cost: Cost{Class: ClientLimits, Steps: steps},
				Sentence: sentence, limit: &clientLimit{c.Workloads, limit}, value: value}
		}
		now := strconv.FormatFloat(present.QPS, 'g', -1, 64)
		var rates, bursts []*Candidate
		first := int(math.Floor(present.QPS)) + 1
		for v := first; v <= max(int(mostRaised*present.QPS), int(2*judge.NeededQPS(c)), first); v++ {
			limit := present
			limit.QPS = float64(v)
			rates = append(rates, candidate("qps", v, len(rates)+1, limit, fmt.Sprintf("Set the QPS of %s to %d instead of %s.", who, v, now)))
		}
		p.add("qps of "+who, true, rates)
		for v := present.Burst + 1; v <= max(2*present.Burst, judge.AtOnce(c)); v++ {
			limit := present
			limit.Burst = v
			bursts = append(bursts, candidate("burst", v, len(bursts)+1, limit, fmt.Sprintf("Set the burst of %s to %d instead of %d.", who, v, present.Burst)))
		}
		p.add("burst of "+who, true, bursts)
	}
}

// onlyByClients says whether nothing but what clients do themselves causes the harm: no flow control changes that.
func (p *problem) onlyByClients() bool {
	return len(p.causes) > 0 && !slices.ContainsFunc(p.causes, func(c *result.Cause) bool { return c.Kind != result.ByClientLimit && c.Kind != result.ByWorkers })
}

// missingLimits says which rate limits of clients are too low, if they are not searched.
func (p *problem) missingLimits() (all []string) {
	for _, c := range p.causes {
		if c.Kind == result.ByClientLimit && !slices.Contains(p.allowed, kindOf[ClientLimits]) {
			l := p.workload(c.Workloads[0]).Limit()
			all = append(all, fmt.Sprintf("The rate limit of %s itself is too low, %s/s with a burst of %d: no configuration of the servers changes it. With --allow clients, the smallest limit that suffices is looked for.",
				format.Listed(c.Workloads, 3, ""), format.Number(l.QPS), l.Burst))
		}
	}
	return all
}
