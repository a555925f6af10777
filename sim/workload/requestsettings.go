package workload

import (
	"errors"
	"strings"
	"time"

	"apfsim/core/classify"
	"apfsim/core/request"
	"apfsim/document"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
	"apfsim/sim/trace"
)

// Request is a template of requests: for a resource, or for a path. In each of its
// strings {i} is replaced by the client's index.
type Request struct {
	Verb        string `json:"verb" also:"method,operation" document:"required" jsonschema:"minLength=1" jsonschema_description:"get, list, watch, create, update, patch, delete or deletecollection; for a path, the HTTP method in lower case."`
	Group       string `json:"group,omitempty" also:"apiGroup,apiGroups" jsonschema_description:"API group; empty for the core group."`
	Resource    string `json:"resource,omitempty" also:"kind,resources"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty" also:"ns"`
	Name        string `json:"name,omitempty" also:"objectName,resourceName"`
	Query       string `json:"query,omitempty" also:"queryString,parameters,options" jsonschema_description:"The part after the question mark, such as limit=500&resourceVersion=0."`
	Path        string `json:"path,omitempty" also:"url,uri,nonResourceURL" jsonschema:"pattern=^/" jsonschema_description:"The path of a request that is not for a resource; instead of resource."`
	Matches     int64  `json:"matches,omitempty" jsonschema:"minimum=0" jsonschema_description:"On verb list, watch or deletecollection: how many of the objects that are only counted in spec.resources match the namespace and the selectors; without both, all do."`
	Watch       *Watch `json:"watch,omitempty" jsonschema_description:"On verb watch."`
	Calls       []Call `json:"calls,omitempty" jsonschema_description:"What the server calls while it executes the request, which keeps its seats and waits for the answers."`
}

// Watch says how long a watch lasts after its initialisation.
type Watch struct {
	Duration quantity.Distribution `json:"duration,omitempty" jsonschema_description:"Without it uniform from 30m to 60m, as servers end watches."`
}

// WeightedRequest is one of the requests among which a client draws.
type WeightedRequest struct {
	Request
	Weight    float64               `json:"weight,omitempty" jsonschema:"default=1,exclusiveMinimum=0" document:"maximum=1e12"`
	Execution quantity.Distribution `json:"execution,omitempty" jsonschema_description:"Instead of the workload's execution."`
}

// SetDefaults fills in how long a watch lasts.
func (r *Request) SetDefaults() {
	for i := range r.Calls {
		r.Calls[i].setDefaults()
	}
	if !r.isWatch() {
		return
	}
	if r.Watch == nil {
		r.Watch = &Watch{}
	}
	if !r.Watch.Duration.IsSet() {
		r.Watch.Duration = serverWatch
	}
}

// serverWatch is how long a server lets a watch last that names no time-out.
var serverWatch = func() quantity.Distribution {
	u, err := random.NewUniform(int64(30*time.Minute), int64(60*time.Minute))
	if err != nil {
		panic(err)
	}
	return quantity.Distribution{Distribution: u}
}()

// CheckRequest fills in the defaults of a request, and checks it and its sender as those of a
// workload.
func CheckRequest(as *Identity, r *Request) document.Errors {
	r.SetDefaults()
	c := checker{Checker: &document.Checker{Document: &document.Document{}}, unknown: true}
	c.senders("request", &Workload{As: *as})
	c.request("request", r)
	return c.Errors
}

// requests checks what a workload asks, after the defaults: w.Requests has its requests, whether
// the file says one or several.
func (c *checker) requests(path string, w *Workload) {
	several := !w.single
	switch {
	case w.Request != nil && several && w.Requests != nil:
		c.Fail(path+".requests", "cannot be set with request; want one of the two")
		return
	case w.Requests != nil && len(w.Requests) == 0:
		c.Fail(path+".requests", "is empty: want one request at least")
	case w.Requests == nil:
		c.Fail(path+".request", "is missing; want a request, requests with weights, or a behaviour")
	}
	c.order(path, w)
	for i := range w.Requests {
		r, at := &w.Requests[i], path+".request"
		if several {
			at = document.Index(path+".requests", i)
		}
		c.request(at, &r.Request)
		if !r.Execution.IsSet() && !(c.stored && r.isStored()) {
			c.Fail(path+".execution", "is missing; want how long the server takes to handle a request%s", c.orStore(r))
		}
	}
}

// order checks in which order the requests of a list are sent.
func (c *checker) order(path string, w *Workload) {
	if !w.inOrder() {
		return
	}
	if w.single || w.Requests == nil {
		c.Fail(path+".order", "%s: is the order of a list; want requests", w.Order)
		return
	}
	for i := range w.Requests {
		if weight := w.Requests[i].Weight; weight != evenWeight {
			c.Fail(document.Index(path+".requests", i)+".weight", "%v: has no meaning with order: %s, which sends each in its turn", weight, w.Order)
		}
	}
}

