package upstream

import (
	"context"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/server/filters"

	"apfsim/conformance/trial"
)

// Deadlines returns what kube-apiserver makes of a trial, and what it answers, with the filter that answers at
// deadlines. A delete goes through kube-apiserver's handler to a storage that takes as long as the trace
// says; any other request goes to a handler that ignores its context.
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
	if d.record.Verb != "delete" {
		s.serve(w, r)
		w.WriteHeader(http.StatusOK) // through the filter, with the headers
		return
	}
	d.decision.DispatchNs = s.nowNs()
	deletion(d.record.ExecutionNs).ServeHTTP(w, r)
	d.decision.EndNs = s.nowNs()
}

// deletion returns kube-apiserver's handler of a delete that takes so long in the storage.
func deletion(ns int64) http.Handler {
	scheme := runtime.NewScheme()
	version := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, version)
	return handlers.DeleteResource(slowStorage(ns), false, &handlers.RequestScope{
		Namer:            byRequestInfo{},
		Serializer:       serializer.NewCodecFactory(scheme),
		Kind:             version.WithKind("Pod"),
		Resource:         version.WithResource("pods"),
		MetaGroupVersion: version,
	}, nil)
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
