package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/authentication/user"
	endpointfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"apfsim/lab/conformance/trial"
	"apfsim/sim/trace"
)

// requestTimeout is kube-apiserver's default.
const requestTimeout = time.Minute

// Recursion returns what becomes of creations and of the callbacks that they wait for: both go through the filters
// of flow control and of deadlines, creations then through the admission plugin that calls webhooks, to a webhook
// behind an HTTP server.
func Recursion(t *testing.T, rec *trial.Recursion) (seen []trial.Seen) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, rec.Objects.Objects)
		s := &recursive{Recursion: rec}
		var hooks http.Server
		listening := newListener()
		hooks.Handler = http.HandlerFunc(s.review)
		hooks.TLSConfig = serverTLS()
		s.plugin = webhooks(t, c.client, rec, listening)
		s.chain(control(t, c, rec.Seats))
		var all sync.WaitGroup
		all.Go(func() { hooks.ServeTLS(listening, "", "") })
		s.start = time.Now()
		for i := range rec.Outers {
			all.Go(func() {
				outer := trace.Record{User: fmt.Sprintf("u%d", i), Verb: "create", Resource: "pods", Namespace: "n"}
				if rec.Exempt == trial.Outer {
					outer.Groups = []string{user.SystemPrivilegedGroup}
				}
				code, dispatched := s.do(context.Background(), outer)
				if !dispatched {
					s.note(trial.Outer, trial.Left)
				}
				s.note(trial.Outer, fmt.Sprint(code))
			})
		}
		time.Sleep(requestTimeout) // until nothing happens any more
		hooks.Close()
		listening.end()
		all.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		seen = s.seen
	})
	return seen
}

// recursive is a server whose requests wait for others.
type recursive struct {
	*trial.Recursion
	plugin  *validating.Plugin
	handler http.Handler
	start   time.Time

	mu   sync.Mutex
	seen []trial.Seen
}

func (s *recursive) note(who, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, trial.Seen{At: time.Since(s.start).Round(time.Microsecond), Who: who, What: what})
}

// chain puts the filters together.
func (s *recursive) chain(control flowcontrol.Interface) {
	estimator := workestimate.NewWorkEstimator(workestimate.NewStorageObjectCountTracker().Get, control.GetInterestedWatchCount,
		workestimate.DefaultWorkEstimatorConfig(), control.GetMaxSeats)
	h := filters.WithPriorityAndFairness(http.HandlerFunc(s.serve), LongRunning, control, estimator, requestTimeout/4)
	s.handler = endpointfilters.WithRequestDeadline(withTimeouts(h), nil, nil, LongRunning, nil, requestTimeout)
}

// dispatchedKey is that of an *atomic.Bool in the context of a request.
type dispatchedKey struct{}

// do sends a request of an authenticated user through the filters. The filter for timeouts aborts the response to a
// client that has gone.
func (s *recursive) do(ctx context.Context, record trace.Record) (code int, isDispatched bool) {
	r, err := NewRequest(&record)
	if err != nil {
		panic(err)
	}
	var dispatched atomic.Bool
	ctx = context.WithValue(ctx, dispatchedKey{}, &dispatched)
	ctx = request.WithRequestInfo(ctx, requestInfoOf(r))
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: record.User, Groups: append(record.Groups, user.AllAuthenticated)})
	ctx = request.WithReceivedTimestamp(ctx, time.Now())
	w := httptest.NewRecorder()
	defer func() {
		if reason := recover(); reason != nil && reason != http.ErrAbortHandler {
			panic(reason)
		}
		code, isDispatched = w.Code, dispatched.Load()
	}()
	s.handler.ServeHTTP(w, r.WithContext(ctx))
	return
}

func requestInfoOf(r *http.Request) *request.RequestInfo {
	info, _ := request.RequestInfoFrom(r.Context())
	return info
}

// serve executes a request: a creation waits for its webhook first.
func (s *recursive) serve(w http.ResponseWriter, r *http.Request) {
	r.Context().Value(dispatchedKey{}).(*atomic.Bool).Store(true)
	if requestInfoOf(r).Verb == "get" {
		s.note(trial.Callback, trial.Dispatched)
		time.Sleep(s.Callback)
		w.WriteHeader(http.StatusOK)
		return
	}
	s.note(trial.Outer, trial.Dispatched)
	if err := s.admit(r.Context()); err != nil {
		status, ok := err.(apierrors.APIStatus)
		if !ok {
			panic(err)
		}
		w.WriteHeader(int(status.Status().Code))
		return
	}
	time.Sleep(s.Execution)
	w.WriteHeader(http.StatusCreated) // as handlers.CreateResource
}

// admit asks the webhooks.
func (s *recursive) admit(ctx context.Context) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "n"}}
	who, _ := request.UserFrom(ctx)
	return s.plugin.Validate(ctx, admission.NewAttributesRecord(pod, nil, corev1.SchemeGroupVersion.WithKind("Pod"), "n", "x",
		corev1.SchemeGroupVersion.WithResource("pods"), "", admission.Create, &metav1.CreateOptions{}, false, who), admission.NewObjectInterfacesFromScheme(scheme.Scheme))
}

// review is the webhook: it allows what it is asked for when it has read the namespace, and fails otherwise.
func (s *recursive) review(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		panic(err)
	}
	time.Sleep(time.Nanosecond) // until all outers that arrive at this instant have been dispatched
	ctx := r.Context()
	if s.Continue {
		ctx = context.WithoutCancel(ctx)
	}
	back := trace.Record{User: "webhook", Verb: "get", Resource: "namespaces", Namespace: "n", Name: "n"}
	if s.Exempt == trial.Callback {
		back.Groups = []string{user.SystemPrivilegedGroup}
	}
	code, dispatched := s.do(ctx, back)
	if !dispatched {
		s.note(trial.Callback, trial.Left)
		http.Error(w, "the namespace is not known", http.StatusInternalServerError)
		return
	}
	s.note(trial.Callback, fmt.Sprint(code))
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(&review); err != nil && r.Context().Err() == nil {
		panic(err)
	}
}

// webhooks returns the admission plugin with one webhook.
func webhooks(t *testing.T, client kubernetes.Interface, rec *trial.Recursion, to *listener) *validating.Plugin {
	seconds := int32(rec.Timeout / time.Second)
	policy, match, none := admissionregistrationv1.Fail, admissionregistrationv1.Exact, admissionregistrationv1.SideEffectClassNone
	if rec.Ignore {
		policy = admissionregistrationv1.Ignore
	}
	url := "https://" + to.Addr().String() + "/"
	ctx := context.Background()
	_, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "policy"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:              "policy.example.com",
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &url},
			NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
			FailurePolicy: &policy, MatchPolicy: &match, SideEffects: &none, TimeoutSeconds: &seconds,
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}, metav1.CreateOptions{})
	must(err)
	plugin, err := validating.NewValidatingAdmissionWebhook(nil)
	must(err)
	plugin.SetAuthenticationInfoResolverWrapper(func(webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		return &webhook.AuthenticationInfoResolverDelegator{ClientConfigForFunc: func(string) (*rest.Config, error) {
			return &rest.Config{Dial: to.dial, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, nil
		}}
	})
	factory := informers.NewSharedInformerFactory(client, 0)
	plugin.SetExternalKubeClientSet(client)
	plugin.SetExternalKubeInformerFactory(factory)
	must(plugin.ValidateInitialization())
	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	t.Cleanup(func() {
		close(stop)
		factory.Shutdown()
	})
	return plugin
}
