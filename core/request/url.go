package request

import (
	"fmt"
	"net/url"
	"strings"
)

// SplitURI splits the URI of a request, as the first line of an HTTP request has it, into the decoded path and
// the encoded query. The error says that the path is not in URL encoding; it is returned as it is written then.
func SplitURI(uri string) (path, query string, err error) {
	path, query, _ = strings.Cut(uri, "?")
	if _, after, ok := strings.Cut(path, "://"); ok && !strings.HasPrefix(path, "/") { // of a proxy: http://host/path
		path = "/"
		if i := strings.IndexByte(after, '/'); i >= 0 {
			path = after[i:]
		}
	}
	if strings.IndexByte(path, '%') >= 0 {
		decoded, err := url.PathUnescape(path)
		if err != nil {
			return path, query, err
		}
		path = decoded
	}
	return path, query, nil
}

// ReadURL returns what kube-apiserver derives from the HTTP method and the URL of a request
// (k8s.io/apiserver/pkg/endpoints/request, RequestInfoFactory). The method is in upper case, the
// path is decoded and the query is encoded. These paths are those of resources:
//
//	/api/VERSION/...         the core group
//	/apis/GROUP/VERSION/...  another group
//	... [watch/|proxy/] [namespaces/NAMESPACE/] RESOURCE [/NAME [/SUBRESOURCE]]
//
// A request for any other path is not for a resource, and its verb is the method in lower case.
// The API version is not part of the result, because classification ignores it. ReadURL
// returns an error if the server would, or if the query is not in URL encoding.
func ReadURL(method, path, query string) (Info, error) {
	r := Info{Verb: strings.ToLower(method), Path: path}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[2:] // after the version
	case len(parts) >= 4 && parts[0] == "apis":
		r.APIGroup = parts[1]
		parts = parts[3:]
	default:
		return r, nil
	}
	prefixed := parts[0] == "watch" || parts[0] == "proxy"
	if prefixed {
		if len(parts) < 2 {
			return r, fmt.Errorf("%s: no resource follows %s", path, parts[0])
		}
		r.Verb, parts = parts[0], parts[1:]
	} else {
		r.Verb = verbs[method]
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		r.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	r.Resource = parts[0]
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 && r.Verb != "proxy" {
		r.Subresource = parts[2]
	}
	if r.Name != "" {
		return r, nil
	}
	switch r.Verb {
	case "get":
		p, err := newParser(query)
		if err != nil {
			return r, err
		}
		p.list()
		r.Verb = "list"
		if p.is("watch") {
			r.Verb = "watch"
		}
		r.Name = p.ObjectName()
	case "delete":
		r.Verb = "deletecollection"
	}
	return r, nil
}
