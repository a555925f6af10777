package registry

import (
	"apfsim/sim/api"
)

// beginGet is GET (pkg/storage/cacher/delegator.go, Get).
func (op *Operation) beginGet(nowNs int64) {
	v, cache, r := op.Call.Options.Version, op.resource.cache, op.registry
	switch {
	case cache == nil || !v.Given:
		op.read(nowNs, getting)
	case !cache.Ready():
		if !r.rules.RefuseWithoutCache && !v.Zero() {
			op.awaitReady(nowNs)
			return
		}
		op.read(nowNs, getting)
	case v.Word != "":
		op.refuse(api.NoReason)
		op.finish(nowNs)
	default:
		op.step = gettingFresh
		op.awaitVersion(nowNs, v.N)
	}
}

// awaitReady goes on with the request when the cache is ready (before 1.31).
func (op *Operation) awaitReady(nowNs int64) {
	op.pending, op.step = true, awaitingReady
	op.resource.cache.AwaitReady(nowNs, op)
}

// awaitVersion goes on at op.step when the cache has a version, or when it does not get it in time.
func (op *Operation) awaitVersion(nowNs, version int64) {
	op.pending = true
	if op.resource.cache.WaitFresh(nowNs, version, op) {
		op.Waited(nowNs, true)
	}
}

func (op *Operation) getFromEtcd(nowNs int64) {
	a, v := &op.Answer, op.Call.Options.Version
	a.Source = api.FromEtcd
	o := op.fetched(nowNs)
	switch {
	case v.Word != "":
		op.refuse(api.BadRequest)
	case v.N > op.registry.store.Revision():
		a.RefuseTooLarge(false)
	case o == nil:
		op.refuse(api.NotFound)
	default:
		op.succeed(200, o)
	}
	op.finish(nowNs)
}

func (op *Operation) getFromCache(nowNs int64) {
	a := &op.Answer
	a.Source = api.FromCache
	if !op.listing.fresh {
		a.RefuseTooLarge(true)
		op.finish(nowNs)
		return
	}
	o := op.resource.cache.Get(op.Namespace, op.Name)
	if o == nil && op.resource.data.Get(op.Namespace, op.Name) == nil {
		o = op.resource.data.Adopt(nowNs, op.Namespace, op.Name)
	}
	if o == nil {
		op.refuse(api.NotFound)
	} else {
		op.succeed(200, o)
	}
	op.finish(nowNs)
}
