package request

import (
	"fmt"
	"strings"
	"testing"
)

// The attributes that follow from a method and a URL. The conformance tests compare many more
// URLs with upstream.
func TestReadURL(t *testing.T) {
	for request, want := range map[string]string{
		"GET /":                              "get /",
		"GET /healthz":                       "get /healthz",
		"POST /apis/apps/v1":                 "post /apis/apps/v1",
		"GET /api/v1":                        "get /api/v1",
		"GET /apis/apps":                     "get /apis/apps",
		"GET /api/v1/watch/pods":             "watch pods",
		"GET /api/v1/namespaces/status/pods": "list pods in status",
		"GET /api/v1/namespaces/foo/pods/finalize":                      "get pods finalize in foo",
		"GET /api/v1/pods":                                              "list pods",
		"GET /api/v1/pods/":                                             "list pods",
		"HEAD /api/v1/pods?watch":                                       "watch pods",
		"GET /api/v1/pods?watch=0":                                      "list pods",
		"GET /api/v1/namespaces/foo/pods":                               "list pods in foo",
		"GET /api/v1/namespaces/foo/pods/web":                           "get pods web in foo",
		"GET /api/v1/namespaces/foo/pods/web/log":                       "get pods/log web in foo",
		"GET /api/v1/namespaces/foo":                                    "get namespaces foo in foo",
		"PUT /api/v1/namespaces/foo/finalize":                           "update namespaces/finalize foo in foo",
		"DELETE /apis/apps/v1/namespaces/foo/deployments":               "deletecollection deployments.apps in foo",
		"DELETE /apis/apps/v1/namespaces/foo/deployments/web":           "delete deployments.apps web in foo",
		"PATCH /apis/apps/v1/namespaces/foo/deployments/web/scale":      "patch deployments.apps/scale web in foo",
		"GET /api/v1/pods?fieldSelector=metadata.name%3Dweb":            "list pods web",
		"GET /api/v1/pods?fieldSelector=metadata.name%3Dweb&limit=many": "list pods",
		"GET /api/v1/watch/namespaces/foo/pods":                         "watch pods in foo",
		"GET /api/v1/proxy/nodes/n/metrics":                             "proxy nodes n",
		"GET /api/v1/watch":                                             "error: /api/v1/watch: no resource follows watch",
		"GET /api/v1/pods?limit=%zz":                                    `error: query: "limit=%zz": invalid URL escape "%zz"`,
	} {
		method, target, _ := strings.Cut(request, " ")
		path, query, _ := strings.Cut(target, "?")
		a, err := ReadURL(method, path, query)
		got := a.Verb + " " + a.Resource
		if !a.IsResource() {
			got = a.Verb + " " + a.Path
		}
		if a.APIGroup != "" {
			got += "." + a.APIGroup
		}
		if a.Subresource != "" {
			got += "/" + a.Subresource
		}
		if a.Name != "" {
			got += " " + a.Name
		}
		if a.Namespace != "" {
			got += " in " + a.Namespace
		}
		if err != nil {
			got = fmt.Sprint("error: ", err)
		}
		if got != want {
			t.Errorf("%s is read as %q, want %q", request, got, want)
		}
	}
}

// A request with a verb is sent by its method, and a verb is that of its method again unless it is that of a collection.
func TestMethod(t *testing.T) {
	for verb, want := range map[string]string{
		"get": "GET", "list": "GET", "watch": "GET", "create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE",
		"deletecollection": "DELETE", "head": "HEAD", "post": "POST", "put": "PUT", "options": "OPTIONS", "connect": "CONNECT", "trace": "TRACE", "impersonate": "",
	} {
		if got := Method(verb); got != want {
			t.Errorf("%s is sent by %q, want %q", verb, got, want)
		}
		if got, want := OfCollection(verb), verb == "list" || verb == "watch" || verb == "deletecollection"; got != want {
			t.Errorf("%s is for a collection: %v, want %v", verb, got, want)
		}
		if got, want := ChangesObject(verb), verb == "create" || verb == "update" || verb == "patch" || verb == "delete"; got != want {
			t.Errorf("%s changes an object: %v, want %v", verb, got, want)
		}
	}
}

// The URL of a request for a namespace has the namespace in the place of the name, but not that of its creation.
func TestNamespaceOfANamespace(t *testing.T) {
	for verb, want := range map[string]string{"get": "shop", "update": "shop", "delete": "shop", "create": ""} {
		i := Info{Verb: verb, Resource: "namespaces", Name: "shop"}
		if got := i.URLNamespace(); got != want {
			t.Errorf("%s: namespace %q, want %q", verb, got, want)
		}
		path := i
		if verb == "create" {
			path.Name = "" // it is in the object
		}
		read, err := ReadURL(Method(verb), path.ResourcePath(), "")
		if err != nil || read.Namespace != want {
			t.Errorf("%s: a server reads the namespace %q, want %q; %v", verb, read.Namespace, want, err)
		}
	}
}