func (c *checker) request(path string, r *Request) {
	verbs := request.Verbs
	switch {
	case r.Path != "" && r.Resource != "":
		c.Fail(path+".path", "cannot be set with resource; want one of the two")
	case r.Path == "" && r.Resource == "":
		c.Fail(path+".resource", "is missing; want a resource, or a path")
	case r.Path != "":
		verbs = request.PathVerbs
		if r.Path[0] != '/' {
			c.Fail(path+".path", "%q: want a slash at the beginning", document.Abridge(r.Path))
		}
		if strings.Contains(r.Path, "?") {
			c.Fail(path+".path", "%q: the part after the question mark belongs in query", document.Abridge(r.Path))
		}
		for _, field := range []struct{ name, value string }{
			{"group", r.Group}, {"subresource", r.Subresource}, {"namespace", r.Namespace}, {"name", r.Name},
		} {
			if field.value != "" {
				c.Fail(path+"."+field.name, "can be set with resource only, not with path")
			}
		}
	}
	if r.Verb == "" {
		c.Fail(path+".verb", "is missing")
	} else if r.Path == "" || r.Resource == "" {
		c.Enum(path+".verb", r.Verb, verbs...)
	}
	for _, field := range []struct{ name, value string }{
		{"namespace", r.Namespace}, {"name", r.Name}, {"path", r.Path}, {"query", r.Query},
	} {
		c.template(path+"."+field.name, field.value)
	}
	for _, field := range []struct{ name, value string }{
		{"group", r.Group}, {"resource", r.Resource}, {"subresource", r.Subresource},
	} {
		if strings.ContainsAny(field.value, "/ {}") {
			c.Fail(path+"."+field.name, "%q: want no slashes, spaces or braces", document.Abridge(field.value))
		}
	}
	if r.Path == "" && !c.Failed(path+".resource") && !c.Failed(path+".group") {
		c.known(path+".resource", r.Group, r.Resource)
	}
	if r.Verb == "create" && r.Name != "" && r.Subresource == "" {
		// The estimate would count the watchers of the named object, but the URL of a create does not
		// have the name from which a server would know that object.
		c.Fail(path+".name", "%q: a create is sent to the collection, with no name in its URL; leave it out", document.Abridge(r.Name))
	}
	c.query(path+".query", r)
	if r.Matches != 0 {
		switch {
		case r.Verb != "list" && r.Verb != "watch" && r.Verb != "deletecollection" || r.Resource == "":
			c.Fail(path+".matches", "can be set with verb list, watch or deletecollection of a resource only")
		case !c.stored:
			c.Warn(path+".matches", "has no effect without spec.store: the seats of a list follow from all objects of its resource, as a server counts them")
		}
	}
	if r.Watch != nil && !r.isWatch() {
		c.Fail(path+".watch", "can be set with verb watch only, not with %s", r.Verb)
	}
	c.calls(path+".calls", r)
}

func (c *checker) query(path string, r *Request) {
	options, err := request.ParseOptions(r.Verb, expand(r.Query, 0))
	if err != nil {
		c.Fail(path, "%q: %v", document.Abridge(r.Query), errors.Unwrap(err))
		return
	}
	if timeout := options.Timeout; timeout != "" {
		if t, err := time.ParseDuration(timeout); err != nil || t < 0 {
			c.Fail(path, "timeout=%s: want a duration such as 10s", document.Abridge(timeout))
		}
	}
}

// orStore says what would let a request do without an execution time.
func (c *checker) orStore(r *WeightedRequest) string {
	if c.stored || !r.isStored() {
		return ""
	}
	return ", or spec.store, from which it follows"
}

// Attributes returns what the server sees of a client's request, and its URL query. The
// path of a request for a resource is the one under which Kubernetes serves version v1 of
// its group.
func (r *Request) Attributes(as *Identity, client int) (a classify.Attributes, query string) {
	user, groups := as.For(client)
	a, query = r.AttributesWithoutPath(user, groups, client)
	if a.IsResource() {
		a.Path = trace.ResourcePath(&a)
	}
	return a, query
}

// AttributesWithoutPath is Attributes for a client of a known identity. The path of a request for a resource is
// empty: it follows from the other attributes, and would be one more string for each client.
func (r *Request) AttributesWithoutPath(user string, groups []string, client int) (a classify.Attributes, query string) {
	a = classify.Attributes{
		User:        user,
		Groups:      groups,
		Verb:        r.Verb,
		APIGroup:    r.Group,
		Resource:    r.Resource,
		Subresource: r.Subresource,
		Namespace:   expand(r.Namespace, client),
		Name:        expand(r.Name, client),
		Path:        expand(r.Path, client),
	}
	info := a.Info()
	a.Namespace = info.URLNamespace()
	return a, expand(r.Query, client)
}

// isStored says whether a store executes the request: it is for a resource, and neither for its log nor for a stream such
// as exec, which a kubelet serves.
func (r *Request) isStored() bool {
	a := classify.Attributes{Verb: r.Verb, Resource: r.Resource, Subresource: r.Subresource}
	return r.Resource != "" && (r.isWatch() || !a.LongRunning())
}

// isWatch says whether the request is a watch of a resource.
func (r *Request) isWatch() bool { return r.Verb == "watch" && r.Resource != "" }
