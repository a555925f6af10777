package upstream

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"apfsim/core/classify"
	"apfsim/sim/trace"
)

var requestInfos = request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

var methods = map[string]string{
	"get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet, "proxy": http.MethodGet,
	"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch,
	"delete": http.MethodDelete, "deletecollection": http.MethodDelete,
	"post": http.MethodPost, "put": http.MethodPut,
}

// NewRequest returns the HTTP request that a line of a trace stands for, with the
// RequestInfo that kube-apiserver reads out of its URL. The error says where that is not
// what the line says.
func NewRequest(record *trace.Record) (*http.Request, error) {
	a := record.Attributes()
	return HTTPRequest(&a, record.Query)
}

// HTTPRequest is NewRequest for attributes, with their path, and a URL query.
func HTTPRequest(a *classify.Attributes, query string) (*http.Request, error) {
	method, ok := methods[a.Verb]
	if !ok {
		return nil, fmt.Errorf("no HTTP method is known for verb %q", a.Verb)
	}
	r := &http.Request{
		Method: method,
		URL:    &url.URL{Path: a.Path, RawQuery: query},
		Header: http.Header{},
	}
	info, err := requestInfos.NewRequestInfo(r)
	if err != nil {
		return nil, err
	}
	named := info.Name
	if a.Name == "" && (a.Verb == "list" || a.Verb == "watch") {
		named = "" // a name may come out of the field selector
	}
	if info.Verb != a.Verb || info.APIGroup != a.APIGroup || info.Resource != a.Resource || info.Subresource != a.Subresource ||
		info.Namespace != a.Namespace || named != a.Name || info.IsResourceRequest != a.IsResource() {
		return nil, fmt.Errorf("%s %s is read as %+v, not as %+v", method, r.URL, *info, *a)
	}
	return r.WithContext(request.WithRequestInfo(r.Context(), info)), nil
}

func retryAfter(w *httptest.ResponseRecorder) int {
	seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
	if err != nil {
		return -1
	}
	return seconds
}
