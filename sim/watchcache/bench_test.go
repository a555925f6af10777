package watchcache

import (
	"fmt"
	"testing"

	"apfsim/sim/api"
	"apfsim/sim/store"
)

// counter is a client that counts.
type counter struct{ events int }

func (c *counter) Opened(nowNs int64, w *Watcher) { w.Proceed(nowNs) }
func (c *counter) Received(int64, *api.Event)     { c.events++ }
func (c *counter) Counted(int64, int64)           {}
func (c *counter) Initialized(int64)              {}
func (c *counter) Ended(int64)                    {}

// cluster returns a cache of pods with k informers of all pods, each with a selector that all satisfy or
// none, kubelets that watch the pods of their nodes, and events: updates of pods, one on each node in turn.
func cluster(t testing.TB, informers, kubelets int, selector string) (*world, *Cache, *counter, []*api.Event) {
	w := newWorld(t, store.Settings{})
	for i := range 100 {
		w.put("default", "pod-"+itoa(int64(i)), "spec.nodeName=node-"+itoa(int64(i)), "status.phase=Running")
	}
	from := w.store.Revision()
	cache := w.cache("1.37", func(s *Settings) { s.Indexed = true })
	total := &counter{}
	for range informers {
		o := options(itoa(from))
		o.Selector, _ = api.ParseSelector("", selector)
		begin(w, cache, o, total)
	}
	for i := range kubelets {
		begin(w, cache, options(itoa(from), "fields:spec.nodeName=node-"+itoa(int64(i))), total)
	}
	var events []*api.Event
	for i := range 100 {
		w.put("default", "pod-"+itoa(int64(i)), "spec.nodeName=node-"+itoa(int64(i)), "status.phase=Running", "x="+itoa(int64(i)))
	}
	all, _ := w.resource.Since(from)
	for e := range all {
		events = append(events, e)
	}
	w.run(w.now() + second)
	return w, cache, total, events
}

// Dispatching an event to fast watchers does not allocate.
func TestDispatchDoesNotAllocate(t *testing.T) {
	_, cache, total, events := cluster(t, 100, 200, "status.phase=Running")
	before, i := total.events, 0
	n := testing.AllocsPerRun(1000, func() {
		e := *events[i%100]
		e.Version = events[99].Version
		_ = e
		for _, w := range cache.watchers.all {
			w.after = 0
		}
		cache.dispatchEvent(0, events[i%100])
		i++
	})
	if n != 0 {
		t.Errorf("%v allocations an event, want none", n)
	}
	if got := total.events - before; got != 1001*101 {
		t.Errorf("%d events received, want 101 each time", got)
	}
}

// BenchmarkDispatch dispatches an event of a pod to informers of all pods and to the kubelet of its node.
func BenchmarkDispatch(b *testing.B) {
	for _, c := range []struct {
		informers, kubelets int
		selector            string
	}{{0, 5000, ""}, {400, 5000, ""}, {400, 5000, "status.phase!=Failed"}, {10_000, 0, ""}} {
		b.Run(fmt.Sprintf("informers=%d/kubelets=%d/selector=%v", c.informers, c.kubelets, c.selector != ""), func(b *testing.B) {
			_, cache, total, events := cluster(b, c.informers, c.kubelets, c.selector)
			before, i := total.events, 0
			b.ReportAllocs()
			for b.Loop() {
				cache.dispatchEvent(0, events[i%100])
				i++
			}
			if n := total.events - before; n > 0 {
				b.ReportMetric(float64(b.Elapsed())/float64(n), "ns/delivery")
			}
		})
	}
}

// BenchmarkSee commits events and lets a cache without watchers see them, beside the cost of the store.
func BenchmarkSee(b *testing.B) {
	w := newWorld(b, store.Settings{})
	cache := w.cache("1.37", func(s *Settings) { s.FeedLagNs = ms })
	o := &api.Object{Namespace: "default", Name: "a", DeletionNs: -1}
	b.ReportAllocs()
	for b.Loop() {
		stored, _ := w.resource.Put(w.now(), o, o.Version)
		o = stored
		w.run(w.now() + ms)
	}
	if cache.Version() != w.store.Revision() {
		b.Errorf("the cache is at %d of %d", cache.Version(), w.store.Revision())
	}
}

// BenchmarkResume lets kubelets come back after a minute, in which there were 10 000 events of pods.
func BenchmarkResume(b *testing.B) {
	w := newWorld(b, store.Settings{})
	cache := w.cache("1.37", func(s *Settings) { s.Indexed = true })
	for i := range 10_000 {
		w.put("default", "pod-"+itoa(int64(i%3000)), "spec.nodeName=node-"+itoa(int64(i%1000)), "status.phase=Running")
		w.run(w.now() + 6*ms)
	}
	o := options("1", "fields:spec.nodeName=node-7")
	total := &counter{}
	b.ReportAllocs()
	for b.Loop() {
		begin(w, cache, o, total).Stop(w.now())
	}
	if total.events != 10*b.N {
		b.Errorf("%d events in %d watches, want 10 in each", total.events, b.N)
	}
}
