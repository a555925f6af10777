package registry

import (
	"apfsim/core/estimate"
	"apfsim/core/rules"
	"apfsim/sim/clock"
	"apfsim/sim/random"
)

const (
	// countJitter is by how much longer than Settings.CountEveryNs the time from one count of a resource to the next
	// is at most (registry/generic/registry/store.go, resourceCountPollPeriodJitter).
	countJitter = 1.2
	// staleNs is how long a count is used (util/flowcontrol/request/object_count_tracker.go,
	// staleTolerationThreshold).
	staleNs = 180_000_000_000
)

// counter counts the objects of a resource again and again, as long as the server's process runs, and so learns what
// the seats of its lists are estimated by (registry/generic/registry/store.go, startObservingCount).
//
// Releases that estimate the seats by bytes count in the watch cache, when it has the version that etcd has, and know
// the sizes of its objects (storage/cacher/cacher.go, getKeys; storage/etcd3/stats.go). If the cache does not come to
// this version within 3 s, for example because it is being filled, the count has failed. The others, and all for a
// resource without a cache, ask etcd, which knows no sizes.
type counter struct {
	registry *Registry
	resource *resource
	random   random.Stream
	known    estimate.Stats // by the last count

	counting bool          // etcd has been asked
	next     clock.AlarmID // of the next count, or of etcd's answer
	stale    clock.AlarmID // the last count is no longer used
}

// startCounting makes the server count a resource while its process runs. A process that has run for long has counted
// it already; one that starts knows nothing yet.
func (r *Registry) startCounting(nowNs int64, res *resource, hasCounted bool) {
	if r.settings.CountEveryNs <= 0 || res.Events && res.name.Group != "" {
		return // the events of both groups are counted under the name of the core group
	}
	c := &counter{registry: r, resource: res}
	c.random.Open(r.settings.Seed, "servers", r.settings.Server, "counts of "+res.name.Name+"."+res.name.Group)
	res.counter = c
	if !hasCounted {
		c.Ring(nowNs)
		return
	}
	c.learn(nowNs)
	c.scheduleNextCount(nowNs, int64(c.random.Float64()*float64(c.periodNs())))
}

func (c *counter) periodNs() int64 {
	every := c.registry.settings.CountEveryNs
	return every + int64(c.random.Float64()*countJitter*float64(every))
}

// Ring begins a count, or goes on when etcd has answered.
func (c *counter) Ring(nowNs int64) {
	r := c.registry
	c.next = clock.AlarmID{}
	if !c.counting {
		c.counting = true
		c.next = r.store.ReadAside(nowNs, &c.random, c)
		return
	}
	if !c.countsInCache() || c.resource.cache.WaitFreshAside(nowNs, r.store.Revision(), c) {
		c.Waited(nowNs, true)
	}
}

// Waited implements watchcache.Waiter.
func (c *counter) Waited(nowNs int64, fresh bool) {
	if fresh {
		c.learn(nowNs)
	}
	c.scheduleNextCount(nowNs, c.periodNs())
}

func (c *counter) countsInCache() bool {
	return c.resource.cache != nil && c.registry.settings.Rules.ListSeats == rules.ByBytes
}

// learn sets the server's count and size of the resource to the present ones.
func (c *counter) learn(nowNs int64) {
	data := c.resource.data
	c.known = estimate.Stats{Objects: data.Len()}
	if c.countsInCache() && c.known.Objects > 0 {
		c.known.AverageBytes = data.AverageBytes()
		if data.Counted() == 0 {
			c.known.AverageBytes = max(1, c.known.AverageBytes) // where nobody has said how large they are, they are small
		}
	}
	c.registry.alarms.Cancel(&c.stale)
	c.stale = c.registry.alarms.Set(nowNs+staleNs+1, (*staleCount)(c))
	c.registry.host.Known(c.resource.name, c.known)
}

func (c *counter) scheduleNextCount(nowNs, ns int64) {
	c.counting = false
	c.next = c.registry.alarms.Set(nowNs+ns, c)
}

// stop ends the counts with the process of the server.
func (c *counter) stop() {
	c.registry.alarms.Cancel(&c.next)
	c.registry.alarms.Cancel(&c.stale)
}

// staleCount is the alarm after which a count is not used any more.
type staleCount counter

// Ring makes the server forget the count, which is now too old.
func (s *staleCount) Ring(int64) {
	s.stale = clock.AlarmID{}
	s.known.Stale = true
	s.registry.host.Known(s.resource.name, s.known)
}
