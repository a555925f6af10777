package trial

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"

	"apfsim/lab/live/outcome"

	"github.com/google/go-cmp/cmp"
)

// What an informer did before the stop does not count, nor do requests that the end of the run has cancelled. It has recovered
// when it has all objects again, the first time after the stop.
func TestRelistFigures(t *testing.T) {
	start := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	g := relistFigures{clients: 2, written: 2}
	g.addLive(&liveInformer{
		sent: []informerRequest{{at(0), kindList, 200, nil}, {at(0.1), kindWatch, 200, nil}, {at(12.1), kindWatch, 503, nil}, {at(13.1), kindWatch, 0, errors.New("connection refused")},
			{at(17), kindWatch, 200, nil}, {at(20), kindList, 200, nil}, {at(20.1), kindWatch, 200, nil}, {at(48), kindWatch, 0, context.DeadlineExceeded}},
		replaced: []time.Time{at(0.1), at(20.1), at(30)}, expired: []time.Time{at(17)}, events: []time.Time{at(5), at(43), at(44)},
	}, start, 12*time.Second, 42*time.Second)
	want := []Figure{
		{"x", "connections refused", 1}, {"x", "answers 410", 1}, {"x", "answers 429", 0}, {"x", "answers 503", 1},
		{"x", "requests: list", 1}, {"x", "requests: watch list", 0}, {"x", "requests: watch", 3},
		{"x", "informers that have recovered", 0.5}, {"x", "until recovered mean", 8.1e9}, {"x", "until recovered p50", 8.1e9}, {"x", "until recovered p100", 8.1e9},
		{"x", "events received afterwards", 0.5},
	}
	if d := cmp.Diff(want, g.of("x")); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
}

// In the simulation of the case each informer relists once, in the way in which it has begun, and receives all events afterwards.
func TestSimulatedRelist(t *testing.T) {
	sc, err := outcome.Load("../cases/informer-relist.yaml")
	if err != nil {
		t.Fatal(err)
	}
	run, err := outcome.Simulate(t.Context(), sc, filepath.Join(t.TempDir(), "requests.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range simulatedRelist(sc, run, time.Duration(sc.Spec.Events[0].At)) {
		values[f.Part+": "+f.Name] = f.Value
	}
	for name, want := range map[string]float64{
		"informers by list: answers 410": 20, "informers by list: requests: list": 20, "informers by list: requests: watch list": 0,
		"informers by watch list: answers 410": 20, "informers by watch list: requests: list": 0, "informers by watch list: requests: watch list": 20,
		"informers by list: informers that have recovered": 1, "informers by watch list: informers that have recovered": 1,
		"informers by list: events received afterwards": 1, "informers by watch list: events received afterwards": 1,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if n := values["informers by list: connections refused"]; n < 20 {
		t.Errorf("%v connections are refused, want one of each informer at least", n)
	}
}

// client-go recognizes the informers that begin with a list.
func TestListsFirst(t *testing.T) {
	if !watchlist.DoesClientNotSupportWatchListSemantics(listsFirst{&cache.ListWatch{}}) {
		t.Error("an informer that is to begin with a list begins with a watch list")
	}
}
