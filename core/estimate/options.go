package estimate

import (
	"apfsim/core/request"
	"apfsim/core/rules"
)

// options are the parameters in the URL query of a list or a watch, of which the cost is computed.
type options struct{ request.Options }

// countsForMutations reports whether a watch of a resource counts as a watcher in the estimate
// of its mutations. A watch of the pods of one node does not: the server finds it by an index,
// so that it adds nothing to the cost of events for other nodes.
func (o *options) countsForMutations(resource string) bool {
	return resource != "pods" || o.NodeName() == ""
}

// startsWithList reports whether a watch is estimated as one that begins by sending all existing
// objects. It does so if it asks for initial events, and also if it does not name the version after
// which it starts, which not all releases count.
func (o *options) startsWithList(r *rules.Rules) bool {
	switch r.WatchLists {
	case rules.AskedWatchLists:
		return o.SendInitialEvents
	case rules.AllWatchLists:
		return o.SendInitialEvents || !o.Version.Given || o.Version.Zero()
	}
	return false
}

// servedFromCache reports whether the watch cache serves a list, as the estimate sees it. It assumes
// an etcd that reports the progress of watches (3.4.31, 3.5.13 or later), by which the server knows
// that the cache is current, and a cache without snapshots of old versions
// (k8s.io/apiserver/pkg/storage/cacher/delegator, and shouldListFromStorage in the releases before
// it).
func (o *options) servedFromCache(r *rules.Rules) bool {
	if r.CacheReads == rules.CacheByDelegation && o.Match == request.NotOlderThan {
		return true
	}
	if !o.Version.Given && !r.CacheUnversioned || o.Continue != "" && !r.PagesIgnored {
		return false
	}
	isPage := o.Limit > 0 && !r.PagesIgnored
	isKnown := o.Match == request.NoMatch || o.Match == request.NotOlderThan
	switch r.CacheReads {
	case rules.CacheUnpaged:
		return o.Match != request.Exact && (!isPage || o.Version.Zero())
	case rules.CacheUnpagedKnown:
		return isKnown && (!isPage || o.Version.Zero())
	}
	// A page of a version other than 0 asks for exactly this version, unless it says otherwise.
	asksExact := isPage && o.Match == request.NoMatch && o.Version.Given && !o.Version.Zero()
	return isKnown && !asksExact
}
