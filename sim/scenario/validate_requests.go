package scenario

import (
	"net/url"
	"strings"
	"time"

	"apfsim/document"
	"apfsim/sim/random"
)

var (
	resourceVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	pathVerbs     = []string{"get", "head", "post", "put", "patch", "delete", "options", "connect", "trace"}
)

// serverWatch is how long a server lets a watch last that names no time-out.
var serverWatch = func() Distribution {
	u, err := random.NewUniform(int64(30*time.Minute), int64(60*time.Minute))
	if err != nil {
		panic(err)
	}
	return Distribution{Distribution: u}
}()

func (id *Identity) given() bool {
	return id.User != "" || id.ServiceAccount != "" || id.Node != "" || id.Anonymous || id.Groups != nil
}

// senders checks a workload's identity.
func (v *validator) senders(path string, w *Workload) {
	as, at := &w.As, path+".as"
	if !as.given() {
		v.fail(at, "is missing or empty; want one of %s", strings.Join(identityKinds, ", "))
		return
	}
	if as.Groups != nil && as.User == "" {
		v.fail(at+".groups", "goes with user alone; the others imply their groups")
	}
	v.template(at+".user", as.User)
	v.template(at+".node", as.Node)
	v.template(at+".serviceAccount", as.ServiceAccount)
	for i, g := range as.Groups {
		if g == "" {
			v.fail(document.Index(at+".groups", i), "is empty; want a group's name")
		}
		v.template(document.Index(at+".groups", i), g)
	}
	if as.ServiceAccount != "" {
		namespace, name, found := strings.Cut(as.ServiceAccount, "/")
		if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
			v.fail(at+".serviceAccount", "%q: want namespace/name", document.Abridge(as.ServiceAccount))
		}
	}
}

// template checks that {i} is the only thing in braces.
func (v *validator) template(path, s string) {
	if strings.ContainsAny(strings.ReplaceAll(s, "{i}", ""), "{}") {
		v.fail(path, "%q: want no braces but {i}, which stands for the client's index", document.Abridge(s))
	}
}

// requests checks what a workload asks and leaves it in w.Requests, complete, whether it
// was one or several.
func (v *validator) requests(path string, w *Workload) {
	several := len(w.Requests) > 0
	switch {
	case w.Request != nil && w.Requests != nil:
		v.fail(path+".requests", "goes in place of request: want one of the two")
		return
	case w.Request != nil:
		w.Requests = []WeightedRequest{{Request: *w.Request, Weight: 1}}
	case w.Requests != nil && !several:
		v.fail(path+".requests", "is empty: want one request at least")
	case w.Requests == nil:
		v.fail(path+".request", "is missing; want a request, or requests with weights")
	}
	for i := range w.Requests {
		r, at := &w.Requests[i], path+".request"
		if several {
			at = document.Index(path+".requests", i)
		}
		v.request(at, &r.Request)
		if !(r.Weight > 0 && r.Weight <= 1e12) {
			v.fail(at+".weight", "%v: want more than 0 and at most 1e12", r.Weight)
		}
		if r.Execution.Given() {
			continue
		}
		if !w.Execution.Given() {
			v.fail(path+".execution", "is missing: how long does the server take to handle a request?")
		}
		r.Execution = w.Execution
	}
}

func (v *validator) request(path string, r *Request) {
	verbs := resourceVerbs
	switch {
	case r.Path != "" && r.Resource != "":
		v.fail(path+".path", "goes in place of resource: want one of the two")
	case r.Path == "" && r.Resource == "":
		v.fail(path+".resource", "is missing; want a resource, or a path")
	case r.Path != "":
		verbs = pathVerbs
		if r.Path[0] != '/' {
			v.fail(path+".path", "%q: want a slash at the beginning", document.Abridge(r.Path))
		}
		if strings.Contains(r.Path, "?") {
			v.fail(path+".path", "%q: what follows the question mark belongs into query", document.Abridge(r.Path))
		}
		for _, field := range []struct{ name, value string }{
			{"group", r.Group}, {"subresource", r.Subresource}, {"namespace", r.Namespace}, {"name", r.Name},
		} {
			if field.value != "" {
				v.fail(path+"."+field.name, "goes with resource, not with path")
			}
		}
	}
	if r.Verb == "" {
		v.fail(path+".verb", "is missing")
	} else if r.Path == "" || r.Resource == "" {
		v.enum(path+".verb", r.Verb, verbs...)
	}
	for _, field := range []struct{ name, value string }{
		{"namespace", r.Namespace}, {"name", r.Name}, {"path", r.Path}, {"query", r.Query},
	} {
		v.template(path+"."+field.name, field.value)
	}
	for _, field := range []struct{ name, value string }{
		{"group", r.Group}, {"resource", r.Resource}, {"subresource", r.Subresource},
	} {
		if strings.ContainsAny(field.value, "/ {}") {
			v.fail(path+"."+field.name, "%q: want no slashes, spaces or braces", document.Abridge(field.value))
		}
	}
	if r.Verb == "create" && r.Name != "" && r.Subresource == "" {
		// It would be taken to interest the watchers of that object, which no server knows to.
		v.fail(path+".name", "%q: a create is sent to the collection, with no name in its URL; leave it out", document.Abridge(r.Name))
	}
	v.query(path+".query", r)
	switch {
	case r.Verb == "watch" && r.Resource != "":
		if r.Watch == nil {
			r.Watch = &Watch{}
		}
		if !r.Watch.Duration.Given() {
			r.Watch.Duration = serverWatch
		}
	case r.Watch != nil:
		v.fail(path+".watch", "goes with verb watch, not with %s", r.Verb)
	}
}

func (v *validator) query(path string, r *Request) {
	values, err := url.ParseQuery(expand(r.Query, 0))
	if err != nil {
		v.fail(path, "%q: %v", document.Abridge(r.Query), err)
		return
	}
	if timeout := values.Get("timeout"); timeout != "" {
		if t, err := time.ParseDuration(timeout); err != nil || t < 0 {
			v.fail(path, "timeout=%s: want a duration such as 10s", document.Abridge(timeout))
		}
	}
}
