package space

import (
	"testing"

	"pgregory.net/rapid"

	"apfsim/core/config"
)

// universe has the strings that occur in drawn sets, and one other string that represents all others.
var universe = []string{"", "a", "b", "c", "unknown"}

var drawSet = rapid.Custom(func(t *rapid.T) Set {
	s := Of(rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "c"}), 0, 4).Draw(t, "items")...)
	if rapid.Bool().Draw(t, "infinite") {
		return s.Not()
	}
	return s
})

var drawBox = rapid.Custom(func(t *rapid.T) Box {
	var b Box
	for d := range b {
		b[d] = drawSet.Draw(t, "dimension")
	}
	return b
})

func (b Box) has(point [dimensions]string) bool {
	for d := range b {
		if !b[d].Has(point[d]) {
			return false
		}
	}
	return true
}

// points returns all points with coordinates in the universe.
func points() (all [][dimensions]string) {
	all = [][dimensions]string{{}}
	for d := range dimensions {
		var next [][dimensions]string
		for _, p := range all {
			for _, x := range universe {
				p[d] = x
				next = append(next, p)
			}
		}
		all = next
	}
	return all
}

func TestSetsAgreeWithMembership(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSet.Draw(t, "a"), drawSet.Draw(t, "b")
		members := 0
		for _, x := range universe {
			if got, want := a.And(b).Has(x), a.Has(x) && b.Has(x); got != want {
				t.Errorf("%q is in the intersection of %v and %v: %v, want %v", x, a, b, got, want)
			}
			if a.Not().Has(x) == a.Has(x) {
				t.Errorf("%q is in both %v and its complement, or in neither", x, a)
			}
			if a.Has(x) {
				members++
			}
		}
		if a.Empty() != (members == 0) {
			t.Errorf("%v has %d members, Empty is %v", a, members, a.Empty())
		}
		if !a.Empty() && !a.Has(a.Example("c", "b")) {
			t.Errorf("the example of %v is %q, which is not a member", a, a.Example("c", "b"))
		}
	})
}

// Uncovered finds a part if and only if some point of the box is in none of the others, and all
// points of the part are such points.
func TestUncoveredAgreesWithEnumeration(t *testing.T) {
	all := points()
	rapid.Check(t, func(t *rapid.T) {
		b := drawBox.Draw(t, "box")
		others := rapid.SliceOfN(drawBox, 0, 6).Draw(t, "others")
		steps := maxSteps
		part, found := b.Uncovered(others, &steps)
		want, inPart := false, false
		for _, p := range all {
			covered := false
			for _, o := range others {
				covered = covered || o.has(p)
			}
			want = want || b.has(p) && !covered
			if found && part.has(p) {
				inPart = true
				if !b.has(p) || covered {
					t.Fatalf("%q is in the uncovered part %v, but not in %v or in another box", p, part, b)
				}
			}
		}
		if nonEmpty := !(b[0].Empty() || b[1].Empty() || b[2].Empty() || b[3].Empty()); nonEmpty && (found != want || found != inPart) {
			t.Fatalf("%v without %v: found is %v, want %v", b, others, found, want)
		}
	})
}

// When the steps are used up, a box counts as uncovered, although it is covered.
func TestUncoveredGivesUp(t *testing.T) {
	b := Box{Of("a", "b"), Of("a"), Of("a"), Of("a")}
	others := []Box{{Of("a"), Of("a"), Of("a"), Of("a")}, {Of("b"), Of("a"), Of("a"), Of("a")}}
	for steps, want := range map[int]bool{2: false, 1: true} {
		if _, found := b.Uncovered(others, &steps); found != want {
			t.Errorf("found is %v, want %v", found, want)
		}
	}
}

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		p, q    string
		contain bool
		example string
	}{
		{"*", "/healthz", true, "/healthz"},
		{"/healthz", "*", false, "/healthz"},
		{"/healthz", "/healthz/*", true, "/healthz/x"},
		{"/healthz/*", "/healthz", false, "/healthz/x"},
		{"/healthz", "/healthz/etcd", true, "/healthz/etcd"},
		{"/healthz", "/healthzz", false, ""},
	} {
		p, q := PathsOf(c.p), PathsOf(c.q)
		if got := p.Contain(q); got != c.contain {
			t.Errorf("%s contains %s: %v, want %v", c.p, c.q, got, c.contain)
		}
		if got := p.Example(q); got != c.example {
			t.Errorf("a path in %s and %s: %q, want %q", c.p, c.q, got, c.example)
		}
	}
}

// A subject includes another if all users of the latter have the groups that the former needs.
func TestIncludes(t *testing.T) {
	user := func(name string) config.Subject {
		return config.Subject{Kind: config.SubjectUser, User: &config.UserSubject{Name: name}}
	}
	account := func(namespace, name string) config.Subject {
		return config.Subject{Kind: config.SubjectServiceAccount, ServiceAccount: &config.ServiceAccountSubject{Namespace: namespace, Name: name}}
	}
	for _, c := range []struct {
		t, s config.Subject
		want bool
	}{
		{user("*"), user("alice"), true},
		{user("alice"), user("*"), false},
		{group("system:authenticated"), user("alice"), true},
		{group("system:authenticated"), user("system:anonymous"), false},
		{group("system:unauthenticated"), user("system:anonymous"), true},
		{group("system:authenticated"), group("system:masters"), true},
		{account("a", "*"), account("a", "x"), true},
		{account("a", "x"), account("a", "*"), false},
		{account("a", "x"), user("system:serviceaccount:a:x"), true},
		{user("system:serviceaccount:a:x"), account("a", "x"), true},
		{group("system:serviceaccounts:a"), account("a", "*"), true},
		{group("system:serviceaccounts"), group("system:serviceaccounts:a"), true},
		{account("a", "*"), group("system:serviceaccounts:a"), false}, // by impersonation
	} {
		if got := includes(&c.t, &c.s); got != c.want {
			t.Errorf("%+v includes %+v: %v, want %v", c.t, c.s, got, c.want)
		}
	}
}
