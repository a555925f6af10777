package driver

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/filters"
)

var methods = map[string]string{
	"get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet, "proxy": http.MethodGet,
	"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch,
	"delete": http.MethodDelete, "deletecollection": http.MethodDelete,
	"post": http.MethodPost, "put": http.MethodPut,
}

var requestInfos = request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// longRunning is kube-apiserver's definition of a long-running request.
var longRunning = filters.BasicLongRunningRequestCheck(
	sets.NewString("watch", "proxy"),
	sets.NewString("attach", "exec", "proxy", "log", "portforward"),
)

// request returns the HTTP request that a record stands for, with the RequestInfo that the release
// reads from its URL. It is an error if that is not what the record says.
func (r *record) request(ctx context.Context) (*http.Request, error) {
	q := &http.Request{Method: methods[r.Verb], URL: &url.URL{Path: r.path(), RawQuery: r.Query}, Header: http.Header{}}
	info, err := requestInfos.NewRequestInfo(q)
	if err != nil {
		return nil, err
	}
	name := info.Name
	if r.Name == "" && (r.Verb == "list" || r.Verb == "watch") {
		name = "" // it can be the name in a field selector
	}
	if info.Verb != r.Verb || info.APIGroup != r.APIGroup || info.Resource != r.Resource || info.Subresource != r.Subresource ||
		info.Namespace != r.Namespace || name != r.Name || info.IsResourceRequest != (r.Resource != "") {
		return nil, fmt.Errorf("the release reads %s %s as %+v, but the record is %+v", q.Method, q.URL, *info, *r)
	}
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: r.User, Groups: r.Groups})
	return q.WithContext(request.WithRequestInfo(ctx, info)), nil
}

// path returns the path of the request. If the record has none, it is the path of the resource, in
// version v1 of its API group.
func (r *record) path() string {
	if r.Path != "" {
		return r.Path
	}
	path := "/api/v1"
	if r.APIGroup != "" {
		path = "/apis/" + r.APIGroup + "/v1"
	}
	if r.Namespace != "" && (r.APIGroup != "" || r.Resource != "namespaces") {
		path += "/namespaces/" + r.Namespace
	}
	for _, part := range []string{r.Resource, r.Name, r.Subresource} {
		if part != "" {
			path += "/" + part
		}
	}
	return path
}
