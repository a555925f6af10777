package registry

import (
	"errors"
	"sort"
	"strconv"
	"strings"

	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/registry/change"
	"apfsim/sim/store"
)

// maxPage is the most objects that a server asks etcd for at once (maxLimit, pkg/storage/etcd3/store.go), and
// the page size of deletecollection.
const maxPage = 10_000

// listing is a list that is read: what it asks for, as the storage sees it, and what has been found.
type listing struct {
	namespace string
	token     string // continue
	version   request.Version
	match     request.Match
	limit     int64 // 0 for none
	start     string
	name      string // of the only object that it asks for; "" for all

	// Which version it asks for: one of these, or any with none of them.
	exact   int64
	atLeast int64
	latest  bool

	fresh    bool       // the cache has the version that was waited for
	revision int64      // at which it is read; 0 before that
	chunk    int64      // limit of the range
	page     store.Page // that etcd has returned

	objects []*api.Object
	counted int64 // objects that are only counted
	bytes   int64
	next    string // start of the next page, "" without one

	total int64 // items, of all pages
	first int64 // revision of the first page
	wrote bool
}

// beginList is LIST, and the first page of deletecollection.
func (op *Operation) beginList(nowNs int64) {
	o := &op.Call.Options
	op.listing = listing{namespace: op.Namespace, token: o.Continue, version: o.Version, match: o.Match, limit: max(o.Limit, 0)}
	if o.Continue == "" { // a page that goes on is not narrowed, though the one before was (selection_predicate.go)
		if ns, ok := op.selector.Value("metadata.namespace"); ok && op.Namespace == "" {
			op.listing.namespace = ns
		}
		op.listing.name = op.single()
	}
	if op.kind == collection && op.listing.limit == 0 {
		op.listing.limit = maxPage
	}
	if !op.registry.rules.Match {
		op.listing.match = request.NoMatch // the server does not know it
	}
	op.beginPage(nowNs)
}

// beginPage reads a page from where it can be read (pkg/storage/cacher/delegator.go, GetList).
func (op *Operation) beginPage(nowNs int64) {
	l, r, cache := &op.listing, op.registry, op.resource.cache
	if !op.validateRange() {
		op.finish(nowNs)
		return
	}
	isSingle := l.name != ""
	switch {
	case cache == nil,
		l.token != "" && (!r.rules.Snapshots || isSingle),
		l.exact > 0 && (!r.rules.Snapshots || isSingle),
		isSingle && l.limit > 0 && l.atLeast > 0 && l.match == request.NoMatch,
		l.latest && !r.consistent,
		l.limit > 0 && l.atLeast > 0 && !r.rules.CachedPages,
		l.exact > 0 && l.exact <= cache.Version() && !cache.HasSnapshot(l.exact):
		op.readRange(nowNs)
		return
	}
	if !cache.Ready() {
		op.listUnready(nowNs)
		return
	}
	if l.latest {
		op.read(nowNs, asking)
		return
	}
	op.step = listingVersion
	op.awaitVersion(nowNs, max(l.exact, l.atLeast)) // at most one of them is given
}

// listUnready is a list for a cache that is not ready.
func (op *Operation) listUnready(nowNs int64) {
	l := &op.listing
	switch {
	case !op.registry.rules.RefuseWithoutCache && l.atLeast == 0 || op.registry.rules.RefuseWithoutCache && l.limit > 0 && !op.selects():
		op.readRange(nowNs)
	case !op.registry.rules.RefuseWithoutCache:
		op.awaitReady(nowNs)
	default:
		op.refuse(api.TooManyRequests)
		op.Answer.RetryAfterSeconds = op.resource.cache.RetryAfterSeconds(nowNs)
		op.listed(nowNs)
	}
}

func (op *Operation) resumeList(nowNs int64) {
	l := &op.listing
	switch op.step {
	case asking:
		op.step = listingLatest
		op.awaitVersion(nowNs, op.registry.store.Revision())
	case listingLatest:
		if !l.fresh {
			op.readRange(nowNs)
			return
		}
		op.listFromCache(nowNs)
	case listingVersion:
		if !l.fresh {
			op.Answer.RefuseTooLarge(true)
			op.listed(nowNs)
			return
		}
		op.listFromCache(nowNs)
	case ranging:
		op.rangeRead(nowNs)
	case rangeArrives:
		op.rangeArrived(nowNs)
	case rangeAhead:
		op.Answer.RefuseTooLarge(false)
		op.listed(nowNs)
	}
}

