package store

import (
	"slices"
	"strconv"
	"strings"

	"apfsim/sim/api"
)

// Page is a part of a range over the objects of a resource or namespace.
type Page struct {
	Revision int64         // at which the objects were read
	Counted  int64         // objects that are only counted; they come before the others
	Objects  []*api.Object // in the order of their keys; the caller owns the slice

	More      bool   // there are objects behind those of the page
	Next      string // start of the next page, "" without one
	Remaining int64  // objects behind those of the page (remainingItemCount)
}

// countedPrefix begins the start of a page that begins behind some of the objects that are only counted. The
// number of these follows. It is less than all characters of names.
const countedPrefix = "\x00"

// Page returns the objects at a revision, 0 for the latest, from a start key on, and at most limit of them, 0
// for all. With a namespace, it returns only the objects in it, and how many of those that are only counted
// are in it is not known: matches says how many they are. Without one, all objects that are only counted
// belong to the range, and matches means nothing. The start is "", a Page's Next or that of a continue token;
// it is relative to the namespace, as in upstream's tokens (k8s.io/apiserver pkg/storage/continue.go). The
// error is ErrCompacted or ErrFuture.
//
// An object that is only counted may be adopted between two pages. Then it comes by its name, or not at all
// if that is before the start.
func (r *Resource) Page(revision int64, namespace, start string, limit, matches int64) (Page, error) {
	latest := r.store.revision
	switch {
	case revision == 0:
		revision = latest
	case revision > latest:
		return Page{}, ErrFuture
	case revision < r.store.compacted:
		return Page{}, ErrCompacted
	}
	prefix, end := "", ""
	counted := r.counted
	if namespace != "" {
		prefix, end = namespace+"/", namespace+"0" // "0" follows "/"
		counted = min(matches, r.counted)
	}
	skipped := int64(0)
	if behind, ok := strings.CutPrefix(start, countedPrefix); ok {
		skipped, _ = strconv.ParseInt(behind, 10, 64) // a token that a client made up begins with the first
		skipped = min(max(skipped, 0), counted)
		start = ""
	} else if start != "" {
		skipped = counted
	}
	from := prefix + start

	p := Page{Revision: revision, Counted: counted - skipped}
	v := r.viewAt(revision)
	named := r.count(v, from, end)
	total := p.Counted + named
	if limit == 0 || limit > total {
		limit = total
	}
	p.Counted = min(p.Counted, limit)
	p.Remaining = total - limit
	p.More = p.Remaining > 0
	if n := limit - p.Counted; n > 0 {
		p.Objects = make([]*api.Object, 0, n)
		last := r.collect(v, from, &p.Objects)
		p.Next = last[len(prefix):] + "\x00"
	} else {
		p.Next = countedPrefix + strconv.FormatInt(skipped+p.Counted, 10)
	}
	if !p.More {
		p.Next = ""
	}
	return p, nil
}

// view is the state of a resource at an old revision, stored as the changes since. It is updated when it is used, so
// that several pages of one list cost as much as one.
type view struct {
	revision int64
	upTo     int64 // the version up to which events are in it
	changed  map[id]*entry
	order    order // of changed
}

// maxViews is the most views that a resource keeps, those that were used last.
const maxViews = 8

// viewAt returns the view of a revision, nil if nothing has changed since.
func (r *Resource) viewAt(revision int64) *view {
	next := r.history.after(revision)
	if next == r.history.len() {
		return nil
	}
	revision = r.history.eventAt(next).Version - 1 // revisions between two events have one view
	i := slices.IndexFunc(r.views, func(v *view) bool { return v.revision == revision })
	var v *view
	if i >= 0 {
		v = r.views[i]
		r.views = slices.Delete(r.views, i, i+1)
	} else {
		v = &view{revision: revision, upTo: revision, changed: map[id]*entry{}}
		if len(r.views) == maxViews {
			r.views = slices.Delete(r.views, 0, 1)
		}
	}
	r.views = append(r.views, v)
	for i := r.history.after(v.upTo); i < r.history.len(); i++ {
		e := r.history.eventAt(i)
		key := id{e.Object.Namespace, e.Object.Name}
		c := v.changed[key]
		if c == nil {
			c = &entry{key: e.Object.Key(), object: e.Previous}
			v.changed[key] = c
			v.order.insert(c)
		}
		c.exists = e.Type != api.Deleted
	}
	v.upTo = r.store.revision
	return v
}

// dropViewsBefore drops the views of revisions that have been compacted.
func (r *Resource) dropViewsBefore(revision int64) {
	r.views = slices.DeleteFunc(r.views, func(v *view) bool { return v.revision < revision })
}

// count returns how many named objects there are at a view from a key on and before an end, "" for none.
func (r *Resource) count(v *view, from, end string) int64 {
	n := int64(r.order.between(from, end))
	if v == nil {
		return n
	}
	for p := v.order.seek(from); ; p = v.order.next(p) {
		e := v.order.entryAt(p)
		if e == nil || end != "" && e.key >= end {
			return n
		}
		if e.exists {
			n--
		}
		if e.object != nil {
			n++
		}
	}
}

// collect fills the capacity of a slice with the named objects at a view from a key on, of which there must be
// enough, and returns the key of the last one.
func (r *Resource) collect(v *view, from string, objects *[]*api.Object) (last string) {
	if v == nil {
		v = &view{}
	}
	now, old := r.order.seek(from), v.order.seek(from)
	for len(*objects) < cap(*objects) {
		current, changed := r.order.entryAt(now), v.order.entryAt(old)
		e := current
		if changed != nil && (current == nil || changed.key <= current.key) {
			e = changed
			old = v.order.next(old)
		}
		if current != nil && e.key == current.key {
			now = r.order.next(now)
		}
		if e.object != nil {
			*objects = append(*objects, e.object)
			last = e.key
		}
	}
	return last
}
