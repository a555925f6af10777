package conformance

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	upstream "k8s.io/apiserver/pkg/endpoints/request"

	"apfsim/core/request"
)

var requestInfos = upstream.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// readAlike compares what is read out of one URL, and returns the attributes.
func readAlike(t *testing.T, method, path, query string) (ours request.Info, ok bool) {
	info, errTheirs := requestInfos.NewRequestInfo(&http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}})
	ours, errOurs := request.ReadURL(method, path, query)
	if errTheirs != nil || errOurs != nil {
		if (errTheirs == nil) != (errOurs == nil) {
			t.Errorf("%s %s?%s: ours %v, upstream's %v", method, path, query, errOurs, errTheirs)
		}
		return ours, false
	}
	if info.IsResourceRequest && info.Resource == "" {
		return ours, false // of a path with two slashes in a row, which no server routes
	}
	got := fmt.Sprintf("%t %q %q %q %q %q %q %q", ours.IsResource(), ours.Verb, ours.APIGroup, ours.Resource, ours.Subresource, ours.Namespace, ours.Name, ours.Path)
	want := fmt.Sprintf("%t %q %q %q %q %q %q %q", info.IsResourceRequest, info.Verb, info.APIGroup, info.Resource, info.Subresource, info.Namespace, info.Name, info.Path)
	if got != want {
		t.Errorf("%s %s?%s:\nours       %s\nupstream's %s", method, path, query, got, want)
	}
	return ours, true
}

func TestURLs(t *testing.T) {
	for _, c := range [][2]string{
		{"GET /", "get"}, {"GET /healthz", "get"}, {"GET /api", "get"}, {"GET /api/v1", "get"}, {"GET /apis/apps", "get"},
		{"GET /apis/apps/v1", "get"}, {"OPTIONS /version", "options"}, {"GET /api/v1/pods", "list"}, {"GET /api/v1/pods/", "list"},
		{"HEAD /api/v1/pods", "list"}, {"GET /api/v1/pods?watch=true", "watch"}, {"GET /api/v1/pods?watch=0", "list"},
		{"GET /api/v1/pods?watch=FALSE", "list"}, {"GET /api/v1/pods?watch", "watch"}, {"GET /api/v1/pods?limit=many&watch=1", "watch"},
		{"GET /api/v1/pods?fieldSelector=metadata.name=a", "list"}, {"GET /api/v1/pods?fieldSelector=metadata.name%3D..", "list"},
		{"GET /api/v1/pods?fieldSelector=metadata.name=a,x&watch=true", "watch"}, {"GET /api/v1/namespaces", "list"},
		{"GET /api/v1/namespaces/a", "get"}, {"PUT /api/v1/namespaces/a/status", "update"}, {"PUT /api/v1/namespaces/a/finalize", "update"},
		{"GET /api/v1/namespaces/a/pods", "list"}, {"GET /api/v1/namespaces/a/pods/b", "get"}, {"GET /api/v1/namespaces/a/pods/b/log", "get"},
		{"GET /api/v1/namespaces/a/pods/b/proxy/c/d", "get"}, {"POST /api/v1/namespaces/a/pods/b/exec", "create"},
		{"DELETE /api/v1/namespaces/a/pods", "deletecollection"}, {"DELETE /api/v1/namespaces/a/pods/b", "delete"},
		{"PATCH /apis/apps/v1/namespaces/a/deployments/b/scale", "patch"}, {"GET /apis/apps/v1/deployments", "list"},
		{"POST /apis/x.example.com/v1alpha1/namespaces/a/things", "create"}, {"CONNECT /api/v1/nodes/a/proxy", ""},
		{"GET /api/v1/watch/pods", "watch"}, {"GET /api/v1/watch/namespaces/a/pods/b", "watch"}, {"GET /api/v1/proxy/nodes/a/b", "proxy"},
		{"GET /api/v1/proxy/namespaces/a/pods/b/c", "proxy"}, {"GET /apis/apps/v1/watch/deployments", "watch"},
		{"GET /apiserver/v1/pods", "get"}, {"GET //api/v1/pods/", "list"},
	} {
		method, target, _ := strings.Cut(c[0], " ")
		path, query, _ := strings.Cut(target, "?")
		if a, ok := readAlike(t, method, path, query); ok && a.Verb != c[1] {
			t.Errorf("%s: verb %q, want %q", c[0], a.Verb, c[1])
		}
	}
	random := classification{newRandom(11)}
	for range 200_000 {
		path := ""
		for range 1 + random.IntN(8) {
			path += "/" + random.one("api", "api", "apis", "v1", "v1", "apps", "namespaces", "namespaces", "watch", "proxy", "pods", "status", "finalize", "a", "log")
		}
		if random.IntN(2) == 0 {
			path = random.one("/api/v1", "/apis/apps/v1") + path
		}
		if random.IntN(10) == 0 {
			path += "/"
		}
		var query []string
		for range random.IntN(4) {
			query = append(query, random.one("watch=true", "watch=false", "watch=1", "watch=0", "watch=", "watch", "watch=False", "limit=5", "limit=x",
				"timeoutSeconds=1", "timeoutSeconds=", "fieldSelector=metadata.name%3Da", "fieldSelector=metadata.name!%3Da",
				"fieldSelector=metadata.name%3D%3Da%2Cspec.nodeName%3Db", "fieldSelector=metadata.name%3Da%252Fb", "fieldSelector=x",
				"labelSelector=a%3Db", "labelSelector=!%3D", "resourceVersion=0", "continue=a", "sendInitialEvents=x", "other=1"))
		}
		readAlike(t, random.one("GET", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT"), path, strings.Join(query, "&"))
		if t.Failed() {
			return
		}
	}
}
