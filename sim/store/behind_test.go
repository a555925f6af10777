package store

import (
	"fmt"
	"strings"
	"testing"

	"apfsim/sim/api"
	"apfsim/sim/quantity"
)

// watching notes what a watch gets and when.
type watching struct{ got []string }

func (w *watching) Behind(nowNs int64, events []*api.Event, revision int64, inSync bool) {
	text := fmt.Sprintf("%d ms: %d events up to %d", nowNs/1e6, len(events), revision)
	if inSync {
		text += ", in sync"
	}
	w.got = append(w.got, text)
}

func (w *watching) Compacted(nowNs int64) {
	w.got = append(w.got, fmt.Sprintf("%d ms: compacted", nowNs/1e6))
}

func (w *watching) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.Join(w.got, "; "); got != strings.Join(want, "; ") {
		t.Errorf("the watch has got\n\t%s\nwant\n\t%s", got, strings.Join(want, "; "))
	}
}

// write writes n revisions of a node.
func (w *world) write(t *testing.T, namespace string, n int) {
	for range n {
		put(t, w.queue.NowNs(), w.Resource(nodes), object(namespace, "n"))
	}
}

// In each round, every 100 ms, a watch that is behind gets the events of 1000 revisions of its own, and when it has all, it is
// in sync with all that has been committed. When a watch comes to its end in a round, the next round follows at once.
func TestWatchCatchesUp(t *testing.T) {
	w := newWorld(Settings{})
	r := w.Resource(nodes)
	w.write(t, "", 1500)  // 2 to 1501
	w.write(t, "few", 10) // 1502 to 1511
	w.write(t, "", 1000)  // 1512 to 2511
	w.Resource(api.Resource{Name: "other"})
	var all, few, one, none, stopped watching
	w.alarms.Set(30*1e6, at(func(nowNs int64) {
		r.Watch(nowNs, "", "", 1, &all)
		r.Watch(nowNs, "few", "", 1, &few)
		r.Watch(nowNs, "", "other", 1, &none)
		r.Watch(nowNs, "", "", 2510, &one)
		r.Watch(nowNs, "", "", 1, &stopped).Stop()
		if r.Watch(nowNs, "", "", 2511, &none) != nil {
			t.Error("a watch from the latest revision is not in sync")
		}
	}))
	w.alarms.Set(150*1e6, at(func(int64) { w.write(t, "", 1) }))
	w.run(1e9)
	all.expect(t, "100 ms: 1000 events up to 1001", "100 ms: 1000 events up to 2001", "200 ms: 511 events up to 2512, in sync")
	few.expect(t, "100 ms: 10 events up to 2511, in sync")
	one.expect(t, "100 ms: 1 events up to 2511, in sync")
	none.expect(t, "100 ms: 0 events up to 2511, in sync")
	stopped.expect(t)
	if w.resync.Pending() {
		t.Error("there is another round, and no watch is behind")
	}
}

// A round serves 512 watches, those first that have waited longest.
func TestRoundServes512Watches(t *testing.T) {
	w := newWorld(Settings{})
	w.write(t, "", 3500) // 2 to 3501
	watches := make([]watching, 600)
	for i := range watches {
		w.Resource(nodes).Watch(0, "", "", 1, &watches[i])
	}
	w.run(10e9)
	// The rounds serve 0 to 511; 512 to 599 and 0 to 423; 424 to 599 and 0 to 335; …
	watches[0].expect(t, "100 ms: 1000 events up to 1001", "200 ms: 1000 events up to 2001", "300 ms: 1000 events up to 3001", "400 ms: 500 events up to 3501, in sync")
	watches[512].expect(t, "200 ms: 1000 events up to 1001", "300 ms: 1000 events up to 2001", "400 ms: 1000 events up to 3001", "400 ms: 500 events up to 3501, in sync")
}

// A watch that is behind when the next of its events is compacted ends; one that has no events left there goes on.
func TestWatchIsCompacted(t *testing.T) {
	w := newWorld(Settings{CompactionInterval: quantity.Duration(1e9)})
	w.NewCompactor().Start(0)
	w.write(t, "", 5000)
	w.run(1e9) // the compactor notes 5002, with its marker
	w.write(t, "", 5000)
	var ended, inTime, late watching
	w.alarms.Set(1_750_000_000, at(func(nowNs int64) {
		w.Resource(nodes).Watch(nowNs, "", "", 2, &ended)
		w.Resource(nodes).Watch(nowNs, "", "", 4000, &inTime)
	}))
	w.alarms.Set(2_050_000_000, at(func(nowNs int64) { w.Resource(nodes).Watch(nowNs, "", "", 5000, &late) }))
	w.run(5e9)
	ended.expect(t, "1800 ms: 1000 events up to 1002", "1900 ms: 1000 events up to 2002", "2000 ms: 1000 events up to 3002", "2100 ms: compacted")
	late.expect(t, "2100 ms: compacted")
	if n := len(inTime.got); n != 7 || !strings.HasSuffix(inTime.got[n-1], "in sync") {
		t.Errorf("the watch in time has got %q", inTime.got)
	}
}
