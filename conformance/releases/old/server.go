// Package old is the driver of Kubernetes 1.18 to 1.22, as ../README.md defines drivers. It runs
// trials through the flow control of a release, unmodified: the filters around it, the
// configuration controller with its informers, and the queue sets. Time is that of a
// testing/synctest bubble: it stands still while anything happens and then jumps to the next
// timer, so that every decision has an exact instant.
//
// Until 1.20 the filter of timeouts is part of the driver, because it also ends the requests that
// wait. Changes of the configuration are supported: in these releases the limit of a level only
// depends on the objects.
package old

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/client-go/informers"
)

// longRunning is kube-apiserver's idea of a long-running request.
var longRunning = filters.BasicLongRunningRequestCheck(
	sets.NewString("watch", "proxy"),
	sets.NewString("attach", "exec", "proxy", "log", "portforward"),
)

// server is one kube-apiserver, as far as flow control is concerned.
type server struct {
	t        *testing.T
	trial    *trialInput
	start    time.Time
	handler  http.Handler
	cluster  *cluster
	result   result
	requests sync.WaitGroup
}

// run returns what the release makes of a trial.
func run(t *testing.T, tr *trialInput) (all result) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{t: t, trial: tr, cluster: newCluster(t, tr.Objects)}
		s.result.Decisions = make([]decision, len(tr.Requests))
		s.handler = s.chain(s.control())
		s.start = time.Now()
		s.play()
		s.requests.Wait()
		all = s.result
	})
	return all
}

// control returns a controller that has just begun to run, and lets it and its informers end with
// the test.
func (s *server) control() flowcontrol.Interface {
	// Without a period the informers would wait on a channel that was made outside the bubble.
	const never = 100 * 365 * 24 * time.Hour
	stop := make(chan struct{})
	factory := informers.NewSharedInformerFactory(s.cluster.client, never)
	control := flowcontrol.New(factory, api(s.cluster.client),
		s.trial.MaxRequestsInflight+s.trial.MaxMutatingRequestsInflight, time.Duration(s.trial.RequestTimeoutNs)/4)
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	time.Sleep(time.Second) // until the informers know that they have synced
	var running sync.WaitGroup
	running.Go(func() {
		if err := control.Run(stop); err != nil {
			s.t.Error(err)
		}
	})
	time.Sleep(time.Second) // until the controller knows that they have, too
	s.t.Cleanup(func() {
		close(stop)
		running.Wait()
		time.Sleep(time.Minute) // until the informers have ended
	})
	return control
}

// chain puts the filters together as kube-apiserver does (server/config.go).
func (s *server) chain(control flowcontrol.Interface) http.Handler {
	h := flowControl(http.HandlerFunc(s.serve), noter{control})
	return deadline(s.observe(h), time.Duration(s.trial.RequestTimeoutNs))
}

// noter is flow control that notes how each request is classified: before 1.21 the response to a
// rejected request does not say it.
type noter struct{ flowcontrol.Interface }

func (noter) note(ctx context.Context, next func(*flowSchema, *priorityLevel)) func(*flowSchema, *priorityLevel) {
	return func(s *flowSchema, l *priorityLevel) {
		d := pendingFrom(ctx).decision
		d.FlowSchema, d.PriorityLevel = s.Name, l.Name
		if l.Spec.Type != exempt {
			d.Seats = 1
		}
		next(s, l)
	}
}

type pendingKey struct{}

// pending is a request on its way, carried in its context.
type pending struct {
	record   *record
	decision *decision
	client   context.Context // ends when the client goes away
	answered chan struct{}   // closed when flow control is done with the request
}

func pendingFrom(ctx context.Context) *pending { return ctx.Value(pendingKey{}).(*pending) }

// serve is the handler behind the filters: it takes as long as the trial says.
func (s *server) serve(_ http.ResponseWriter, r *http.Request) {
	p := pendingFrom(r.Context())
	p.decision.DispatchNs = s.nowNs()
	time.Sleep(time.Duration(p.record.ExecutionNs))
	p.decision.EndNs = s.nowNs()
	if p.record.Verb == "watch" {
		watchInitialized(r.Context())
		time.Sleep(time.Duration(p.record.WatchNs))
	}
}

