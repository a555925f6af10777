package watchcache

import (
	"sort"

	"apfsim/sim/api"
)

// The sizes of a ring, in events, and how long history it is to have (watch_cache_history.go).
const (
	leastCapacity = 100
	mostCapacity  = 100 * 1024
	freshNs       = 75e9
)

// ring is the recent events of a cache, from which watches resume. It doubles when its events are from less
// than 75 s, and halves when a quarter of it lasts longer, so that at a steady rate r its capacity is the least
// 100·2^k ≥ 75·r.
//
// Events have indexes that increase by 1 from one to the next and never decrease. The event of index i is at i
// modulo the capacity.
type ring struct {
	events     []*api.Event // as long as the capacity
	start, end int          // the indexes of the oldest event, and behind the newest
	dropped    bool         // an event has been dropped since the cache was filled
	fixed      bool         // the capacity does not change (up to 1.18)
}

func (r *ring) capacity() int                { return len(r.events) }
func (r *ring) full() bool                   { return r.end-r.start == len(r.events) }
func (r *ring) eventAt(index int) *api.Event { return r.events[index%len(r.events)] }

// reset drops all events, and keeps the capacity.
func (r *ring) reset() {
	if r.events == nil {
		r.events = make([]*api.Event, leastCapacity)
	}
	clear(r.events)
	r.start, r.dropped = r.end, false
}

// add adds the newest event.
func (r *ring) add(e *api.Event) {
	if r.full() && !r.fixed {
		r.fit(e.AtNs)
	}
	if r.full() {
		r.start++
		r.dropped = true
	}
	r.events[r.end%len(r.events)] = e
	r.end++
}

// fit changes the capacity of a full ring if it does not fit the rate of events.
func (r *ring) fit(nowNs int64) {
	capacity := len(r.events)
	switch {
	case nowNs-r.eventAt(r.start).AtNs < freshNs:
		capacity = min(2*capacity, mostCapacity)
	case nowNs-r.eventAt(r.end-capacity/4).AtNs > freshNs:
		capacity = max(capacity/2, leastCapacity)
	}
	if capacity == len(r.events) {
		return
	}
	if capacity < r.end-r.start {
		// Upstream does not take this for dropping, but the next event, which finds the ring full, is added
		// at once, and drops one.
		r.start = r.end - capacity
	}
	events := make([]*api.Event, capacity)
	for i := r.start; i < r.end; i++ {
		events[i%capacity] = r.eventAt(i)
	}
	r.events = events
}

// after returns the index of the first event with a greater version.
func (r *ring) after(version int64) int {
	return r.start + sort.Search(r.end-r.start, func(i int) bool { return r.eventAt(r.start+i).Version > version })
}

// oldest returns the oldest version that a watch can resume from, in a cache that was filled at a version.
func (r *ring) oldest(filled int64) int64 {
	if r.dropped {
		return r.eventAt(r.start).Version - 1
	}
	return filled
}

// channelSize returns the size of the input and of the result channel of a watch: about a second of events.
// Index says that the resource has an index, and used that the watch uses it. Up to 1.24 it did not depend on
// the ring.
func (r *ring) channelSize(byRate, index, used bool) int {
	most := 100
	if index {
		most = 1000
	}
	if used {
		most = 10
	}
	if !byRate {
		if index && !used {
			return 1000
		}
		return 10
	}
	const freshSeconds = freshNs / 1e9
	return min(max((r.capacity()+freshSeconds-1)/freshSeconds, 10), most)
}
