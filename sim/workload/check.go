package workload

import (
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/request"
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
	unknown  bool              // requests may be for resources that no server has
}

// Check checks the workloads of a run of the given duration, after [Workload.SetDefaults]. With a store,
// executions follow from the requests. It reads no files: errors in a trace are found when the trace is
// read. A resource that no server has is an error unless unknown is true.
func Check(to *document.Checker, path string, all []Workload, duration quantity.Duration, stored, unknown bool) {
	c := checker{to, duration, stored, unknown}
	if len(all) == 0 {
		c.Fail(path, "is empty: want one workload at least")
	}
	seen := map[string]int{}
	c.callbacks(path, all)
	c.sharedBuckets(path, all)
	if len(all) > mostWorkloads {
		c.Fail(path, "%d workloads: want at most %d; clients that are alike can be one workload", len(all), mostWorkloads)
		return
	}
	clients, total, most, mostAt := 0, 0.0, 0.0, 0
	for i := range all {
		w := &all[i]
		at := document.Index(path, i)
		if w.Added { // it is checked where it is described
			if first, found := seen[w.Name]; found && !all[first].Added {
				what := "the callbacks of a call"
				if w.Probes != nil {
					what = "the probes of spec.servers.probes"
				}
				c.Fail(document.Index(path, first)+".name", "%q: is the name of the workload of %s; want another", document.Abridge(w.Name), what)
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
		c.order(path, w)
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
	if c.stored && (w.Behaviour != nil || slices.ContainsFunc(w.Requests, func(r WeightedRequest) bool { return r.Resource != "" })) {
		const follows = "has no effect on requests for resources: %s follows from spec.store"
		if w.Delay.IsSet() {
			c.Warn(path+".delay", follows, "how long they wait for etcd")
		}
	}
	if !c.stored && w.Encoding == Protobuf {
		c.Warn(path+".encoding", "has no effect without spec.store, by whose costs an answer is encoded")
	}
	if !c.stored && w.Compression == Uncompressed {
		c.Warn(path+".compression", "has no effect without spec.store, by whose costs an answer is compressed")
	}
	c.load(path+".load", w)
	c.retry(path+".retry", &w.Retry)
	c.rateLimit(path+".rateLimit", w.RateLimit)
}

// workloadName checks the name of a workload, or of a part of one.
func (c *checker) workloadName(path, name string) {
	switch {
	case strings.TrimSpace(name) == "":
		c.Fail(path, "is missing")
	case strings.ContainsAny(name, "{},\"") || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }):
		c.Fail(path, "%q: want no braces, commas, quotes or control characters", document.Abridge(name))
	}
}

// templates checks that {i} is the only thing in braces.
func (c *checker) templates(path string, fields ...field) {
	for _, f := range fields {
		if strings.ContainsAny(strings.ReplaceAll(f.text, "{i}", ""), "{}") {
			c.Fail(path+"."+f.name, "%q: want no braces except {i}, which is replaced by the client's index", document.Abridge(f.text))
		}
	}
}

// field is a text of a behaviour.
type field struct{ name, text string }

// template checks that {i} is the only thing in braces.
func (c *checker) template(path, s string) {
	if strings.ContainsAny(strings.ReplaceAll(s, "{i}", ""), "{}") {
		c.Fail(path, "%q: want no braces except {i}, which is replaced by the client's index", document.Abridge(s))
	}
}

func (c *checker) resource(path, group, name string) {
	inName, resource := request.SplitResource(name)
	switch {
	case name == "":
		c.Fail(path, "is missing")
	case inName != "" && resource != "":
		c.Fail(path, "%q: want %s, and group: %s beside it", document.Abridge(name), document.Abridge(resource), document.Abridge(inName))
	case strings.ContainsAny(name, "/. {}"):
		c.Fail(path, "%q: want no slashes, dots, spaces or braces", document.Abridge(name))
	default:
		c.known(path, group, name)
	}
}

// known adds an error about a resource that no server has, unless the scenario may have such resources.
func (c *checker) known(path, group, name string) {
	if problem := classify.UnknownResource(group, name); problem != "" && !c.unknown {
		c.Fail(path, "%s", problem)
	}
}

func (c *checker) every(path string, d quantity.Distribution) {
	if d.IsSet() && d.MeanNs() <= 0 {
		c.Fail(path, "is always 0s; want more than 0s, as the client would never end to send")
	}
}

// bucket checks the rate limiter of clients.
func (c *checker) bucket(path string, qps float64, burst int) {
	if qps > 0 && burst < 1 {
		c.Fail(path+".burst", "%d: want 1 or more", burst)
	}
}
