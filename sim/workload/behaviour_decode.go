package workload

import (
	"time"

	"apfsim/document"
	"apfsim/sim/quantity"

	"github.com/invopop/jsonschema"
)

// Kinds are the names of the fields of Behaviour.
var BehaviourKinds = []string{"informer", "controller", "leaderElection", "kubelet", "writer", "eventRecorder", "lister", "kubectl"}

// UnmarshalDocument implements document.Unmarshaler.
func (b *Behaviour) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Behaviour
	d.DecodeOneOf(n, path, BehaviourKinds, (*plain)(b))
}

// JSONSchemaExtend completes the description of the type.
func (Behaviour) JSONSchemaExtend(s *jsonschema.Schema) {
	one := uint64(1)
	s.MinProperties, s.MaxProperties = &one, &one
	s.Description = "What the clients do, in the place of request and arrivals: one of the behaviours."
}

// UnmarshalDocument implements document.Unmarshaler.
func (i *Informer) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Informer
	*i = Informer{Start: WatchList, Bookmarks: true, Limit: 500, Backoff: SinceReset}
	d.Decode(n, path, (*plain)(i))
}

// UnmarshalDocument implements document.Unmarshaler.
func (q *Queue) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	*q = DefaultQueue()
	named(d, n, path, []string{"Default"}, func(string) {}, func() {
		type plain Queue
		d.Decode(n, path, (*plain)(q))
	})
}

// DefaultQueue is client-go's (util/workqueue/default_rate_limiters.go).
func DefaultQueue() Queue {
	return Queue{Base: quantity.Duration(5 * time.Millisecond), Max: quantity.Duration(1000 * time.Second), QPS: 10, Burst: 100}
}

// JSONSchemaExtend completes the description of the type.
func (Queue) JSONSchemaExtend(s *jsonschema.Schema) { orNamed(s, "Default", "Default") }

// named decodes a value that is one of some names, or an object.
func named(d *document.Decoder, n *document.Node, path string, names []string, byName func(string), object func()) {
	want := ""
	for _, name := range names {
		want += name + ", "
	}
	switch {
	case n.Kind == document.Object:
		object()
		return
	case n.Kind != document.String:
		d.Fail(n, path, "is %v; want %sor an object", n.Kind, want)
		return
	}
	for _, name := range names {
		if n.Text == name {
			byName(name)
			return
		}
	}
	d.Fail(n, path, "%q: want %sor an object%s", document.Abridge(n.Text), want, document.Suggest(n.Text, names))
}

// orNamed lets a schema be one of some names, too.
func orNamed(s *jsonschema.Schema, byDefault string, names ...any) {
	parameters := *s
	*s = jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string", Enum: names}, &parameters}, Description: parameters.Description, Default: byDefault}
}

// UnmarshalDocument implements document.Unmarshaler.
func (c *Controller) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Controller
	queue := DefaultQueue()
	*c = Controller{Start: WatchList, Workers: 1, Queue: &queue, QPS: 20, Burst: 30}
	d.Decode(n, path, (*plain)(c))
}

// UnmarshalDocument implements document.Unmarshaler.
func (l *LeaderElection) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain LeaderElection
	*l = LeaderElection{Candidates: 2, LeaseDuration: quantity.Duration(15 * time.Second), RenewDeadline: quantity.Duration(10 * time.Second),
		RetryPeriod: quantity.Duration(2 * time.Second), Restart: quantity.Duration(10 * time.Second)}
	d.Decode(n, path, (*plain)(l))
}

// UnmarshalDocument implements document.Unmarshaler.
func (k *Kubelet) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Kubelet
	*k = Kubelet{Pods: 30, Start: WatchList, NotReady: quantity.Duration(50 * time.Second)}
	d.Decode(n, path, (*plain)(k))
}

// UnmarshalDocument implements document.Unmarshaler.
func (w *Writer) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Writer
	once := Conflict{Steps: 1}
	*w = Writer{Objects: 1, With: Put, Version: true, RetryOnConflict: &once}
	d.Decode(n, path, (*plain)(w))
}

// DefaultRetry is client-go's retry.DefaultRetry, and DefaultBackoff its retry.DefaultBackoff.
func DefaultRetry() Conflict {
	return Conflict{Steps: 5, Duration: quantity.Duration(10 * time.Millisecond), Factor: 1, Jitter: 0.1}
}

// DefaultBackoff is client-go's retry.DefaultBackoff.
func DefaultBackoff() Conflict {
	return Conflict{Steps: 4, Duration: quantity.Duration(10 * time.Millisecond), Factor: 5, Jitter: 0.1}
}

// UnmarshalDocument implements document.Unmarshaler.
func (c *Conflict) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	*c = DefaultRetry()
	named(d, n, path, []string{"None", "Default", "Backoff"}, func(name string) {
		switch name {
		case "None":
			*c = Conflict{Steps: 1}
		case "Backoff":
			*c = DefaultBackoff()
		}
	}, func() {
		type plain Conflict
		d.Decode(n, path, (*plain)(c))
	})
}

// JSONSchemaExtend completes the description of the type.
func (Conflict) JSONSchemaExtend(s *jsonschema.Schema) {
	orNamed(s, "None", "None", "Default", "Backoff")
}

// UnmarshalDocument implements document.Unmarshaler.
func (e *EventRecorder) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain EventRecorder
	*e = EventRecorder{Objects: 1, Reasons: 1, QPS: 5, Burst: 10}
	d.Decode(n, path, (*plain)(e))
}

// UnmarshalDocument implements document.Unmarshaler.
func (l *Lister) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Lister
	*l = Lister{Limit: 500}
	d.Decode(n, path, (*plain)(l))
}
