package estimate

import (
	"fmt"
	"strings"

	"apfsim/core/classify"
)

// ReadURL returns the attributes, except the user, that kube-apiserver derives from the HTTP
// method and the URL of a request (k8s.io/apiserver/pkg/endpoints/request, RequestInfoFactory).
// The method is in upper case, the path is decoded and the query is encoded. These paths are
// those of resources:
//
//	/api/VERSION/...         the core group
//	/apis/GROUP/VERSION/...  another group
//	... [watch/|proxy/] [namespaces/NAMESPACE/] RESOURCE [/NAME [/SUBRESOURCE]]
//
// A request for any other path is not for a resource, and its verb is the method in lower case.
// The API version is not among the attributes, because classification ignores it. ReadURL
// returns an error if the server would, or if the query is not in URL encoding.
func ReadURL(method, path, query string) (classify.Attributes, error) {
	a := classify.Attributes{Verb: strings.ToLower(method), Path: path}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[2:] // after the version
	case len(parts) >= 4 && parts[0] == "apis":
		a.APIGroup = parts[1]
		parts = parts[3:]
	default:
		return a, nil
	}
	prefixed := parts[0] == "watch" || parts[0] == "proxy"
	if prefixed {
		if len(parts) < 2 {
			return a, fmt.Errorf("%s: no resource follows %s", path, parts[0])
		}
		a.Verb, parts = parts[0], parts[1:]
	} else {
		a.Verb = map[string]string{"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update",
			"PATCH": "patch", "DELETE": "delete"}[method]
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		a.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	a.Resource = parts[0]
	if len(parts) > 1 {
		a.Name = parts[1]
	}
	if len(parts) > 2 && a.Verb != "proxy" {
		a.Subresource = parts[2]
	}
	if a.Name != "" {
		return a, nil
	}
	switch a.Verb {
	case "get":
		o, err := parseOptions(query)
		if err != nil {
			return a, err
		}
		a.Verb = "list"
		if o.watch {
			a.Verb = "watch"
		}
		a.Name = o.objectName()
	case "delete":
		a.Verb = "deletecollection"
	}
	return a, nil
}
