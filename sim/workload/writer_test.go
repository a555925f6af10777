package workload_test

import (
	"testing"
	"time"

	"apfsim/sim/api"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/workload"
)

var (
	defaultRetry = workload.Conflict{Steps: 5, Duration: quantity.Duration(10 * time.Millisecond), Factor: 1, Jitter: 0.1}
	lockstep     = workload.Conflict{Steps: 5, Duration: quantity.Duration(10 * time.Millisecond), Factor: 1}
)

// settings are those of clients that write one object once in an hour.
func settings(change func(w *workload.Writer)) *workload.Writer {
	w := &workload.Writer{Resource: "configmaps", Namespace: "shared", Objects: 1, With: workload.Put, Version: true,
		Every: quantity.Constant(quantity.Duration(time.Hour))}
	if change != nil {
		change(w)
	}
	return w
}

// together runs writers whose first writes begin at the same time, if the server's client has no jitter.
func together(s *server, n int, w *workload.Writer) {
	s.put(0, "configmaps/shared/counters-0", nil, api.Object{Namespace: "shared", Name: "counters-0", DeletionNs: -1})
	s.Run(newSeveral(s, n, func(c workload.Client) workload.Machine { return w.Machine(c) }), 1800*second)
}

// Row C17: ten clients get and update one object in lockstep. One of them succeeds each time; after five tries
// five have written, and five give up.
func TestLockstep(t *testing.T) {
	s := newServer()
	s.NoJitter = true
	together(s, 10, settings(func(w *workload.Writer) { w.RetryOnConflict = &lockstep }))
	if done, lost, conflicts := s.Count(metric.WriteDone), s.Count(metric.WriteLost), s.Count(metric.Conflicted); done != 5 || lost != 5 || conflicts != 9+8+7+6+5 {
		t.Errorf("%d have written and %d given up after %d conflicts, want 5, 5 and 35", done, lost, conflicts)
	}
	next := int64(1)
	for _, n := range s.Noted {
		switch n.Event {
		case metric.WriteDone: // GET and PUT take 20 ms, the wait 10 ms
			if want := 20*millisecond + (next-1)*30*millisecond; n.N != next || n.Ns != want {
				t.Errorf("write %d took %d tries and %v, want %v", next, n.N, time.Duration(n.Ns), time.Duration(want))
			}
			next++
		case metric.WriteLost:
			if n.N != 5 || n.Ns != 140*millisecond {
				t.Errorf("given up after %d tries and %v, want 5 and 140ms", n.N, time.Duration(n.Ns))
			}
		}
	}
}

// Row D12: clients that are not in lockstep write more often: of 10 a real server has let 8 to 10 write, and of 20
// 14 to 17. Ours has no load that would spread them more.
func TestNotInLockstep(t *testing.T) {
	for _, test := range []struct{ clients, least, most int }{{10, 7, 10}, {20, 10, 18}} {
		for seed := range uint64(20) {
			s := newServer()
			s.NoJitter, s.latencyNs = true, scattered(seed)
			together(s, test.clients, settings(func(w *workload.Writer) { w.RetryOnConflict = &defaultRetry }))
			if done := s.Count(metric.WriteDone); done < test.least || done > test.most {
				t.Errorf("seed %d: %d of %d have written, want from %d to %d", seed, done, test.clients, test.least, test.most)
			}
		}
	}
}

// Row C6: without a version nobody gets a conflict, but who writes last has replaced what the others have
// written since it has read. Of ten in lockstep nine have.
func TestLostUpdates(t *testing.T) {
	s := newServer()
	s.NoJitter = true
	together(s, 10, settings(func(w *workload.Writer) { w.Version = false }))
	if done, lost := s.Count(metric.WriteDone), s.Count(metric.Overwritten); done != 10 || lost != 9 {
		t.Errorf("%d writes, %d of which have overwritten others, want 10 and 9", done, lost)
	}
	if o := s.objects["configmaps/shared/counters-0"]; len(o.Fields) != 1 || o.Fields["f9"] != "9.1" {
		t.Errorf("the object has %v, want only what the last one has written", o.Fields)
	}
}

// Row C11: patches of fields of their own leave those of the others.
func TestPatches(t *testing.T) {
	s := newServer()
	s.NoJitter = true
	together(s, 10, settings(func(w *workload.Writer) { w.With = workload.Patch }))
	if o := s.objects["configmaps/shared/counters-0"]; len(o.Fields) != 10 || s.Count(metric.WriteDone) != 10 || s.count("get", "configmaps") != 0 {
		t.Errorf("the object has %v after %d writes", o.Fields, s.Count(metric.WriteDone))
	}
}

// An apply names its manager, and says whether it takes fields away from others.
func TestApply(t *testing.T) {
	s := newServer()
	s.NoJitter = true
	together(s, 2, settings(func(w *workload.Writer) { w.With, w.Force, w.Field = workload.Apply, true, "spec.replicas" }))
	for i, q := range s.Sent {
		o, b := q.Call.Options, q.Call.Body
		if q.Verb != "patch" || b.Patch != api.ApplyPatch || !o.Force || o.FieldManager != []string{"counters-0", "counters-1"}[i] || b.Fields["spec.replicas"] == "" {
			t.Errorf("sent %v with %+v and %+v", q, o, b)
		}
	}
}

// Objects that do not exist are created. Who comes too late reads what the other one has created.
func TestCreation(t *testing.T) {
	s := newServer()
	s.NoJitter = true
	s.Run(newSeveral(s, 2, func(c workload.Client) workload.Machine { return settings(nil).Machine(c) }), 1800*second)
	if o := s.objects["configmaps/shared/counters-0"]; o == nil || len(o.Fields) != 2 || s.Count(metric.WriteDone) != 2 || s.Count(metric.Conflicted) != 0 {
		t.Errorf("object %+v, notes %+v", o, s.Noted)
	}
}

// Writes begin every 30 ms, or when the one before has ended: one of GET and PUT takes 20 ms, and one that has to
// wait for its retry 50 ms.
func TestEvery(t *testing.T) {
	s := newServer()
	s.NoJitter, s.UntilNs = true, second
	s.fails = func(nowNs int64, r *workload.APIRequest) *api.Answer {
		if r.Verb == "update" && nowNs < 50*millisecond {
			return &api.Answer{Status: 409, Reason: "Conflict"}
		}
		return nil
	}
	w := settings(func(w *workload.Writer) {
		w.RetryOnConflict, w.Every = &lockstep, quantity.Constant(quantity.Duration(30*time.Millisecond))
	})
	together(s, 1, w)
	// Tries at 0, 30 and 60 ms; the next writes at 80, 110, … ms; none from 1 s on.
	if done := s.Count(metric.WriteDone); done != 1+(1000-80+29)/30 {
		t.Errorf("%d writes", done)
	}
}
