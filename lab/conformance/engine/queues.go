package engine

import (
	"context"
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"
	applyv1 "k8s.io/client-go/applyconfigurations/flowcontrol/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/flowcontrol"
	informersv1 "k8s.io/client-go/informers/flowcontrol/v1"
	clientv1 "k8s.io/client-go/kubernetes/typed/flowcontrol/v1"
	listersv1 "k8s.io/client-go/listers/flowcontrol/v1"
	"k8s.io/client-go/tools/cache"

	"apfsim/core/config"
	"apfsim/core/queueset"
	"apfsim/lab/conformance/upstream"
)

var _ eventclock.Interface = clock{}

// factory makes upstream's queue sets, and listens to what happens to their requests.
type factory struct {
	fq.QueueSetFactory
	*engine
}

func (f factory) BeginConstruction(c fq.QueuingConfig, requests metrics.RatioedGaugePair, seats metrics.RatioedGauge, demand metrics.Gauge) (fq.QueueSetCompleter, error) {
	completes, err := f.QueueSetFactory.BeginConstruction(c, requests, seats, demand)
	return completer{completes, &queueSet{engine: f.engine}, c}, err
}

type completer struct {
	fq.QueueSetCompleter
	set    *queueSet
	config fq.QueuingConfig
}

func (c completer) Complete(d fq.DispatchingConfig) fq.QueueSet {
	e := c.set.engine
	e.mu.Lock()
	e.configured = true
	e.mu.Unlock()
	c.set.QueueSet, c.set.config = c.QueueSetCompleter.Complete(d), c.config
	return c.set
}

type queueSet struct {
	fq.QueueSet
	engine *engine
	config fq.QueuingConfig
}

func (q *queueSet) BeginConfigChange(c fq.QueuingConfig) (fq.QueueSetCompleter, error) {
	completes, err := q.QueueSet.BeginConfigChange(c)
	return completer{completes, q, c}, err
}

// StartRequest waits until the simulation lets the request arrive.
func (q *queueSet) StartRequest(ctx context.Context, width *workestimate.WorkEstimate, hash uint64, distinguisher, schema string, d1, d2 any, queued fq.QueueNoteFn) (fq.Request, bool) {
	e, c := q.engine, ctx.Value(callKey{}).(*call)
	c.level, c.schema, c.distinguisher, c.hash, c.width = q.config.Name, schema, distinguisher, hash, width
	if at, ok := ctx.Deadline(); ok {
		c.waitLimitNs = int64(at.Add(-ahead).Sub(e.at(e.nowNs)))
	}
	c.stage = received
	<-c.proceed
	noted := func(what change) {
		e.mu.Lock()
		e.notes = append(e.notes, note{c, what})
		e.mu.Unlock()
	}
	request, idle := q.QueueSet.StartRequest(ctx, width, hash, distinguisher, schema, d1, d2, func(inQueue bool) {
		queued(inQueue)
		if inQueue {
			noted(enters)
		} else {
			noted(leaves)
		}
	})
	c.request = request
	switch {
	case q.config.DesiredNumQueues > 0 && request == nil:
		c.rejection = queueset.QueueFull
	case request == nil:
		c.rejection = queueset.ConcurrencyLimit
	case q.config.DesiredNumQueues < 1:
		noted(starts)
	}
	return request, idle
}

// objects are the flow-control objects that a server has read. It is what upstream's controller asks of informers and
// their listers; any other method has no implementation.
type objects struct {
	informers.SharedInformerFactory
	flowcontrol.Interface
	levels  []*flowcontrolv1.PriorityLevelConfiguration
	schemas []*flowcontrolv1.FlowSchema
	handler cache.ResourceEventHandler // of levels
}

// set replaces the objects.
func (o *objects) set(b *bubble, held config.Objects) {
	o.levels, o.schemas = nil, nil
	for _, l := range held.PriorityLevels {
		if b.levels[l] == nil {
			b.levels[l] = upstream.PriorityLevel(l)
		}
		o.levels = append(o.levels, b.levels[l])
	}
	for _, s := range held.FlowSchemas {
		if b.schemas[s] == nil {
			b.schemas[s] = upstream.FlowSchema(s)
		}
		o.schemas = append(o.schemas, b.schemas[s])
	}
}

// changed lets the controller read the objects, once: at a server, it may be as often as there are changes.
func (o *objects) changed() { o.handler.OnAdd(&flowcontrolv1.PriorityLevelConfiguration{}, false) }

func (o *objects) Flowcontrol() flowcontrol.Interface { return o }
func (o *objects) V1() informersv1.Interface          { return versioned{o: o} }

type versioned struct {
	informersv1.Interface
	o *objects
}

func (v versioned) FlowSchemas() informersv1.TypedFlowSchemaInformer { return schemas{o: v.o} }
func (v versioned) PriorityLevelConfigurations() informersv1.TypedPriorityLevelConfigurationInformer {
	return levels{o: v.o}
}

type schemas struct {
	informersv1.TypedFlowSchemaInformer
	listersv1.FlowSchemaLister
	o *objects
}

func (s schemas) Informer() cache.SharedIndexInformer { return informer{} }
func (s schemas) Lister() listersv1.FlowSchemaLister  { return s }
func (s schemas) List(labels.Selector) ([]*flowcontrolv1.FlowSchema, error) {
	return slices.Clone(s.o.schemas), nil
}

type levels struct {
	informersv1.TypedPriorityLevelConfigurationInformer
	listersv1.PriorityLevelConfigurationLister
	o *objects
}

func (l levels) Informer() cache.SharedIndexInformer                { return informer{handler: &l.o.handler} }
func (l levels) Lister() listersv1.PriorityLevelConfigurationLister { return l }
func (l levels) List(labels.Selector) ([]*flowcontrolv1.PriorityLevelConfiguration, error) {
	return slices.Clone(l.o.levels), nil
}

type informer struct {
	cache.SharedIndexInformer
	handler *cache.ResourceEventHandler // where it is kept; nil: nowhere
}

func (informer) HasSynced() bool { return true }

func (i informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	if i.handler != nil {
		*i.handler = h
	}
	return nil, nil
}

// client takes the status of FlowSchemas, which decides nothing.
type client struct {
	clientv1.FlowcontrolV1Interface
}

func (client) FlowSchemas() clientv1.FlowSchemaInterface { return status{} }

type status struct{ clientv1.FlowSchemaInterface }

func (status) ApplyStatus(context.Context, *applyv1.FlowSchemaApplyConfiguration, metav1.ApplyOptions) (*flowcontrolv1.FlowSchema, error) {
	return nil, nil
}
