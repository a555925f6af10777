// Package classify assigns a request to a FlowSchema and a flow
// (k8s.io/apiserver/pkg/util/flowcontrol, rule.go).
package classify

import (
	"slices"
	"strings"

	"apfsim/core/request"
	"apfsim/core/rules"
)

// Attributes describe the user and the target of a request. Classification depends on nothing
// else, so that two requests with equal attributes belong to the same flow.
type Attributes struct {
	User        string
	Groups      []string
	Verb        string // the verb of the API (get, list, watch, create, ...), or the HTTP method in lower case if Resource is ""
	APIGroup    string // "" is the core group
	Resource    string // "" for a request that is not for a resource
	Subresource string
	Namespace   string // "" for a cluster-scoped resource, and for a request across all namespaces
	Name        string
	Path        string // matched only for requests that are not for a resource
}

// Info returns the target of the request, with the path of a request that is not for a resource.
func (a *Attributes) Info() request.Info {
	return request.Info{Verb: a.Verb, APIGroup: a.APIGroup, Resource: a.Resource, Subresource: a.Subresource, Namespace: a.Namespace,
		Name: a.Name, Path: a.Path}
}

// For returns the attributes of a user's request with a target.
func For(user string, groups []string, r request.Info) Attributes {
	return Attributes{User: user, Groups: groups, Verb: r.Verb, APIGroup: r.APIGroup, Resource: r.Resource, Subresource: r.Subresource,
		Namespace: r.Namespace, Name: r.Name, Path: r.Path}
}

// IsResource reports whether the request is for a resource of the API.
func (a *Attributes) IsResource() bool { return a.Resource != "" }

// resourcePath returns the resource as rules name it: resource or resource/subresource.
func (a *Attributes) resourcePath() string {
	return request.JoinSubresource(a.Resource, a.Subresource)
}

// ReadOnly reports whether the verb is one that does not change objects: get, list or watch.
func (a *Attributes) ReadOnly() bool {
	return a.Verb == "get" || a.Verb == "list" || a.Verb == "watch"
}

// Bypasses reports whether the request bypasses flow control. All long-running requests do
// except watches, whose initialization is subject to flow control if the rules say so.
func (a *Attributes) Bypasses(r *rules.Rules) bool {
	return a.LongRunning() && !(a.Verb == "watch" && r.QueueWatches)
}

// LongRunning reports whether kube-apiserver treats the request as one that may take
// arbitrarily long (k8s.io/kubernetes/cmd/kube-apiserver/app, BasicLongRunningRequestCheck).
func (a *Attributes) LongRunning() bool {
	switch {
	case a.Verb == "watch" || a.Verb == "proxy":
		return true
	case a.IsResource():
		return slices.Contains(longRunningSubresources, a.Subresource)
	default:
		return strings.HasPrefix(a.Path, "/debug/pprof/")
	}
}

var longRunningSubresources = []string{"attach", "exec", "proxy", "log", "portforward"}
