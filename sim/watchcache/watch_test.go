package watchcache

import (
	"testing"

	"apfsim/core/request"
	"apfsim/core/rules"
	"apfsim/sim/api"
	"apfsim/sim/quantity"
	"apfsim/sim/store"
)

// atHundred returns the world of the cases W1 to W17: revision 100, compacted below 50, three objects, the
// cache at 100. Etcd takes 1 ms for a read, and an event takes 2 ms to the cache. The history of the cache
// goes back to 60.
func atHundred(t *testing.T, change ...func(*Settings)) (*world, *Cache) {
	w := newWorld(t, store.Settings{Read: quantity.Constant(quantity.Duration(ms))})
	w.write(60)
	c := w.cache("1.37", append(change, func(s *Settings) { s.FeedLagNs = 2 * ms })...)
	w.write(97)
	w.put("default", "b")         // 98
	w.put("default", "a")         // 99
	w.delete("default", "filler") // 100
	w.run(w.now() + second)
	if c.Version() != 100 || w.store.Revision() != 100 || c.OldestVersion() != 60 {
		t.Fatalf("the cache is at %d of %d, and resumes from %d", c.Version(), w.store.Revision(), c.OldestVersion())
	}
	return w, c
}

// W1, W2: a watch from no version gets the state in the order of the keys, and then what happens; with
// bookmarks, one ends the state. From "" it waits for the current revision first, from "0" it does not.
func TestWatchFromState(t *testing.T) {
	for _, c := range []struct{ name, version, bookmarks, end string }{
		{"W1", "", "", ""},
		{"W1 from 0", "0", "", ""},
		{"W2", "", "bookmarks", "END@100, "},
		{"W2 from 0", "0", "bookmarks", "END@100, "},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, cache := atHundred(t)
			o := options(c.version)
			o.Options.Bookmarks = c.bookmarks != ""
			cl := w.watch(cache, o)
			if c.version == "" {
				cl.expect("") // etcd is asked for its revision
				w.run(w.now() + ms)
			}
			cl.expect("opened, ADDED a@99, ADDED b@98, " + c.end + "initialized")
			w.put("default", "c")
			cl.expect("")
			w.run(w.now() + 2*ms)
			cl.expect("ADDED c@101")
		})
	}
}

// W1: the state of a watch from "" is not older than the watch: it waits until the cache has seen what was
// written before. That is an event, or etcd's progress when the revision is that of another resource.
func TestWatchFromStateWaits(t *testing.T) {
	w, cache := atHundred(t)
	w.put("default", "c")
	cl := w.watch(cache, options("", "bookmarks"))
	w.run(w.now() + ms)
	cl.expect("")
	w.run(w.now() + ms)
	cl.expect("opened, ADDED a@99, ADDED b@98, ADDED c@101, END@101, initialized")

	w.run(w.now() + second)
	w.store.Resource(api.Resource{Name: "secrets"}).Put(w.now(), &api.Object{Name: "s"}, 0) // 102
	cl = w.watch(cache, options("", "bookmarks"))
	w.run(w.now() + ms)
	cl.expect("")
	w.run(w.now() + 2*ms) // the progress comes as late as an event
	cl.expect("opened, ADDED a@99, ADDED b@98, ADDED c@101, END@102, initialized")
	if cache.Counters.ProgressRequests != 2 { // one for each wait
		t.Errorf("%d requests for progress, want 2", cache.Counters.ProgressRequests)
	}
}

// W3, W5: a watch from a version gets what happened since, and one from a version that does not exist yet is
// silent until there is a later one.
func TestWatchFromVersion(t *testing.T) {
	w, cache := atHundred(t)
	past := w.watch(cache, options("97"))
	past.expect("opened, ADDED b@98, ADDED a@99, DELETED filler@100, initialized")
	future := w.watch(cache, options("102"))
	future.expect("opened, initialized")
	w.put("default", "a")
	w.put("default", "b")
	w.put("default", "a")
	w.run(w.now() + second)
	past.expect("MODIFIED a@101, MODIFIED b@102, MODIFIED a@103")
	future.expect("MODIFIED a@103")
}