// listFromCache reads the objects from the cache, or a snapshot in it.
func (op *Operation) listFromCache(nowNs int64) {
	l, cache := &op.listing, op.resource.cache
	if !cache.Ready() {
		op.listUnready(nowNs)
		return
	}
	limit := l.limit
	if l.version.Zero() {
		limit = 0 // computeListLimit, pkg/storage/cacher/cacher.go
	}
	var p store.Page
	indexed := false
	op.Answer.Source = api.FromCache
	if l.name != "" {
		p = op.pageOfOne(nowNs, op.resource.cached(l.namespace, l.name), cache.Version())
	} else if node, ok := op.selector.Value(change.NodeField); ok && op.resource.Index != "" && l.exact == 0 {
		indexed = true
		p = op.pageOfNode(node)
	} else {
		pageLimit := limit
		if op.selects() {
			pageLimit = 0
		}
		if l.exact > 0 {
			var ok bool
			if p, ok = cache.Snapshot(l.exact, l.namespace, l.start, pageLimit, op.Call.Matches); !ok {
				op.readRange(nowNs)
				return
			}
			op.Answer.Source = api.FromSnapshot
		} else {
			p = cache.Page(l.namespace, l.start, pageLimit, op.Call.Matches)
		}
	}
	read := p.Counted + int64(len(p.Objects))
	walked := read + p.Remaining
	if indexed {
		before := countedBefore(l.start, op.resource.data.Counted())
		walked += op.matching(before+p.Counted) - op.matching(before) - p.Counted
	}
	start := l.start
	l.revision = p.Revision
	op.collect(&p, limit)
	costs := op.registry.costs
	switch paged := op.registry.rules.CountedPages && limit > 0 && l.name == "" && !indexed; {
	case paged && op.selects():
		walked = op.walkedTo(&p, start)
		op.owedNs += costs.walk(walked, true)
	case paged:
		op.owedNs += costs.walk(read, false) + int64(float64(costs.walk(walked, false))*countedShare)
	default:
		op.owedNs += costs.walk(walked, op.selects())
	}
	op.work.Walked += walked
	op.listed(nowNs)
}

// walkedTo returns how many objects of p a page with a selector looks at: up to its last one, and the one behind it if it is full.
func (op *Operation) walkedTo(p *store.Page, start string) int64 {
	next, all := op.listing.next, op.resource.data.Counted()
	switch {
	case next == "":
		return p.Counted + int64(len(p.Objects))
	case strings.HasPrefix(next, countedStart):
		return countedBefore(next, all) - countedBefore(start, all) + 1
	}
	return p.Counted + int64(sort.Search(len(p.Objects), func(i int) bool { return op.key(p.Objects[i]) >= next })) + 1
}

// pageOfOne returns a page with an object that was asked for by its name, nil for none.
func (op *Operation) pageOfOne(nowNs int64, o *api.Object, revision int64) store.Page {
	l := &op.listing
	if o == nil && op.resource.data.Get(l.namespace, l.name) == nil {
		o = op.resource.data.Adopt(nowNs, l.namespace, l.name)
	}
	p := store.Page{Revision: revision}
	if o != nil {
		p.Objects = []*api.Object{o}
	}
	return p
}

// pageOfNode returns the objects of one node, which the cache has an index for. Of those that are only counted, it has
// all that any other page would have, because the next page may be read without the index.
func (op *Operation) pageOfNode(node string) store.Page {
	l, cache := &op.listing, op.resource.cache
	p := store.Page{Revision: cache.Version(), Counted: op.resource.data.Counted()}
	if l.namespace != "" {
		p.Counted = min(op.Call.Matches, p.Counted)
	}
	p.Counted -= countedBefore(l.start, p.Counted)
	for _, o := range cache.ByNode(node) {
		if (l.namespace == "" || o.Namespace == l.namespace) && op.key(o) >= l.start {
			p.Objects = append(p.Objects, o)
		}
	}
	return p
}

// key returns the key of an object relative to the range.
func (op *Operation) key(o *api.Object) string {
	if op.listing.namespace != "" {
		return o.Name
	}
	return o.Key()
}

// countedStart begins the start of a page in the middle of the objects that are only counted.
const countedStart = "\x00"

// countedBefore returns how many of n objects that are only counted come before the start of a page.
func countedBefore(start string, n int64) int64 {
	if start == "" {
		return 0
	}
	if digits, ok := strings.CutPrefix(start, countedStart); ok {
		before, _ := strconv.ParseInt(digits, 10, 64)
		return min(before, n)
	}
	return n
}

// matching returns how many of the first n objects that are only counted in a range the selectors select: the
// range has them evenly.
func (op *Operation) matching(n int64) int64 {
	total := op.resource.data.Counted()
	if !op.selects() || op.listing.namespace != "" || total == 0 {
		return n
	}
	return int64(float64(n) / float64(total) * float64(min(op.Call.Matches, total)))
}

// collect adds the objects of a page that the selectors select to the list, until it has as many as the limit
// says, 0 for all. It returns whether it has.
func (op *Operation) collect(p *store.Page, limit int64) (isFull bool) {
	l := &op.listing
	average := op.resource.data.AverageBytes()
	before := countedBefore(l.start, op.resource.data.Counted())
	counted := op.matching(before+p.Counted) - op.matching(before)
	left := limit - l.counted // these come before all objects
	if limit > 0 && counted >= left && op.selects() {
		// The page ends among those that are only counted; which ones it has does not matter.
		l.counted += left
		l.bytes += left * average
		l.next = countedStart + text(before+(p.Counted*left+counted-1)/max(counted, 1))
		return true
	}
	l.counted += counted
	l.bytes += counted * average
	if !op.selects() {
		if l.objects == nil {
			l.objects = p.Objects // which nobody else keeps
		} else {
			l.objects = append(l.objects, p.Objects...)
		}
		for _, o := range p.Objects {
			l.bytes += o.Bytes
		}
		l.next = p.Next
		return limit > 0 && l.counted+int64(len(l.objects)) >= limit
	}
	for i, o := range p.Objects {
		if !op.selector.Matches(o) {
			continue
		}
		l.objects = append(l.objects, o)
		l.bytes += o.Bytes
		if limit > 0 && l.counted+int64(len(l.objects)) == limit {
			if i < len(p.Objects)-1 || p.More {
				l.next = op.key(o) + "\x00"
			}
			return true
		}
	}
	return false
}

