package registry

import (
	"slices"
	"strconv"
	"strings"

	"apfsim/sim/api"
	"apfsim/sim/registry/change"
	"apfsim/sim/watchcache"
)

// kind is what a request asks for.
type kind uint8

const (
	other kind = iota // of a subresource that the store does not know
	get
	list
	watch
	create
	update
	patch // merge, strategic, JSON
	applying
	deletion
	collection // deletecollection
	binding
)

// writes are the kinds of writes.
var writes = [...]change.Kind{create: change.Create, update: change.Update, patch: change.Patch, applying: change.Apply,
	deletion: change.Delete, collection: change.Delete, binding: change.Binding}

// step is where an operation goes on when what it waits for is over.
type step uint8

const (
	validating step = iota // the handler begins
	answering              // the answer has been encoded
	answered               // it has been sent

	getting
	gettingFresh
	awaitingReady

	asking // for the revision of a consistent list
	listingLatest
	listingVersion
	ranging
	rangeArrives
	rangeAhead

	creatingLease
	creating
	creatingExists

	updateBegins
	updateDryRun
	updateRefreshes
	updateConfirmsError
	updateConfirmsSame
	updateLease
	updateCommits

	deletionBegins
	deleteReads
	deleteRefreshes
	deleteCommits
	deleteDryRun

	watchOpens // the initial events have been encoded
	watchSends // they have been sent
)

// Operation is one request that is executed, or an open watch. Registry.New returns one, its host fills in
// what is exported but Answer, and gives it to Begin. Operations are used again.
type Operation struct {
	Verb, Subresource, Namespace, Name string
	Resource                           api.Resource
	Call                               *api.Call
	Accept                             Accept
	ReadNs                             int64 // how long the client of a watch takes to read an event

	// GivenNs is how long the execution takes if that is given; -1 if it follows from the costs and from etcd.
	GivenNs int64

	// Seats and what follows are the estimate of flow control, for the statistics of its errors: how many the
	// execution takes, and how many for how long after it.
	Seats, FinalSeats int32
	AdditionalNs      int64

	Answer api.Answer

	Request any // of the host

	registry *Registry
	resource *resource
	body     *api.Body
	kind     kind
	step     step
	beganNs  int64
	owedNs   int64 // CPU time that the operation has cost and the machine not served yet
	work     *Work

	pending   bool // etcd or the cache owes a call
	abandoned bool // nobody waits for the answer
	ending    bool // the host takes the answer

	selector *api.Selector

	// Of writes.
	write   change.Write
	state   *api.Object    // that the new one is computed from, nil for none
	fresh   bool           // state is what etcd has returned
	outcome change.Outcome // on a state from the cache
	tries   int            // of generated names

	deletion deletionState
	listing  listing
	stream   stream
}

// none is an empty body.
var none api.Body

// NewOperation returns an operation to be filled in.
func (r *Registry) NewOperation() *Operation {
	if n := len(r.free); n > 0 {
		op := r.free[n-1]
		r.free = r.free[:n-1]
		return op
	}
	return &Operation{registry: r, GivenNs: -1}
}

// release ends the life of an operation.
func (op *Operation) release() {
	r := op.registry
	*op = Operation{registry: r, GivenNs: -1}
	r.free = append(r.free, op)
}

// Begin begins an operation.
func (r *Registry) Begin(nowNs int64, op *Operation) {
	op.beganNs = nowNs
	op.resource = r.resource(op.Resource)
	op.body = op.Call.Body
	if op.body == nil {
		op.body = &none
	}
	op.kind = op.kindOf()
	op.Answer = api.Answer{Items: -1}
	if op.kind >= create {
		op.write = change.Write{Kind: writes[op.kind], Strategy: op.resource.Strategy, Subresource: op.Subresource,
			Namespace: op.Namespace, Name: op.Name, Options: &op.Call.Options, Body: op.body,
			Bytes: op.resource.data.AverageBytes(), Answer: &op.Answer}
	}
	op.work = r.workOf(op)
	op.work.Requests++
	op.step = validating
	if op.GivenNs >= 0 {
		op.work.CPUNs += op.GivenNs
		r.host.Serve(nowNs, op, op.GivenNs)
		return
	}
	op.serve(nowNs, int64(r.costs.Request))
}

