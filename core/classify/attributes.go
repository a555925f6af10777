// Package classify assigns a request to a FlowSchema and a flow
// (k8s.io/apiserver/pkg/util/flowcontrol, rule.go).
package classify

import (
	"slices"
	"strings"
)

// Attributes say who asks for what: all that classification depends on.
type Attributes struct {
	User        string
	Groups      []string
	Verb        string // of the API: get, list, watch, create, ...; of HTTP, in lower case, when Resource is ""
	APIGroup    string // "" is the core group
	Resource    string // "" for a request that is not for a resource
	Subresource string
	Namespace   string // "" for what has none and for requests across all of them
	Name        string
	Path        string
}

// IsResource reports whether the request is for an API resource.
func (a *Attributes) IsResource() bool { return a.Resource != "" }

// resourcePath returns resource or resource/subresource.
func (a *Attributes) resourcePath() string {
	if a.Subresource == "" {
		return a.Resource
	}
	return a.Resource + "/" + a.Subresource
}

// ReadOnly reports whether the request changes nothing.
func (a *Attributes) ReadOnly() bool {
	return a.Verb == "get" || a.Verb == "list" || a.Verb == "watch"
}

// PassesBy reports whether flow control does not see the request: it is long-running, and
// no watch.
func (a *Attributes) PassesBy() bool { return a.LongRunning() && a.Verb != "watch" }

// LongRunning reports whether kube-apiserver takes the request for one without a natural
// end.
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