// W4: a watch from before the oldest version that can be resumed from opens, and gets an error. What etcd has
// compacted makes no difference.
func TestWatchExpired(t *testing.T) {
	w, cache := atHundred(t)
	cl := w.watch(cache, options("59"))
	cl.expect("ERROR 410 Expired, ended")
	w.watch(cache, options("60")).expect("opened, " + replay(61, 97) + "ADDED b@98, ADDED a@99, DELETED filler@100, initialized")
	if cache.Counters.Expired != 1 {
		t.Errorf("%d watches expired, want 1", cache.Counters.Expired)
	}
	if len(cache.watchers.all) != 1 {
		t.Errorf("the cache has %d watchers, want 1", len(cache.watchers.all))
	}
}

// replay returns the changes of the object filler that atHundred makes.
func replay(from, to int64) string {
	s := ""
	for v := from; v <= to; v++ {
		s += "MODIFIED filler@" + itoa(v) + ", "
	}
	return s
}

// W6: a watch that wants a state that does not exist yet waits 3 s, and then gets an error. If the version
// comes meanwhile, it opens.
func TestWatchFromFutureState(t *testing.T) {
	w, cache := atHundred(t)
	began := w.now()
	cl := w.watch(cache, options("120", "initial"))
	cl.times = true
	w.run(began + 4*second)
	cl.expect("4s ERROR 504 Timeout, 4s ended") // the watch began at 1s
	if f := cl.received[0].Failure; f.RetryAfterSeconds != 1 || f.Causes[0].Reason != "ResourceVersionTooLarge" {
		t.Errorf("the error is %+v", f)
	}

	cl = w.watch(cache, options("101", "initial"))
	w.run(w.now() + second)
	w.put("default", "a")
	w.run(w.now() + second)
	cl.expect("opened, ADDED a@101, ADDED b@98, initialized")
}

// W7: a watch that wants a state not older than 90 gets the current one.
func TestWatchFromOldState(t *testing.T) {
	w, cache := atHundred(t)
	w.watch(cache, options("90", "initial", "bookmarks")).expect("opened, ADDED a@99, ADDED b@98, END@100, initialized")
	w.watch(cache, options("90", "initial")).expect("opened, ADDED a@99, ADDED b@98, initialized")
}

// W8: a watch that wants no state gets the events after etcd's revision, the cache's, or its own version.
func TestWatchWithoutState(t *testing.T) {
	w, cache := atHundred(t)
	w.put("default", "a")
	latest := w.watch(cache, options("", "live"))
	any := w.watch(cache, options("0", "live"))
	since := w.watch(cache, options("99", "live", "bookmarks"))
	any.expect("opened, initialized")
	since.expect("opened, DELETED filler@100, initialized")
	w.run(w.now() + ms)
	latest.expect("opened, initialized") // after 101, for which it does not wait
	w.run(w.now() + second)
	w.put("default", "b")
	w.run(w.now() + second)
	any.expect("MODIFIED a@101, MODIFIED b@102")
	since.expect("MODIFIED a@101, MODIFIED b@102")
	latest.expect("MODIFIED b@102")
}

// Up to 1.31 and in 1.33, a watch from no version gets the state of the cache at once, without waiting, and
// without a bookmark at its end.
func TestWatchBeforeWatchLists(t *testing.T) {
	w := newWorld(t, store.Settings{})
	w.put("default", "a")
	cache := w.cache("1.26", func(s *Settings) { s.FeedLagNs = second })
	w.put("default", "b")
	for _, version := range []string{"", "0"} {
		w.watch(cache, options(version, "bookmarks")).expect("opened, ADDED a@2, initialized")
	}
}

// W11, N6: a cache that is not ready answers 429, and the longer it has not been, the longer are clients to
// stay away.
func TestWatchNotReady(t *testing.T) {
	for _, c := range []struct{ afterNs, seconds int64 }{
		{0, 1}, {12 * second, 2}, {20 * second, 3}, {30 * second, 6}, {40 * second, 11}, {50 * second, 20}, {57 * second, 30},
	} {
		w := newWorld(t, store.Settings{})
		cache := w.cache("1.37")
		w.run(5 * second)
		cache.Relist(w.now(), 60*second)
		w.run(w.now() + c.afterNs)
		cl := &client{w: w}
		watcher, answer := cache.Watch(w.now(), options("0"), cl)
		if watcher != nil || answer.Status != 429 || answer.RetryAfterSeconds != c.seconds || cl.told() != "" {
			t.Errorf("after %d s: %+v, want 429 with Retry-After %d", c.afterNs/second, answer, c.seconds)
		}
	}
	w := newWorld(t, store.Settings{})
	cache := w.cache("1.32")
	cache.Relist(w.now(), 60*second)
	w.run(30 * second)
	if _, answer := cache.Watch(w.now(), options("0"), &client{w: w}); answer.RetryAfterSeconds != 1 {
		t.Errorf("1.32: Retry-After %d, want 1", answer.RetryAfterSeconds)
	}
}