func (op *Operation) kindOf() kind {
	switch op.Verb {
	case "get":
		return get
	case "list":
		return list
	case "watch":
		return watch
	case "create":
		if op.Subresource == "" {
			return create
		}
		if op.Subresource == "binding" {
			return binding
		}
		if op.evicts() {
			return deletion
		}
	case "update":
		return update
	case "patch":
		if op.body.Patch == api.ApplyPatch {
			return applying
		}
		return patch
	case "delete":
		return deletion
	case "deletecollection":
		return collection
	}
	return other
}

// evicts says whether the request is the eviction of a pod: the pod is deleted, as no budget forbids it.
func (op *Operation) evicts() bool {
	return op.Verb == "create" && op.Subresource == "eviction" && op.Resource == api.Resource{Name: "pods"}
}

// serve makes the machine work, and goes on at op.step. If the execution time is given, nothing more takes any.
func (op *Operation) serve(nowNs, demandNs int64) {
	if op.GivenNs >= 0 {
		demandNs = 0
	}
	op.work.CPUNs += demandNs
	op.registry.host.Serve(nowNs, op, demandNs)
}

// send sends bytes to the client, and goes on at a step. If the execution time is given, that takes none.
func (op *Operation) send(nowNs, bytes int64, next step) {
	op.step = next
	if op.GivenNs >= 0 || !op.registry.host.Send(nowNs, op, bytes) {
		op.resume(nowNs)
	}
}

// Served is called by the host when the machine has worked, or when what is to be sent has been sent.
func (op *Operation) Served(nowNs int64) {
	op.resume(nowNs)
}

// Ring is called when etcd has answered, or another time has come.
func (op *Operation) Ring(nowNs int64) {
	op.pending = false
	if op.abandoned {
		// What has been sent to etcd is carried out, although nobody waits for it.
		switch op.step {
		case creating, updateCommits:
			op.resource.data.Put(nowNs, &op.write.Next, op.expected())
		case deleteCommits:
			op.resource.data.Delete(nowNs, op.Namespace, op.Name, op.expected())
		}
		op.release()
		return
	}
	op.resume(nowNs)
}

// Waited is called when the cache has the version that the operation waits for, or not in time.
func (op *Operation) Waited(nowNs int64, fresh bool) {
	op.pending = false
	if op.abandoned {
		op.release()
		return
	}
	op.listing.fresh = fresh
	op.resume(nowNs)
}

// Abandon ends an operation that nobody waits for any more: its client has gone, its deadline has passed, or
// the server has crashed. What it has sent to etcd is carried out nevertheless.
func (op *Operation) Abandon(nowNs int64) {
	op.closeStream(nowNs)
	op.abandoned = true
	if !op.pending && !op.ending {
		op.release()
	}
}

// resume continues the operation at op.step.
func (op *Operation) resume(nowNs int64) {
	switch op.step {
	case validating:
		op.validate(nowNs)
	case answering:
		op.send(nowNs, op.Answer.Bytes, answered)
	case answered:
		op.done(nowNs)
	case getting:
		op.getFromEtcd(nowNs)
	case gettingFresh:
		op.getFromCache(nowNs)
	case awaitingReady:
		op.dispatch(nowNs)
	case asking, listingLatest, listingVersion, ranging, rangeArrives, rangeAhead:
		op.resumeList(nowNs)
	case creatingLease, creating, creatingExists:
		op.resumeCreate(nowNs)
	case updateBegins, updateDryRun, updateRefreshes, updateConfirmsError, updateConfirmsSame, updateLease, updateCommits:
		op.resumeUpdate(nowNs)
	case deletionBegins, deleteReads, deleteRefreshes, deleteCommits, deleteDryRun:
		op.resumeDelete(nowNs)
	case watchOpens:
		op.send(nowNs, op.stream.bytes, watchSends)
	case watchSends:
		op.proceed(nowNs)
	}
}

