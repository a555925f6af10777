package store

import (
	"testing"

	"apfsim/sim/quantity"
)

// N8 of the store's facts: server A tries at 5, 10, … min and B at 7, 12, … The first try of each only notes
// the revision. A compacts at 10 min to what it noted at 5, and dies at 11. B finds at 12 that A has written the
// marker since 7, notes, and takes over at 17 with the revision of 12. Then B dies, too. A server that starts at
// 18 compacts in its second round. A node is written in the middle of every minute.
func TestN8CompactorsTakeTurns(t *testing.T) {
	w := newWorld(Settings{CompactionInterval: quantity.Duration(5 * minute)})
	r := w.Resource(nodes)
	for i := range int64(29) {
		w.alarms.Set(i*minute+minute/2, at(func(nowNs int64) { put(t, nowNs, r, object("", "n")) }))
	}
	a, b, alone := w.NewCompactor(), w.NewCompactor(), w.NewCompactor()
	a.Start(0)
	w.alarms.Set(2*minute, at(b.Start))
	w.alarms.Set(11*minute, at(func(int64) { a.Stop() }))
	w.alarms.Set(18*minute, at(func(nowNs int64) { b.Stop(); alone.Start(nowNs) }))
	for _, c := range []struct {
		minute, revision, compacted int64
		why                         string
	}{
		{4, 5, 0, "four writes after revision 1"},
		{5, 7, 0, "A writes the marker and only notes 7"},
		{7, 9, 0, "B does not write, and notes 9"},
		{10, 13, 7, "A writes the marker and compacts"},
		{11, 14, 7, "A dies"},
		{12, 15, 7, "B does not write, and notes 15"},
		{16, 19, 7, "A does not try any more"},
		{17, 21, 15, "B writes the marker and compacts"},
		{22, 26, 15, "B does not try any more"},
		{23, 27, 15, "the new server does not write, and notes 27"},
		{28, 33, 27, "it writes the marker and compacts"},
	} {
		w.run(c.minute * minute)
		if w.Revision() != c.revision || w.Compacted() != c.compacted {
			t.Errorf("%d min: revision %d, compacted %d; want %d, %d: %s",
				c.minute, w.Revision(), w.Compacted(), c.revision, c.compacted, c.why)
		}
	}
	if got, want := w.history(t, r, 29), "30 MODIFIED n, 31 MODIFIED n, 32 MODIFIED n"; got != want {
		t.Errorf("history %q, want %q: the marker is in no resource's", got, want)
	}
	if n := r.history.len(); n != 6 {
		t.Errorf("%d events are kept, want those of revisions 27 to 32", n)
	}
}

// With an interval of 0, nothing is ever compacted. A compactor that stops between sending its transaction and
// the answer does nothing more.
func TestCompactorStops(t *testing.T) {
	never := newWorld(Settings{})
	never.NewCompactor().Start(0)
	never.run(1000 * minute)
	if never.Revision() != 1 {
		t.Errorf("revision %d without compaction, want 1", never.Revision())
	}

	w := newWorld(Settings{CompactionInterval: quantity.Duration(minute), Write: quantity.Constant(quantity.Duration(second))})
	c := w.NewCompactor()
	c.Start(0)
	w.run(minute)
	c.Stop()
	w.run(10 * minute)
	if w.Revision() != 1 {
		t.Errorf("revision %d after a compactor that stopped, want 1", w.Revision())
	}
	c.Start(10 * minute)
	w.run(12*minute + second)
	if w.Revision() != 2 {
		t.Errorf("revision %d, want 2: a round takes as long as its transaction", w.Revision())
	}
	w.run(12*minute + 2*second)
	if w.Revision() != 3 || w.Compacted() != 2 {
		t.Errorf("revision %d, compacted %d; want 3, 2", w.Revision(), w.Compacted())
	}
}
