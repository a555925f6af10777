package workload

import (
	"reflect"
	"strings"

	"apfsim/document"
)

// Behaviour is the scripted behaviour of the clients of a workload. Exactly one field is given.
type Behaviour struct {
	Informer       *Informer       `json:"informer,omitempty" jsonschema_description:"Keeps a copy of some objects by list and watch, as a reflector of client-go."`
	Controller     *Controller     `json:"controller,omitempty" jsonschema_description:"Watches objects and reconciles each that changes, by a work queue."`
	LeaderElection *LeaderElection `json:"leaderElection,omitempty" jsonschema_description:"Candidates compete for a lease, as those of client-go."`
	Kubelet        *Kubelet        `json:"kubelet,omitempty" jsonschema_description:"A node: its lease, its status, its pods and its watches."`
	Writer         *Writer         `json:"writer,omitempty" jsonschema_description:"Changes objects again and again."`
	EventRecorder  *EventRecorder  `json:"eventRecorder,omitempty" jsonschema_description:"Records events, as that of client-go."`
	Lister         *Lister         `json:"lister,omitempty" jsonschema_description:"Lists objects again and again, page by page."`
	Kubectl        *Kubectl        `json:"kubectl,omitempty" jsonschema_description:"Runs a command of kubectl again and again."`
}

// kindNames are the names of the kinds.
var kindNames = document.FieldNames[Behaviour]()

// UnmarshalDocument implements document.Unmarshaler.
func (b *Behaviour) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Behaviour
	d.DecodeOneOf(n, path, kindNames, (*plain)(b))
}

// A kind is one of the kinds of clients that behave. The fields of [Behaviour] are the kinds that there are: their
// names in a scenario file, and what such a client is made of.
type kind interface {
	// Machine returns what a client of this kind does.
	Machine(c Client) Machine
	// check checks what the scenario says at path.
	check(c *checker, path string)
	// resources returns the resources that it reads and writes, written like deployments.apps.
	resources() []string
}

// A limited kind has a rate limiter also where the workload gives none; rateLimit returns nil for none.
type limited interface{ rateLimit() *RateLimit }

// kind returns the kind of the clients and its name, nil if none is given.
func (b *Behaviour) kind() (name string, k kind) {
	v := reflect.ValueOf(b).Elem()
	for i, name := range kindNames {
		if f := v.Field(i); !f.IsNil() {
			return name, f.Interface().(kind)
		}
	}
	return "", nil
}

// check checks the behaviour at path.
func (b *Behaviour) check(c *checker, path string) {
	if name, k := b.kind(); k != nil {
		k.check(c, path+"."+name)
	}
}

// behaviour checks a workload whose clients behave.
func (c *checker) behaviour(path string, w *Workload) {
	c.senders(path, w)
	c.order(path, w)
	if !c.stored {
		c.Fail(path+".behaviour", "needs spec.store, which has the objects that the clients read and write")
	}
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"request", w.Request != nil},
		{"requests", w.Requests != nil && !w.single},
		{"arrivals", w.Arrivals != Arrivals{}},
	} {
		if field.given {
			c.Fail(path+"."+field.name, "cannot be set with behaviour, which takes its place")
		}
	}
	if w.Behaviour.Kubelet != nil && w.As.given() {
		// Its node, and the pods that it watches, are those of its name.
		switch {
		case w.As.Node == "":
			c.Fail(path+".as", "want a node, such as {node: \"node-{i}\"}, as a kubelet acts as its node")
		case w.Clients > 1 && !strings.Contains(w.As.Node, "{i}"):
			c.Fail(path+".as.node", "%q: is the node of all %d clients; want one for each, such as %q", document.Abridge(w.As.Node), w.Clients,
				document.Abridge(w.As.Node+"-{i}"))
		}
	}
	w.Behaviour.check(c, path+".behaviour")
}

// machine returns what a client does.
func (b *Behaviour) machine(c Client) Machine {
	_, k := b.kind()
	return k.Machine(c)
}

// rateLimit returns the rate limiter that such clients have if their workload gives none; nil for none.
func (b *Behaviour) rateLimit() *RateLimit {
	_, k := b.kind()
	if l, ok := k.(limited); ok {
		return l.rateLimit()
	}
	return nil
}

// clientGoLimit returns a limit as client-go has it (k8s.io/client-go, rest/config.go): its defaults where qps is 0,
// none where it is negative.
func clientGoLimit(qps float64, burst int) *RateLimit {
	switch {
	case qps < 0:
		return nil
	case qps == 0:
		return &RateLimit{QPS: 5, Burst: 10}
	}
	return &RateLimit{QPS: qps, Burst: burst}
}
