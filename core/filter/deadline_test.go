package filter

import (
	"testing"

	"apfsim/core/classify"
	"apfsim/core/rules"
)

// A request is received at 10 s, and its handler begins at 15 s.
func TestDeadlines(t *testing.T) {
	newest := rules.Latest().Version
	for _, c := range []struct {
		what        string
		version     string
		request     *classify.Attributes
		query       string
		want        int64 // in seconds
		endsTheWork bool
	}{
		{"a get has the server's", newest, pods("get"), "", 70, false},
		{"or a shorter one that it asks for", newest, pods("get"), "timeout=8s", 18, false},
		{"but not a longer one", newest, pods("get"), "timeout=80s", 70, false},
		{"0s asks for none", newest, pods("get"), "timeout=0s", 70, false},
		{"before 1.21, a request cannot ask for one", "1.20", pods("get"), "timeout=8s", 70, false},
		{"a write's handler has 34 s", newest, pods("update"), "", 49, true},
		{"or less", newest, pods("patch"), "timeout=8s", 18, true},
		{"a collection is deleted for as long as a list may take, and not longer", newest, pods("deletecollection"), "", 70, true},
		{"a path has the server's", newest, &classify.Attributes{User: "u", Verb: "post", Path: "/x"}, "", 70, false},
	} {
		s := settings(PriorityAndFairness, 10)
		var err error
		if s.Rules, err = rules.For(c.version); err != nil {
			t.Fatal(err)
		}
		k := kind(t, New(0, s, &host{}), c.request, c.query)
		if got := k.DeadlineNs(10*second, 15*second); got != c.want*second || k.EndsAtDeadline() != c.endsTheWork {
			t.Errorf("%s: the deadline is %v s and ends the work: %v; want %v s, %v", c.what, float64(got)/1e9, k.EndsAtDeadline(), c.want, c.endsTheWork)
		}
		if limit := k.TimeLimitNs(); limit > k.DeadlineNs(10*second, 15*second)-10*second {
			t.Errorf("%s: the least time limit is %d ns, which is later than the deadline", c.what, limit)
		}
	}
	f := New(0, settings(PriorityAndFairness, 10), &host{})
	for verb, want := range map[string]int64{"get": 60, "update": 34} {
		if got := kind(t, f, pods(verb), "").TimeLimitNs(); got != want*second {
			t.Errorf("%s: the least time limit is %d ns, want %d s", verb, got, want)
		}
	}
	exec := pods("create")
	exec.Subresource = "exec"
	for _, a := range []*classify.Attributes{pods("watch"), exec} {
		k := kind(t, New(0, settings(PriorityAndFairness, 10), &host{}), a, "timeout=8s")
		if k.TimeLimitNs() < NoLimitNs || k.EndsAtDeadline() {
			t.Errorf("%s %s has a deadline", a.Verb, a.Subresource)
		}
	}
}
