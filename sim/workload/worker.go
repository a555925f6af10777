package workload

import (
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/metric"
)

// worker reconciles one item after another.
type worker struct {
	controller *controller
	token      int32
	wake       clock.AlarmID

	item *item
	step int         // the next one
	own  *api.Object // the object that is reconciled, as the worker knows it

	recorded eventWrite // the event of the present step
	patches  bool       // it was there before
	read     []read     // by steps get, of other objects
}

// read is an object that a step has read.
type read struct {
	target
	object *api.Object
}

// target is what a step is about.
type target struct{ group, resource, namespace, name string }

// begin begins to reconcile an item. An object that is gone needs nothing.
func (w *worker) begin(nowNs int64, it *item) {
	k := w.controller
	w.item, w.step, w.read = it, 0, w.read[:0]
	namespace, name, ok := strings.Cut(it.key, "/")
	if !ok {
		namespace, name = "", it.key
	}
	w.own = k.reflector.Get(namespace, name)
	if w.own == nil {
		w.end(nowNs, false)
		return
	}
	if k.settings.Work.IsSet() {
		if workNs := k.settings.Work.Sample(&k.work.Rand); workNs > 0 {
			w.wake = k.client.Alarms().Set(nowNs+workNs, w)
			return
		}
	}
	w.compare(nowNs)
}

// Ring implements clock.Alarm: the worker has computed what to do.
func (w *worker) Ring(nowNs int64) {
	w.wake = clock.AlarmID{}
	w.compare(nowNs)
}

// compare compares what the object asks for with what has been done for it. Controllers do so with the copies that their
// informers keep, without a request, so that the event of a controller's own write causes none.
func (w *worker) compare(nowNs int64) {
	k := w.controller
	if k.writes && k.done[w.item.key] == (reconciled{w.own.UID, seen(w.own)}) && w.written() {
		w.end(nowNs, false)
		return
	}
	w.next(nowNs)
}

// written says whether the object has what the steps write into it.
func (w *worker) written() bool {
	for i := range w.controller.settings.Reconcile {
		s := &w.controller.settings.Reconcile[i]
		if (s.Verb == "update" || s.Verb == "patch") && w.isOwn(w.target(s)) && w.own.Fields[fieldOf(s)] != seen(w.own) {
			return false
		}
	}
	return true
}

// next sends the request of the next step that needs one.
func (w *worker) next(nowNs int64) {
	k := w.controller
	for w.step < len(k.settings.Reconcile) {
		s := &k.settings.Reconcile[w.step]
		q := w.request(s)
		if recordsEvent(s) {
			q = w.event(nowNs, s)
		}
		if q != nil {
			k.client.Send(nowNs, q)
			return
		}
		w.step++
	}
	k.done[w.item.key] = reconciled{w.own.UID, seen(w.own)}
	w.end(nowNs, false)
}

// target returns what a step is about: without a name, the object that is reconciled, or one of its name.
func (w *worker) target(s *Step) target {
	c := w.controller.client
	t := target{s.Group, s.Resource, expand(s.Namespace, c.Index()), expand(s.Name, c.Index())}
	if t.namespace == "" && s.Name == "" {
		t.namespace = w.own.Namespace
	}
	if t.name == "" {
		t.name = w.own.Name
	}
	return t
}

// isOwn says whether a step is about the object that is reconciled.
func (w *worker) isOwn(t target) bool {
	r := w.controller.reflector
	return t == target{r.Group, r.Resource, w.own.Namespace, w.own.Name}
}

// known returns an object as the worker knows it: as a step has read it, or as the informer has it; nil if
// nothing is known.
func (w *worker) known(t target) *api.Object {
	if w.isOwn(t) {
		return w.own
	}
	for _, r := range w.read {
		if r.target == t {
			return r.object
		}
	}
	return nil
}

// Where a controller writes what it has reconciled: in the status, if it updates that, or elsewhere, which
// stands for a label or the spec of another object. An update of the object itself does not change its status.
const (
	reconciledStatus = "status.reconciled"
	reconciledField  = "reconciled"
)

// fieldOf returns where a step writes.
func fieldOf(s *Step) string {
	if s.Subresource == "status" {
		return reconciledStatus
	}
	return reconciledField
}

