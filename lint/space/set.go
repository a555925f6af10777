// Package space computes with sets of requests: the sets that the rules of FlowSchemas match. It
// decides whether some sets together contain another, and finds example requests in a set.
//
// A FlowSchema matches the union of its parts ([Part]), one for each pair of a subject and a rule.
// The part of a resource rule is a product of four sets of strings ([Box]); the part of a
// non-resource rule is a product of a set of verbs and a set of paths ([Paths]).
package space

import (
	"slices"

	"apfsim/core/config"
)

// Set is a set of strings. It is either a finite set or, if it is infinite, the complement of one.
type Set struct {
	infinite bool
	items    []string // the members of a finite set, the others of an infinite one; sorted and distinct
}

// Of returns the finite set of the given strings.
func Of(items ...string) Set {
	items = slices.Clone(items)
	slices.Sort(items)
	return Set{items: slices.Compact(items)}
}

// Except returns the infinite set of all strings other than the given ones.
func Except(items ...string) Set { return Of(items...).Not() }

// Matching returns the set of strings that a list in a rule matches, where a wildcard matches all.
func Matching(list []string) Set {
	if len(list) == 1 && list[0] == config.Wildcard {
		return Except()
	}
	return Of(list...)
}

// Infinite reports whether the set is the complement of a finite set.
func (s Set) Infinite() bool { return s.infinite }

// Items returns the members of a finite set in alphabetical order. The caller must not change them.
func (s Set) Items() []string {
	if s.infinite {
		panic("space: Items of an infinite set")
	}
	return s.items
}

// Empty reports whether the set has no members.
func (s Set) Empty() bool { return !s.infinite && len(s.items) == 0 }

// Has reports whether x is a member.
func (s Set) Has(x string) bool {
	_, found := slices.BinarySearch(s.items, x)
	return found != s.infinite
}

// Not returns the complement.
func (s Set) Not() Set { return Set{!s.infinite, s.items} }

// And returns the intersection.
func (s Set) And(t Set) Set {
	switch {
	case s.infinite && t.infinite:
		return Except(slices.Concat(s.items, t.items)...)
	case s.infinite:
		s, t = t, s
	}
	var items []string
	for _, x := range s.items {
		if t.Has(x) {
			items = append(items, x)
		}
	}
	return Set{items: items}
}

// Example returns a member of a set that is not empty: the first of the preferred strings that is a
// member, or any other member.
func (s Set) Example(preferred ...string) string {
	for _, x := range preferred {
		if s.Has(x) {
			return x
		}
	}
	if !s.infinite {
		return s.items[0]
	}
	x := "other"
	for !s.Has(x) {
		x += "x"
	}
	return x
}
