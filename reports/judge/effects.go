// Package judge decides which results are good and which are bad, and why. One table has the effects from which on something
// is a warning or harm (effects), for workloads, priority levels and clients alike; docs/reference/statistics.md shows it. Mark
// marks those of a run by it. Verdict gives the verdict on a run: the worst effect on those who were not limited
// decides. Runs does so for several runs, by their figures together.
//
// The causes of harm at a priority level come from a queue of a fluid (cause_level.go), those of requests that failed otherwise
// from how their executions spent their time (cause.go); remedy.go has what may help.
package judge

import (
	"fmt"
	"math"

	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/reports/result"
)

// Judgement is the mark of a finding, a cell of a table or a verdict. Its text is the class that
// report.css colours.
type Judgement string

// The judgements. Neutral is neither good nor bad, or not judged.
const (
	Neutral Judgement = ""
	Good    Judgement = "good"
	Bad     Judgement = "bad"
)

// Limits of the table of effects, from which on something is a warning, or harm.
const (
	GoodWaitNs  = 100_000_000   // of a wait p99
	HarmWaitNs  = 1_000_000_000 // Kubernetes' objective for the latency of reads and writes of single objects
	HarmStallNs = 5_000_000_000 // of a stall, a freeze or a starvation; a warning from result.StallNs on

	harmNotServed  = 0.001 // share of the requests
	leastNotServed = 3     // requests, from which on a share is harm
)

// effect is a row of the table of effects.
type effect struct {
	figure        string
	warning, harm float64
	unit          string  // ns, or empty for a share
	near          float64 // the share of a limit from which on a figure is near it
	value         func(*result.Judged) float64
	// surely returns a lower bound of the figure that allows for chance in one run; nil stands for the figure itself.
	surely func(*result.Judged) float64
	text   func(name string, j *result.Judged) string
}

// effects is the table.
var effects = []effect{
	{"not served", 0, harmNotServed, "", 1. / 3, func(j *result.Judged) float64 { return share(j.NotServed, j.Arrived) }, surelyNotServed, func(name string, j *result.Judged) string {
		return fmt.Sprintf("%s of the %s of %s %s not served", ShareText(j.NotServed, j.Arrived), result.RequestCount(j.Arrived), name, Were(j.NotServed))
	}},
	{"wait p99", GoodWaitNs, HarmWaitNs, "ns", 0.5, func(j *result.Judged) float64 { return float64(j.WaitP99Ns) }, nil, func(name string, j *result.Judged) string {
		return fmt.Sprintf("the wait p99 of %s was %s", name, format.Duration(float64(j.WaitP99Ns)))
	}},
	{"stall", result.StallNs, HarmStallNs, "ns", 0.5, func(j *result.Judged) float64 { return float64(j.StallNs) }, nil, func(name string, j *result.Judged) string {
		return fmt.Sprintf("no request of %s was served for %s", name, format.Duration(float64(j.StallNs)))
	}},
	leadersLostEffect, ownLimitEffect, neverSentEffect,
	events("nodes not ready", "nodes of %s became not ready %s", func(j *result.Judged) int64 { return j.NodesNotReady }),
	events("lost writes", "writes of %s were given up or replaced others %s", func(j *result.Judged) int64 { return j.LostWrites }),
	events("slow watches", "watches of %s were closed %s because they were slow", func(j *result.Judged) int64 { return j.SlowWatches }),
}

func share(n, of int64) float64 {
	if n == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// surelyNotServed returns the share of which the number of requests that were not served is at the upper end: 95 % of Poisson
// numbers with a mean of n are at least n − 1.645 √n.
func surelyNotServed(j *result.Judged) float64 {
	if j.NotServed < leastNotServed {
		return 0
	}
	n := float64(j.NotServed)
	return max(0, n-1.645*math.Sqrt(n)) / float64(j.Arrived)
}

// StatusOfNotServed returns the status of so many requests of others that were not served.
func StatusOfNotServed(n, of int64) result.Status {
	s, _ := effects[0].status(&result.Judged{Arrived: of, NotServed: n})
	return s
}

// status returns the status of an effect: result.OK below the limit of a warning. near says that the figure is so close
// to the next worse status that another run may have it.
func (e *effect) status(j *result.Judged) (s result.Status, near bool) {
	value := e.value(j)
	sure := value
	if e.surely != nil {
		sure = e.surely(j)
	}
	switch {
	case value > 0 && sure >= e.harm:
		return result.Harm, false
	case value > e.warning || value > 0 && value == e.warning:
		return result.Warning, value >= e.near*e.harm
	}
	return result.OK, value > 0 && value >= e.near*e.warning
}

// worst returns the worst effect, and of equally bad ones the nearest to a worse status; nil without any.
func worst(j *result.Judged) (at *effect, status result.Status, near bool) {
	status = result.OK
	if j.Arrived == 0 && !seesHarm(j) {
		return nil, status, false
	}
	for i := range effects {
		s, isNear := effects[i].status(j)
		if s.Worse(status) || s == status && isNear && !near {
			at, status, near = &effects[i], s, isNear
		}
	}
	if j.Grows && status == result.OK {
		status, near = result.Warning, false
	}
	return at, status, near
}

// markOf is the mark of a status.
func markOf(s result.Status) Judgement {
	return map[result.Status]Judgement{result.OK: Good, result.Harm: Bad}[s]
}

// judgedGroup returns the figures of requests.
func judgedGroup(g *result.Group) *result.Judged {
	j := &result.Judged{Name: g.Name, Arrived: g.Arrived, NotServed: g.NotServedTotal(), WaitP99Ns: surelyWaited(g)}
	if g.Stall != nil {
		j.StallNs = g.Stall.MaxNs
	}
	if g.Freeze != nil {
		j.StallNs = max(j.StallNs, g.Freeze.MaxNs)
	}
	addClients(j, g.Clients)
	return j
}

// surelyWaited returns the wait p99 or, of too few waits for that, the highest percentile that they are enough for: the p99 is
// no less. It is 0 if nothing can be said.
func surelyWaited(g *result.Group) int64 {
	if ns, n, _ := g.WaitP99Ns(); measure.Enough(99, n) {
		return ns
	}
	return surely(g.Wait)
}

// surely is surelyWaited of a distribution.
func surely(w *result.Distribution) int64 {
	switch {
	case w == nil:
	case measure.Enough(99, w.Count):
		return w.P99Ns
	case measure.Enough(90, w.Count):
		return w.P90Ns
	case measure.Enough(50, w.Count):
		return w.P50Ns
	}
	return 0
}

// Group returns the judgement of a group, Neutral if no request arrived.
func Group(g *result.Group) Judgement {
	j := judgedGroup(g)
	if g.Arrived == 0 && !seesHarm(j) {
		return Neutral
	}
	_, status, _ := worst(j)
	return markOf(status)
}

// Mark returns the judgement of a workload or a priority level of a verdict, Neutral if no request arrived.
func Mark(v *result.Overall, of, name string) Judgement {
	status, any := result.OK, false
	if v == nil {
		return Neutral
	}
	for i := range v.Judged {
		j := &v.Judged[i]
		if j.Of != of || j.Name != name || j.Arrived == 0 && !seesHarm(j) {
			continue
		}
		_, s, _ := worst(j)
		if j.Limited && s == result.Harm {
			s = result.Warning
		}
		if any = true; s.Worse(status) {
			status = s
		}
	}
	if !any {
		return Neutral
	}
	return markOf(status)
}
