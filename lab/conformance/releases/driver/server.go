// Package driver implements the driver of a release of Kubernetes: it runs trials through the release's own
// filter chain, controller, estimator and queue sets. The protocol and the build tags are described in
// the README of the folder above. What differs between the releases is in the files with build tags.
package driver

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// server is one kube-apiserver, as far as flow control is concerned.
type server struct {
	t        *testing.T
	trial    *trial
	client   *fake.Clientset
	objects  objects // the current configuration
	pokes    int     // number of FlowSchemas that only make the controller digest the configuration again
	start    time.Time
	handler  http.Handler
	hangUps  map[int64]int64 // AfterNs by id
	result   result
	requests sync.WaitGroup
}

// run returns what the release makes of a trial.
func run(t *testing.T, tr *trial) result {
	if len(tr.SamplesNs) > 0 {
		t.Errorf("%s: samples are not supported", tr.Name)
	}
	metrics.Reset()
	s := &server{trial: tr, objects: tr.Objects, hangUps: map[int64]int64{}, result: result{Decisions: make([]decision, len(tr.Requests))}}
	for _, h := range tr.HangUps {
		s.hangUps[h.ID] = h.AfterNs
	}
	synctest.Test(t, func(t *testing.T) {
		s.t, s.client = t, newClient(tr.Objects)
		stop := make(chan struct{})
		// Without a period, older informers wait on a channel that was made outside the bubble.
		factory := informers.NewSharedInformerFactory(s.client, math.MaxInt64/2)
		control := newControl(factory, s.client, tr.MaxRequestsInflight+tr.MaxMutatingRequestsInflight, tr.waitLimit())
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
		// The trial starts with the second of the periodic adjustments. The first one and the digests of
		// the configuration before it are at one instant.
		time.Sleep(10 * time.Second)
		synctest.Wait()
		s.handler = s.chain(control, stop)
		s.start = time.Now()
		s.play()
		s.requests.Wait()
		close(stop)
		running.Wait()
		time.Sleep(time.Minute) // until all additional latency is over
	})
	s.result.Rejections = rejections(t)
	return s.result
}

// chain puts the filters together as kube-apiserver does.
func (s *server) chain(control flowcontrol.Interface, stop <-chan struct{}) http.Handler {
	return withDeadline(s.observe(s.withFlowControl(http.HandlerFunc(s.serve), control, stop)), s.trial.timeout())
}

// play lets the requests arrive and changes the configuration.
func (s *server) play() {
	changes := s.trial.Changes
	for i := range s.trial.Requests {
		r := &s.trial.Requests[i]
		for ; len(changes) > 0 && changes[0].AtNs < r.ArrivalNs; changes = changes[1:] {
			s.sleepUntil(changes[0].AtNs)
			s.change(changes[0].Objects)
		}
		s.sleepUntil(r.ArrivalNs)
		s.requests.Go(func() { s.arrive(r, &s.result.Decisions[i]) })
	}
	for _, c := range changes {
		s.sleepUntil(c.AtNs)
		s.change(c.Objects)
	}
}

func (s *server) sleepUntil(ns int64) { time.Sleep(time.Until(s.start.Add(time.Duration(ns)))) }

func (s *server) nowNs() int64 { return int64(time.Since(s.start)) }

// pending is a request on its way. Its context carries it.
type pending struct {
	record   *record
	decision *decision
	client   context.Context // ends when the client hangs up
	answered chan struct{}   // closed when flow control is done with the request
}

type pendingKey struct{}

func pendingFrom(ctx context.Context) *pending { return ctx.Value(pendingKey{}).(*pending) }

// arrive sends a request through the filters.
func (s *server) arrive(r *record, d *decision) {
	d.DispatchNs = -1
	p := &pending{record: r, decision: d, answered: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), pendingKey{}, p))
	defer cancel() // as the HTTP server does
	p.client = ctx
	if afterNs := s.hangUps[r.ID]; afterNs > 0 {
		defer time.AfterFunc(time.Duration(afterNs), cancel).Stop()
	}
	q, err := r.request(ctx)
	if err != nil {
		s.t.Errorf("request %d: %v", r.ID, err)
		return
	}
	s.handler.ServeHTTP(httptest.NewRecorder(), q)
	<-p.answered // a filter of timeouts answers before the filter of flow control is done
}

// observe records what the filter of flow control makes of a request. At the deadline, the filter
// before it answers with 504 and without a Retry-After.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p, w := pendingFrom(r.Context()), httptest.NewRecorder()
		defer close(p.answered)
		next.ServeHTTP(w, r)
		s.noteClassification(r, w.Header())
		d := p.decision
		if d.DispatchNs < 0 {
			d.Rejected, d.EndNs = true, s.nowNs()
			if atDeadline := r.Context().Err() != nil && p.client.Err() == nil; !atDeadline {
				var err error
				if d.RetryAfterSeconds, err = strconv.Atoi(w.Header().Get("Retry-After")); err != nil {
					s.t.Errorf("request %d: %v", p.record.ID, err)
				}
			}
		}
		if rejected := w.Code == http.StatusTooManyRequests; rejected != d.Rejected {
			s.t.Errorf("request %d: status %d", p.record.ID, w.Code)
		}
	})
}

// serve is the handler behind the filters. It takes as long as the record says.
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
