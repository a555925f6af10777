package watchcache

import (
	"math"

	"apfsim/sim/clock"
)

const (
	// waitNs is how long a read waits for a version (blockTimeout in watch_cache.go).
	waitNs = 3e9
	// progressNs is the least time between two requests for progress (progress/watch_progress.go).
	progressNs = 100e6
)

// Waiter waits for the cache.
type Waiter interface {
	// Waited is called once, when the wait is over: with fresh, the cache has the version; otherwise it did
	// not get it within 3 s, so that the request is answered 504, or a consistent list goes to etcd.
	Waited(nowNs int64, fresh bool)
}

// versionWaits is the reads that wait for a version, and the requests for progress that are made for them.
type versionWaits struct {
	waits    []wait // in the order of their beginnings
	wanted   int64  // the least version of them
	deadline clock.AlarmID
	woken    []wait   // kept for its capacity
	unready  []Waiter // wait for a cache that is not ready

	lastNs      int64 // when progress was requested last, or the cache was started
	askAlarm    clock.AlarmID
	quiet       bool // no event since the last notification
	notifyAlarm clock.AlarmID
}

type wait struct {
	version, sinceNs int64
	waiter           Waiter
	aside            bool // see WaitFreshAside
}

// WaitFresh returns true if the cache has a version or a newer one, or the version is 0. Otherwise it returns
// false, and calls the waiter when it has, or after 3 s. Nobody can end the wait earlier. While anyone waits,
// the cache asks etcd for its progress, every 100 ms at most.
func (c *Cache) WaitFresh(nowNs, version int64, w Waiter) bool {
	return c.waitFresh(nowNs, wait{version: version, waiter: w})
}

// WaitFreshAside is WaitFresh for what a server does besides its requests. The Counters do not include it.
func (c *Cache) WaitFreshAside(nowNs, version int64, w Waiter) bool {
	return c.waitFresh(nowNs, wait{version: version, waiter: w, aside: true})
}

func (c *Cache) waitFresh(nowNs int64, w wait) bool {
	if w.version <= c.version {
		return true
	}
	if !w.aside {
		c.Counters.Waits++
	}
	f := &c.versionWaits
	w.sinceNs = nowNs
	f.waits = append(f.waits, w)
	if len(f.waits) == 1 {
		f.wanted = math.MaxInt64
	}
	f.wanted = min(f.wanted, w.version)
	if !f.deadline.Pending() {
		f.deadline = c.alarms.Set(nowNs+waitNs, (*deadline)(c))
	}
	c.ask(nowNs)
	return false
}

// AwaitReady calls the waiter once when the cache is ready next, at once if it is. For releases before 1.31,
// in which requests wait for a cache that is not ready.
func (c *Cache) AwaitReady(nowNs int64, w Waiter) {
	if c.state == ready {
		w.Waited(nowNs, true)
		return
	}
	c.versionWaits.unready = append(c.versionWaits.unready, w)
}

func (f *versionWaits) takeUnready() []Waiter {
	waiters := f.unready
	f.unready = nil
	return waiters
}

// wake ends the waits for versions that the cache has.
func (f *versionWaits) wake(nowNs int64, c *Cache) {
	if len(f.waits) == 0 || f.wanted > c.version {
		return
	}
	f.end(nowNs, c, func(w wait) bool { return w.version <= c.version }, true)
}

// deadline is the alarm of the oldest wait.
type deadline Cache

func (d *deadline) Ring(nowNs int64) {
	c := (*Cache)(d)
	f := &c.versionWaits
	f.deadline = clock.AlarmID{}
	f.end(nowNs, c, func(w wait) bool { return w.sinceNs+waitNs <= nowNs }, false)
	if len(f.waits) > 0 && !f.deadline.Pending() {
		f.deadline = c.alarms.Set(f.waits[0].sinceNs+waitNs, d)
	}
}

// end ends some waits. Those who waited may wait again.
func (f *versionWaits) end(nowNs int64, c *Cache, over func(wait) bool, fresh bool) {
	woken := f.woken[:0]
	f.woken = nil
	kept := f.waits[:0]
	f.wanted = math.MaxInt64
	for _, w := range f.waits {
		if over(w) {
			woken = append(woken, w)
			if !w.aside {
				c.Counters.count(nowNs-w.sinceNs, fresh)
			}
		} else {
			kept = append(kept, w)
			f.wanted = min(f.wanted, w.version)
		}
	}
	clear(f.waits[len(kept):])
	f.waits = kept
	for _, w := range woken {
		if c.state == stopped { // one of them has stopped it
			break
		}
		w.waiter.Waited(nowNs, fresh)
	}
	clear(woken)
	f.woken = woken[:0]
}

// clear forgets those who wait.
func (f *versionWaits) clear(alarms *clock.Alarms) {
	alarms.Cancel(&f.deadline)
	alarms.Cancel(&f.askAlarm)
	alarms.Cancel(&f.notifyAlarm)
	clear(f.waits)
	f.waits, f.unready = f.waits[:0], nil
}

// ask requests etcd's progress as soon as it may be requested.
func (c *Cache) ask(nowNs int64) {
	if f := &c.versionWaits; c.asksProgress && !f.askAlarm.Pending() {
		f.askAlarm = c.alarms.Set(max(nowNs, f.lastNs+progressNs), (*progressRequester)(c))
	}
}

// progressRequester is the alarm of the next request for progress. One that finds nobody waiting is not made; the next
// one need not wait then.
type progressRequester Cache

func (a *progressRequester) Ring(nowNs int64) {
	c := (*Cache)(a)
	c.versionWaits.askAlarm = clock.AlarmID{}
	if len(c.versionWaits.waits) == 0 {
		return
	}
	c.versionWaits.lastNs = nowNs
	c.Counters.ProgressRequests++
	c.alarms.Set(nowNs+c.settings.ProgressNs, (*progress)(c))
	c.ask(nowNs)
}

// progress is the alarm of a request for progress that has come to etcd.
type progress Cache

func (p *progress) Ring(nowNs int64) {
	if c := (*Cache)(p); c.state == ready {
		c.send(cacheInput{version: c.store.Revision(), atNs: nowNs})
	}
}

// notify is the alarm by which etcd tells its progress unasked if there have been no events since the last
// one.
type notify Cache

func (n *notify) Ring(nowNs int64) {
	c := (*Cache)(n)
	f := &c.versionWaits
	f.notifyAlarm = c.alarms.Set(nowNs+c.settings.NotifyEveryNs, n)
	if f.quiet && c.state == ready {
		c.send(cacheInput{version: c.store.Revision(), atNs: nowNs})
	}
	f.quiet = true
}
