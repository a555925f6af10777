package workload

import (
	"apfsim/core/classify"
	"apfsim/sim/quantity"
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
	return a, expand(r.Query, client)
}

// isWatch reports whether the request is a watch of a resource.
// isStored says whether a store executes the request: it is for a resource, and neither for its log nor for a stream such
// as exec, which a kubelet serves.
func (r *Request) isStored() bool {
	a := classify.Attributes{Verb: r.Verb, Resource: r.Resource, Subresource: r.Subresource}
	return r.Resource != "" && (r.isWatch() || !a.LongRunning())
}

func (r *Request) isWatch() bool { return r.Verb == "watch" && r.Resource != "" }
