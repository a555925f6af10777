package workload

import (
	"slices"
	"strings"

	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/sim/quantity"
)

// Bounds on what one run is asked to do, far beyond what any run can complete.
const (
	mostWorkloads = 10_000
	mostClients   = 10_000_000
	mostAtOnce    = 100_000_000 // requests in progress at one time
	mostArrivals  = 1 << 40
	mostCalls     = 1000 // of a request; clusters have some tens of webhooks
)

// checker checks workloads of a run of the given duration.
type checker struct {
	*document.Checker
	duration quantity.Duration // 0 or less if that is an error of its own
	stored   bool              // the servers have a store, from which executions follow
}

// Check checks the workloads of a run of the given duration, after [Workload.SetDefaults]. With a store,
// executions follow from the requests. It reads no files: errors in a trace are found when the trace is
// read.
func Check(to *document.Checker, path string, all []Workload, duration quantity.Duration, stored bool) {
	c := checker{to, duration, stored}
	if len(all) == 0 {
		c.Fail(path, "is empty: want one workload at least")
	}
	seen := map[string]int{}
	c.callbacks(path, all)
	if len(all) > mostWorkloads {
		c.Fail(path, "%d workloads: want at most %d; clients that are alike can be one workload", len(all), mostWorkloads)
		return
	}
	clients, total, most, mostAt := 0, 0.0, 0.0, 0
	for i := range all {
		w := &all[i]
		at := document.Index(path, i)
		if w.Callback { // it is checked where it is described
			if first, found := seen[w.Name]; found && !all[first].Callback {
				c.Fail(document.Index(path, first)+".name", "%q: is the name of the workload of the callbacks of a call; want another", document.Abridge(w.Name))
			}
			seen[w.Name] = i
			continue
		}
		if first, found := seen[w.Name]; found && w.Name != "" {
			c.Fail(at+".name", "duplicate name %q (first used by %s)", document.Abridge(w.Name), document.Index(path, first))
		} else {
			seen[w.Name] = i
		}
		c.workload(at, w)
		if w.Clients >= 1 && w.Clients <= mostClients {
			clients += w.Clients
			if clients > mostClients {
				c.Fail(at+".clients", "%d: with the workloads above these are %d clients; want at most %d in all",
					w.Clients, clients, mostClients)
			}
		}
		if !c.Failed(at) {
			n := w.ExpectedArrivals(duration)
			if total += n; n > most {
				most, mostAt = n, i
			}
		}
	}
	if total > mostArrivals {
		c.Fail(document.Index(path, mostAt)+".arrivals",
			"the scenario asks for about %.1e requests, %.1e of them here; want at most 2^40, about 1e12", total, most)
	}
}

// CheckRequest fills in the defaults of a request, and checks it and its sender as those of a
// workload.
func CheckRequest(as *Identity, r *Request) document.Errors {
	r.SetDefaults()
	c := checker{Checker: &document.Checker{Document: &document.Document{}}}
	c.senders("request", &Workload{As: *as})
	c.request("request", r)
	return c.Errors
}

func (c *checker) workload(path string, w *Workload) {
	c.workloadName(path+".name", w.Name)
	if c.duration > 0 && w.Start >= c.duration {
		c.Fail(path+".start", "%v: want less than spec.duration, %v", w.Start, c.duration)
	}
	switch {
	case w.Stop == 0:
	case w.Stop <= w.Start:
		c.Fail(path+".stop", "%v: want more than start, %v", w.Stop, w.Start)
	case c.duration > 0 && w.Stop > c.duration:
		c.Fail(path+".stop", "%v: want at most spec.duration, %v", w.Stop, c.duration)
	}
	switch {
	case w.Arrivals.Trace != nil:
		c.replay(path, w)
	case w.Behaviour == nil && w.Requests == nil && w.Arrivals == Arrivals{}:
		c.senders(path, w)
		c.Fail(path+".request", "is missing; want a request, or requests with weights, and arrivals; or a behaviour")
	case w.Behaviour != nil:
		c.behaviour(path, w)
	default:
		c.senders(path, w)
		c.requests(path, w)
		c.arrivals(path+".arrivals", w)
	}
	if c.stored && w.Delay.Given() && (w.Behaviour != nil || slices.ContainsFunc(w.Requests, func(r WeightedRequest) bool { return r.Resource != "" })) {
		c.Warn(path+".delay", "has no effect on requests for resources: how long they wait for etcd follows from spec.store")
	}
	c.retry(path+".retry", &w.Retry)
}

func (c *checker) retry(path string, r *Retry) {
	if b := r.Backoff; b != nil && b.Max != 0 && b.Max < b.Initial {
		c.Fail(path+".backoff.max", "%v: want at least initial, %v", b.Max, b.Initial)
	}
}

// behaviour checks a workload whose clients behave.
func (c *checker) behaviour(path string, w *Workload) {
	c.senders(path, w)
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

// replay checks a workload whose arrivals are a trace.
func (c *checker) replay(path string, w *Workload) {
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"as", w.As.given()},
		{"request", w.Request != nil},
		{"requests", w.Requests != nil},
		{"execution", w.Execution.Given()},
		{"rateLimit", w.RateLimit != nil},
		{"behaviour", w.Behaviour != nil},
	} {
		if field.given {
			c.Fail(path+"."+field.name, "cannot be set with a trace, which contains it")
		}
	}
	if w.Clients > 1 {
		c.Fail(path+".clients", "%d: a trace is sent once; want 1", w.Clients)
	}
	if w.Arrivals.Trace.File == "" {
		c.Fail(path+".arrivals.trace.file", "is missing")
	}
	if s := w.Arrivals.Trace.Server; s != nil && s.KubernetesVersion != "" {
		if _, err := rules.For(document.Abridge(s.KubernetesVersion)); err != nil {
			c.Fail(path+".arrivals.trace.server.kubernetesVersion", "%v", err)
		}
	}
}
