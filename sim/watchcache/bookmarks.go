package watchcache

import (
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/random"
)

const (
	tickNs         = 1e9 // the least time between two ticks, the greatest being a quarter longer
	bookmarkNs     = 60e9
	beforeDeadline = 2e9
)

// bookmarks is when the watchers that want bookmarks get the next one, to the second
// (watcherBookmarkTimeBuckets in cacher.go). Ticks are only made while there is such a watcher.
type bookmarks struct {
	stream  random.Stream
	alarm   clock.AlarmID
	buckets map[int64][]*Watcher // by whole seconds since the start; watchers that have been closed may be in them
	first   int64                // the first bucket that has not been due
	length  int                  // of all buckets
	due     []*Watcher           // kept for its capacity
	late    bool                 // a tick was due while dispatch waited for a watcher
}

func (b *bookmarks) start() {
	b.buckets, b.first, b.length, b.late = map[int64][]*Watcher{}, 0, 0, false
}

func (b *bookmarks) clear(alarms *clock.Alarms) {
	alarms.Cancel(&b.alarm)
	b.start()
}

// plan puts a watcher in the bucket of its next bookmark, if there is one before its deadline. One that waits
// for the bookmark at the end of its initial events tries at each tick.
func (c *Cache) plan(nowNs int64, w *Watcher) {
	b := &c.bookmarks
	bucket := b.first
	if w.marks != marksAwaited {
		atNs := nowNs + bookmarkNs
		if !c.rules.MinuteBookmarks {
			if w.deadlineNs == 0 {
				return
			}
			atNs = w.deadlineNs - beforeDeadline
		} else if w.deadlineNs > 0 {
			atNs = min(atNs, w.deadlineNs-beforeDeadline)
		}
		if atNs < nowNs {
			return
		}
		bucket = max(bucket, (atNs-c.startedNs)/1e9)
	}
	b.buckets[bucket] = append(b.buckets[bucket], w)
	b.length++
	c.setTick(nowNs)
}

// setTick sets the alarm of the next tick.
func (c *Cache) setTick(nowNs int64) {
	if b := &c.bookmarks; !b.alarm.Pending() && b.length > 0 {
		b.alarm = c.alarms.Set(nowNs+tickNs+int64(b.stream.Float64()*tickNs/4), (*ticker)(c))
	}
}

// ticker is the alarm of the next tick.
type ticker Cache

func (t *ticker) Ring(nowNs int64) {
	c := (*Cache)(t)
	c.bookmarks.alarm = clock.AlarmID{}
	if c.dispatch.event != nil {
		c.bookmarks.late = true
		return
	}
	c.tick(nowNs)
}

// tick offers a bookmark to the watchers that are due. One that is full does not get it.
func (c *Cache) tick(nowNs int64) {
	b := &c.bookmarks
	due := b.due[:0]
	for second := (nowNs - c.startedNs) / 1e9; b.first <= second; b.first++ {
		if bucket := b.buckets[b.first]; bucket != nil {
			due = append(due, bucket...)
			delete(b.buckets, b.first)
		}
	}
	b.length -= len(due)
	c.setTick(nowNs)
	if c.state == ready && len(due) > 0 {
		running := c.dispatch.running
		c.dispatch.running = true // events that this causes wait for their turn
		e := &api.Event{Type: api.Bookmark, Version: c.dispatch.version, AtNs: nowNs}
		for _, w := range due {
			if w.group != nil {
				w.offerBookmark(nowNs, e)
			}
		}
		c.dispatch.running = running
	}
	for _, w := range due {
		if w.group != nil {
			c.plan(nowNs, w)
		}
	}
	clear(due)
	b.due = due[:0]
	c.dispatchQueue(nowNs)
}
