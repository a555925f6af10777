package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	authentication "k8s.io/api/authentication/v1"

	"apfsim/core/classify"
	"apfsim/live/cluster"
	"apfsim/sim/trace"
)

// Call is a request as it is sent: what a kind of request of one client has in common.
type Call struct {
	Method string
	Path   string
	Query  string
	Body   []byte // nil for none
	Type   string // the media type of the body
	Watch  bool

	User   string
	Groups []string // besides those that the server adds to the impersonated user
}

// URL returns the part of the URL behind the server's address.
func (c *Call) URL() string {
	if c.Query == "" {
		return c.Path
	}
	return c.Path + "?" + c.Query
}

// Header returns the header of the request.
func (c *Call) Header() http.Header {
	h := http.Header{"Accept": {"application/json"}, authentication.ImpersonateUserHeader: {c.User}}
	for _, g := range c.Groups {
		h.Add(authentication.ImpersonateGroupHeader, g)
	}
	if c.Body != nil {
		h.Set("Content-Type", c.Type)
	}
	return h
}

// methods are the methods of the verbs for resources.
var methods = map[string]string{
	"get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet,
	"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch,
	"delete": http.MethodDelete, "deletecollection": http.MethodDelete,
}

// connecting are subresources that reach into a pod, a node or a service, on whose behaviour nothing here has a hold.
var connecting = []string{"exec", "attach", "portforward", "proxy"}

// Calls turns the requests of a scenario into requests of a server. Without resources, which are those that
// the server serves, paths have the version v1 and writes have no body: it is enough to show what would be sent.
type Calls struct {
	Writes    bool // whether writes are meant to last; otherwise they have dryRun=All
	Resources map[cluster.GroupResource]cluster.Resource
}

// Check returns why requests with these attributes are not sent; nil if they are.
func (c *Calls) Check(a *classify.Attributes) error {
	switch {
	case a.User == "":
		return errors.New("has no user to be impersonated")
	case !a.IsResource() && strings.HasPrefix(a.Path, "/debug/"):
		return fmt.Errorf("%s %s: reads the inside of the server, which is not sent", a.Verb, a.Path)
	case !a.IsResource() && slices.ContainsFunc(strings.Split(a.Path, "/"), func(part string) bool { return slices.Contains(connecting, part) }):
		return fmt.Errorf("%s %s: connects to a pod, a node or a service, which is not sent", a.Verb, a.Path)
	case !a.IsResource():
		switch method := strings.ToUpper(a.Verb); method {
		case http.MethodGet, http.MethodHead, http.MethodOptions:
			return nil
		case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
			if !c.Writes {
				return fmt.Errorf("%s %s: is a write without a resource, for which there is no dry run; use --writes if it may be carried out", a.Verb, a.Path)
			}
			return nil
		}
		return fmt.Errorf("%s %s: %q is not an HTTP method", a.Verb, a.Path, a.Verb)
	case methods[a.Verb] == "":
		return fmt.Errorf("%s %s: the verb cannot be sent; use get, list, watch, create, update, patch, delete or deletecollection", a.Verb, a.Resource)
	case slices.Contains(connecting, a.Subresource):
		return fmt.Errorf("%s %s/%s: connects to a pod, a node or a service, which is not sent", a.Verb, a.Resource, a.Subresource)
	}
	return nil
}

// Of returns the request with these attributes.
func (c *Calls) Of(a *classify.Attributes, query string) (*Call, error) {
	if err := c.Check(a); err != nil {
		return nil, err
	}
	call := &Call{Method: strings.ToUpper(a.Verb), Path: a.Path, Query: query, User: a.User, Groups: impersonated(a.User, a.Groups)}
	if !a.IsResource() {
		return call, nil
	}
	call.Method = methods[a.Verb]
	call.Watch = a.Verb == "watch"
	served, known := c.Resources[resourceOf(a)]
	if c.Resources != nil && !known {
		return nil, fmt.Errorf("%s %s: %w %s", a.Verb, a.Resource, cluster.ErrNoResources, resourceOf(a))
	}
	target := *a
	if a.Verb == "create" && a.Subresource == "" {
		target.Name = "" // it is in the body
	}
	if call.Path == "" || call.Path == trace.ResourcePath(a) { // a recorded request has the path that it had
		call.Path = trace.ResourcePath(&target)
		if known && a.APIGroup != "" {
			call.Path = strings.Replace(call.Path, "/apis/"+a.APIGroup+"/v1/", "/apis/"+served.Group+"/"+served.Version+"/", 1)
		}
	}
	if call.Watch {
		call.Query = with(call.Query, "watch", "true")
	}
	if call.Method == http.MethodGet {
		return call, nil
	}
	if !c.Writes {
		call.Query = with(call.Query, "dryRun", "All")
	}
	if known {
		call.Type, call.Body = body(a, &served)
	}
	return call, nil
}

// with returns a query in which a parameter has one value and the others have theirs.
func with(query, name, value string) string {
	var parts []string
	for part := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(part, "=")
		if decoded, err := url.QueryUnescape(key); part != "" && (err != nil || decoded != name) {
			parts = append(parts, part)
		}
	}
	return strings.Join(append(parts, name+"="+value), "&")
}

// resourceOf returns the resource by which the server lists it.
func resourceOf(a *classify.Attributes) cluster.GroupResource {
	r := cluster.GroupResource{Group: a.APIGroup, Resource: a.Resource}
	if a.Subresource != "" {
		r.Resource += "/" + a.Subresource
	}
	return r
}

// body returns the smallest object that the server reads as one of the resource's kind. Its validation may
// still refuse it.
func body(a *classify.Attributes, r *cluster.Resource) (mediaType string, text []byte) {
	metadata := map[string]string{}
	if a.Namespace != "" && a.Resource != "namespaces" {
		metadata["namespace"] = a.Namespace
	}
	switch {
	case a.Verb == "patch":
		return "application/merge-patch+json", []byte("{}")
	case a.Verb == "delete" || a.Verb == "deletecollection":
		return "", nil
	case a.Name != "":
		metadata["name"] = a.Name
	default:
		metadata["generateName"] = "apfsim-"
	}
	text, err := json.Marshal(map[string]any{"apiVersion": r.APIVersion, "kind": r.Kind, "metadata": metadata})
	if err != nil {
		panic("load: strings that are not JSON: " + err.Error())
	}
	return "application/json", text
}

// impersonated returns the groups to be asked for so that the server sees these groups. It needs no
// permission for those that the server adds by itself.
func impersonated(user string, groups []string) (ask []string) {
	if sameGroups(classify.ImpersonatedGroups(user, nil), groups) {
		return nil
	}
	for _, g := range groups {
		if g != classify.Authenticated && g != classify.Unauthenticated {
			ask = append(ask, g)
		}
	}
	return ask
}

func sameGroups(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}
