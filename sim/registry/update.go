package registry

import (
	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/registry/change"
)

// beginUpdate is PUT, PATCH, apply and the binding of a pod.
func (op *Operation) beginUpdate(nowNs int64) {
	b := op.body
	switch op.kind {
	case update:
		op.write.Preconditions = request.Preconditions{UID: b.UID, Mismatch: b.OtherUID}
	case binding:
		op.write.Preconditions = request.Preconditions{UID: b.UID, Mismatch: b.OtherUID, Version: b.Version}
	}
	op.transact(nowNs)
}

// transact changes an object by transactions, as often as it needs (pkg/storage/etcd3/store.go,
// GuaranteedUpdate). It begins with the object as the cache has it.
func (op *Operation) transact(nowNs int64) {
	op.fresh = false
	if op.Call.Options.DryRun {
		op.read(nowNs, updateDryRun)
		return
	}
	op.state = op.resource.cached(op.Namespace, op.Name)
	if op.state == nil {
		op.read(nowNs, updateBegins)
		return
	}
	op.try(nowNs)
}

// refresh takes the object that etcd has returned for the state; it returns false if it is missing and must
// not be, which is answered.
func (op *Operation) refresh(nowNs int64, o *api.Object) bool {
	op.state, op.fresh = o, true
	if o == nil && !op.write.Creates() {
		op.refuse(api.NotFound)
		op.transacted(nowNs, change.Failed)
		return false
	}
	return true
}

// try makes one round on the state.
func (op *Operation) try(nowNs int64) {
	if !op.write.Holds(op.state) {
		if !op.fresh {
			op.read(nowNs, updateRefreshes)
			return
		}
		op.refuse(api.Conflict)
		op.transacted(nowNs, change.Failed)
		return
	}
	if o := op.write.Change(nowNs, op.state); o != change.Computed {
		if op.fresh {
			op.transacted(nowNs, o)
			return
		}
		op.outcome = o
		op.read(nowNs, updateConfirmsError)
		return
	}
	if op.state != nil && op.write.Same(op.state) {
		if op.fresh {
			op.unchanged(nowNs)
			return
		}
		op.read(nowNs, updateConfirmsSame)
		return
	}
	if op.resource.data.NeedsLease(nowNs) {
		op.commit(nowNs, updateLease)
		return
	}
	op.commit(nowNs, updateCommits)
}

func (op *Operation) resumeUpdate(nowNs int64) {
	switch op.step {
	case updateDryRun:
		if op.refresh(nowNs, op.fetched(nowNs)) {
			op.tryDry(nowNs)
		}
	case updateBegins, updateRefreshes:
		if op.refresh(nowNs, op.fetched(nowNs)) {
			op.try(nowNs)
		}
	case updateConfirmsError:
		version := op.state.Version
		if !op.refresh(nowNs, op.fetched(nowNs)) {
			return
		}
		if op.state != nil && op.state.Version == version {
			op.transacted(nowNs, op.outcome)
			return
		}
		op.Answer.Causes = nil
		op.try(nowNs)
	case updateConfirmsSame:
		if !op.refresh(nowNs, op.fetched(nowNs)) {
			return
		}
		if op.state != nil && change.Same(&op.write.Next, op.state) {
			op.unchanged(nowNs)
			return
		}
		op.try(nowNs)
	case updateLease:
		op.commit(nowNs, updateCommits)
	case updateCommits:
		op.owedNs += roundNs
		expected := op.expected()
		stored, ok := op.resource.data.Put(nowNs, &op.write.Next, expected)
		if !ok {
			if op.refresh(nowNs, stored) {
				op.try(nowNs)
			}
			return
		}
		op.Answer.Wrote = true
		status := 200
		if expected == 0 {
			status = 201
		}
		op.succeed(status, stored)
		op.Answer.Replaced = expected
		op.transacted(nowNs, change.Computed)
	}
}

// unchanged ends a write that changes nothing.
func (op *Operation) unchanged(nowNs int64) {
	op.succeed(200, op.state)
	op.transacted(nowNs, change.Computed)
}

// tryDry makes the one round of a dry run.
func (op *Operation) tryDry(nowNs int64) {
	if !op.write.Holds(op.state) {
		op.refuse(api.Conflict)
		op.transacted(nowNs, change.Failed)
		return
	}
	o := op.write.Change(nowNs, op.state)
	switch {
	case o == change.Computed && op.state == nil:
		op.succeedDryCreate()
	case o == change.Computed:
		next := new(api.Object)
		*next = op.write.Next
		op.succeed(200, next)
	}
	op.transacted(nowNs, o)
}

// transacted is called when the transactions have ended: with the answer of an object, with an error, or with
// the outcome of the change.
func (op *Operation) transacted(nowNs int64, o change.Outcome) {
	switch {
	case op.kind == deletion || op.kind == collection:
		op.marked(nowNs, o)
	case o == change.Emptied:
		op.deleteEmptied(nowNs)
	case op.kind == binding && o == change.Computed:
		op.succeedStatus(201)
		op.finish(nowNs)
	default:
		op.finish(nowNs)
	}
}
