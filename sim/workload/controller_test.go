package workload_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"apfsim/document"
	"apfsim/sim/api"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/workload"
	"apfsim/sim/workload/workloadtest"
)

// cluster is a server with a store of a few objects, which sends events after a while.
type cluster struct {
	*workloadtest.Client
	objects map[string]*api.Object
	names   []string // in the order of creation
	version int64
	lagNs   int64 // of events
	served  []string
	serveNs int64
	fail    func(r *workload.APIRequest) int // a status with which a request fails; 0 for none
	object  *api.Object                      // in the answers of fail
	lists   bool                             // the objects are listed, and a watch sends none at first
}

func newCluster(names ...string) *cluster {
	c := &cluster{objects: map[string]*api.Object{}, version: 100, serveNs: 1e6}
	c.Client = workloadtest.New(c.serve)
	for _, name := range names {
		c.put(&api.Object{Namespace: "default", Name: name, UID: int64(len(c.names)) + 1, DeletionNs: -1, Fields: map[string]string{"spec": "1"}})
	}
	return c
}

func (c *cluster) put(o *api.Object) *api.Object {
	c.version++
	stored := *o
	stored.Version = c.version
	if c.objects[o.Name] == nil {
		c.names = append(c.names, o.Name)
	}
	c.objects[o.Name] = &stored
	return &stored
}

// change is what somebody else writes, of which the watch tells.
func (c *cluster) change(nowNs int64, name, field, value string) {
	o := *c.objects[name]
	o.Fields = map[string]string{}
	for f, v := range c.objects[name].Fields {
		o.Fields[f] = v
	}
	o.Fields[field] = value
	c.tell(nowNs, c.put(&o))
}

func (c *cluster) tell(nowNs int64, o *api.Object) {
	const watch = 1
	c.Event(nowNs+c.lagNs, watch, &api.Event{Type: api.Modified, Version: o.Version, Object: o, AtNs: nowNs})
}

func (c *cluster) serve(nowNs int64, r *workload.APIRequest) {
	if c.lists && r.Verb == "list" {
		a := &api.Answer{Status: 200, Version: c.version, Items: int64(len(c.names))}
		for _, name := range c.names {
			a.Objects = append(a.Objects, c.objects[name])
		}
		c.Answer(nowNs+c.serveNs, r.Token, a)
		return
	}
	if c.lists && r.Verb == "watch" {
		return
	}
	if r.Verb == "watch" {
		for _, name := range c.names {
			c.Event(nowNs, r.Token, &api.Event{Type: api.Added, Version: c.objects[name].Version, Object: c.objects[name]})
		}
		c.Event(nowNs, r.Token, &api.Event{Type: api.Bookmark, InitialEnd: true, Version: c.version})
		return
	}
	c.At(nowNs+c.serveNs, func(nowNs int64) {
		a := c.do(nowNs, r)
		name := r.Name
		if r.Call.Body != nil && r.Call.Body.Version.Given {
			name += fmt.Sprintf("@%d", r.Call.Body.Version.N)
		}
		c.served = append(c.served, fmt.Sprintf("%v %s %s: %d", time.Duration(nowNs), r.Verb, name, a.Status))
		c.Answer(nowNs, r.Token, a)
	})
}

func (c *cluster) do(nowNs int64, r *workload.APIRequest) *api.Answer {
	o := c.objects[r.Name]
	if c.fail != nil {
		if status := c.fail(r); status != 0 {
			return &api.Answer{Status: status, Object: c.object}
		}
	}
	switch {
	case r.Verb == "create":
		return &api.Answer{Status: 201}
	case o == nil:
		return &api.Answer{Status: 404}
	case r.Verb == "get":
		return &api.Answer{Status: 200, Object: o, Version: o.Version}
	case r.Verb == "update" && r.Call.Body.Version.N != o.Version:
		return &api.Answer{Status: 409, Reason: "Conflict"}
	case r.Verb == "update":
		updated := *o
		updated.Fields = r.Call.Body.Fields
		stored := c.put(&updated)
		c.tell(nowNs, stored)
		return &api.Answer{Status: 200, Object: stored, Version: stored.Version}
	}
	return &api.Answer{Status: 200}
}

func controllerOf(c *cluster, workers int, steps ...workload.Step) *workload.Controller {
	var queue workload.Queue
	document.SetDefaults(&queue)
	return &workload.Controller{Watches: "pods", Start: workload.WatchList, Workers: workers, Reconcile: steps, Queue: &queue}
}

var (
	readsIt   = workload.Step{Verb: "get", Resource: "pods"}
	updatesIt = workload.Step{Verb: "update", Resource: "pods", Subresource: "status"}
)

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// took returns how long the reconciliations of a kind took, in milliseconds.
func took(c *cluster, kind metric.Event) (ms []int64) {
	for _, n := range c.Noted {
		if n.Event == kind {
			ms = append(ms, n.Ns/1e6)
		}
	}
	return ms
}

