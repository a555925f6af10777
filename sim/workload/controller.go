package workload

import (
	"strings"

	"apfsim/core/request"
	"apfsim/document"
	"apfsim/sim/api"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// Controller watches objects and reconciles each that changes.
type Controller struct {
	Watches    string                `json:"watches" document:"required" jsonschema_description:"The resource, such as pods or deployments.apps."`
	Start      string                `json:"start,omitempty" jsonschema:"enum=List,enum=WatchList,default=WatchList" jsonschema_description:"Of its informer."`
	Workers    int                   `json:"workers,omitempty" jsonschema:"default=1,minimum=1,maximum=10000"`
	Reconcile  []Step                `json:"reconcile,omitempty" jsonschema_description:"The requests of a reconciliation, one after another. An update carries the version of what was read before: by a step get, or from the informer."`
	Work       quantity.Distribution `json:"work,omitempty" jsonschema_description:"How long a worker computes, before the first request."`
	Queue      *Queue                `json:"queue,omitempty" jsonschema:"default=Default" jsonschema_description:"Default, or its parameters."`
	MaxRetries int                   `json:"maxRetries,omitempty" jsonschema:"minimum=0" message:"{value}: want {want}; 0 for no limit" jsonschema_description:"Failures after which an item is dropped; 0 for never."`
	QPS        float64               `json:"qps,omitempty" jsonschema:"default=20" document:"maximum=1e9" message:"{value}: want {want}, or less than 0 for no limit" jsonschema_description:"Of the client's rate limiter; negative for none."`
	Burst      int                   `json:"burst,omitempty" jsonschema:"default=30"`
}

// Step is a request of a reconciliation. Without a name it is for the object that is reconciled.
type Step struct {
	Verb        string `json:"verb" document:"required" jsonschema:"enum=get,enum=list,enum=create,enum=update,enum=patch,enum=delete"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource" document:"required"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty" jsonschema_description:"Without it that of the object that is reconciled."`
	Name        string `json:"name,omitempty" jsonschema_description:"Without it that of the object that is reconciled."`
}

func (s *Controller) check(c *checker, path string) {
	if s.Watches == "" {
		c.Fail(path+".watches", "is missing")
	} else if strings.ContainsAny(s.Watches, "/ {}") {
		c.Fail(path+".watches", "%q: want a resource, such as pods or deployments.apps", document.Abridge(s.Watches))
	} else {
		group, resource := request.SplitResource(s.Watches)
		c.known(path+".watches", group, resource)
	}
	for i := range s.Reconcile {
		step, at := &s.Reconcile[i], document.Index(path+".reconcile", i)
		c.resource(at+".resource", step.Group, step.Resource)
	}
	s.Queue.check(c, path+".queue")
	c.bucket(path, s.QPS, s.Burst)
}

func (s *Controller) resources() []string {
	names := []string{s.Watches}
	for _, step := range s.Reconcile {
		names = append(names, request.JoinResource(step.Group, step.Resource))
	}
	return names
}

func (s *Controller) rateLimit() *RateLimit { return clientGoLimit(s.QPS, s.Burst) }

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

	events      eventCorrelator[eventOf]
	eventChance random.Stream
}

// firstWorker is the token of the first worker, behind those of the reflector.
const firstWorker = tokensPerReflector

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
	group, resource := request.SplitResource(s.Watches)
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