// observe notes what the filter of flow control answers to a request that it rejects. At the
// deadline the client gets the answer of the filter before it, 504, and no time to retry after.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p, w := pendingFrom(r.Context()), httptest.NewRecorder()
		defer close(p.answered)
		next.ServeHTTP(w, r)
		if rejected := w.Code == http.StatusTooManyRequests; rejected != (p.decision.DispatchNs < 0) {
			s.t.Errorf("request %d: status %d", p.record.ID, w.Code)
		} else if !rejected {
			return
		}
		p.decision.Rejected, p.decision.EndNs = true, s.nowNs()
		if atDeadline := r.Context().Err() != nil && p.client.Err() == nil; !atDeadline {
			seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
			if err != nil {
				s.t.Errorf("request %d: %v", p.record.ID, err)
			}
			p.decision.RetryAfterSeconds = seconds
		}
	})
}

func (s *server) nowNs() int64 { return int64(time.Since(s.start)) }

// play lets the requests arrive and changes the configuration.
func (s *server) play() {
	hangUps := map[int64]int64{}
	for _, h := range s.trial.HangUps {
		hangUps[h.ID] = h.AfterNs
	}
	changes := s.trial.Changes
	for i := range s.trial.Requests {
		r := &s.trial.Requests[i]
		for len(changes) > 0 && changes[0].AtNs < r.ArrivalNs {
			s.sleepUntil(changes[0].AtNs)
			s.cluster.change(changes[0].Objects)
			changes = changes[1:]
		}
		s.sleepUntil(r.ArrivalNs)
		s.requests.Go(func() { s.arrive(r, &s.result.Decisions[i], hangUps[r.ID]) })
	}
	for _, c := range changes {
		s.sleepUntil(c.AtNs)
		s.cluster.change(c.Objects)
	}
}

func (s *server) sleepUntil(ns int64) { time.Sleep(time.Until(s.start.Add(time.Duration(ns)))) }

// arrive sends a request through the filters. Its client goes away after a time if that is not 0.
func (s *server) arrive(r *record, d *decision, hangUpNs int64) {
	d.DispatchNs = -1
	p := &pending{record: r, decision: d, answered: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), pendingKey{}, p))
	defer cancel() // as the HTTP server does
	p.client = ctx
	if hangUpNs > 0 {
		defer time.AfterFunc(time.Duration(hangUpNs), cancel).Stop()
	}
	httpRequest, err := newRequest(ctx, r)
	if err != nil {
		s.t.Errorf("request %d: %v", r.ID, err)
		return
	}
	s.handler.ServeHTTP(httptest.NewRecorder(), httpRequest)
	<-p.answered
}

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

// newRequest returns the HTTP request that a record stands for, with the RequestInfo that
// kube-apiserver reads from its URL. It is an error if that is not what the record says.
func newRequest(ctx context.Context, r *record) (*http.Request, error) {
	h := &http.Request{Method: methods[r.Verb], URL: &url.URL{Path: r.path(), RawQuery: r.Query}, Header: http.Header{}}
	info, err := requestInfos.NewRequestInfo(h)
	if err != nil {
		return nil, err
	}
	named := info.Name
	if r.Name == "" && (r.Verb == "list" || r.Verb == "watch") {
		named = "" // the name may be that of a field selector
	}
	if info.Verb != r.Verb || info.APIGroup != r.APIGroup || info.Resource != r.Resource || info.Subresource != r.Subresource ||
		info.Namespace != r.Namespace || named != r.Name || info.IsResourceRequest != (r.Resource != "") {
		return nil, fmt.Errorf("%s %s is read as %+v, not as %+v", h.Method, h.URL, *info, *r)
	}
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: r.User, Groups: r.Groups})
	return h.WithContext(request.WithRequestInfo(ctx, info)), nil
}
