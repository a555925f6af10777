package space

import (
	"slices"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/request"
)

// Dimensions of a Box.
const (
	Verbs = iota
	APIGroups
	Resources  // resource or resource/subresource
	Namespaces // "" for requests without a namespace
	dimensions
)

// Box is a set of requests for resources: the product of a set in each dimension.
type Box [dimensions]Set

// BoxOf returns the requests that a resource rule matches.
func BoxOf(r *config.ResourceRule) Box {
	var namespaces Set
	if len(r.Namespaces) > 0 {
		namespaces = Matching(r.Namespaces).And(Except(""))
	}
	if r.ClusterScope && namespaces.infinite {
		namespaces = Except()
	} else if r.ClusterScope {
		namespaces.items = slices.Insert(slices.Clone(namespaces.items), 0, "")
	}
	return Box{Matching(r.Verbs), Matching(r.APIGroups), Matching(r.Resources), namespaces}
}

// And returns the intersection of two boxes; ok is false if it is empty.
func (b Box) And(c Box) (both Box, ok bool) {
	for d := range b {
		if both[d] = b[d].And(c[d]); both[d].Empty() {
			return both, false
		}
	}
	return both, true
}

// Uncovered returns a part of b that is in none of the others; found is false if the others cover b.
//
// It subtracts the first box that intersects b. The difference consists of at most one box for each
// dimension, and Uncovered continues with each of them and the remaining boxes. The time may be
// exponential in the number of others, so that steps bounds the number of subtractions. It is
// decreased by each of them. When it is used up, b counts as uncovered.
func (b Box) Uncovered(others []Box, steps *int) (part Box, found bool) {
	for i, other := range others {
		both, ok := b.And(other)
		if !ok {
			continue
		}
		if *steps--; *steps < 0 {
			return b, true
		}
		remaining := b
		for d := range remaining {
			outside := remaining
			outside[d] = remaining[d].And(other[d].Not())
			if !outside[d].Empty() {
				if part, found := outside.Uncovered(others[i+1:], steps); found {
					return part, true
				}
			}
			remaining[d] = both[d]
		}
		return Box{}, false
	}
	return b, true
}

// Request returns a request of the box by a user that the subject matches. The box must not be
// empty.
func (b Box) Request(s *config.Subject) *classify.Attributes {
	a := &classify.Attributes{
		Verb:      b[Verbs].Example("get", "list", "watch", "create", "update"),
		APIGroup:  b[APIGroups].Example("", "apps"),
		Namespace: b[Namespaces].Example("default", ""),
	}
	a.Resource, a.Subresource = request.SplitSubresource(b[Resources].Example("pods", "deployments", "nodes"))
	a.User, a.Groups = ExampleUser(s)
	return a
}
