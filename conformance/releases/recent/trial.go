package recent

import (
	"encoding/json"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// trial is the input, as apfsim marshals its trial.Trial. Times are in nanoseconds since the start.
type trial struct {
	Name                        string
	MaxRequestsInflight         int
	MaxMutatingRequestsInflight int
	RequestTimeoutNs            int64
	Objects                     struct{ Items []object }
	Resources                   []resource
	Requests                    []record
	HangUps                     []hangUp
	Changes                     []any
	SamplesNs                   []int64
}

// object is a FlowSchema or a PriorityLevelConfiguration of v1.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     json.RawMessage
}

type resource struct {
	Group, Resource       string
	Objects, AverageBytes int64
}

func (r *resource) name() string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}

type hangUp struct {
	ID      int64
	AfterNs int64
}

// record is a request of a trace.
type record struct {
	ID, ArrivalNs                         int64
	User                                  string
	Groups                                []string
	Verb, APIGroup, Resource, Subresource string
	Namespace, Name, Path, Query          string
	ExecutionNs, WatchNs                  int64
}

// result is the output, as apfsim unmarshals its trial.Result.
type result struct {
	Decisions  []decision
	Rejections map[string]int
}

type decision struct {
	FlowSchema, PriorityLevel string
	Rejected                  bool
	DispatchNs, EndNs         int64
	Seats, FinalSeats         int
	AdditionalNs              int64
	RetryAfterSeconds         int
}

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

// request returns the HTTP request that a record stands for, with the RequestInfo that the release
// reads from its URL.
func (r *record) request() (*http.Request, error) {
	path := r.Path
	if path == "" {
		path = "/api/v1"
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
	}
	q := &http.Request{Method: methods[r.Verb], URL: &url.URL{Path: path, RawQuery: r.Query}, Header: http.Header{}}
	info, err := requestInfos.NewRequestInfo(q)
	if err != nil {
		return nil, err
	}
	return q.WithContext(request.WithRequestInfo(q.Context(), info)), nil
}