// dispatch starts the handler of a valid request.
func (op *Operation) dispatch(nowNs int64) {
	switch op.kind {
	case get:
		op.beginGet(nowNs)
	case list, collection:
		op.beginList(nowNs)
	case watch:
		op.beginWatch(nowNs)
	case create:
		op.beginCreate(nowNs)
	case update, patch, applying, binding:
		op.beginUpdate(nowNs)
	case deletion:
		op.beginDeletion(nowNs)
	default:
		op.Answer.Status = api.SuccessOf(op.Verb, op.Subresource)
		op.finish(nowNs)
	}
}

// read reads an object from etcd, and continues at a step.
func (op *Operation) read(nowNs int64, next step) {
	op.work.Gets++
	op.step = next
	op.ask(nowNs)
}

// ask schedules the end of a read from etcd.
func (op *Operation) ask(nowNs int64) {
	op.pending = true
	if op.GivenNs >= 0 {
		op.registry.alarms.Set(nowNs, op)
		return
	}
	op.registry.store.Read(nowNs, op)
}

// commit sends a transaction to etcd, and goes on at a step.
func (op *Operation) commit(nowNs int64, next step) {
	op.pending, op.step = true, next
	if next == creatingLease || next == updateLease {
		op.work.Grants++
	} else {
		op.work.Txns++
		op.Answer.Rounds++
	}
	if op.GivenNs >= 0 {
		op.registry.alarms.Set(nowNs, op)
		return
	}
	op.registry.store.Write(nowNs, op)
}

// fetched counts an object that etcd has returned, and returns it as the store has it now.
func (op *Operation) fetched(nowNs int64) *api.Object {
	o := op.resource.lookup(nowNs, op.Namespace, op.Name)
	if o != nil {
		op.work.Fetched++
		op.owedNs += op.registry.costs.fetch(1, o.Bytes)
	}
	return o
}

// refuse answers a Status with a reason.
func (op *Operation) refuse(reason string) { op.Answer.Refuse(reason) }

// succeed answers with an object.
func (op *Operation) succeed(status int, o *api.Object) {
	a := &op.Answer
	rounds, source, wrote := a.Rounds, a.Source, a.Wrote
	*a = api.Answer{Status: status, Items: -1, Rounds: rounds, Source: source, Wrote: wrote,
		Object: o, Version: o.Version, UID: o.UID, Bytes: o.Bytes}
}

// succeedStatus answers a Status Success.
func (op *Operation) succeedStatus(status int) {
	a := &op.Answer
	rounds, source, wrote := a.Rounds, a.Source, a.Wrote
	*a = api.Answer{Status: status, Items: -1, Rounds: rounds, Source: source, Wrote: wrote}
}

// finish encodes the answer and gives it to the host.
func (op *Operation) finish(nowNs int64) {
	op.step = answering
	op.work.Bytes += op.Answer.Bytes
	demandNs := op.owedNs + op.encode(op.Answer.Bytes)
	if demandNs == 0 {
		op.resume(nowNs)
		return
	}
	op.serve(nowNs, demandNs)
}

// done gives the answer to the host, and returns whether a watch is open.
func (op *Operation) done(nowNs int64) (open bool) {
	r := op.registry
	op.work.count(op, nowNs)
	op.ending = true
	open = r.host.Done(nowNs, op)
	op.ending = false
	if open && !op.abandoned && op.kind == watch && op.Answer.Status == 200 {
		return true
	}
	op.closeStream(nowNs)
	op.abandoned = true
	if !op.pending {
		op.release()
	}
	return false
}

// expected returns the version that must be stored for a transaction to succeed.
func (op *Operation) expected() int64 {
	if op.state == nil {
		return 0
	}
	return op.state.Version
}

func text(n int64) string { return strconv.FormatInt(n, 10) }

func contains(all []api.Resource, r api.Resource) bool { return slices.Contains(all, r) }

var _ watchcache.Waiter = (*Operation)(nil)

// selects says whether a selector leaves out objects.
func (op *Operation) selects() bool { return op.selector != nil }

// single returns the name of the only object that a list or watch asks for, "" if it asks for several. It is
// found by its key, for which the namespace must be known.
func (op *Operation) single() string {
	name, ok := op.selector.Value("metadata.name")
	if !ok || strings.ContainsAny(name, "/%") || op.listing.namespace == "" && !change.IsClusterScoped(op.Resource) {
		return ""
	}
	return name
}
