package store

import (
	"cmp"
	"slices"
)

// The bounds of how long a lease is used, and for how many objects (k8s.io/apiserver
// pkg/storage/etcd3/lease_manager.go).
const (
	maxReuseSeconds = 60
	maxLeaseObjects = 1000
)

// leases makes the objects of a resource expire. Objects that are written within a short time share a lease:
// it is granted for their time to live and a little more, and is used as long as an object of it does not
// expire early.
//
// Each server has leases of its own upstream. Here all servers share them, which makes no difference to when
// an object expires but within that little more.
type leases struct {
	resource   *Resource
	ttlSeconds int64
	last       *lease // the one in use, nil before the first
}

// lease deletes its objects when it expires.
type lease struct {
	resource  *Resource
	expiresNs int64
	writes    int // transactions for which it was used, whether they succeeded or not
	objects   []leased
}

// leased is an object that was stored under a lease. It belongs to it as long as its entry says so.
type leased struct {
	id    id
	entry *entry
}

// reuseSeconds returns how much longer than the time to live a lease is granted.
func (l *leases) reuseSeconds() int64 { return min(maxReuseSeconds, l.ttlSeconds*5/100) }

// due says whether a write at a time needs another lease.
func (l *leases) due(nowNs int64) bool {
	return l.last == nil || l.last.writes >= maxLeaseObjects || nowNs+l.ttlSeconds*1e9 >= l.last.expiresNs
}

// current returns the lease for a write, and counts it.
func (l *leases) current(nowNs int64) *lease {
	if l.due(nowNs) {
		seconds := l.ttlSeconds + l.reuseSeconds()
		l.last = &lease{resource: l.resource, expiresNs: nowNs + seconds*1e9}
		l.resource.store.alarms.Set(l.last.expiresNs, l.last)
	}
	l.last.writes++
	return l.last
}

// attach makes an object expire with the lease, and with no other.
func (l *lease) attach(e *entry, key id) {
	if e.lease != l {
		e.lease = l
		l.objects = append(l.objects, leased{key, e})
	}
}

// Ring deletes the objects of a lease that has expired in one transaction, in the order of their keys.
func (l *lease) Ring(nowNs int64) {
	due := slices.DeleteFunc(l.objects, func(o leased) bool { return o.entry.lease != l })
	if len(due) == 0 {
		return
	}
	slices.SortFunc(due, func(a, b leased) int { return cmp.Compare(a.entry.key, b.entry.key) })
	l.resource.store.revision++
	for _, o := range due {
		l.resource.remove(nowNs, o.id, o.entry)
	}
}

// NeedsLease says whether a write of an object at a time needs a grant of a lease first, which is one more
// call to etcd. Only the events of a store with a time to live do.
func (r *Resource) NeedsLease(nowNs int64) bool { return r.leases != nil && r.leases.due(nowNs) }
