package scenario

import (
	"regexp"
	"slices"

	"apfsim/core/classify"
	"apfsim/document"
	"apfsim/sim/quantity"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// MostReplications bounds the number of independent runs of a scenario.
const MostReplications = 100_000

// checker checks one scenario.
type checker struct {
	*document.Checker
	scenario *Scenario
}

// Check checks the scenario after [Scenario.SetDefaults], with the errors of decoding in to. It
// reads no files: Objects and the traces are as they were read. Complete says that they are the
// whole configuration: if not, names that are not in it are not reported.
func (s *Scenario) Check(to *document.Checker, complete bool) {
	c := checker{to, s}
	spec := &s.Spec
	c.name()
	c.controls()
	if spec.Duration > 0 && spec.Warmup.Duration >= spec.Duration {
		c.Fail("spec.warmup", "%v: want less than the duration, %v", spec.Warmup, spec.Duration)
	}
	c.servers()
	complete = c.events() && complete
	c.whatIf(complete)
	if complete {
		WarnDangling(to, "", s.Objects)
		for i := range spec.Events {
			if spec.Events[i].Apply != nil {
				WarnDangling(to, document.Index("spec.events", i), spec.Events[i].Objects)
			}
		}
	}
	c.resources()
	for i := range spec.Workload {
		if !spec.Workload[i].Added {
			c.texts(document.Index("spec.workload", i), &spec.Workload[i])
		}
	}
	workload.Check(to, "spec.workload", spec.Workload, spec.Duration, spec.Store != nil, spec.AllowUnknownResources)
	c.lockstep()
	if spec.Store != nil {
		c.store()
	}
	c.thresholds(complete)
	c.source(complete)
	c.truth()
	if len(c.Errors) > 0 {
		return
	}
	c.overload()
	if complete {
		c.memory()
	}
}

// mostAsked is how many times its seats a server may be asked for without a warning.
const mostAsked = 100

// overload warns of a load that is probably a mistake: of a rate that was meant to be that of all clients.
func (c *checker) overload() {
	spec := &c.scenario.Spec
	seats := float64(spec.Servers.Replicas) * float64(spec.Servers.MaxRequestsInflight+spec.Servers.MaxMutatingRequestsInflight)
	for i := range spec.Workload {
		w := &spec.Workload[i]
		if asked := w.AskedSeats(spec.Duration); seats > 0 && asked > mostAsked*seats {
			c.Warn(document.Index("spec.workload", i)+".arrivals", "%d clients ask for %.0f seats at a time, and the servers have %.0f: a rate is that of each client; want total instead of rate for that of all of them",
				w.Clients, asked, seats)
		}
	}
}

// store checks the store, and what it says beside the servers and the workload.
func (c *checker) store() {
	spec := &c.scenario.Spec
	store := spec.Store
	store.Check(c.Checker, "spec.store")
	if servers := spec.Servers.Capacity; servers != nil && servers.WatchEvent != 0 && servers.WatchEvent != store.Costs.WatchEvent {
		c.Fail("spec.servers.capacity.watchEvent", "%v: cannot be set with spec.store, whose costs.watchEvent it is", servers.WatchEvent)
	}
	used, all := workload.Resources(spec.Workload)
	for _, r := range spec.Resources {
		used = append(used, r.name())
	}
	for i, name := range store.WatchCache.Without {
		path := document.Index("spec.store.watchCache", i)
		if all && !c.Failed(path) && name != "events" && name != "events.events.k8s.io" && !slices.Contains(used, name) {
			c.Warn(path, "%q: no workload uses it, and spec.resources does not have it%s", document.Abridge(name), document.Suggest(name, used))
		}
	}
}

// events checks the events, and reports whether it found nothing wrong.
func (c *checker) events() (ok bool) {
	s := &c.scenario.Spec
	ok = true
	last := quantity.Duration(0)
	for i := range s.Events {
		e := &s.Events[i]
		path := document.Index("spec.events", i)
		switch {
		case e.At < last:
			c.Fail(path+".at", "%v: want at least that of the event before, %v", e.At, last)
		case s.Duration > 0 && e.At >= s.Duration:
			c.Fail(path+".at", "%v: want less than spec.duration, %v", e.At, s.Duration)
		}
		last = e.At
		if e.Apply != nil && s.Servers.FlowControl != server.PriorityAndFairness {
			c.Fail(path+".apply", "needs PriorityAndFairness; there are no flow-control objects with flowControl %s", document.Abridge(s.Servers.FlowControl))
			continue // the configuration at the start is whole
		}
		e.ServerChange.check(c.Checker, path, s.Servers.Replicas, s.Servers.Capacity.IsSet())
		if r := e.Rollout; r != nil && r.KubernetesVersion != "" {
			c.release(path+".rollout.kubernetesVersion", server.Version(r.KubernetesVersion))
		}
		if t := e.Start; t != nil && t.KubernetesVersion != "" {
			c.release(path+".start.kubernetesVersion", server.Version(t.KubernetesVersion))
		}
		ok = ok && !c.Failed(path)
	}
	return ok
}

var nameText = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

func (c *checker) name() {
	name := c.scenario.Metadata.Name
	switch {
	case name == "":
		c.Fail("metadata.name", "is missing")
	case len(name) > 63:
		c.Fail("metadata.name", "%q is %d characters long; want at most 63", document.Abridge(name), len(name))
	case !nameText.MatchString(name):
		c.Fail("metadata.name", "%q: want lower-case letters, digits and dashes, with no dash at either end", name)
	}
}

func (c *checker) resources() {
	seen := map[[2]string]bool{}
	for i := range c.scenario.Spec.Resources {
		r := &c.scenario.Spec.Resources[i]
		path := document.Index("spec.resources", i)
		if r.Resource == "" {
			c.Fail(path+".resource", "is missing")
		} else if seen[[2]string{r.Group, r.Resource}] {
			c.Fail(path+".resource", "duplicate resource %s", r.Resource)
		}
		if problem := classify.UnknownResource(r.Group, r.Resource); problem != "" && !c.scenario.Spec.AllowUnknownResources {
			c.Fail(path+".resource", "%s", problem)
		}
		seen[[2]string{r.Group, r.Resource}] = true
		c.listed(path, r)
	}
}
