// Package request implements the grammar of API requests: their URLs, verbs and resources, the options in
// their queries, and the selectors among these options. Whatever reads or writes a request uses it, so that the
// estimate of seats, the handlers, the readers of logs and the commands take the same text for the same
// request. It follows k8s.io/apiserver/pkg/endpoints/request and k8s.io/apimachinery (pkg/apis/meta,
// pkg/labels, pkg/fields).
//
//  1. [SplitURI] splits the address of a request, and [ReadURL] reads a method and a URL into an [Info].
//  2. [ParseOptions] reads the query of a request with a verb into [Options].
//  3. [Options.Selector] reads the two selectors of a list or a watch into a [Selector].
//  4. [EditQuery] changes single parameters of a query and leaves the others as they are written.
//  5. [FindResource] and [Builtin] know the resources of Kubernetes itself, with their short names.
package request

import "strings"

// Info holds what a server reads from the method and the URL of a request. It does not contain the
// user.
type Info struct {
	Verb        string // of the API (get, list, watch, create, ...), or the HTTP method in lower case if Resource is ""
	APIGroup    string // "" is the core group
	Resource    string // "" for a request that is not for a resource
	Subresource string
	Namespace   string // "" for a cluster-scoped resource, and for a request across all namespaces
	Name        string
	Path        string
}

// URLNamespace returns the namespace that a server reads from the URL of the request: the Namespace, but for a request
// for a namespace its name, because the path is /api/v1/namespaces/NAME. The path of a create has no name.
func (i *Info) URLNamespace() string {
	if i.APIGroup == "" && i.Resource == "namespaces" && i.Name != "" && i.Verb != "create" {
		return i.Name
	}
	return i.Namespace
}

// IsResource reports whether the request is for a resource of the API.
func (i *Info) IsResource() bool { return i.Resource != "" }

// ResourcePath returns the path under which Kubernetes serves the resource of the request in version v1 of its
// API group. The segments are not escaped.
func (i *Info) ResourcePath() string { return "/" + strings.Join(i.PathSegments("v1"), "/") }

// PathSegments returns the segments of the path of the resource in a version of its API group.
func (i *Info) PathSegments(version string) []string {
	segments := append(make([]string, 0, 8), "api", version)
	if i.APIGroup != "" {
		segments = append(segments[:0], "apis", i.APIGroup, version)
	}
	// A namespace itself is at /api/v1/namespaces/NAME, though its requests carry the
	// namespace as an attribute.
	if i.Namespace != "" && !(i.APIGroup == "" && i.Resource == "namespaces") {
		segments = append(segments, "namespaces", i.Namespace)
	}
	for _, s := range [...]string{i.Resource, i.Name, i.Subresource} {
		if s != "" {
			segments = append(segments, s)
		}
	}
	return segments
}

var (
	// Verbs are the verbs of requests for resources.
	Verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	// PathVerbs are the verbs of requests that are not for a resource: the HTTP methods in lower case.
	PathVerbs = []string{"get", "head", "post", "put", "patch", "delete", "options", "connect", "trace"}
)

// verbs are the verbs of the HTTP methods, for one object of a resource.
var verbs = map[string]string{"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

// Method returns the HTTP method by which requests with a verb are sent; "" if the verb is neither in Verbs nor
// in PathVerbs. The verb is in lower case.
func Method(verb string) string {
	switch verb {
	case "get", "list", "watch":
		return "GET"
	case "create":
		return "POST"
	case "update":
		return "PUT"
	case "delete", "deletecollection":
		return "DELETE"
	case "head", "post", "put", "patch", "options", "connect", "trace":
		return strings.ToUpper(verb)
	}
	return ""
}

// ChangesObject reports whether requests with a verb change one object of a resource.
func ChangesObject(verb string) bool {
	switch verb {
	case "create", "update", "patch", "delete":
		return true
	}
	return false
}

// OfCollection reports whether requests with a verb are for all objects of a resource rather than for one.
func OfCollection(verb string) bool {
	return verb == "list" || verb == "watch" || verb == "deletecollection"
}
