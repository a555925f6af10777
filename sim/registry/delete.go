package registry

import (
	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/registry/change"
)

// deletionState is what a deletion keeps: of one object, of those of a collection one after another, and of an
// update that has removed the last finalizer.
type deletionState struct {
	live    *api.Object // that was read first
	updated *api.Object // what the update in which it was marked has left, nil without one
	emptied *api.Object // the object without finalizers, in whose update it is deleted; nil otherwise

	// Of a collection.
	items   []*api.Object // that are to be deleted
	adopt   int64         // how many more that have no names
	counted int64         // the number of the next one of them
}

// beginDeletion is DELETE (pkg/registry/generic/registry/store.go, Delete).
func (op *Operation) beginDeletion(nowNs int64) {
	o := &op.Call.Options
	w, d := &op.write, &op.deletion
	w.Preconditions, w.Namespace, w.Name = o.Preconditions, op.Namespace, op.Name
	w.GraceSeconds, w.GraceGiven, w.Finalizes = o.GraceSeconds, o.GraceSecondsGiven, false
	d.live, d.updated = nil, nil
	op.read(nowNs, deletionBegins)
}

// deletionRead goes on when the object has been read.
func (op *Operation) deletionRead(nowNs int64) {
	d := &op.deletion
	d.live = op.fetched(nowNs)
	if d.live == nil {
		op.refuse(api.NotFound)
		op.deleted(nowNs)
		return
	}
	op.write.Next = *d.live
	graceful, isPending, ok := op.write.BeforeDelete(nowNs, d.live)
	switch {
	case !ok:
		op.refuse(api.Conflict)
		op.deleted(nowNs)
	case isPending:
		op.answerDeletion(d.live, false)
		op.deleted(nowNs)
	case op.write.Marks(d.live, graceful):
		op.transact(nowNs)
	default:
		op.remove(nowNs)
	}
}

// marked goes on when the update that marks the object has ended.
func (op *Operation) marked(nowNs int64, o change.Outcome) {
	d := &op.deletion
	switch o {
	case change.Failed:
		op.deleted(nowNs)
	case change.IsDeleting:
		op.answerDeletion(d.live, false)
		op.deleted(nowNs)
	case change.DeleteNow:
		if op.Call.Options.DryRun {
			op.succeed(200, d.live)
			op.deleted(nowNs)
			return
		}
		op.remove(nowNs)
	default:
		d.updated = op.Answer.Object
		if op.write.Finalizes || op.write.GraceSeconds > 0 {
			op.Answer.Status = op.notDeletedStatus()
			op.deleted(nowNs)
			return
		}
		if op.Call.Options.DryRun {
			op.deleted(nowNs)
			return
		}
		if op.write.Preconditions.Version.Given {
			op.write.Preconditions.Version = request.At(d.updated.Version)
		}
		op.remove(nowNs)
	}
}

// notDeletedStatus returns the status of a deletion that has left the object.
func (op *Operation) notDeletedStatus() int {
	if o := &op.Call.Options; o.OrphanGiven && !o.OrphanDependents {
		return 202
	}
	return 200
}

// remove removes the object (pkg/storage/etcd3/store.go, conditionalDelete). It begins with the object as the
// cache has it.
func (op *Operation) remove(nowNs int64) {
	op.fresh = false
	if op.Call.Options.DryRun {
		op.read(nowNs, deleteDryRun)
		return
	}
	op.state = op.resource.cached(op.Namespace, op.Name)
	if op.state == nil {
		op.read(nowNs, deleteReads)
		return
	}
	op.tryRemoval(nowNs)
}

// tryRemoval makes one round on the state.
func (op *Operation) tryRemoval(nowNs int64) {
	if !op.write.Holds(op.state) {
		if !op.fresh {
			op.read(nowNs, deleteRefreshes)
			return
		}
		op.refuse(api.Conflict)
		op.deleted(nowNs)
		return
	}
	op.commit(nowNs, deleteCommits)
}

func (op *Operation) resumeDelete(nowNs int64) {
	switch op.step {
	case deletionBegins:
		op.deletionRead(nowNs)
	case deleteDryRun:
		o := op.fetched(nowNs)
		switch {
		case o == nil:
			op.refuse(api.NotFound)
		case !op.write.Holds(o):
			op.refuse(api.Conflict)
		default:
			op.removed(o)
		}
		op.deleted(nowNs)
	case deleteReads, deleteRefreshes:
		op.refreshRemoval(nowNs, op.fetched(nowNs))
	case deleteCommits:
		event, ok := op.resource.data.Delete(nowNs, op.Namespace, op.Name, op.state.Version)
		if !ok {
			op.refreshRemoval(nowNs, op.resource.data.Get(op.Namespace, op.Name))
			return
		}
		op.Answer.Wrote = true
		last := new(api.Object)
		*last = *op.state
		last.Version = event.Version
		op.removed(last)
		op.deleted(nowNs)
	}
}

// refreshRemoval goes on with the object that etcd has returned, nil if it is gone.
func (op *Operation) refreshRemoval(nowNs int64, o *api.Object) {
	if o != nil {
		op.state, op.fresh = o, true
		op.tryRemoval(nowNs)
		return
	}
	// Another one has removed it. Whoever has marked it, or removed the last finalizer, does not mind.
	switch d := &op.deletion; {
	case d.emptied != nil:
		op.removed(d.emptied)
	case d.updated != nil:
		op.removed(d.updated)
	default:
		op.refuse(api.NotFound)
	}
	op.deleted(nowNs)
}

// removed answers that the object is gone, with its last state.
func (op *Operation) removed(last *api.Object) {
	if e := op.deletion.emptied; e != nil {
		op.succeed(200, e)
		return
	}
	op.answerDeletion(last, true)
}

// answerDeletion answers with a Status, or with the object for the resources that do.
func (op *Operation) answerDeletion(o *api.Object, isGone bool) {
	status := 200
	if !isGone {
		status = op.notDeletedStatus()
	}
	if op.resource.Returns {
		op.succeed(status, o)
		return
	}
	op.succeedStatus(status)
}

// deleteEmptied removes an object whose last finalizer an update has removed, which is the update's answer
// (deleteWithoutFinalizers).
func (op *Operation) deleteEmptied(nowNs int64) {
	o := new(api.Object)
	*o = op.write.Next
	op.deletion.emptied = o
	op.remove(nowNs)
}

// deleted is called when a deletion has been answered.
func (op *Operation) deleted(nowNs int64) {
	if op.kind == collection {
		op.deletedOne(nowNs)
		return
	}
	if op.evicts() && op.Answer.Status < 300 {
		op.succeedStatus(201) // not the pod (k8s.io/kubernetes, pkg/registry/core/pod/rest/eviction.go)
	}
	op.finish(nowNs)
}
