package estimate

import (
	"math"

	"apfsim/core/classify"
	"apfsim/core/rules"
)

// Constants of upstream's estimator of lists.
const (
	objectsPerSeat = 100

	bytesPerSeat       = 100_000
	maxBytesFromCache  = 1_000_000 // in memory at a time, because the cache encodes its response in parts
	unknownObjectBytes = 1_500_000 // the largest object that etcd accepts

	staleObjects = 1_000_000_000
)

// listSeats estimates the seats of a list, or of a watch that begins with a list, by what the server
// reads for it. The result does not include the level's cap. Named says that the request is for one
// object (k8s.io/apiserver, util/flowcontrol/request/list_work_estimator.go).
func (e *Estimator) listSeats(o *options, watch, named bool, resource Resource) int {
	r := e.Rules
	switch {
	case r.ListSeats == rules.OneSeat || watch && r.WatchLists == rules.NoWatchLists:
		return 1
	case named && r.NamedListsNarrow:
		return 1
	case o.invalid:
		return r.MaxListSeats
	case watch && !o.startsWithList(r):
		return 1
	}
	stats, known := e.Store[resource]
	if !known {
		if r.UnknownListsWide {
			return r.MaxListSeats
		}
		// The resource is most likely that of an aggregated server, which does the work.
		return 1
	}
	if stats.Stale {
		// A server that cannot count its objects is probably overloaded, so upstream assumes the worst.
		if r.ListSeats == rules.ByCount {
			return r.MaxListSeats
		}
		stats = Stats{Objects: staleObjects, AverageBytes: unknownObjectBytes}
	}
	l := reading{
		Stats:     stats,
		page:      stats.Objects,
		named:     named && r.ListSeats != rules.ByCount, // by count, a name matters only to NamedListsNarrow
		fromCache: watch || o.servedFromCache(r),
		selects:   o.selects(),
	}
	if o.limit > 0 && !r.PagesIgnored {
		l.page = min(l.page, o.limit)
	}
	seats := l.seatsByCount()
	if r.ListSeats == rules.ByBytes {
		seats = l.seatsByBytes()
	}
	return int(max(1, min(float64(r.MaxListSeats), seats)))
}

// ListBytes returns how many bytes the objects have that a list with the given attributes and URL query
// returns: those of its page, or of all objects of the resource, since what a selector selects is not
// known. It is 0 for other requests, and where the sizes of the objects are not known.
func (e *Estimator) ListBytes(a *classify.Attributes, query string) int64 {
	if a.Verb != "list" {
		return 0
	}
	o, err := parseOptions(query)
	if err != nil || o.invalid {
		return 0
	}
	stats := e.Store[Resource{a.APIGroup, a.Resource}]
	objects := stats.Objects
	if o.limit > 0 && o.version != "0" { // the cache returns all objects of version 0
		objects = min(objects, o.limit)
	}
	if a.Name != "" || o.objectName() != "" {
		objects = min(objects, 1)
	}
	return times(objects, stats.AverageBytes)
}

// reading is what determines how much a server reads for a list.
type reading struct {
	Stats
	page      int64 // the number of objects that the list returns at most
	named     bool  // it is for one object
	fromCache bool  // the watch cache serves it
	selects   bool  // it has a selector
}

// seatsByCount returns the seats by the number of objects that the server processes. The cache goes
// through all of them, and each object of a list from etcd counts twice.
func (l *reading) seatsByCount() float64 {
	stored, page := float64(l.Objects), float64(l.page)
	objects := 2 * page
	switch {
	case l.named:
		objects = 1
	case l.fromCache:
		objects = stored
	case l.selects:
		objects = stored + page
	}
	return math.Ceil(objects / objectsPerSeat)
}

// seatsByBytes returns the seats by the number of bytes that the server holds in memory at a time.
func (l *reading) seatsByBytes() float64 {
	each := l.AverageBytes
	if each <= 0 && l.Objects != 0 {
		each = unknownObjectBytes
	}
	objects := l.page
	switch {
	case l.named:
		objects = 1
	case !l.fromCache && l.selects:
		// To find a page of matching objects, the server may have to read many more.
		objects = max(objects, l.Objects/2)
	}
	bytes := times(objects, each)
	if l.fromCache {
		bytes = min(bytes, maxBytesFromCache)
	}
	return math.Ceil(float64(bytes) / bytesPerSeat)
}

// times returns a·b, at most math.MaxInt64. It is 0 unless both are positive.
func times(a, b int64) int64 {
	switch {
	case a <= 0 || b <= 0:
		return 0
	case a > math.MaxInt64/b:
		return math.MaxInt64
	}
	return a * b
}