// W12: if etcd is too old to tell its progress, a watch that wants a bookmark after the state gets an error.
func TestWatchWithoutProgress(t *testing.T) {
	w, cache := atHundred(t, func(s *Settings) { s.NoProgress = true })
	w.watch(cache, options("0", "bookmarks")).expect("ERROR 500 InternalError, ended")
	w.watch(cache, options("0")).expect("opened, ADDED a@99, ADDED b@98, initialized")
}

// W14: an object that enters what a watch selects is added, and one that leaves it is deleted, with its last
// state that was selected, at the version of the change.
func TestWatchSelector(t *testing.T) {
	w, cache := atHundred(t)
	cl := w.watch(cache, options("100", "labels:app=web"))
	cl.expect("opened, initialized")
	other := w.watch(cache, options("100", "labels:app!=web"))
	other.expect("opened, initialized")
	w.put("default", "a", "metadata.labels.app=web")                         // 101
	w.put("default", "a", "metadata.labels.app=web", "status.phase=Running") // 102
	w.put("default", "a", "metadata.labels.app=db")                          // 103
	w.put("default", "b")                                                    // 104
	w.put("default", "d", "metadata.labels.app=web")                         // 105
	w.delete("default", "a")
	w.delete("default", "d")
	w.run(w.now() + second)
	cl.expect("ADDED a@101, MODIFIED a@102, DELETED a@103, ADDED d@105, DELETED d@107")
	other.expect("DELETED a@101, ADDED a@103, MODIFIED b@104, DELETED a@106")
	if left := cl.received[2].Object; left.Fields["status.phase"] != "Running" || left.Version != 102 {
		t.Errorf("the object leaves with its state %+v", left)
	}
	w.watch(cache, options("100", "labels:app=web")).expect( // from history it is the same
		"opened, ADDED a@101, MODIFIED a@102, DELETED a@103, ADDED d@105, DELETED d@107, initialized")
}

// Watches of a namespace, of a name and of a node get the events of theirs, also from the history and in the
// state.
func TestWatchScopes(t *testing.T) {
	w := newWorld(t, store.Settings{})
	cache := w.cache("1.37", func(s *Settings) { s.Indexed = true })
	watches := map[string]*client{}
	scopes := map[string]WatchOptions{
		"namespace":       options("1", "namespace:one"),
		"name":            options("1", "namespace:one", "name:a"),
		"names":           options("1", "fields:metadata.name=a"),
		"field":           options("1", "fields:metadata.name=a,metadata.namespace=two"),
		"node":            options("1", "fields:spec.nodeName=n1"),
		"node, namespace": options("1", "fields:spec.nodeName=n1", "namespace:two"),
		"unassigned":      options("1", "fields:spec.nodeName="),
	}
	for name, o := range scopes {
		watches[name] = w.watch(cache, o)
		watches[name].expect("opened, initialized")
	}
	w.put("one", "a")                     // 2
	w.put("one", "b", "spec.nodeName=n1") // 3
	w.put("two", "a", "spec.nodeName=n1") // 4
	w.put("one", "a", "spec.nodeName=n2") // 5
	w.put("one", "b", "spec.nodeName=n2") // 6
	w.run(second)
	live := map[string]string{
		"namespace":       "ADDED a@2, ADDED b@3, MODIFIED a@5, MODIFIED b@6",
		"name":            "ADDED a@2, MODIFIED a@5",
		"names":           "ADDED a@2, ADDED a@4, MODIFIED a@5",
		"field":           "ADDED a@4",
		"node":            "ADDED b@3, ADDED a@4, DELETED b@6",
		"node, namespace": "ADDED a@4",
		"unassigned":      "ADDED a@2, DELETED a@5",
	}
	for name, want := range live {
		watches[name].expect(want)
		w.watch(cache, scopes[name]).expect("opened, " + want + ", initialized")
	}
	state := map[string]string{
		"namespace":       "ADDED a@5, ADDED b@6, ",
		"name":            "ADDED a@5, ",
		"names":           "ADDED a@5, ADDED a@4, ",
		"field":           "ADDED a@4, ",
		"node":            "ADDED a@4, ",
		"node, namespace": "ADDED a@4, ",
		"unassigned":      "",
	}
	for name, want := range state {
		o := scopes[name]
		o.Options.Version = request.At(0)
		w.watch(cache, o).expect("opened, " + want + "initialized")
	}
}

