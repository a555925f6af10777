package store

import (
	"fmt"
	"testing"

	"apfsim/sim/quantity"
)

// N9 of the store's facts: events that live for 3600 s get leases of 3660 s. Two are written under one lease and
// go together when it expires, in one revision. The third one comes when the lease would end before its time to
// live does. An event that is written again lives on under the new lease.
func TestN9EventsExpire(t *testing.T) {
	w := newWorld(Settings{EventTTL: quantity.Duration(3600 * second)})
	r := w.Resource(events)
	if !r.NeedsLease(0) || w.Resource(pods).NeedsLease(0) {
		t.Error("the first event, and no pod, needs a lease")
	}
	put(t, 0, r, object("a", "y"))
	if r.NeedsLease(0) || r.NeedsLease(59*second) || !r.NeedsLease(60*second) {
		t.Error("a lease is not used for 60 s")
	}
	put(t, 59*second, r, object("a", "x"))
	put(t, 59*second, r, object("a", "x")) // belongs to its lease once
	put(t, 59*second, r, object("a", "again"))
	put(t, 60*second, r, object("a", "again"))
	put(t, 60*second, r, object("a", "z"))
	put(t, 60*second, w.Resource(pods), object("a", "p")) // revision 8

	w.run(3660*second - 1)
	if r.Len() != 4 || w.Revision() != 8 {
		t.Errorf("%d events at revision %d before the lease expires, want 4 at 8", r.Len(), w.Revision())
	}
	w.run(3660 * second)
	if got, want := w.history(t, r, 8), "9 DELETED a/x, 9 DELETED a/y"; got != want {
		t.Errorf("history %s, want %s", got, want)
	}
	if events, _ := r.Since(8); events != nil {
		for e := range events {
			if e.AtNs != 3660*second {
				t.Errorf("%s expired at %d ns, want 3660 s", e.Object.Name, e.AtNs)
			}
		}
	}
	w.run(3720 * second)
	if got, want := w.history(t, r, 9), "10 DELETED a/again, 10 DELETED a/z"; got != want {
		t.Errorf("history %s, want %s", got, want)
	}
	if w.Resource(pods).Len() != 1 {
		t.Error("a pod has expired")
	}
}

// A lease of 1000 objects takes no more, and one that has lost all its objects makes no revision. The extra time
// of short leases is a twentieth of the time to live.
func TestLeases(t *testing.T) {
	w := newWorld(Settings{EventTTL: quantity.Duration(100 * second)})
	r := w.Resource(events)
	for i := range 1001 {
		put(t, 0, r, object("a", fmt.Sprintf("e%04d", i)))
		if full := r.NeedsLease(0); full != (i == 999) {
			t.Errorf("after event %d, another lease is needed: %v", i, full)
		}
	}
	r.Delete(1, "a", "e1000", r.Get("a", "e1000").Version)
	revision := w.Revision()
	w.run(105*second - 1)
	if r.Len() != 1000 {
		t.Errorf("%d events before 105 s, want 1000", r.Len())
	}
	w.run(106 * second)
	if r.Len() != 0 || w.Revision() != revision+1 {
		t.Errorf("%d events at revision %d after 105 s, want 0 at %d", r.Len(), w.Revision(), revision+1)
	}
}

// An event that was deleted and created again belongs to the lease of its new life only.
func TestLeaseOfAnEarlierLife(t *testing.T) {
	w := newWorld(Settings{EventTTL: quantity.Duration(100 * second)})
	r := w.Resource(events)
	first := put(t, 0, r, object("a", "x"))
	r.Delete(1, "a", "x", first.Version)
	put(t, 50*second, r, object("a", "x"))
	w.run(105 * second)
	if r.Get("a", "x") == nil {
		t.Error("the event has expired with its earlier life's lease")
	}
	w.run(155 * second)
	if r.Get("a", "x") != nil {
		t.Error("the event has not expired")
	}
}
