package upstream

import (
	"context"
	"net/http"
	"testing"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/server/filters"

	"apfsim/lab/conformance/trial"
)

// Deadlines returns what kube-apiserver makes of a trial, and what it answers, with the filter that answers at
// deadlines. A delete and a deletecollection go through kube-apiserver's handlers to a storage that takes as
// long as the trace says; any other request goes to a handler that ignores its context.
func Deadlines(t *testing.T, tr *trial.Trial) (trial.Result, []trial.Answer) {
	answers := make([]trial.Answer, len(tr.Requests))
	return run(t, tr, func() {}, answers), answers
}

// What a handler does after its deadline is reported as an error, of which there is a limit for each
// millisecond, by the clock of another bubble.
func init() { utilruntime.ErrorHandlers = nil }

// withTimeouts puts the filter for timeouts around h, and between that of deadlines and those of flow
// control.
func withTimeouts(h http.Handler) http.Handler {
	return filters.WithTimeoutForNonLongRunningRequests(h, LongRunning)
}

// execute is serve for Deadlines. It may go on after the response.
func (s *server) execute(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	defer s.requests.Done()
	d := decisionFrom(r.Context())
	var handler http.Handler
	switch d.record.Verb {
	case "delete":
		handler = handlers.DeleteResource(slowStorage(d.record.ExecutionNs), false, scope(), nil)
	case "deletecollection":
		handler = handlers.DeleteCollection(slowStorage(d.record.ExecutionNs), false, scope(), nil)
	default:
		s.serve(w, r)
		w.WriteHeader(http.StatusOK) // through the filter, with the headers
		return
	}
	d.decision.DispatchNs = s.nowNs()
	handler.ServeHTTP(w, r)
	d.decision.EndNs = s.nowNs()
}

// scope returns what kube-apiserver's handlers know of a resource.
func scope() *handlers.RequestScope {
	scheme := runtime.NewScheme()
	version := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, version)
	return &handlers.RequestScope{
		Namer:            byRequestInfo{},
		Serializer:       serializer.NewCodecFactory(scheme),
		Kind:             version.WithKind("Pod"),
		Resource:         version.WithResource("pods"),
		MetaGroupVersion: version,
	}
}

// slowStorage takes some nanoseconds for each deletion. Like etcd's client, it ends with its context.
type slowStorage int64

// Delete implements rest.GracefulDeleter.
func (s slowStorage) Delete(ctx context.Context, name string, _ rest.ValidateObjectFunc, _ *metav1.DeleteOptions) (runtime.Object, bool, error) {
	select {
	case <-ctx.Done():
		return nil, false, ctx.Err()
	case <-time.After(time.Duration(s)):
		return &metav1.Status{Status: metav1.StatusSuccess}, true, nil
	}
}

// DeleteCollection implements rest.CollectionDeleter.
func (s slowStorage) DeleteCollection(ctx context.Context, _ rest.ValidateObjectFunc, _ *metav1.DeleteOptions, _ *metainternalversion.ListOptions) (runtime.Object, error) {
	o, _, err := s.Delete(ctx, "", nil, nil)
	return o, err
}

// byRequestInfo takes names from the RequestInfo.
type byRequestInfo struct{}

func (byRequestInfo) Namespace(r *http.Request) (string, error) {
	info, _ := request.RequestInfoFrom(r.Context())
	return info.Namespace, nil
}

func (byRequestInfo) Name(r *http.Request) (namespace, name string, err error) {
	info, _ := request.RequestInfoFrom(r.Context())
	return info.Namespace, info.Name, nil
}

func (byRequestInfo) ObjectName(runtime.Object) (namespace, name string, err error) { return }

// handle sends a request through the filters. The filter for timeouts aborts a response that has begun when the
// client goes.
func (s *server) handle(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if reason := recover(); reason != nil && reason != http.ErrAbortHandler {
			panic(reason)
		}
	}()
	s.handler.ServeHTTP(w, r)
}
