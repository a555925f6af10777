package workload

import (
	"strings"

	"apfsim/sim/api"
	"apfsim/sim/random"
)

// firstWorker is the token of the first worker, behind those of the reflector.
const firstWorker = ReflectorTokens

// controller watches objects, and reconciles each that changes.
type controller struct {
	client    Client
	settings  *Controller
	reflector *Reflector
	queue     *queue
	workers   []worker
	idle      []*worker // those that have nothing to do, of which the last one takes the next item
	assigning bool      // assign is under way: what becomes idle or ready meanwhile, it sees
	chance    random.Stream
	work      random.Stream

	// done is what each item was like when it was last reconciled, by its key. An item that asks for the same needs
	// nothing, although its object has changed: by the controller's own write, for example.
	done   map[string]reconciled
	writes bool // a reconciliation writes something besides events

	events      EventCorrelator[eventOf]
	eventChance random.Stream
}

// reconciled is what an object asked for, see seen.
type reconciled struct {
	uid   int64
	asked string
}

// eventOf is what an event of a reconciliation is about.
type eventOf struct {
	key string
	uid int64
}

// Machine returns a controller.
func (s *Controller) Machine(c Client) Machine {
	k := &controller{client: c, settings: s, workers: make([]worker, s.Workers), done: map[string]reconciled{}}
	c.Stream(&k.chance, "reflector")
	c.Stream(&k.work, "work")
	resource, group, _ := strings.Cut(s.Watches, ".")
	watched := ReflectorSettings{Group: group, Resource: resource, WatchList: s.Start == WatchList}
	k.reflector = NewReflector(watched, c, &k.chance, k)
	c.Stream(&k.eventChance, "event recorder")
	k.events.Chance = &k.eventChance
	for i := range s.Reconcile {
		step := &s.Reconcile[i]
		k.writes = k.writes || step.Verb != "get" && step.Verb != "list" && !recordsEvent(step)
	}
	k.queue = newQueue(c.Alarms(), s.Queue, k.assign)
	for i := range k.workers {
		w := &k.workers[i]
		w.controller, w.token = k, firstWorker+int32(i)
	}
	return k
}

// Start implements Machine.
func (k *controller) Start(nowNs int64) { k.reflector.Start(nowNs) }

// Answered implements Machine.
func (k *controller) Answered(nowNs int64, token int32, a *api.Answer) {
	if k.reflector.Owns(token) {
		k.reflector.Answered(nowNs, token, a)
		return
	}
	k.workers[token-firstWorker].answered(nowNs, a)
}

// Received implements Machine.
func (k *controller) Received(nowNs int64, token int32, e *api.Event) {
	k.reflector.Received(nowNs, token, e)
}

// Changed implements Handler.
func (k *controller) Changed(nowNs int64, _ *Reflector, _, o *api.Object) {
	k.queue.add(nowNs, o.Key())
}

// Deleted implements Handler.
func (k *controller) Deleted(nowNs int64, _ *Reflector, o *api.Object) {
	delete(k.done, o.Key())
	k.queue.add(nowNs, o.Key())
}

// Listed implements Handler: the workers begin when there are all objects for the first time
// (tools/cache, WaitForCacheSync).
func (k *controller) Listed(nowNs int64, _ *Reflector) {
	if k.idle != nil {
		return
	}
	k.idle = make([]*worker, 0, len(k.workers))
	for i := len(k.workers) - 1; i >= 0; i-- {
		k.idle = append(k.idle, &k.workers[i])
	}
	k.assign(nowNs)
}

// assign gives items to workers.
func (k *controller) assign(nowNs int64) {
	if k.assigning {
		return
	}
	k.assigning = true
	defer func() { k.assigning = false }()
	for n := len(k.idle); n > 0; n = len(k.idle) {
		it := k.queue.get()
		if it == nil {
			return
		}
		w := k.idle[n-1]
		k.idle = k.idle[:n-1]
		w.begin(nowNs, it)
	}
}

func (s *Controller) resources() []string {
	names := []string{s.Watches}
	for _, step := range s.Reconcile {
		names = append(names, ResourceName(step.Group, step.Resource))
	}
	return names
}

func (s *Controller) rateLimit() *RateLimit { return clientGoLimit(s.QPS, s.Burst) }
