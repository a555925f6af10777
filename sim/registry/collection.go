package registry

import (
	"strings"

	"apfsim/sim/api"
	"apfsim/sim/store"
)

// deleteListed deletes the objects of a page, one after another, as --delete-collection-workers=1 does. Objects that are
// only counted come first, and get names when they are deleted, with which the next page would list them again. Pages
// that end among them are therefore read before any of them is deleted.
func (op *Operation) deleteListed(nowNs int64) {
	l, d := &op.listing, &op.deletion
	if op.Answer.Status != 0 {
		op.finish(nowNs)
		return
	}
	d.items, d.counted = l.objects, op.resource.data.Counted()
	d.adopt += l.counted
	if strings.HasPrefix(l.next, countedStart) && op.readsAllPages() {
		op.listNextPage(nowNs)
		return
	}
	op.deleteNext(nowNs)
}

// readsAllPages says whether the request deletes all objects, and not only those of one page.
func (op *Operation) readsAllPages() bool { return op.Call.Options.Limit <= 0 }

// listNextPage reads the page after the one that has been read.
func (op *Operation) listNextPage(nowNs int64) {
	l := &op.listing
	*l = listing{namespace: l.namespace, token: store.EncodeToken(l.revision, l.next), limit: maxPage,
		total: l.total, first: l.first, bytes: l.bytes, wrote: l.wrote}
	op.beginPage(nowNs)
}

// deleteNext deletes the next object of the page, reads the next page or answers.
func (op *Operation) deleteNext(nowNs int64) {
	l, d := &op.listing, &op.deletion
	source := op.Answer.Source
	op.Answer = api.Answer{Items: -1, Rounds: op.Answer.Rounds, Source: source}
	switch {
	case len(d.items) > 0:
		o := d.items[0]
		d.items = d.items[1:]
		op.Namespace, op.Name = o.Namespace, o.Name
		op.beginDeletion(nowNs)
	case d.adopt > 0:
		op.Namespace, op.Name = l.namespace, countedName+text(d.counted)
		d.adopt--
		d.counted--
		op.beginDeletion(nowNs)
	case l.next != "" && op.readsAllPages():
		op.listNextPage(nowNs)
	default:
		op.answerList()
		op.finish(nowNs)
	}
}

// countedName begins the names that objects that are only counted get when they are deleted. The last one that is
// left has number 1, so that no later page or request names one that is deleted, and those that delete at one time
// name the same ones.
const countedName = "counted-"

// deletedOne goes on after an object has been deleted. One that another request has deleted is ignored; any
// other error ends the request.
func (op *Operation) deletedOne(nowNs int64) {
	a := &op.Answer
	op.listing.wrote = op.listing.wrote || a.Wrote
	if a.Status >= 400 && a.Status != 404 {
		a.Wrote = op.listing.wrote
		op.finish(nowNs)
		return
	}
	op.deleteNext(nowNs)
}