// An event costs nothing for the watchers that are not interested in it.
func TestInterest(t *testing.T) {
	w := newWorld(t, store.Settings{})
	cache := w.cache("1.37", func(s *Settings) { s.Indexed = true })
	for i := range 50 {
		w.watch(cache, options("1", "fields:spec.nodeName=n"+itoa(int64(i))))
		w.watch(cache, options("1", "namespace:ns"+itoa(int64(i))))
	}
	w.put("ns7", "a", "spec.nodeName=n3")
	w.put("ns7", "a", "spec.nodeName=n4")
	for version, want := range map[int64]int{2: 2, 3: 3} {
		if n := len(cache.watchers.interested(nil, last(w.resource, version-1))); n != want {
			t.Errorf("event %d: %d watchers are interested, want %d", version, n, want)
		}
	}
}

// last returns the first event after a version.
func last(r *store.Resource, after int64) *api.Event {
	events, _ := r.Since(after)
	for e := range events {
		return e
	}
	return nil
}

// From 1.38 on, a watch that wants the state walks what is under its key: the namespace, the pods of its node in the index, or the
// one that it names. Other selectors are compared with all.
func TestWatchInitialCountsByPrefix(t *testing.T) {
	w := newWorld(t, store.Settings{}, store.Count{Resource: pods, Objects: 1000, AverageBytes: 10})
	w.put("one", "a", "spec.nodeName=n1")
	w.put("one", "b", "spec.nodeName=n2")
	w.put("two", "a", "spec.nodeName=n1")
	cache := w.cache("1.38", func(s *Settings) { s.Indexed = true })
	for _, c := range []struct {
		o            WatchOptions
		matches      int64
		walked, sent int64
	}{
		{options("0"), 1000, 1003, 1003},
		{options("0", "labels:app=x"), 7, 1003, 7},
		{options("0", "namespace:one"), 40, 42, 42},
		{options("0", "namespace:one", "labels:app=x"), 0, 2, 0},
		{options("0", "fields:metadata.namespace=one"), 40, 42, 42},
		{options("0", "fields:spec.nodeName=n1"), 30, 32, 32},
		{options("0", "namespace:two", "name:a"), 0, 1, 1},
	} {
		c.o.Matches = c.matches
		if walked, sent := w.watch(cache, c.o).watcher.Initial(); walked != c.walked || sent != c.sent {
			t.Errorf("%+v: walks %d and sends %d, want %d and %d", c.o, walked, sent, c.walked, c.sent)
		}
	}
}

// A watch that wants the state pays for walking all objects, whatever it selects, unless it names one. Those
// that are only counted come first.
func TestWatchInitialCounts(t *testing.T) {
	w := newWorld(t, store.Settings{}, store.Count{Resource: pods, Objects: 1000, AverageBytes: 10})
	w.put("one", "a", "spec.nodeName=n1")
	w.put("two", "a")
	cache := w.cache("1.37", func(s *Settings) { s.Indexed = true })
	for _, c := range []struct {
		o            WatchOptions
		matches      int64
		walked, sent int64
		told         string
	}{
		{options("0"), 1000, 1002, 1002, "opened, 1000 counted, ADDED a@2, ADDED a@3, initialized"},
		{options("0", "namespace:one"), 40, 1002, 41, "opened, 40 counted, ADDED a@2, initialized"},
		{options("0", "fields:spec.nodeName=n1"), 0, 1002, 1, "opened, ADDED a@2, initialized"},
		{options("0", "namespace:two", "name:a"), 0, 1, 1, "opened, ADDED a@3, initialized"},
		{options("2"), 0, 0, 0, "ERROR 410 Expired, ended"}, // the cache was filled at 3
		{options("3"), 0, 0, 0, "opened, initialized"},
	} {
		c.o.Matches = c.matches
		cl := w.watch(cache, c.o)
		cl.expect(c.told)
		if walked, sent := cl.watcher.Initial(); walked != c.walked || sent != c.sent {
			t.Errorf("%+v: walks %d and sends %d, want %d and %d", c.o, walked, sent, c.walked, c.sent)
		}
	}
	w.put("one", "a")
	w.put("two", "a")
	w.run(second)
	cl := w.watch(cache, options("3", "namespace:two"))
	cl.expect("opened, MODIFIED a@5, initialized")
	if walked, sent := cl.watcher.Initial(); walked != 2 || sent != 1 {
		t.Errorf("a watch from the history walks %d events and sends %d, want 2 and 1", walked, sent)
	}
}

