package generate

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"apfsim/sim/scenario"
	"apfsim/sim/trace"
)

// kind sets the verb, the resource and the query of a request.
type kind func(g *generator, r *trace.Record, q url.Values)

// kinds are the kinds of requests. Some are listed twice to make them more frequent.
var kinds = []kind{get, list, mutate, watch, token, collection, nonResource, bypass, get, mutate}

// mix draws the weights of the kinds for a class. In most classes a few kinds have almost all of
// the weight.
func (g *generator) mix() []float64 {
	weights := make([]float64, len(kinds))
	sum := 0.0
	for i := range weights {
		weights[i] = g.between(0.0001, 1)
		sum += weights[i]
	}
	for i := range weights {
		weights[i] /= sum
	}
	return weights
}

// request adds a random request of a class to the trial.
func (g *generator) request(c *class) {
	r := trace.Record{ArrivalNs: g.arrival(c), ExecutionNs: 1000 + int64(c.service())}
	g.identity(c, &r)
	x, i := g.Float64(), 0
	for i < len(kinds)-1 && x >= c.mix[i] {
		x -= c.mix[i]
		i++
	}
	q := url.Values{}
	kinds[i](g, &r, q)
	if r.Verb == "watch" {
		r.WatchNs = 1 + int64(g.between(1e6, float64(g.endNs)+2e6))
	} else if g.chance(0.05) {
		q.Set("timeout", time.Duration(g.between(50e6, 100e9)).String())
	}
	r.Query = q.Encode()
	g.trial.Requests = append(g.trial.Requests, r)
}

// watchers adds watches of one resource that are open most of the time, so that its mutations have
// a long additional latency.
func (g *generator) watchers() {
	namespaced := g.chance(0.3)
	g.watched = 1 + g.IntN(len(resources))
	resource := resources[g.watched-1]
	for i := range int(g.between(10, 400)) {
		r := trace.Record{
			ArrivalNs: 2 + int64(i)*1013 + g.Int64N(1000), ExecutionNs: 1000 + g.Int64N(1e6), WatchNs: g.endNs/2 + g.Int64N(g.endNs),
			User: fmt.Sprintf("watcher-%d", i), Groups: []string{"system:masters", "system:authenticated"},
			Verb: "watch", APIGroup: resource.group, Resource: resource.name, Query: "resourceVersion=17&watch=1",
		}
		if namespaced {
			r.Namespace = namespace(g)
		}
		g.trial.Requests = append(g.trial.Requests, r)
	}
}

// resources are the resources that requests name. In most trials the server knows the number of
// objects of most of them.
var resources = []struct{ group, name string }{
	{"", "pods"}, {"", "configmaps"}, {"coordination.k8s.io", "leases"}, {"example.com", "widgets"},
}

func (g *generator) resources() []scenario.Resource {
	var all []scenario.Resource
	for _, r := range resources {
		if g.chance(0.2) {
			continue
		}
		counted := scenario.Resource{Group: r.group, Resource: r.name, Objects: int64(g.between(1, 2e5)) - 1}
		if g.chance(0.9) {
			counted.AverageBytes = int64(g.between(1, 50_000))
		}
		all = append(all, counted)
	}
	return all
}

func namespace(g *generator) string { return fmt.Sprintf("ns-%d", g.IntN(5)) }
func name(g *generator) string      { return fmt.Sprintf("x-%d", g.IntN(20)) }

// resource sets the resource and the namespace of a request.
func (g *generator) resource(r *trace.Record) {
	resource := resources[g.IntN(len(resources))]
	if g.watched > 0 && g.chance(0.6) {
		resource = resources[g.watched-1]
	}
	r.APIGroup, r.Resource = resource.group, resource.name
	if g.chance(0.7) {
		r.Namespace = namespace(g)
	}
}

func get(g *generator, r *trace.Record, _ url.Values) {
	r.Verb = "get"
	g.resource(r)
	r.Name = name(g)
	if g.chance(0.1) {
		r.Subresource = "status"
	}
}

func list(g *generator, r *trace.Record, q url.Values) {
	r.Verb = "list"
	g.resource(r)
	g.options(r, q)
}

func watch(g *generator, r *trace.Record, q url.Values) {
	if g.noWatches {
		list(g, r, q)
		return
	}
	r.Verb = "watch"
	g.resource(r)
	g.options(r, q)
	q.Set("watch", "true")
	if g.chance(0.3) {
		q.Set("sendInitialEvents", pick(g, "true", "false", "1", "0", ""))
		q.Set("resourceVersionMatch", "NotOlderThan")
	}
}

// options sets the query of a list or a watch, including invalid combinations.
func (g *generator) options(r *trace.Record, q url.Values) {
	if g.chance(0.5) {
		q.Set("limit", pick(g, "500", "1", "0", "100", strconv.Itoa(g.IntN(100_000))))
	}
	if g.chance(0.6) {
		q.Set("resourceVersion", pick(g, "0", "0", "", "123456"))
	}
	if g.chance(0.2) {
		q.Set("resourceVersionMatch", pick(g, "Exact", "NotOlderThan", "Newer"))
	}
	if g.chance(0.1) {
		q.Set("continue", "token")
	}
	if g.chance(0.2) {
		q.Set("labelSelector", pick(g, "app=a", "app in (a,b)", "!x"))
	}
	if g.chance(0.2) {
		q.Set("fieldSelector", pick(g, "metadata.name="+name(g), "metadata.name=a,spec.nodeName=b", "spec.nodeName=n-1", "spec.nodeName=", "status.phase!=Failed"))
	}
	if g.chance(0.02) {
		q.Set("limit", "many")
	}
}

func mutate(g *generator, r *trace.Record, _ url.Values) {
	r.Verb = pick(g, "create", "update", "patch", "delete")
	g.resource(r)
	if r.Verb != "create" {
		r.Name = name(g)
	}
	if r.Name != "" && g.chance(0.2) {
		r.Subresource = "status"
	}
}

func token(g *generator, r *trace.Record, _ url.Values) {
	r.Verb, r.Resource, r.Subresource, r.Namespace, r.Name = "create", "serviceaccounts", "token", namespace(g), name(g)
}

func collection(g *generator, r *trace.Record, q url.Values) {
	r.Verb = "deletecollection"
	g.resource(r)
	if g.chance(0.3) {
		q.Set("labelSelector", "app=a")
	}
}

func nonResource(g *generator, r *trace.Record, _ url.Values) {
	r.Verb, r.Path = pick(g, "get", "post"), pick(g, "/healthz", "/healthz/etcd", "/livez", "/version", "/", "/apis", "/openapi/v3", "/metrics")
}

// bypass makes a long-running request, which bypasses flow control.
func bypass(g *generator, r *trace.Record, _ url.Values) {
	switch g.IntN(4) {
	case 0:
		r.Verb, r.Path = "get", "/debug/pprof/profile"
	case 1:
		r.Verb, r.Resource, r.Name, r.Path = "proxy", "nodes", name(g), "/api/v1/proxy/nodes/"
		r.Path += r.Name
	default:
		r.Verb, r.Resource, r.Namespace, r.Name = pick(g, "get", "create"), "pods", namespace(g), name(g)
		r.Subresource = pick(g, "exec", "attach", "log", "portforward", "proxy")
	}
}
