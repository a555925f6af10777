package scenario

import (
	"math"
	"unicode/utf8"

	"apfsim/core/config"
	"apfsim/document"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// mostMemory is how much memory a run may take, by an estimate before it starts. It does not depend on the
// machine, so that a scenario is valid everywhere or nowhere.
const mostMemory = 32 << 30

// What a run takes, in bytes, measured with runs of a million clients, ten million queues and a thousand kubelets,
// and rounded up. The estimate is to find scenarios that no machine can run, and not to plan machines.
const (
	clientBytes    = 700    // with its next request
	requestBytes   = 300    // in progress, with its events
	queueBytes     = 170    // at one server
	behavingBytes  = 5_000  // a client that behaves, without what follows
	kubeletBytes   = 25_000 // with its node, lease and watches
	podBytes       = 300
	secretBytes    = 1_300 // with its watch
	candidateBytes = 1_500
	workerBytes    = 100
	objectBytes    = 500 // in the store
)

// demand is an estimate of memory, and the part that takes the most.
type demand struct {
	bytes, most float64
	path, what  string
}

// add adds a part. what says what it is, for messages.
func (d *demand) add(path string, bytes float64, what string) {
	d.bytes += bytes
	if bytes > d.most {
		d.most, d.path, d.what = bytes, path, what
	}
}

// memory checks that a run takes no more than mostMemory, at the part that takes the most.
func (c *checker) memory() {
	spec := &c.scenario.Spec
	var d demand
	for i := range spec.Workload {
		if w := &spec.Workload[i]; !w.Added {
			d.workload(document.Index("spec.workload", i), w)
		}
	}
	if spec.Servers.FlowControl == server.PriorityAndFairness {
		d.queues("spec.config", c.scenario.Objects, spec.Servers.Replicas)
		for i := range spec.Events {
			if spec.Events[i].Apply != nil {
				d.queues(document.Index("spec.events", i), spec.Events[i].Objects, spec.Servers.Replicas)
			}
		}
	}
	if d.bytes > mostMemory {
		c.Fail(d.path, "the run would take about %.0f GiB of memory, %.0f GiB of them for %s; want at most %d GiB",
			math.Ceil(d.bytes/(1<<30)), math.Ceil(d.most/(1<<30)), d.what, mostMemory>>30)
	}
}

// workload adds the clients of a workload.
func (d *demand) workload(path string, w *workload.Workload) {
	clients := float64(w.Clients)
	texts := textBytes(w.As.User, w.As.ServiceAccount, w.As.Node)
	texts += textBytes(w.As.Groups...)
	for i := range w.Requests {
		r := &w.Requests[i].Request
		texts += textBytes(r.Namespace, r.Name, r.Path, r.Query)
	}
	d.add(path+".clients", clients*(clientBytes+texts+100*float64(len(w.Requests))), "the clients")
	if a := w.Arrivals.Closed; a != nil {
		d.add(path+".arrivals.closed.concurrency", clients*float64(a.Concurrency)*requestBytes, "the requests in progress")
	}
	if a := w.Arrivals.Burst; a != nil {
		d.add(path+".arrivals.burst.requests", a.InOne(w.Clients)*requestBytes, "the requests of a burst")
	}
	b, at := w.Behaviour, path+".behaviour"
	if b == nil {
		return
	}
	d.add(path+".clients", clients*behavingBytes, "the clients")
	switch {
	case b.Kubelet != nil:
		d.add(path+".clients", clients*kubeletBytes, "the kubelets")
		d.add(at+".kubelet.pods", clients*float64(b.Kubelet.Pods)*podBytes, "the pods")
		d.add(at+".kubelet.secrets", clients*float64(b.Kubelet.Secrets)*secretBytes, "the secrets")
	case b.LeaderElection != nil:
		d.add(at+".leaderElection.candidates", clients*float64(b.LeaderElection.Candidates)*candidateBytes, "the candidates")
	case b.Controller != nil:
		d.add(at+".controller.workers", clients*float64(b.Controller.Workers)*workerBytes, "the workers")
	case b.Writer != nil:
		d.add(at+".writer.objects", float64(b.Writer.Objects)*objectBytes, "the objects")
	case b.EventRecorder != nil:
		d.add(at+".eventRecorder.objects", float64(b.EventRecorder.Objects)*objectBytes, "the objects")
	}
}

// queues adds the queues of a configuration at all servers.
func (d *demand) queues(path string, objects config.Objects, servers int) {
	for _, level := range objects.PriorityLevels {
		if q := level.Spec.Queuing(); q != nil {
			d.add(path, float64(q.Queues)*float64(servers)*queueBytes, "the queues of "+document.Abridge(level.Name))
		}
	}
}

// textBytes returns the lengths of texts together.
func textBytes(all ...string) (n float64) {
	for _, s := range all {
		n += float64(len(s))
	}
	return n
}

// Limits of the numbers of stored objects, far above those of real servers: etcd stores at most 1.5 MiB in an object
// by default, and 8 GiB in all.
const (
	mostObjects      = 1_000_000_000
	mostAverageBytes = 1 << 30

	// mostReadNs bounds the work for reading all objects of a resource, so that no sum of work overflows.
	mostReadNs = 30 * 24 * 3600 * 1e9
)

// listed checks that the work for a list of all objects of a resource can be computed.
func (c *checker) listed(path string, r *Resource) {
	if r.Objects > mostObjects {
		c.Fail(path+".objects", "%d: want at most %d", r.Objects, mostObjects)
	}
	if r.AverageBytes > mostAverageBytes {
		c.Fail(path+".averageBytes", "%d: want at most 1 GiB, %d; etcd stores objects of 1.5 MiB at most by default", r.AverageBytes, mostAverageBytes)
	}
	store := c.scenario.Spec.Store
	if store == nil || c.Failed(path) {
		return
	}
	k := &store.Costs
	perObject := float64(k.WalkedObject) + float64(k.MatchedObject) + float64(k.EtcdObject) + float64(k.RangedObject) + float64(k.InitialEvent) + float64(k.InitialWalk)
	perByte := (float64(max(k.EncodedKilobyte, k.ProtobufKilobyte)) + float64(k.CompressedKilobyte) + float64(k.EtcdKilobyte)) / 1000
	ns := float64(r.Objects) * (perObject + float64(r.AverageBytes)*perByte)
	if ns > mostReadNs {
		c.Fail(path+".objects", "%d of %d bytes: reading them all takes about %.0f days by spec.store.costs; want at most %d",
			r.Objects, r.AverageBytes, math.Ceil(ns/(24*3600*1e9)), int(mostReadNs/(24*3600*1e9)))
	}
}

// mostName bounds the names of users and of other things, and mostURL paths and queries, in bytes. Names of
// objects have at most 253 characters, and servers read at most 1 MiB of all headers.
const (
	mostName = 1 << 10
	mostURL  = 64 << 10
)

// texts checks how long the texts of a workload are.
func (c *checker) texts(path string, w *workload.Workload) {
	check := func(field, text string, most int) {
		if len(text) > most {
			c.Fail(path+field, "%q is %d characters long; want at most %d", document.Abridge(text), utf8.RuneCountInString(text), most)
		}
	}
	check(".name", w.Name, mostName)
	check(".as.user", w.As.User, mostName)
	check(".as.serviceAccount", w.As.ServiceAccount, mostName)
	check(".as.node", w.As.Node, mostName)
	for i, group := range w.As.Groups {
		check(document.Index(".as.groups", i), group, mostName)
	}
	for i := range w.Requests {
		r, at := &w.Requests[i].Request, ".request"
		if w.Request == nil {
			at = document.Index(".requests", i)
		}
		for _, f := range []struct {
			name, text string
			most       int
		}{{"group", r.Group, mostName}, {"resource", r.Resource, mostName}, {"subresource", r.Subresource, mostName},
			{"namespace", r.Namespace, mostName}, {"name", r.Name, mostName}, {"path", r.Path, mostURL}, {"query", r.Query, mostURL}} {
			check(at+"."+f.name, f.text, f.most)
		}
	}
}
