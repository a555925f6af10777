package watchcache

import (
	"apfsim/sim/api"
	"apfsim/sim/clock"
)

// dispatch gives the events of a cache to its watchers, one event after another (dispatchEvent in cacher.go).
// If the input channels of some watchers are full, it waits for them, one after another, for the time budget
// at most, and then closes those that are still full. Meanwhile no watcher of the cache gets anything.
type dispatch struct {
	queue   fifo[cacheInput]
	running bool  // an event or a tick is being dispatched now
	version int64 // of what was dispatched last

	shared     transitions
	interested []*Watcher // kept for its capacity
	sent       int        // watchers to which the current event was sent
	compressed int        // those of them for which it is compressed
	budget     budget

	// While dispatch waits, event is not nil, and the first of the full watchers is the one that it waits
	// for.
	event             *api.Event
	full              []*Watcher
	next              int
	sinceNs, budgetNs int64
	alarm             clock.AlarmID
}

// clear forgets what is to be dispatched.
func (d *dispatch) clear(alarms *clock.Alarms) {
	alarms.Cancel(&d.alarm)
	d.queue.clear()
	d.event = nil
}

// dispatchQueue dispatches what is queued, until there is a watcher to wait for.
func (c *Cache) dispatchQueue(nowNs int64) {
	d := &c.dispatch
	if d.running {
		return
	}
	d.running = true
	for d.event == nil && c.state == ready && d.queue.len() > 0 {
		if n := d.queue.pop(); n.event != nil {
			c.dispatchEvent(nowNs, n.event)
		} else {
			d.version = max(d.version, n.version)
		}
	}
	d.running = false
}

// dispatchEvent gives an event to all watchers that are not full.
func (c *Cache) dispatchEvent(nowNs int64, e *api.Event) {
	d := &c.dispatch
	d.interested = c.watchers.interested(d.interested[:0], e)
	d.event, d.full, d.next, d.sent, d.compressed = e, d.full[:0], 0, 0, 0
	for _, w := range d.interested {
		if w.group == nil {
			continue // what an earlier watcher was told has ended it
		}
		accepted, sent := w.offer(nowNs, e)
		if !accepted {
			d.full = append(d.full, w)
		} else if sent {
			d.count(w)
		}
	}
	clear(d.interested)
	if d.event == nil {
		return // one of them has stopped the cache
	}
	if len(d.full) > 0 {
		d.sinceNs, d.budgetNs = nowNs, d.budget.take(nowNs)
	}
	c.settle(nowNs)
}

// count counts a watcher to which the current event was sent.
func (d *dispatch) count(w *Watcher) {
	d.sent++
	if w.compressed {
		d.compressed++
	}
}

// settle gives the event to the full watchers in turn, closes them if the budget is used up, and returns with
// the event not nil if it has to wait for one of them. A watcher that has been stopped meanwhile is waited
// for, too, as upstream, where it is not removed before the event has been dispatched.
func (c *Cache) settle(nowNs int64) {
	d := &c.dispatch
	for ; d.next < len(d.full); d.next++ {
		w := d.full[d.next]
		accepted, sent := w.offer(nowNs, d.event)
		switch {
		case accepted && sent:
			d.count(w)
		case accepted:
		case nowNs < d.sinceNs+d.budgetNs:
			if !d.alarm.Pending() {
				d.alarm = c.alarms.Set(d.sinceNs+d.budgetNs, (*budgetUsed)(c))
			}
			return
		case !w.over:
			c.Counters.TerminatedAsSlow++
			w.close(nowNs)
		}
		if d.event == nil {
			return
		}
	}
	c.alarms.Cancel(&d.alarm)
	if len(d.full) > 0 {
		d.budget.giveBack(d.budgetNs - (nowNs - d.sinceNs))
		clear(d.full)
	}
	e := d.event
	d.version, d.event = max(d.version, e.Version), nil
	c.Counters.Dispatched += int64(d.sent)
	if c.settings.Dispatched != nil {
		c.settings.Dispatched(nowNs, e, d.sent, d.compressed)
	}
}

// budgetUsed is the alarm of the end of the time budget.
type budgetUsed Cache

func (b *budgetUsed) Ring(nowNs int64) {
	b.dispatch.alarm = clock.AlarmID{}
	(*Cache)(b).resume(nowNs)
}

// freed is called when there is room in the input channel of a watcher again.
func (c *Cache) freed(nowNs int64, w *Watcher) {
	if d := &c.dispatch; d.event != nil && !d.running && d.next < len(d.full) && d.full[d.next] == w {
		c.resume(nowNs)
	}
}

// resume goes on with the event for which dispatch has waited, and if it is done, with what has gathered
// meanwhile.
func (c *Cache) resume(nowNs int64) {
	d := &c.dispatch
	d.running = true
	c.settle(nowNs)
	d.running = false
	if d.event != nil || c.state != ready {
		return
	}
	if c.bookmarks.late {
		c.bookmarks.late = false
		c.tick(nowNs)
	}
	c.dispatchQueue(nowNs)
	c.drain(nowNs)
}