// W16: a watch of 300 s with bookmarks on a resource that does not change gets one about every minute and one
// 2 s before its end, once the cache knows a newer revision than the one that it began with.
func TestWatchBookmarks(t *testing.T) {
	w, cache := atHundred(t, func(s *Settings) { s.NotifyEveryNs = 5 * second })
	w.store.Resource(api.Resource{Name: "secrets"}).Put(w.now(), &api.Object{Name: "s"}, 0) // 101
	began := w.now()
	o := options("100", "bookmarks")
	o.DeadlineNs = began + 300*second
	cl := w.watch(cache, o)
	quiet := w.watch(cache, options("100")) // without bookmarks
	w.at(o.DeadlineNs, cl.watcher.Stop)
	var at []float64
	cl.onReceived = func(nowNs int64, e *api.Event) {
		if e.Type != api.Bookmark || e.Version != 101 || e.InitialEnd {
			t.Errorf("an event %+v, want a bookmark at 101", e)
		}
		at = append(at, float64(nowNs-began)/1e9)
	}
	w.run(began + 400*second)
	if len(at) < 5 || len(at) > 6 {
		t.Fatalf("bookmarks at %v s", at)
	}
	for i := range 4 {
		earliest := 60.0 * float64(i+1)
		if i > 0 {
			earliest = at[i-1] + 60
		}
		if at[i] < earliest-1 || at[i] > earliest+1.25 {
			t.Errorf("bookmark %d at %v s, want about %v", i+1, at[i], earliest)
		}
	}
	if end := at[len(at)-1]; end < 297 || end > 299.25 {
		t.Errorf("the last bookmark at %v s, want about 298", end)
	}
	quiet.expect("opened, initialized")
	if cl.ended {
		t.Error("a watch that was stopped is told so")
	}
}

// A watch that is shorter than a minute gets the bookmark before its deadline only, and up to 1.18 every watch
// does.
func TestWatchBookmarkBeforeDeadline(t *testing.T) {
	for version, lengthNs := range map[string]int64{"1.37": 30 * second, "1.18": 300 * second} {
		w := newWorld(t, store.Settings{})
		cache := w.cache(version)
		o := options("1", "bookmarks")
		o.DeadlineNs = lengthNs
		cl := w.watch(cache, o)
		cl.told()
		w.put("default", "a")
		w.run(lengthNs - 4*second)
		cl.expect("ADDED a@2")
		w.run(lengthNs)
		if n := len(cl.log); n < 1 || n > 2 {
			t.Errorf("%s: %d bookmarks, want 1 or 2", version, n)
		}
	}
}

// Bookmarks that say nothing new since the beginning of the watch are not sent.
func TestWatchBookmarkSaysSomethingNew(t *testing.T) {
	w, cache := atHundred(t)
	cl := w.watch(cache, options("100", "bookmarks"))
	cl.told()
	w.run(w.now() + 150*second)
	cl.expect("")
	w.put("default", "a")
	w.run(w.now() + 65*second)
	cl.expect("MODIFIED a@101, BOOKMARK@101")
}

// W17: when the cache stops, all streams end, without a bookmark, also those that wait to be opened.
func TestWatchStopped(t *testing.T) {
	w, cache := atHundred(t)
	open := w.watch(cache, options("100", "bookmarks"))
	slow := options("100")
	slow.ReadNs = second
	reading := w.watch(cache, slow)
	waiting := w.watch(cache, options("500", "initial"))
	asking := w.watch(cache, options(""))
	gone := w.watch(cache, options("100"))
	gone.watcher.Stop(w.now())
	w.put("default", "a")
	w.run(w.now() + 2*ms)
	open.told()
	cache.Stop(w.now())
	open.expect("ended")
	reading.expect("opened, initialized, ended")
	waiting.expect("ended")
	asking.expect("opened, ADDED a@101, ADDED b@98, initialized, ended")
	gone.expect("opened, initialized")
	if cache.Ready() || len(cache.watchers.all) != 0 {
		t.Errorf("the cache is ready: %v, and has %d watchers", cache.Ready(), len(cache.watchers.all))
	}
	w.run(w.now() + 100*second)
	open.expect("")

	// A server that starts again resumes from versions after its start only (store.md 3.2).
	cache.Start(w.now(), 10*second)
	w.put("default", "a") // 102
	w.run(w.now() + 9*second)
	if _, answer := cache.Watch(w.now(), options("101"), open); answer == nil || answer.Status != 429 {
		t.Errorf("the cache answers %+v before it is ready", answer)
	}
	w.run(w.now() + second + 200*ms) // with a round of etcd
	w.watch(cache, options("100")).expect("ERROR 410 Expired, ended")
	w.watch(cache, options("101")).expect("opened, MODIFIED a@102, initialized")
}