// One worker reconciles all objects, one after another, and each once more because of its own write, of which
// the watch tells. That time there is nothing to write. When somebody else changes an object, it is reconciled
// again.
func TestControllerReconciles(t *testing.T) {
	c := newCluster("a", "b")
	s := controllerOf(c, 1, updatesIt)
	s.Work = quantity.Constant(quantity.Duration(time.Millisecond))
	c.At(100e6, func(nowNs int64) { c.change(nowNs, "b", "spec", "2") })
	c.Run(s.Machine(c.Client), 1e9)
	want(t, c.served, "2ms update a@101: 200", "4ms update b@102: 200", "102ms update b@105: 200")
	// The first reconciliation begins with the initial events and ends after 1 ms of work and 1 ms of the PUT; the second
	// has waited for the first. The next two find nothing to do: the event of the first PUT came while the second object was
	// reconciled, and that of the second PUT before this was found out. The last two are about the change at 100 ms.
	if took, want := took(c, metric.Reconciled), []int64{2, 4, 3, 2, 2, 1}; !slices.Equal(took, want) {
		t.Errorf("the reconciliations took %v ms, want %v", took, want)
	}
	if n := c.Count(metric.Reconciled); n != 6 {
		t.Errorf("%d reconciliations, want 6: three that have written, and as many of what that has changed", n)
	}
}

// A controller's own writes come back as events, and it finds nothing to do: it neither reads nor writes. It creates what
// belongs to an object once. When somebody else changes what the object asks for, it goes through its steps again, and so it
// does when somebody else overwrites its status.
func TestControllerFindsItsWorkDone(t *testing.T) {
	c := newCluster("a")
	creates := workload.Step{Verb: "create", Resource: "services"}
	c.At(100e6, func(nowNs int64) { c.change(nowNs, "a", "spec", "2") })
	c.At(200e6, func(nowNs int64) { c.change(nowNs, "a", "status.phase", "Running") })
	c.At(300e6, func(nowNs int64) { c.change(nowNs, "a", "status.reconciled", "overwritten") })
	c.Run(controllerOf(c, 1, readsIt, creates, updatesIt).Machine(c.Client), 1e9)
	want(t, c.served, "1ms get a: 200", "2ms create : 201", "3ms update a@101: 200",
		"101ms get a: 200", "102ms update a@103: 200",
		"301ms get a: 200", "302ms update a@106: 200")
	if n := c.Count(metric.Reconciled); n != 7 {
		t.Errorf("%d reconciliations, want 7: one for each change of the object, three of which were the controller's", n)
	}
}

// Events of a reconciliation are recorded as client-go does: each has a name of its own, in the namespace of its object or
// in default, and one more of the same is a PATCH of its count. One that is no longer there is created again. No
// reconciliation fails because of its event.
func TestControllerRecordsEvents(t *testing.T) {
	c := newCluster("a")
	var asked []string
	c.fail = func(r *workload.APIRequest) int {
		if r.Resource != "events" {
			return 0
		}
		name, status := r.Name, 200
		if r.Verb == "create" {
			name, status = r.Call.Body.Name, 201
		}
		switch len(asked) {
		case 2:
			status = 404
		case 4:
			status = 500
		}
		asked = append(asked, fmt.Sprintf("%s %s/%s x%d: %d", r.Verb, r.Namespace, name, r.Call.Body.Stamp, status))
		return status
	}
	for i := range int64(3) {
		c.At((i+1)*100e6, func(nowNs int64) { c.change(nowNs, "a", "spec", fmt.Sprint(i)) })
	}
	steps := []workload.Step{{Verb: "create", Resource: "events"}, updatesIt}
	c.Run(controllerOf(c, 1, steps...).Machine(c.Client), 1e9)
	want(t, asked, "create default/a.0 x1: 201", "patch default/a.0 x2: 200", "patch default/a.0 x3: 404", "create default/a.0 x3: 201", "patch default/a.0 x4: 500")
	if c.Count(metric.EventDropped) != 1 || c.Count(metric.ReconcileFailed) != 0 {
		t.Errorf("%d events dropped, %d reconciliations failed, want 1 and 0", c.Count(metric.EventDropped), c.Count(metric.ReconcileFailed))
	}
}

// An event of an object that is in no namespace is in default.
func TestEventOfANode(t *testing.T) {
	c := newCluster()
	c.put(&api.Object{Name: "n", UID: 1, DeletionNs: -1})
	var namespaces []string
	c.fail = func(r *workload.APIRequest) int {
		namespaces = append(namespaces, r.Namespace)
		return 201
	}
	s := controllerOf(c, 1, workload.Step{Verb: "create", Resource: "events", Group: "events.k8s.io"})
	s.Watches = "nodes"
	c.Run(s.Machine(c.Client), 1e9)
	want(t, namespaces, "default")
}

// Two workers reconcile two objects at the same time, but never the same one.
func TestWorkersShareTheQueue(t *testing.T) {
	c := newCluster("a", "b", "c")
	c.Run(controllerOf(c, 2, readsIt).Machine(c.Client), 1e9)
	want(t, c.served, "1ms get a: 200", "1ms get b: 200", "2ms get c: 200")
}

