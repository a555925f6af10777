package maintain_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/core/maintain"
	"apfsim/core/rules"
)

// peer is a server of a cluster in a test.
type peer struct {
	release *maintain.Release
	phase   int64 // of its passes, in seconds
	stopped int64 // when it stops, in seconds; 0 if it does not
}

// maintained lets servers maintain a store until a time in seconds, and returns the writes with their
// times.
func maintained(s *maintain.Store, until int64, peers ...peer) (writes []string) {
	for now := range until {
		for i, p := range peers {
			if now%60 != p.phase || p.stopped > 0 && now >= p.stopped {
				continue
			}
			for _, w := range p.release.Pass(s, false) {
				what, _, _ := strings.Cut(w.String(), ":")
				writes = append(writes, fmt.Sprintf("%d server %d %s", now, i, what))
				s.Do(w)
			}
		}
	}
	return writes
}

// only returns the writes that name an object.
func only(writes []string, name string) (selected []string) {
	for _, w := range writes {
		if strings.HasSuffix(w, " "+name) {
			selected = append(selected, strings.TrimSuffix(w, " FlowSchema "+name))
		}
	}
	return selected
}

// M10: while a server of 1.33 makes its passes at 0 s and one of 1.34 at 20 s of each minute, the
// FlowSchema endpoint-controller exists for the first 20 s of each minute.
func TestM10TwoReleases(t *testing.T) {
	writes := maintained(created(t, "1.33"), 180, peer{release(t, "1.33"), 0, 0}, peer{release(t, "1.34"), 20, 0})
	got := only(writes, "endpoint-controller")
	if want := []string{"20 server 1 delete", "60 server 0 create", "80 server 1 delete", "120 server 0 create", "140 server 1 delete"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(writes) != 2*len(got) {
		t.Errorf("other objects than endpoint-controller and workload-leader-election are written: %q", writes)
	}
}

// M11: annotated false, it exists always, and nobody writes it.
func TestM11TwoReleasesWithAnnotation(t *testing.T) {
	s := created(t, "1.33")
	edit(s, maintain.FlowSchema, "endpoint-controller", "false", 1, nil)
	writes := maintained(s, 180, peer{release(t, "1.33"), 0, 0}, peer{release(t, "1.34"), 20, 0})
	if got := only(writes, "endpoint-controller"); got != nil {
		t.Errorf("got %q", got)
	}
}

// M12: when the server of 1.33 stops at 130 s, it has created the object for the last time at 120 s, and
// the one of 1.34 deletes it for good at 140 s.
func TestM12TheFightEndsWithTheOldServer(t *testing.T) {
	writes := maintained(created(t, "1.33"), 600, peer{release(t, "1.33"), 0, 130}, peer{release(t, "1.34"), 20, 0})
	got := only(writes, "endpoint-controller")
	if want := []string{"120 server 0 create", "140 server 1 delete"}; !slices.Equal(got[len(got)-2:], want) {
		t.Errorf("got %q at the end, want %q", got, want)
	}
}

// M13: system-leader-election is for endpoints, configmaps and leases in 1.23, and for leases only in 1.24.
// Each spec holds until the next pass of the other release: 45 s and 15 s of each minute, and the
// generation rises by 2.
func TestM13DifferentSpecs(t *testing.T) {
	s := created(t, "1.23")
	peers := []peer{{release(t, "1.23"), 0, 0}, {release(t, "1.24"), 45, 0}}
	var held [2]int // seconds with the spec of each
	for now := range int64(660) {
		for _, p := range peers {
			if now%60 == p.phase {
				s.Do(p.release.Pass(s, false)...)
			}
		}
		if now >= 60 {
			rules := s.Find(maintain.FlowSchema, "system-leader-election").Schema.Spec.Rules[0].ResourceRules
			held[2-len(rules)]++
		}
	}
	if held != [2]int{450, 150} {
		t.Errorf("the specs hold for %v s of 600", held)
	}
	if g := s.Find(maintain.FlowSchema, "system-leader-election").Generation; g != 22 {
		t.Errorf("generation %d after 11 minutes, want 22: 2 more for each, from 1 on, and none at 0 s", g)
	}
}

// M14: at the start, a server tries each second, and ends after 5 minutes; afterwards a pass that fails is
// repeated only by the next one, in a minute.
func TestM14Failures(t *testing.T) {
	r := release(t, "1.37")
	s := r.Start(7e9)
	now, ends := int64(7e9), false
	for tries := 1; !ends; tries++ {
		if !s.Starting() {
			t.Fatal("not starting any more")
		}
		if now, ends = s.Next(now, false); ends && (tries != 300 || now != 307e9) {
			t.Errorf("ends at %d ns after %d tries", now, tries)
		}
	}
	s = r.Start(7e9)
	var times []int64
	now = 7e9
	for _, ok := range []bool{false, false, true, true, false, true} {
		times = append(times, now/1e9)
		now, _ = s.Next(now, ok)
	}
	if want := []int64{7, 8, 9, 9, 69, 129}; !slices.Equal(times, want) {
		t.Errorf("passes at %v s, want %v", times, want)
	}
	old := release(t, "1.21").Start(0)
	now = 0
	for range 1000 {
		if now, ends = old.Next(now, false); ends {
			t.Fatalf("a server of 1.21 ends at %d ns", now)
		}
	}
}

// In a fight, nothing but the objects that only one of the releases has is contested, and none with the
// same release or between 1.25 and 1.26, which differ only in a field that 1.25 does not know.
func TestContests(t *testing.T) {
	for _, c := range []struct {
		first, second string
		want          string
	}{
		{"1.33", "1.34", "FlowSchema endpoint-controller, FlowSchema workload-leader-election"},
		{"1.34", "1.33", "FlowSchema workload-leader-election, FlowSchema endpoint-controller"},
		{"1.25", "1.26", ""},
		{"1.36", "1.37", ""},
		{"1.23", "1.24", "FlowSchema system-leader-election, FlowSchema endpoint-controller"},
	} {
		s := created(t, c.first)
		var names []string
		for _, contest := range maintain.Contests(release(t, c.first), release(t, c.second), s) {
			names = append(names, contest.Kind.String()+" "+contest.Name)
			if contest.First == nil && contest.Second == nil {
				t.Errorf("%s never exists", contest.Name)
			}
		}
		if got := strings.Join(names, ", "); got != c.want {
			t.Errorf("%s and %s: %s, want %s", c.first, c.second, got, c.want)
		}
		if before := created(t, c.first); !slices.EqualFunc(s.All(), before.All(), func(a, b *maintain.Object) bool { return reflect.DeepEqual(*a, *b) }) {
			t.Errorf("%s and %s: the store is changed", c.first, c.second)
		}
	}
}

// An object that is deleted and created again, or edited and put right, has the same pointer as before.
func TestSpecsKeepTheirPointers(t *testing.T) {
	s := maintain.Of(release(t, "1.33"), config.Suggested(mustRules(t, "1.33")))
	before := s.Objects()
	if n, m := len(before.FlowSchemas), len(before.PriorityLevels); n+m != len(s.All()) || n == 0 || m == 0 {
		t.Fatalf("%d FlowSchemas and %d levels are read from a store of %d objects", n, m, len(s.All()))
	}
	maintained(s, 70, peer{release(t, "1.33"), 0, 0}, peer{release(t, "1.34"), 20, 0})
	s.Do(s.Apply(level("workload-low", 7, nil))...)
	maintained(s, 20, peer{release(t, "1.33"), 0, 0})
	for _, f := range s.Objects().FlowSchemas {
		if f != before.FlowSchema(f.Name) {
			t.Errorf("%s is another object", f.Name)
		}
	}
	if s.Objects().PriorityLevel("workload-low") != before.PriorityLevel("workload-low") {
		t.Error("workload-low is another object")
	}
}

func mustRules(t *testing.T, version string) *rules.Rules {
	t.Helper()
	r, err := rules.For(version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
