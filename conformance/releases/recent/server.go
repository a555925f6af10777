// Package recent is the driver of Kubernetes 1.23 and later: it runs trials through the release's own
// filter chain, controller, estimator and queue sets. The protocol and the build tags are described
// in the README of the folder above. The variants of the APIs are in the files with build tags.
package recent

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	endpointfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/informers"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
)

func init() {
	metrics.Register()
	klog.SetLogger(logr.Discard())
}

// longRunning is kube-apiserver's definition of a long-running request.
var longRunning = filters.BasicLongRunningRequestCheck(
	sets.NewString("watch", "proxy"),
	sets.NewString("attach", "exec", "proxy", "log", "portforward"),
)

// server is one kube-apiserver, as far as flow control is concerned.
type server struct {
	t        *testing.T
	trial    *trial
	start    time.Time
	handler  http.Handler
	hangUps  map[int64]int64 // AfterNs by id
	result   result
	requests sync.WaitGroup
}

// run returns what the release makes of a trial.
func run(t *testing.T, tr *trial) result {
	if len(tr.Changes) > 0 || len(tr.SamplesNs) > 0 {
		t.Errorf("%s: changes and samples are not supported", tr.Name)
	}
	metrics.Reset()
	s := &server{t: t, trial: tr, hangUps: map[int64]int64{}, result: result{Decisions: make([]decision, len(tr.Requests))}}
	for _, h := range tr.HangUps {
		s.hangUps[h.ID] = h.AfterNs
	}
	synctest.Test(t, func(t *testing.T) {
		s.t = t
		stop := make(chan struct{})
		client := newClient(t, tr.Objects.Items)
		// Without a period, older informers wait on a channel that was made outside the bubble.
		factory := informers.NewSharedInformerFactory(client, math.MaxInt64/2)
		wait := time.Duration(tr.RequestTimeoutNs) / 4
		control := newControl(factory, client, tr.MaxRequestsInflight+tr.MaxMutatingRequestsInflight, wait)
		factory.Start(stop)
		factory.WaitForCacheSync(stop)
		// Wait until the informers know that they have synced, and start at a full second: Retry-After
		// depends on how many requests a level rejects in each second of the clock.
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(2 * time.Second)))
		var running sync.WaitGroup
		running.Go(func() {
			if err := control.Run(stop); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		s.handler = s.chain(control, newEstimator(control, tr.Resources, stop), wait)
		s.start = time.Now()
		for i := range tr.Requests {
			time.Sleep(time.Until(s.start.Add(time.Duration(tr.Requests[i].ArrivalNs))))
			s.requests.Go(func() { s.arrive(i) })
		}
		s.requests.Wait()
		close(stop)
		running.Wait()
		time.Sleep(time.Minute) // until all additional latency is over
	})
	s.result.Rejections = rejections(t)
	return s.result
}

// chain puts the filters together as kube-apiserver does.
func (s *server) chain(control flowcontrol.Interface, estimate workestimate.WorkEstimatorFunc, wait time.Duration) http.Handler {
	h := withPriorityAndFairness(http.HandlerFunc(s.serve), control, func(r *http.Request, schema, level string) workestimate.WorkEstimate {
		work := estimate(r, schema, level)
		d := pendingFrom(r.Context()).decision
		d.FlowSchema, d.PriorityLevel = schema, level
		d.Seats, d.FinalSeats, d.AdditionalNs = int(work.InitialSeats), int(work.FinalSeats), int64(work.AdditionalLatency)
		return work
	}, wait)
	return endpointfilters.WithRequestDeadline(h, nil, nil, longRunning, nil, time.Duration(s.trial.RequestTimeoutNs))
}

// serve is the handler behind the filters. It takes as long as the record says.
func (s *server) serve(_ http.ResponseWriter, r *http.Request) {
	p := pendingFrom(r.Context())
	p.decision.DispatchNs = s.nowNs()
	time.Sleep(time.Duration(p.record.ExecutionNs))
	p.decision.EndNs = s.nowNs()
	if p.record.Verb == "watch" {
		flowcontrol.WatchInitialized(r.Context())
		time.Sleep(time.Duration(p.record.WatchNs))
	}
}

func (s *server) nowNs() int64 { return int64(time.Since(s.start)) }

type pendingKey struct{}

// pending is a request on its way. Its context carries it.
type pending struct {
	record   *record
	decision *decision
	deadline bool // the request reached its deadline while it was in the filter of flow control
}

func pendingFrom(ctx context.Context) *pending { return ctx.Value(pendingKey{}).(*pending) }

// arrive sends request n through the filters and records what becomes of it.
func (s *server) arrive(n int) {
	p := &pending{record: &s.trial.Requests[n], decision: &s.result.Decisions[n]}
	d := p.decision
	d.DispatchNs = -1
	r, err := p.record.request()
	if err != nil {
		s.t.Errorf("request %d: %v", p.record.ID, err)
		return
	}
	ctx := context.WithValue(r.Context(), pendingKey{}, p)
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: p.record.User, Groups: p.record.Groups})
	ctx = request.WithReceivedTimestamp(ctx, time.Now())
	if afterNs := s.hangUps[p.record.ID]; afterNs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer time.AfterFunc(time.Duration(afterNs), cancel).Stop()
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r.WithContext(ctx))

	// The UIDs of the objects are their names.
	schema := w.Header().Get("X-Kubernetes-PF-FlowSchema-UID")
	level := w.Header().Get("X-Kubernetes-PF-PriorityLevel-UID")
	switch info, _ := request.RequestInfoFrom(ctx); {
	case d.PriorityLevel != "": // it was estimated
		if schema != d.FlowSchema || level != d.PriorityLevel {
			s.t.Errorf("request %d: the response has FlowSchema %q and level %q, the estimate %q and %q",
				p.record.ID, schema, level, d.FlowSchema, d.PriorityLevel)
		}
	case level != "": // it is exempt
		d.FlowSchema, d.PriorityLevel = schema, level
	case info.Verb == "watch" || !longRunning(r, info): // it is exempt, in a release that sets no header
		d.PriorityLevel = "exempt"
	}
	if d.DispatchNs < 0 {
		d.Rejected, d.EndNs = true, s.nowNs()
		if !p.deadline {
			d.RetryAfterSeconds, err = strconv.Atoi(w.Header().Get("Retry-After"))
			if err != nil {
				s.t.Errorf("request %d: %v", p.record.ID, err)
			}
		}
	}
	if rejected := w.Code == http.StatusTooManyRequests; rejected != d.Rejected {
		s.t.Errorf("request %d: status %d", p.record.ID, w.Code)
	}
}

// noteDeadline records whether a request has left the filter of flow control because of its deadline.
func noteDeadline(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		pendingFrom(r.Context()).deadline = errors.Is(r.Context().Err(), context.DeadlineExceeded)
	})
}

// rejections returns how many requests were rejected, by priority level, FlowSchema and reason.
func rejections(t *testing.T) map[string]int {
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Error(err)
	}
	counts := map[string]int{}
	for _, f := range families {
		if f.GetName() != "apiserver_flowcontrol_rejected_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			label := map[string]string{}
			for _, l := range m.GetLabel() {
				label[l.GetName()] = l.GetValue()
			}
			counts[label["priority_level"]+"/"+label["flow_schema"]+"/"+label["reason"]] = int(m.GetCounter().GetValue())
		}
	}
	return counts
}
