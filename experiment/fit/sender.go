package fit

import (
	"slices"
	"strings"

	"apfsim/experiment/fit/shape"
)

// sender is clients that send several kinds of requests. Each kind is a workload of its own, which is right if they
// are independent. They are not if a client waits for the response to one before it sends another: the kinds are
// then one closed workload, from which requests are drawn by weight.
type sender struct {
	name     string
	kinds    []*workload // the one with the most requests first
	observed *shape.Observations
	tally    Tally

	decided, isClosed bool
}

// findSenders finds the workloads that have the same clients. Watches are not among them: clients do
// not wait for their end.
func (f *fitter) findSenders() {
	by := map[string]*sender{}
	var inOrder []*sender
	taken := map[string]bool{}
	for _, w := range f.workloads {
		taken[w.name] = true
		if w.joined || w.members[0].attributes.Verb == "watch" {
			continue
		}
		key := w.clientsKey()
		s := by[key]
		if s == nil {
			s = &sender{}
			by[key] = s
			inOrder = append(inOrder, s)
		}
		s.kinds = append(s.kinds, w)
	}
	for _, s := range inOrder {
		if len(s.kinds) == 1 {
			continue
		}
		clients := 0
		for _, w := range s.kinds {
			w.sender = s
			clients = max(clients, len(w.observed.Clients))
		}
		s.observed = shape.NewObservations(clients, f.report.DurationNs)
		first := s.kinds[0]
		s.name = unique(slug(withoutPrefix(first.generalized(first.members[0].user))), taken)
	}
}

// clientsKey returns the key by which workloads with the same clients are found.
func (w *workload) clientsKey() string {
	first := w.members[0]
	parts := append([]string{w.generalized(first.user)}, first.groups...)
	if w.numbered > 0 { // a client that did not send requests of a kind by chance is still one of them
		return strings.Join(parts, "\x00")
	}
	for _, m := range w.members {
		parts = append(parts, m.user, m.token)
	}
	return strings.Join(parts, "\x00")
}

// closed says whether one closed workload explains the arrivals better than a workload for each kind does. The
// likelihoods of both can be compared, because a Poisson process from which kinds are drawn is the same as a
// Poisson process for each kind.
func (s *sender) closed() bool {
	if !s.decided {
		s.decided = true
		together := s.observed.FitArrivals()
		gain := 0.0
		for _, w := range s.kinds {
			if w.observed.First > 0 {
				gain += w.observed.FitArrivals().Gain
			}
		}
		s.isClosed = together.Closed && together.Gain > gain &&
			slices.ContainsFunc(s.kinds[1:], func(w *workload) bool { return w.observed.First > 0 })
	}
	return s.isClosed
}
