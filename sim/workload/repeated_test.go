package workload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/sim/api"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/workload"
	"apfsim/sim/workload/workloadtest"
)

// shell is a client and a server that answers each request after 100 ms with the next of some answers, and then no
// more.
type shell struct {
	*workloadtest.Client
	answers []*api.Answer
}

func newShell(answers ...*api.Answer) *shell {
	s := &shell{answers: answers}
	s.Client = workloadtest.New(func(nowNs int64, r *workload.APIRequest) {
		if len(s.answers) > 0 {
			s.Answer(nowNs+100e6, r.Token, s.answers[0])
			s.answers = s.answers[1:]
		}
	})
	s.NoJitter = true
	return s
}

// want compares what was sent.
func (s *shell) want(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.Split(strings.TrimSpace(s.Log()), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func page(version, items int64, next string) *api.Answer {
	return &api.Answer{Status: 200, Version: version, Items: items, Continue: next}
}

func status(n int) *api.Answer { return &api.Answer{Status: n, Items: -1} }

func every(d time.Duration) quantity.Distribution { return quantity.Constant(quantity.Duration(d)) }

// A lister asks for page after page, and begins again 10 s after it has begun. It does not name the version of the
// later pages.
func TestListerPages(t *testing.T) {
	s := newShell(page(7, 500, "two"), page(7, 500, "three"), page(7, 12, ""), page(9, 3, ""))
	l := &workload.Lister{Selection: workload.Selection{Resource: "pods", Namespace: "team-{i}"}, Limit: 500, ResourceVersion: "0", Every: every(10 * time.Second)}
	s.Number = 3
	s.Run(l.Machine(s), 12e9)
	s.want(t,
		"0s list pods team-3/ rv=0 limit=500",
		"100ms list pods team-3/ limit=500 continue=two",
		"200ms list pods team-3/ limit=500 continue=three",
		"10s list pods team-3/ rv=0 limit=500")
	if n := s.Noted[0]; n.Event != metric.Listed || n.N != 1012 || n.Ns != 300e6 {
		t.Errorf("the first list is noted as %+v", n)
	}
}

// When a page has expired, the whole list is asked for; when that fails, or the first page, the next list begins at
// its time.
func TestListerStartsOverWhenAPageExpires(t *testing.T) {
	s := newShell(page(7, 500, "two"), status(410), page(9, 600, ""), status(410), page(9, 500, "two"), status(500))
	l := &workload.Lister{Selection: workload.Selection{Resource: "pods"}, Limit: 500, Every: every(time.Second)}
	s.Run(l.Machine(s), 3e9)
	s.want(t,
		"0s list pods limit=500",
		"100ms list pods limit=500 continue=two",
		"200ms list pods",
		"1s list pods limit=500",
		"2s list pods limit=500",
		"2.1s list pods limit=500 continue=two",
		"3s list pods limit=500")
	if s.Count(metric.Expired) != 2 || s.Noted[1].Event != metric.Listed || s.Noted[1].N != 600 {
		t.Errorf("noted %+v", s.Noted)
	}
}

// A list that takes longer than the interval is followed by the next one at once.
func TestListerIsLate(t *testing.T) {
	s := newShell(page(7, 1, "two"), page(7, 1, ""), page(8, 1, ""))
	s.Run((&workload.Lister{Selection: workload.Selection{Resource: "pods"}, Every: every(150 * time.Millisecond)}).Machine(s), 250e6)
	s.want(t, "0s list pods", "100ms list pods continue=two", "200ms list pods")
}

func kubectlOf(s *shell, command, name string) workload.Machine {
	return (&workload.Kubectl{Command: command, Resource: "configmaps", Namespace: "default", Name: name, Every: every(10 * time.Second)}).Machine(s)
}

// kubectl get lists in chunks of 500, and gets a single object by its name. When a chunk has expired, it ends.
func TestKubectlGet(t *testing.T) {
	s := newShell(page(7, 500, "two"), status(410), page(8, 1, ""))
	s.Run(kubectlOf(s, workload.Get, ""), 11e9)
	s.want(t,
		"0s list configmaps default/ limit=500",
		"100ms list configmaps default/ limit=500 continue=two",
		"10.2s list configmaps default/ limit=500")

	s = newShell(status(200))
	s.Run(kubectlOf(s, workload.Get, "cm"), 9e9)
	s.want(t, "0s get configmaps default/cm")
}

// kubectl apply reads the object and patches it, or creates it.
func TestKubectlApply(t *testing.T) {
	s := newShell(status(404), status(201), status(200), status(200))
	s.Run(kubectlOf(s, workload.ApplyClient, "cm"), 12e9)
	s.want(t,
		"0s get configmaps default/cm",
		"100ms create configmaps default/",
		"10.2s get configmaps default/cm",
		"10.3s patch configmaps default/cm")
	if name := s.Sent[1].Call.Body.Name; name != "cm" {
		t.Errorf("it creates %q", name)
	}
	if first, second := s.Sent[1].Call.Body.Fields["spec.applied"], s.Sent[3].Call.Body.Fields["spec.applied"]; first == second {
		t.Error("the second apply does not change anything")
	}
	if n := s.Count(metric.WriteDone); n != 2 {
		t.Errorf("%d writes are done, want 2", n)
	}
}

// After a conflict, an apply reads and patches again: the first time at once, then after 1 s each, five times in all.
func TestKubectlApplyConflicts(t *testing.T) {
	var answers []*api.Answer
	for range 6 {
		answers = append(answers, status(200), status(409))
	}
	s := newShell(answers...)
	s.Run(kubectlOf(s, workload.ApplyClient, "cm"), 9e9)
	var want []string
	for i, atNs := range []time.Duration{0, 200, 1400, 2600, 3800, 5000} {
		atNs *= time.Millisecond
		want = append(want, fmt.Sprintf("%v get configmaps default/cm", atNs), fmt.Sprintf("%v patch configmaps default/cm", atNs+100*time.Millisecond))
		if i == 5 {
			s.want(t, want...)
		}
	}
	if s.Count(metric.Conflicted) != 6 || s.Count(metric.WriteLost) != 1 {
		t.Errorf("noted %+v", s.Noted)
	}
}

// A server-side apply is one request. When it conflicts, it is for its user to force it.
func TestKubectlServerSideApply(t *testing.T) {
	s := newShell(status(201), status(409), status(200))
	s.Run(kubectlOf(s, workload.ApplyServer, "cm"), 30e9)
	s.want(t, "0s patch configmaps default/cm", "10.1s patch configmaps default/cm", "20.2s patch configmaps default/cm")
	if c := s.Sent[0].Call; c.Body.Patch != api.ApplyPatch || c.Options.FieldManager != "kubectl" || c.Options.Force {
		t.Errorf("it sends %+v", c)
	}
	if s.Count(metric.WriteDone) != 2 || s.Count(metric.WriteLost) != 1 {
		t.Errorf("noted %+v", s.Noted)
	}
}

// kubectl delete waits until the object is gone: it looks, and then watches it by its name. Then its watch is over.
func TestKubectlDeleteWaits(t *testing.T) {
	s := newShell(status(200), status(200), nil)
	s.answers = s.answers[:2]
	o := &api.Object{Namespace: "default", Name: "cm", Version: 7}
	s.At(1e9, func(nowNs int64) {
		const watch = 1
		s.Event(nowNs, watch, &api.Event{Type: api.Added, Version: 7, Object: o})
		s.Event(nowNs, watch, &api.Event{Type: api.Bookmark, InitialEnd: true, Version: 8})
		s.Event(nowNs+2e9, watch, &api.Event{Type: api.Deleted, Version: 9, Object: o})
	})
	s.Run(kubectlOf(s, workload.Delete, "cm"), 14e9)
	s.want(t,
		"0s delete configmaps default/cm",
		"100ms get configmaps default/cm",
		"200ms watch configmaps default/cm match=NotOlderThan initial=true bookmarks",
		"13s delete configmaps default/cm")
	if s.Open(1) {
		t.Error("the watch is still open")
	}
	if selector := s.Sent[2].Call.Options.FieldSelector; selector != "metadata.name=cm" {
		t.Errorf("it watches %q", selector)
	}
}

// The watch of a deletion is too old, and the list that follows does not have the object any more. That ends the command
// once.
func TestKubectlDeleteListsAgain(t *testing.T) {
	s := newShell(status(200), status(200), status(422), page(7, 1, ""))
	s.answers[3].Objects = []*api.Object{{Namespace: "default", Name: "cm", Version: 7}}
	s.At(1e9, func(nowNs int64) {
		s.answers = []*api.Answer{status(422), page(9, 0, "")}
		s.Event(nowNs, 1, &api.Event{Type: api.Error, Failure: status(410)})
	})
	s.Run(kubectlOf(s, workload.Delete, "cm"), 13e9)
	s.want(t,
		"0s delete configmaps default/cm",
		"100ms get configmaps default/cm",
		"200ms watch configmaps default/cm match=NotOlderThan initial=true bookmarks",
		"300ms list configmaps default/cm rv=0 limit=500",
		"400ms watch configmaps default/cm rv=7 bookmarks",
		"1.8s watch configmaps default/cm rv=7 match=NotOlderThan initial=true bookmarks",
		"1.9s list configmaps default/cm rv=7",
		"12s delete configmaps default/cm")
}

// What fails ends a command, and only a write that fails is lost.
func TestKubectlFails(t *testing.T) {
	for _, c := range []struct {
		command string
		answers []*api.Answer
		lost    int
	}{
		{workload.Get, []*api.Answer{status(500)}, 0},
		{workload.ApplyClient, []*api.Answer{status(500)}, 0},
		{workload.ApplyClient, []*api.Answer{status(200), status(500)}, 1},
		{workload.ApplyClient, []*api.Answer{status(404), status(500)}, 1},
		{workload.ApplyServer, []*api.Answer{status(500)}, 1},
		{workload.Delete, []*api.Answer{status(500)}, 0},
		{workload.Delete, []*api.Answer{status(200), status(500)}, 0},
	} {
		s := newShell(c.answers...)
		s.Run(kubectlOf(s, c.command, "cm"), 5e9)
		if lost, done := s.Count(metric.WriteLost), s.Count(metric.WriteDone); lost != c.lost || done != 0 {
			t.Errorf("%s: %d writes are lost and %d done, want %d and 0; %s", c.command, lost, done, c.lost, s.Log())
		}
		if n := len(s.Sent); n != len(c.answers) {
			t.Errorf("%s: %d requests were sent, want %d", c.command, n, len(c.answers))
		}
	}
}

// If the object is gone when kubectl looks, or begins to watch, there is nothing to wait for.
func TestKubectlDeleteFindsTheObjectGone(t *testing.T) {
	s := newShell(status(200), status(404))
	s.Run(kubectlOf(s, workload.Delete, "cm"), 5e9)
	s.want(t, "0s delete configmaps default/cm", "100ms get configmaps default/cm")

	s = newShell(status(200), status(200), status(422), page(9, 0, "")) // a server without watches that send objects first
	s.Run(kubectlOf(s, workload.Delete, "cm"), 5e9)
	s.want(t,
		"0s delete configmaps default/cm",
		"100ms get configmaps default/cm",
		"200ms watch configmaps default/cm match=NotOlderThan initial=true bookmarks",
		"300ms list configmaps default/cm rv=0 limit=500")
}

// Nothing begins after the end of the workload.
func TestCommandsEnd(t *testing.T) {
	s := newShell(status(200), status(200))
	s.UntilNs = 5e9
	s.Run(kubectlOf(s, workload.Get, "cm"), 60e9)
	s.want(t, "0s get configmaps default/cm")
}