// readRange asks etcd for a range of the objects (pkg/storage/etcd3/store.go, GetList).
func (op *Operation) readRange(nowNs int64) {
	l := &op.listing
	op.Answer.Source = api.FromEtcd
	l.revision, l.chunk = l.exact, l.limit
	op.nextRange(nowNs)
}

func (op *Operation) nextRange(nowNs int64) {
	op.work.Ranges++
	op.step = ranging
	op.ask(nowNs)
}

func (op *Operation) rangeRead(nowNs int64) {
	l, r := &op.listing, op.registry
	limit := l.chunk
	if l.name != "" {
		limit = 1 // one key is read; whether the revision can be is seen by any
	}
	p, err := op.resource.data.Page(l.revision, l.namespace, l.start, limit, op.Call.Matches)
	if err == nil && l.name != "" {
		p = op.pageOfOne(nowNs, op.objectAt(p.Revision), p.Revision)
	}
	switch {
	case errors.Is(err, store.ErrCompacted):
		op.refuse(api.Expired)
		if l.token != "" {
			op.Answer.Continue = store.EncodeToken(-1, l.start)
		}
		op.listed(nowNs)
		return
	case errors.Is(err, store.ErrFuture):
		if r.rules.FutureTooLarge {
			op.work.Ranges++
			op.step = rangeAhead
			op.ask(nowNs)
			return
		}
		op.refuse(api.NoReason)
		op.listed(nowNs)
		return
	case l.atLeast > p.Revision:
		op.Answer.RefuseTooLarge(false)
		op.listed(nowNs)
		return
	}
	l.revision, l.page = p.Revision, p
	if delayNs := (p.Counted + int64(len(p.Objects))) * int64(r.costs.RangedObject); delayNs > 0 && op.GivenNs < 0 {
		op.pending, op.step = true, rangeArrives
		r.store.ReadOn(nowNs, delayNs, op)
		return
	}
	op.rangeArrived(nowNs)
}

// objectAt returns the object of a name as it was at a revision, nil if there was none.
func (op *Operation) objectAt(revision int64) *api.Object {
	l := &op.listing
	o := op.resource.data.Get(l.namespace, l.name)
	if events, ok := op.resource.data.Since(revision); ok {
		for e := range events {
			if e.Object.Name == l.name && e.Object.Namespace == l.namespace {
				return e.Previous // before the first change since
			}
		}
	}
	return o
}

func (op *Operation) rangeArrived(nowNs int64) {
	l, r := &op.listing, op.registry
	p := l.page
	l.page = store.Page{}
	bytes := p.Counted * op.resource.data.AverageBytes()
	for _, o := range p.Objects {
		bytes += o.Bytes
	}
	n := p.Counted + int64(len(p.Objects))
	op.work.Fetched += n
	costNs := r.costs.fetch(n, bytes)
	behindNs := int64(float64(costNs) * r.costs.EtcdBackground)
	op.owedNs += costNs - behindNs
	if behindNs > 0 && op.GivenNs < 0 {
		op.work.CPUNs += behindNs
		r.host.ServeBehind(nowNs, behindNs)
	}
	if op.selects() {
		op.owedNs += n * int64(r.costs.MatchedObject)
	}
	if op.collect(&p, l.limit) || !p.More {
		op.listed(nowNs)
		return
	}
	l.start = p.Next
	if r.rules.GrowingPages {
		l.chunk = min(2*l.chunk, maxPage)
	}
	op.nextRange(nowNs)
}

// listed answers a list, or goes on with the deletion of its objects.
func (op *Operation) listed(nowNs int64) {
	a, l := &op.Answer, &op.listing
	if a.Status == 0 {
		l.total += l.counted + int64(len(l.objects))
		if l.first == 0 {
			l.first = l.revision
		}
	}
	if op.kind == collection {
		op.deleteListed(nowNs)
		return
	}
	if a.Status == 0 {
		op.answerList()
	}
	op.finish(nowNs)
}

// answerList answers with what has been listed.
func (op *Operation) answerList() {
	a, l := &op.Answer, &op.listing
	rounds, source := a.Rounds, a.Source
	op.work.Returned += l.total
	*a = api.Answer{Status: 200, Version: l.first, Items: l.total, Bytes: l.bytes, Source: source, Rounds: rounds,
		Objects: l.objects, Wrote: l.wrote}
	if l.next != "" {
		a.Continue = store.EncodeToken(l.revision, l.next)
	}
}
