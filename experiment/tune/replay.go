package tune

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/trace"
	"apfsim/sim/workload"
)

// A replay has one workload with the requests of everybody. Candidates are about clients, so that the search divides the
// requests: each of the most important users gets a workload of its own, and all nodes have one together. The requests are
// read once, and not for each run.

// mostRecorded is how many requests of a log are searched at most. They are kept in memory.
const mostRecorded = 3_000_000

// mostApart is how many users get a workload of their own by each of the two measures.
const mostApart = 12

// The prefixes of the names of users.
const (
	nodePrefix = "system:node:"
	nodesName  = "nodes"
)

// sentBy is the requests of a user, or of all nodes.
type sentBy struct {
	name     string // of the user; nodePrefix of nodes
	requests []trace.Arrival
	rejected int
	seatNs   float64 // execution times seats
	nodes    map[string]bool
}

// Divide returns the scenario with the requests of its traces divided by users: each of the most important users has a
// workload of its own. A scenario without traces is returned as it is. The error is an Infeasible for a trace that is too
// long, and else that of reading it.
func Divide(sc *scenario.Scenario) (*scenario.Scenario, error) {
	if !replays(sc) {
		return sc, nil
	}
	own := *sc
	own.Spec.Workload = nil
	for i := range sc.Spec.Workload {
		w := sc.Spec.Workload[i]
		if w.Arrivals.Trace == nil {
			own.Spec.Workload = append(own.Spec.Workload, w)
			continue
		}
		requests, err := readTrace(sc, w.Arrivals.Trace)
		if err != nil {
			return nil, err
		}
		own.Spec.Workload = append(own.Spec.Workload, divideRequests(&w, requests)...)
	}
	return &own, nil
}

// readTrace reads the requests of a trace that arrive in the run.
func readTrace(sc *scenario.Scenario, t *workload.TraceArrivals) ([]trace.Arrival, error) {
	reader, err := t.Open()
	if err != nil {
		return nil, err
	}
	reader.Stored, reader.Decided = sc.Spec.Store != nil, t.Decided != ""
	requests, err := trace.ReadAll(reader, int64(sc.Spec.Duration), mostRecorded)
	if err == nil && requests == nil {
		err = &Infeasible{fmt.Sprintf("%s has no request that arrives in the run, or more than %d; import a part of the log with --from and --to", t.Path, mostRecorded)}
	}
	return requests, err
}

// divideRequests returns the workloads of the most important users, and that of all others, which keeps the name.
func divideRequests(w *workload.Workload, requests []trace.Arrival) []workload.Workload {
	users := map[string]*sentBy{}
	for _, a := range requests {
		user := a.Kind.Attributes.User
		key := user
		if strings.HasPrefix(user, nodePrefix) {
			key = nodePrefix
		}
		u := users[key]
		if u == nil {
			u = &sentBy{name: key, nodes: map[string]bool{}}
			users[key] = u
		}
		u.nodes[user] = true
		u.requests = append(u.requests, a)
		seats := 1
		if a.Logged != nil {
			seats = max(1, a.Logged.Seats)
			if a.Logged.Outcome == trace.Rejected {
				u.rejected++
			}
		}
		u.seatNs += float64(a.ExecutionNs) * float64(seats)
	}
	apart := importantUsers(users)
	var all []workload.Workload
	others := *w
	rest := *w.Arrivals.Trace
	rest.Requests = nil
	names := map[string]bool{w.Name: true}
	for _, u := range apart {
		part := *w
		part.Name, part.As = u.workloadName(names), u.identity()
		names[part.Name] = true
		own := rest
		own.Requests = u.requests
		part.Arrivals.Trace = &own
		all = append(all, part)
	}
	for _, a := range requests {
		if !slices.ContainsFunc(apart, func(u *sentBy) bool { return u.nodes[a.Kind.Attributes.User] }) {
			rest.Requests = append(rest.Requests, a)
		}
	}
	if len(rest.Requests) > 0 {
		others.Arrivals.Trace = &rest
		all = append(all, others)
	}
	return all
}

// importantUsers returns those with the most requests that were rejected and those with the most seat-seconds, in the
// order of their names.
func importantUsers(users map[string]*sentBy) (apart []*sentBy) {
	maps.DeleteFunc(users, func(name string, _ *sentBy) bool { return strings.HasPrefix(name, result.UnknownUser) }) // whom no FlowSchema can name
	all := slices.SortedFunc(maps.Values(users), func(a, b *sentBy) int { return strings.Compare(a.name, b.name) })
	for _, measure := range []func(*sentBy) float64{
		func(u *sentBy) float64 { return float64(u.rejected) },
		func(u *sentBy) float64 { return u.seatNs },
	} {
		slices.SortStableFunc(all, func(a, b *sentBy) int { return cmp.Compare(measure(b), measure(a)) })
		for _, u := range all[:min(len(all), mostApart)] {
			if measure(u) > 0 && !slices.Contains(apart, u) {
				apart = append(apart, u)
			}
		}
	}
	slices.SortFunc(apart, func(a, b *sentBy) int { return strings.Compare(a.name, b.name) })
	return apart
}

// workloadName returns the name of the user without what Kubernetes puts before it, unless that is taken.
func (u *sentBy) workloadName(taken map[string]bool) string {
	name := u.name
	if name == nodePrefix {
		name = nodesName
	}
	short := strings.TrimPrefix(name, accountPrefix)
	if short == "" || taken[short] {
		short = name
	}
	for n := 2; taken[short]; n++ {
		short = fmt.Sprintf("%s-%d", name, n)
	}
	// A name of a workload has none of these.
	return strings.NewReplacer("{", "(", "}", ")", ",", ";", `"`, "'").Replace(short)
}

// identity returns who sends the requests, for the subjects of FlowSchemas.
func (u *sentBy) identity() workload.Identity {
	if u.name == nodePrefix {
		return workload.Identity{Node: "{i}"}
	}
	if namespace, name, ok := strings.Cut(strings.TrimPrefix(u.name, accountPrefix), ":"); ok && strings.HasPrefix(u.name, accountPrefix) {
		return workload.Identity{ServiceAccount: namespace + "/" + name}
	}
	if u.name == "" {
		return workload.Identity{Anonymous: true}
	}
	return workload.Identity{User: u.name}
}
