package load

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	authentication "k8s.io/api/authentication/v1"

	"apfsim/core/classify"
	"apfsim/core/request"
	"apfsim/live/cluster"
	"apfsim/live/guard"
	"apfsim/sim/trace"
)

// Call is a request as it is sent: what a kind of request of one client has in common.
type Call struct {
	Method  string
	Address *url.URL // relative to the server
	Body    []byte   // nil for none
	Type    string   // the media type of the body
	Watch   bool

	User   string   // to be impersonated; empty for none
	Groups []string // besides those that the server adds to the impersonated user
}

// URL returns the part of the URL behind the server's address.
func (c *Call) URL() string { return c.Address.RequestURI() }

// Header returns the header of the request.
func (c *Call) Header() http.Header {
	h := http.Header{"Accept": {"application/json"}}
	if c.User != "" {
		h.Set(authentication.ImpersonateUserHeader, c.User)
	}
	for _, g := range c.Groups {
		h.Add(authentication.ImpersonateGroupHeader, g)
	}
	if c.Body != nil {
		h.Set("Content-Type", c.Type)
	}
	return h
}

// Calls turns the requests of a scenario into requests of a server. Without resources, which are those that
// the server serves, paths have the version v1 and writes have no body: it is enough to show what would be sent.
type Calls struct {
	Writes    bool // whether writes are meant to last; otherwise they have dryRun=All
	Self      bool // whether the user who authenticates sends them, and impersonates nobody
	Resources map[cluster.GroupResource]cluster.Resource
}

// Of returns the request with these attributes, as it is sent: what the server understands of it is what the
// attributes say. The error says why it is not sent.
func (c *Calls) Of(a *classify.Attributes, query string) (*Call, error) {
	call, err := c.build(a, query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", guard.Describe(a.Info()), err)
	}
	understood, err := guard.Read(call.Method, call.Address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", guard.Describe(a.Info()), err)
	}
	if err := understood.Refused(c.Writes); err != nil {
		return nil, err
	}
	return call, understood.Fits(a)
}

func (c *Calls) build(a *classify.Attributes, query string) (*Call, error) {
	if !c.Self {
		if err := checkIdentity(a); err != nil {
			return nil, err
		}
	}
	call := &Call{Method: strings.ToUpper(a.Verb)}
	if !c.Self {
		call.User, call.Groups = a.User, impersonated(a.User, a.Groups)
	}
	if !a.IsResource() {
		var err error
		if call.Address, err = recorded(a.Path); err == nil {
			call.Address.RawQuery = encoded(query)
		}
		return call, err
	}
	if !slices.Contains(request.Verbs, a.Verb) {
		return nil, fmt.Errorf("the verb cannot be sent; use one of %s", strings.Join(request.Verbs, ", "))
	}
	call.Method = request.Method(a.Verb)
	call.Watch = a.Verb == "watch"
	served, known := c.Resources[resourceOf(a)]
	switch {
	case c.Resources != nil && !known:
		return nil, fmt.Errorf("%w %s", cluster.ErrNoResources, resourceOf(a))
	case a.Path == "" || a.Path == trace.ResourcePath(a):
		call.Address = resourceAddress(a, served.Version)
	default: // a recorded request has the path that it had
		var err error
		if call.Address, err = recorded(a.Path); err != nil {
			return nil, err
		}
	}
	query = encoded(query)
	if call.Watch {
		query = request.WithParameter(query, "watch", "true")
	}
	if call.Method != http.MethodGet {
		if !c.Writes {
			query = request.WithParameter(query, "dryRun", "All")
		}
		if known {
			call.Type, call.Body = body(a, &served)
		}
	}
	call.Address.RawQuery = query
	return call, nil
}

// checkIdentity returns an error if a user or a group cannot be sent in a header as it is.
func checkIdentity(a *classify.Attributes) error {
	if a.User == "" {
		return errors.New("has no user to be impersonated")
	}
	for _, name := range append([]string{a.User}, a.Groups...) {
		if strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl) {
			return fmt.Errorf("%q cannot be impersonated: a header has no control characters, and no spaces at its ends", name)
		}
	}
	return nil
}

// recorded returns the address of a path as scenarios and traces have it: decoded, and without a query.
func recorded(path string) (*url.URL, error) {
	remaining, found := strings.CutPrefix(path, "/")
	switch {
	case !found:
		return nil, fmt.Errorf("the path %q does not begin with a slash, and would be a part of the host", path)
	case strings.ContainsAny(path, "?#"):
		return nil, fmt.Errorf("the path %q ends at the first ? or #; want the query in query", path)
	}
	return guard.Path(strings.Split(remaining, "/")...), nil
}

// encoded returns a query in which characters that cannot be in an address are in URL encoding. It leaves # as it
// is, which cannot be sent: whether it belongs to a value is not known.
func encoded(query string) string {
	var b strings.Builder
	for _, c := range []byte(query) {
		if c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// resourceAddress returns the address of a resource. An empty version is v1.
func resourceAddress(a *classify.Attributes, version string) *url.URL {
	info := a.Info()
	if a.Verb == "create" && a.Subresource == "" { // whose name is in the body
		info.Name = ""
	}
	return guard.Path(info.PathSegments(cmp.Or(version, "v1"))...)
}

// resourceOf returns the resource by which the server lists it.
func resourceOf(a *classify.Attributes) cluster.GroupResource {
	return cluster.GroupResource{Group: a.APIGroup, Resource: request.JoinSubresource(a.Resource, a.Subresource)}
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