// seen returns what an object asks for: its content but for its status and what the controller has written. A
// controller that has written it has nothing more to write until that changes.
func seen(o *api.Object) string {
	h := fnv.New64a()
	add := func(s string) {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	add(strconv.FormatInt(o.UID, 10))
	add(strconv.FormatInt(o.Stamp, 10))
	for _, f := range slices.Sorted(maps.Keys(o.Fields)) {
		if !strings.HasPrefix(f, "status.") && f != reconciledField {
			add(f)
			add(o.Fields[f])
		}
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// request returns the request of a step, nil if it would not change anything: controllers compare before they
// write.
func (w *worker) request(s *Step) *APIRequest {
	t := w.target(s)
	q := &APIRequest{Verb: s.Verb, Group: t.group, Resource: t.resource, Subresource: s.Subresource, Namespace: t.namespace, Name: t.name, Token: w.token}
	switch s.Verb {
	case "list":
		q.Name = ""
	case "create":
		if w.exists(t) {
			return nil
		}
		q.Name = ""
		q.Call.Body = &api.Body{Name: t.name, Fields: map[string]string{fieldOf(s): seen(w.own)}}
	case "update", "patch":
		known, field, want := w.known(t), fieldOf(s), seen(w.own)
		if known != nil && known.Fields[field] == want {
			return nil
		}
		b := &api.Body{Fields: map[string]string{field: want}}
		if known != nil && s.Verb == "update" { // it replaces the whole object
			for name, value := range known.Fields {
				if name != field {
					b.Fields[name] = value
				}
			}
			b.Version, b.UID, b.Stamp = request.At(known.Version), known.UID, known.Stamp
			b.Finalizers, b.FinalizersGiven = known.Finalizers, len(known.Finalizers) > 0
		}
		q.Call.Body = b
	}
	return q
}

// exists says whether the controller knows that what a step creates is there: the informer has it, or it was created when
// the object was reconciled before, and no step has deleted it since.
func (w *worker) exists(t target) bool {
	k := w.controller
	if t.group == k.reflector.Group && t.resource == k.reflector.Resource && k.reflector.Get(t.namespace, t.name) != nil {
		return true
	}
	before, ok := k.done[w.item.key]
	if !ok || before.uid != w.own.UID {
		return false
	}
	for i := range w.step {
		if s := &k.settings.Reconcile[i]; s.Verb == "delete" && w.target(s) == t {
			return false
		}
	}
	return true
}

// recordsEvent says whether a step records an event.
func recordsEvent(s *Step) bool {
	return s.Verb == "create" && s.Resource == "events" && (s.Group == "" || s.Group == "events.k8s.io")
}

// event returns the request with which the event of a step is recorded: a new one, or one more of the same. It is nil if
// the event is dropped.
func (w *worker) event(nowNs int64, s *Step) *APIRequest {
	write, ok := w.controller.events.Correlate(nowNs, nowNs, eventOf{w.item.key, w.own.UID}, w.target(s).name, w.step)
	if !ok {
		w.dropEvent(nowNs)
		return nil
	}
	return w.record(s, write, write.Count > 1)
}

// record returns the request that writes an event. It is in the namespace of the object that it is about, or in default
// if that has none (tools/record/event.go, makeEvent).
func (w *worker) record(s *Step, write eventWrite, patches bool) *APIRequest {
	t := w.target(s)
	if t.namespace == "" {
		t.namespace = "default"
	}
	w.recorded, w.patches = write, patches
	q := &APIRequest{Verb: "create", Group: t.group, Resource: t.resource, Namespace: t.namespace, Token: w.token,
		Call: api.Call{Body: &api.Body{Name: write.Name, Stamp: write.Count}}}
	if patches {
		q.Verb, q.Name, q.Call.Body.Name = "patch", write.Name, ""
	}
	return q
}

func (w *worker) dropEvent(nowNs int64) {
	w.controller.client.Note(nowNs, Note{Event: metric.EventDropped, Object: w.item.key})
}

// answered is called with the answer to the step's request.
func (w *worker) answered(nowNs int64, a *api.Answer) {
	k := w.controller
	s := &k.settings.Reconcile[w.step]
	t := w.target(s)
	ok := a.Status >= 200 && a.Status < 300
	switch {
	case ok && recordsEvent(s):
	case recordsEvent(s) && a.Status == 404 && w.patches: // it is no longer there
		k.client.Send(nowNs, w.record(s, w.recorded, false))
		return
	case recordsEvent(s): // no reconciliation fails because of its event
		w.dropEvent(nowNs)
	case ok && s.Verb == "get" && a.Object != nil:
		w.learn(t, a.Object)
	case ok && (s.Verb == "update" || s.Verb == "patch") && a.Object != nil:
		w.learn(t, a.Object)
	case ok:
	case a.Status == 404 && (s.Verb == "delete" || w.isOwn(t)):
		// It is gone, and what remains to be done comes with the event of its deletion.
		if s.Verb != "delete" {
			w.end(nowNs, false)
			return
		}
	case a.Status == 409 && s.Verb == "create": // it exists already
	default:
		if a.Status == 409 {
			k.client.Note(nowNs, Note{Event: metric.Conflicted, Object: s.Resource})
		}
		w.end(nowNs, true)
		return
	}
	w.step++
	w.next(nowNs)
}

// learn remembers an object as a server has answered it.
func (w *worker) learn(t target, o *api.Object) {
	if w.isOwn(t) {
		w.own = o
		return
	}
	for i := range w.read {
		if w.read[i].target == t {
			w.read[i].object = o
			return
		}
	}
	w.read = append(w.read, read{t, o})
}

// end ends a reconciliation. One that has failed is repeated after a while, unless that was once too often.
func (w *worker) end(nowNs int64, failed bool) {
	k, it := w.controller, w.item
	resource := k.reflector.Resource
	switch {
	case !failed:
		k.client.Note(nowNs, Note{Event: metric.Reconciled, Object: resource, Ns: nowNs - it.startedNs, N: int64(it.failures) + 1})
		k.queue.forget(it)
	default:
		delete(k.done, it.key)
		k.client.Note(nowNs, Note{Event: metric.ReconcileFailed, Object: resource, Ns: nowNs - it.startedNs, N: int64(it.failures) + 1})
		if most := k.settings.MaxRetries; most > 0 && it.failures >= most {
			k.queue.forget(it)
		} else {
			k.queue.addLimited(nowNs, it)
		}
	}
	w.item, w.own = nil, nil
	k.idle = append(k.idle, w)
	k.queue.done(nowNs, it)
	k.assign(nowNs)
}
