package workload

import (
	"errors"
	"strings"
	"time"

	"apfsim/core/classify"
	"apfsim/core/request"
	"apfsim/document"
)

func (id *Identity) given() bool {
	return id.User != "" || id.ServiceAccount != "" || id.Node != "" || id.Anonymous || id.Groups != nil
}

// senders checks a workload's identity.
func (c *checker) senders(path string, w *Workload) {
	as, at := &w.As, path+".as"
	if !as.given() {
		c.Fail(at, "is missing or empty; want one of %s", strings.Join(identityKinds, ", "))
		return
	}
	if as.Groups != nil && as.User == "" {
		c.Fail(at+".groups", "can be set with user only; the others imply their groups")
	}
	c.template(at+".user", as.User)
	c.template(at+".node", as.Node)
	c.template(at+".serviceAccount", as.ServiceAccount)
	for i, g := range as.Groups {
		if g == "" {
			c.Fail(document.Index(at+".groups", i), "is empty; want a group's name")
		}
		c.template(document.Index(at+".groups", i), g)
	}
	if as.ServiceAccount != "" {
		namespace, name, found := strings.Cut(as.ServiceAccount, "/")
		if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
			c.Fail(at+".serviceAccount", "%q: want namespace/name", document.Abridge(as.ServiceAccount))
		}
	}
}

// template checks that {i} is the only thing in braces.
func (c *checker) template(path, s string) {
	if strings.ContainsAny(strings.ReplaceAll(s, "{i}", ""), "{}") {
		c.Fail(path, "%q: want no braces except {i}, which is replaced by the client's index", document.Abridge(s))
	}
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
	for i := range w.Requests {
		r, at := &w.Requests[i], path+".request"
		if several {
			at = document.Index(path+".requests", i)
		}
		c.request(at, &r.Request)
		if !r.Execution.Given() && !(c.stored && r.isStored()) {
			c.Fail(path+".execution", "is missing; want how long the server takes to handle a request%s", c.orStore(r))
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
		if problem := classify.UnknownResource(r.Group, r.Resource); problem != "" {
			c.Warn(path+".resource", "%s", problem)
		}
	}
	if r.Verb == "create" && r.Name != "" && r.Subresource == "" {
		// The estimate would count the watchers of the named object, but the URL of a create does not
		// have the name from which a server would know that object.
		c.Fail(path+".name", "%q: a create is sent to the collection, with no name in its URL; leave it out", document.Abridge(r.Name))
	}
	c.query(path+".query", r)
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