// When the cache fails, all watchers are closed, and it fills itself anew.
func TestRelist(t *testing.T) {
	w, cache := atHundred(t)
	cl := w.watch(cache, options("100"))
	cl.told()
	waiting := w.watch(cache, options("101", "initial"))
	cache.Relist(w.now(), second)
	cl.expect("ended")
	waiting.expect("ended")
	w.put("default", "a") // 101
	if o := cache.Get("default", "a"); o.Version != 99 {
		t.Errorf("while the cache is filled it has version %d, want the old 99", o.Version)
	}
	w.run(w.now() + 2*second)
	if o := cache.Get("default", "a"); o.Version != 101 || cache.Version() != 101 || cache.OldestVersion() != 100 {
		t.Errorf("version %d of %d, resumes from %d; want 101, 101, 100", o.Version, cache.Version(), cache.OldestVersion())
	}
	waiting.expect("") // it has missed what it waited for

	// What is on its way belongs to the list already.
	w.put("default", "b") // 102
	cache.Relist(w.now(), 0)
	w.put("default", "b") // 103
	w.run(w.now() + second)
	w.watch(cache, options("102")).expect("opened, MODIFIED b@103, initialized")
	if received := cache.Counters.Received; received != 42 {
		t.Errorf("the cache has seen %d events, want 40 before and 2 after the lists", received)
	}
}

// What was committed while a cache was filled comes in etcd's rounds, and then what is committed since. Reads wait for it.
func TestFilledCacheCatchesUp(t *testing.T) {
	w := newWorld(t, store.Settings{})
	cache := New(w.alarms, w.store, pods, Settings{Rules: rules.Latest(), FeedLagNs: 2 * ms})
	w.write(100)
	cache.Start(0, 10*second)
	w.run(5 * second)
	w.write(2600)
	w.run(10 * second)
	for _, c := range []struct {
		atMs, version, lagMs int64
	}{{10_000, 100, 5000}, {10_101, 100, 5101}, {10_102, 1100, 5102}, {10_201, 1100, 5201}, {10_202, 2100, 5202}, {10_302, 2601, 0}} {
		w.run(c.atMs * ms)
		if c.version == 2100 {
			w.write(2601) // it comes after those before
		}
		if cache.Version() != c.version || cache.LagNs(w.now()) != c.lagMs*ms {
			t.Errorf("at %d ms: version %d, %d ms late, want %d and %d", c.atMs, cache.Version(), cache.LagNs(w.now())/ms, c.version, c.lagMs)
		}
	}
	w.write(2602)
	w.run(10_304 * ms)
	if cache.Version() != 2602 || cache.Counters.Received != 2502 {
		t.Errorf("version %d, %d events received", cache.Version(), cache.Counters.Received)
	}
}

// A cache whose filling takes longer than etcd keeps the events since loses its watch, and is filled again.
func TestCacheIsCompactedWhileItIsFilled(t *testing.T) {
	w := newWorld(t, store.Settings{CompactionInterval: quantity.Duration(10 * second)})
	w.store.NewCompactor().Start(0)
	cache := New(w.alarms, w.store, pods, Settings{Rules: rules.Latest(), FeedLagNs: 2 * ms})
	for i := range int64(100) {
		w.at(i*second, func(int64) { w.put("default", "a") })
	}
	cache.Start(0, 25*second)
	for _, c := range []struct {
		atMs  int64
		ready bool
	}{{24_999, false}, {25_000, true}, {25_101, true}, {25_102, false}, {51_101, false}, {51_102, true}, {51_202, false}} {
		if w.run(c.atMs * ms); cache.Ready() != c.ready {
			t.Errorf("at %d ms: ready %v, want %v", c.atMs, cache.Ready(), c.ready)
		}
	}
	if cache.Counters.Initializations != 2 {
		t.Errorf("filled %d times, want 2", cache.Counters.Initializations)
	}
	cache.Stop(w.now())
}