// The informer lags behind by 12 ms. Somebody else has changed the object since: updates with the version of the
// informer conflict, at first and 5 ms later. Another 10 ms later the informer has caught up.
func TestControllerConflictsUntilTheInformerCatchesUp(t *testing.T) {
	c := newCluster("a")
	c.lagNs = 12e6
	c.At(500e3, func(nowNs int64) { c.change(nowNs, "a", "spec", "2") })
	c.Run(controllerOf(c, 1, updatesIt).Machine(c.Client), 14e6)
	want(t, c.served, "1ms update a@101: 409", "7ms update a@101: 409", "13.5ms update a@102: 200")
	if n := c.Count(metric.Conflicted); n != 2 {
		t.Errorf("%d conflicts, want 2", n)
	}
}

// With a get before the update, the informer's lag does not matter: the update carries the version that was
// read.
func TestControllerReadsBeforeItWrites(t *testing.T) {
	c := newCluster("a")
	c.lagNs = 1e9
	c.At(500e3, func(nowNs int64) { c.change(nowNs, "a", "spec", "2") })
	c.Run(controllerOf(c, 1, readsIt, updatesIt).Machine(c.Client), 500e6)
	want(t, c.served, "1ms get a: 200", "2ms update a@102: 200")
}

// A reconciliation that fails is repeated after 5, 10 and 20 ms, and then dropped, as maxRetries says.
func TestControllerGivesUp(t *testing.T) {
	c := newCluster("a")
	c.fail = func(r *workload.APIRequest) int { return 500 }
	s := controllerOf(c, 1, readsIt)
	s.MaxRetries = 3
	c.Run(s.Machine(c.Client), 100e9)
	want(t, c.served, "1ms get a: 500", "7ms get a: 500", "18ms get a: 500", "39ms get a: 500")
	// Each begins when the item has waited, and takes 1 ms.
	if got, want := took(c, metric.ReconcileFailed), []int64{1, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("the failures took %v ms, want %v", got, want)
	}
}

// What exists already need not be created, and what is gone need neither be read nor deleted.
func TestControllerToleratesWhatIsDoneAlready(t *testing.T) {
	c := newCluster("a")
	c.fail = func(r *workload.APIRequest) int {
		switch r.Verb {
		case "create":
			return 409
		case "delete":
			return 404
		}
		return 0
	}
	steps := []workload.Step{{Verb: "create", Resource: "services"}, {Verb: "delete", Resource: "endpoints"}, {Verb: "get", Resource: "pods"}}
	c.Run(controllerOf(c, 1, steps...).Machine(c.Client), 1e9)
	want(t, c.served, "1ms create : 409", "2ms delete a: 404", "3ms get a: 200")
	if c.Count(metric.Reconciled) != 1 || c.Count(metric.ReconcileFailed) != 0 {
		t.Error("the reconciliation has failed")
	}
}

// An object that is deleted before its turn comes needs no request. A hundred thousand of them neither.
func TestControllerForgetsWhatIsGone(t *testing.T) {
	c := newCluster("a")
	s := controllerOf(c, 1, readsIt)
	for i := range 100_000 {
		o := &api.Object{Namespace: "default", Name: fmt.Sprint("gone-", i), Version: 200}
		c.At(500e3, func(nowNs int64) {
			c.Event(nowNs, 1, &api.Event{Type: api.Added, Version: 200, Object: o})
			c.Event(nowNs, 1, &api.Event{Type: api.Deleted, Version: 201, Object: o})
		})
	}
	k := s.Machine(c.Client)
	c.Run(k, 1e9)
	want(t, c.served, "1ms get a: 200")
	if n := workload.QueueLen(k); n != 0 {
		t.Errorf("the queue still knows %d items", n)
	}
}

// An update carries the version of what was read before, and that is also the answer to another update. It does not carry
// that of an object that was only created. A list is of all objects.
func TestVersionsOfUpdates(t *testing.T) {
	c := newCluster("a")
	c.fail = func(r *workload.APIRequest) int {
		if r.Resource == "services" || r.Verb == "list" {
			return 200
		}
		return 0
	}
	steps := []workload.Step{{Verb: "list", Resource: "pods"}, updatesIt, {Verb: "update", Resource: "pods"},
		{Verb: "create", Resource: "services"}, {Verb: "update", Resource: "services"}, {Verb: "get", Resource: "services"}, {Verb: "update", Resource: "services", Subresource: "status"}}
	c.object = &api.Object{Namespace: "default", Name: "a", Version: 55}
	c.Run(controllerOf(c, 1, steps...).Machine(c.Client), 1e9)
	want(t, c.served, "1ms list : 200", "2ms update a@101: 200", "3ms update a@102: 200",
		"4ms create : 200", "5ms update a: 200", "6ms get a: 200", "7ms update a@55: 200")
}

// The informer of a controller may begin with a list.
func TestControllerThatLists(t *testing.T) {
	c := newCluster()
	c.lists = true
	c.put(&api.Object{Namespace: "default", Name: "a", UID: 1, DeletionNs: -1})
	s := controllerOf(c, 1, readsIt)
	s.Start = workload.List
	c.Run(s.Machine(c.Client), 1e9)
	want(t, c.served, "2ms get a: 200")
}
