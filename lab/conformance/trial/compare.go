package trial

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Difference is a difference between two results.
type Difference struct {
	AtNs    int64  // the time from which it is observable
	Request int    // index of the request; -1 for a difference in the state of a level
	What    string // what differs
	Ours    string
	Theirs  string
}

// String returns the difference on one line.
func (d Difference) String() string {
	return fmt.Sprintf("at %d ns: %s: ours %s, upstream's %s", d.AtNs, d.What, d.Ours, d.Theirs)
}

// Compare returns the differences between two results of a trial, the earliest first.
func Compare(t *Trial, ours, theirs *Result) []Difference {
	var differences []Difference
	for i := range t.Requests {
		o, u := ours.Decisions[i], theirs.Decisions[i]
		if o == u {
			continue
		}
		at := t.Requests[i].ArrivalNs
		if o.FlowSchema == u.FlowSchema && o.PriorityLevel == u.PriorityLevel && o.Seats == u.Seats &&
			o.FinalSeats == u.FinalSeats && o.AdditionalNs == u.AdditionalNs {
			at = firstOf(o, u)
		}
		differences = append(differences, Difference{at, i, fmt.Sprintf("request %d", t.Requests[i].ID),
			fmt.Sprintf("%+v", o), fmt.Sprintf("%+v", u)})
	}
	for i := range min(len(ours.Snapshots), len(theirs.Snapshots)) {
		differences = append(differences, compareSnapshots(&ours.Snapshots[i], &theirs.Snapshots[i])...)
	}
	if o, u := len(ours.Snapshots), len(theirs.Snapshots); o != u {
		differences = append(differences, Difference{0, -1, "snapshots", fmt.Sprint(o), fmt.Sprint(u)})
	}
	if o, u := fmt.Sprint(ours.Rejections), fmt.Sprint(theirs.Rejections); o != u {
		differences = append(differences, Difference{math.MaxInt64, -1, "rejections by reason", o, u})
	}
	slices.SortStableFunc(differences, func(a, b Difference) int { return cmp.Compare(a.AtNs, b.AtNs) })
	return differences
}

// firstOf returns the earliest time at which the effects of two decisions differ.
func firstOf(a, b Decision) int64 {
	times := func(d Decision) []int64 {
		if d.Rejected {
			return []int64{d.EndNs}
		}
		return []int64{d.DispatchNs, d.EndNs}
	}
	x, y := times(a), times(b)
	if a.Rejected == b.Rejected {
		for i := range x {
			if x[i] != y[i] {
				return min(x[i], y[i])
			}
		}
	}
	return min(x[0], y[0])
}

func compareSnapshots(ours, theirs *Snapshot) []Difference {
	var differences []Difference
	differ := func(what string, o, u any) {
		if x, y := fmt.Sprintf("%+v", o), fmt.Sprintf("%+v", u); x != y {
			differences = append(differences, Difference{ours.AtNs, -1, what, x, y})
		}
	}
	names := func(s *Snapshot) string {
		var all []string
		for _, l := range s.Levels {
			all = append(all, l.Name)
		}
		return strings.Join(all, " ")
	}
	if o, u := names(ours), names(theirs); o != u {
		differ("levels", o, u)
		return differences
	}
	for i := range ours.Levels {
		o, u := ours.Levels[i], theirs.Levels[i]
		for j := range min(len(o.Queues), len(u.Queues)) {
			if o.Queues[j] != u.Queues[j] {
				differ(fmt.Sprintf("level %s, queue %d", o.Name, j), o.Queues[j], u.Queues[j])
			}
		}
		if len(o.Queues) != len(u.Queues) {
			differ("number of queues of level "+o.Name, len(o.Queues), len(u.Queues))
		}
		if !slices.Equal(o.Requests, u.Requests) {
			differ("requests at level "+o.Name, o.Requests, u.Requests)
		}
		o.Queues, u.Queues, o.Requests, u.Requests = nil, nil, nil, nil
		differ("level "+o.Name, o, u)
	}
	return differences
}
