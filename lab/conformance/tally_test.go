package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"apfsim/lab/conformance/trial"
	"apfsim/sim/trace"
)

type record = trace.Record

// tally counts what has been compared.
type tally struct {
	decisions, trials, changed, clashing int
	hesitant                             int // trials in which upstream differs from itself
	snapshots, levels, queues            int
	different                            int
	byKind, byOutcome                    map[string]int
}

func newTally() *tally {
	return &tally{byKind: map[string]int{}, byOutcome: map[string]int{}}
}

func (c *tally) add(tr *trial.Trial, r *trial.Result) {
	c.trials++
	if len(tr.Changes) > 0 {
		c.changed++
	}
	hangUps := tr.HangUpsNs()
	for i := range tr.Requests {
		c.decisions++
		c.byKind[kind(&tr.Requests[i], &r.Decisions[i])]++
		d, arrivalNs := &r.Decisions[i], tr.Requests[i].ArrivalNs
		outcome := d.Outcome(arrivalNs)
		switch leftNs := arrivalNs + hangUps[i]; {
		case hangUps[i] == 0:
		case d.Rejected && d.EndNs == leftNs:
			outcome = "hung up while waiting"
		case !d.Rejected && d.DispatchNs < leftNs && leftNs < d.EndNs:
			outcome = "hung up while executing"
		}
		c.byOutcome[outcome]++
	}
	for _, s := range r.Snapshots {
		c.snapshots++
		for _, l := range s.Levels {
			c.levels++
			c.queues += len(l.Queues)
		}
	}
}

func (c *tally) differ(differences []trial.Difference) {
	for _, d := range differences {
		if d.Request >= 0 {
			c.different++
		}
	}
}

func kind(r *record, d *trial.Decision) string {
	switch {
	case r.Resource == "":
		return "non-resource"
	case d.FinalSeats > 0:
		return r.Verb + " with watchers"
	case d.Seats > 1:
		return r.Verb + " of several seats"
	}
	return r.Verb
}

// String returns the report of a run.
func (c *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d decisions in %d trials (%d with a configuration that changes), %d different\n", c.decisions, c.trials, c.changed, c.different)
	fmt.Fprintf(&b, "%d looks into the queues: %d levels, %d queues\n", c.snapshots, c.levels, c.queues)
	if c.clashing > 0 {
		fmt.Fprintf(&b, "%d trials left out: events coincide\n", c.clashing)
	}
	if c.hesitant > 0 {
		fmt.Fprintf(&b, "%d trials left out: upstream differs from itself\n", c.hesitant)
	}
	for _, counts := range []map[string]int{c.byOutcome, c.byKind} {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(&b, "  %-28s%9d\n", name, counts[name])
		}
	}
	return b.String()
}
