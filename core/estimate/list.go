package estimate

import (
	"math"

	"apfsim/core/rules"
)

// staleObjects is how many objects the server assumes that cannot count them.
const staleObjects = 1_000_000_000

// listing is what the seats and the size of a list, or of a watch that begins with a list, depend on.
type listing struct {
	estimator *Estimator
	resource  Resource

	limit     int64 // the most objects that the request asks for; 0 for all
	watch     bool
	named     bool // it is for one object
	fromCache bool // the watch cache serves it
	selects   bool // it has a selector
	invalid   bool // the server cannot read its options
	version0  bool // it asks for any version

	counts bool   // the seats depend on what the server knows of its objects
	seats  int32  // without the cap of the level
	asOf   uint64 // the value of of.updates for which seats was computed
}

// newListing returns the list of a request with some options. Named says that the request is for one object.
func (e *Estimator) newListing(o *options, watch, named bool, resource Resource) *listing {
	r := e.Rules
	l := &listing{
		estimator: e, resource: resource, limit: o.Limit, watch: watch, named: named,
		fromCache: watch || o.servedFromCache(r), selects: o.Selects(), invalid: o.Malformed != "", version0: o.Version.Zero(),
		seats: int32(r.MinSeats),
	}
	switch {
	case watch && r.WatchLists == rules.NoWatchLists:
	case r.ListSeats == rules.FixedSeats && !watch:
		l.seats = int32(r.MaxListSeats)
	case named && r.NamedListsNarrow:
	case o.Malformed != "":
		l.seats = int32(r.MaxListSeats)
	case watch && !o.startsWithList(r):
	case r.ListSeats == rules.FixedSeats:
		l.seats = int32(r.MaxListSeats)
	default:
		l.counts = true
		l.estimate()
	}
	return l
}

// initialSeats returns the seats of the list, by what the server knows now, without the cap of the level.
func (l *listing) initialSeats() int {
	if l.counts && l.asOf != l.estimator.updates {
		l.estimate()
	}
	return int(l.seats)
}

// estimate estimates the seats by what the server reads for the list (k8s.io/apiserver,
// util/flowcontrol/request/list_work_estimator.go).
func (l *listing) estimate() {
	l.asOf = l.estimator.updates
	r := l.estimator.Rules
	stats, known := l.estimator.store[l.resource]
	if !known {
		// The resource is most likely that of an aggregated server, which does the work.
		l.seats = int32(r.MinSeats)
		if r.UnknownListsWide {
			l.seats = int32(r.MaxListSeats)
		}
		return
	}
	if stats.Stale {
		// A server that cannot count its objects is probably overloaded, so upstream assumes the worst.
		if r.ListSeats == rules.ByCount {
			l.seats = int32(r.MaxListSeats)
			return
		}
		stats = Stats{Objects: staleObjects, AverageBytes: r.UnknownObjectBytes}
	}
	read := reading{
		SeatConstants: &r.SeatConstants,

		Stats:     stats,
		page:      stats.Objects,
		named:     l.named && r.ListSeats != rules.ByCount, // by count, a name matters only to NamedListsNarrow
		fromCache: l.fromCache,
		selects:   l.selects,
	}
	if l.limit > 0 && !r.PagesIgnored {
		read.page = min(read.page, l.limit)
	}
	seats := read.seatsByCount()
	if r.ListSeats == rules.ByBytes {
		seats = read.seatsByBytes()
	}
	l.seats = int32(max(float64(r.MinSeats), min(float64(r.MaxListSeats), seats)))
}

// bytes returns how many bytes the objects have that the list returns: those of its page, or of all objects of the
// resource, since what a selector selects is not known. It is 0 for a watch, and where the sizes are not known.
func (l *listing) bytes(stored Stats) int64 {
	if l.watch || l.invalid {
		return 0
	}
	objects := stored.Objects
	if l.limit > 0 && !l.version0 { // the cache returns all objects of version 0
		objects = min(objects, l.limit)
	}
	if l.named {
		objects = min(objects, 1)
	}
	return times(objects, stored.AverageBytes)
}

// reading is what determines how much a server reads for a list.
type reading struct {
	*rules.SeatConstants

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
	return math.Ceil(objects / float64(l.ObjectsPerSeat))
}

// seatsByBytes returns the seats by the number of bytes that the server holds in memory at a time.
func (l *reading) seatsByBytes() float64 {
	each := l.AverageBytes
	if each <= 0 && l.Objects != 0 {
		each = l.UnknownObjectBytes
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
		bytes = min(bytes, l.MaxCachedBytes)
	}
	return math.Ceil(float64(bytes) / float64(l.BytesPerSeat))
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
