// Package upstream runs trials through kube-apiserver's own code, unmodified: the filter
// chain around API Priority and Fairness, the configuration controller with its informers,
// the work estimator, the watch tracker and the queue sets. Time is that of a
// testing/synctest bubble: it stands still while anything happens and then jumps to the
// next timer, so that every decision has an exact instant.
package upstream

import (
	"context"

	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	endpointfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/storage"
	etcdfeature "k8s.io/apiserver/pkg/storage/feature"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"

	"apfsim/core/config"
	"apfsim/lab/conformance/trial"
	"apfsim/sim/trace"
)

// etcd declares what any etcd since 3.4.31 and 3.5.13 can do: report its progress. It
// lets reads without a resourceVersion be served from the watch cache.
type etcd struct {
	etcdfeature.FeatureSupportChecker
}

func (etcd) Supports(f storage.Feature) bool { return f == storage.RequestWatchProgress }

func init() {
	etcdfeature.DefaultFeatureSupportChecker = etcd{}
	metrics.Register()
	klog.SetLogger(logr.Discard())
}

// LongRunning reports whether kube-apiserver treats a request as long-running.
var LongRunning = filters.BasicLongRunningRequestCheck(
	sets.NewString("watch", "proxy"),
	sets.NewString("attach", "exec", "proxy", "log", "portforward"),
)

// server is one kube-apiserver, as far as flow control is concerned.
type server struct {
	t        *testing.T
	trial    *trial.Trial
	start    time.Time
	handler  http.Handler
	control  flowcontrol.Interface
	cluster  *cluster
	debug    *mux.PathRecorderMux
	counts   workestimate.StorageObjectCountTracker
	hangUps  []int64 // trial.HangUpsNs
	result   trial.Result
	sampled  func()
	answers  []trial.Answer // by request; nil unless they are wanted
	requests sync.WaitGroup
}

// Run returns what kube-apiserver makes of a trial.
func Run(t *testing.T, tr *trial.Trial) trial.Result { return run(t, tr, func() {}, nil) }

// Metrics returns kube-apiserver's metrics of flow control at the samples of a trial.
func Metrics(t *testing.T, tr *trial.Trial) []Series {
	var all []Series
	run(t, tr, func() { all = append(all, gather(t)) }, nil)
	return all
}

// run lets sampled look, too, at every sample. It notes the answers, with the filter for timeouts, if there is
// a place for them.
func run(t *testing.T, tr *trial.Trial, sampled func(), answers []trial.Answer) (result trial.Result) {
	metrics.Reset()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, tr)
		s.sampled, s.answers = sampled, answers
		s.control = control(t, s.cluster, tr.MaxRequestsInflight+tr.MaxMutatingRequestsInflight)
		s.control.Install(s.debug)
		s.handler = s.chain()
		s.start = time.Now()
		s.play()
		s.requests.Wait()
		result = s.result
	})
	result.Rejections = rejections(t)
	return result
}

// Control lets act use a configuration controller with so many seats. It starts to run
// when act does.
func Control(t *testing.T, objects config.Objects, seats int, act func(flowcontrol.Interface)) {
	synctest.Test(t, func(t *testing.T) {
		act(control(t, newCluster(t, objects), seats))
	})
}

// control returns a controller that has just begun to run, and lets it and its informers
// end with the test.
func control(t *testing.T, c *cluster, seats int) flowcontrol.Interface {
	stop := make(chan struct{})
	factory := informers.NewSharedInformerFactory(c.client, 0)
	control := flowcontrol.New(factory, c.client.FlowcontrolV1(), seats)
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	time.Sleep(time.Second) // until the informers know that they have synced
	var running sync.WaitGroup
	running.Go(func() {
		if err := control.Run(stop); err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	t.Cleanup(func() {
		close(stop)
		running.Wait()
		factory.Shutdown()
		time.Sleep(time.Minute) // until all additional latency is over
	})
	return control
}

func newServer(t *testing.T, tr *trial.Trial) *server {
	s := &server{
		t:       t,
		trial:   tr,
		cluster: newCluster(t, tr.Objects.Objects),
		debug:   mux.NewPathRecorderMux("debug"),
		counts:  workestimate.NewStorageObjectCountTracker(),
		hangUps: tr.HangUpsNs(),
	}
	s.result.Decisions = make([]trial.Decision, len(tr.Requests))
	return s
}

// chain puts the filters together as kube-apiserver does (server/config.go).
func (s *server) chain() http.Handler {
	estimator := workestimate.NewWorkEstimator(s.counts.Get, s.control.GetInterestedWatchCount,
		workestimate.DefaultWorkEstimatorConfig(), s.control.GetMaxSeats)
	timeout := time.Duration(s.trial.RequestTimeoutNs)
	handler := http.HandlerFunc(s.serve)
	if s.answers != nil {
		handler = s.execute
	}
	h := filters.WithPriorityAndFairness(handler, LongRunning, s.control,
		func(r *http.Request, schema, level string) workestimate.WorkEstimate {
			work := estimator(r, schema, level)
			d := decisionFrom(r.Context()).decision
			d.FlowSchema, d.PriorityLevel = schema, level
			d.Seats, d.FinalSeats, d.AdditionalNs = int(work.InitialSeats), int(work.FinalSeats), int64(work.AdditionalLatency)
			return work
		}, timeout/4)
	if s.answers != nil {
		h = withTimeouts(h)
	}
	return endpointfilters.WithRequestDeadline(h, nil, nil, LongRunning, nil, timeout)
}

// serve is the handler behind the filters: it takes as long as the trace says.
func (s *server) serve(_ http.ResponseWriter, r *http.Request) {
	d := decisionFrom(r.Context())
	d.decision.DispatchNs = s.nowNs()
	time.Sleep(time.Duration(d.record.ExecutionNs))
	d.decision.EndNs = s.nowNs()
	if d.record.Verb == "watch" {
		flowcontrol.WatchInitialized(r.Context())
		time.Sleep(time.Duration(d.record.WatchNs))
	}
}

func (s *server) nowNs() int64 { return int64(time.Since(s.start)) }

// play lets the requests arrive, changes the configuration and takes the samples.
func (s *server) play() {
	s.countObjects()
	i, j, k := 0, 0, 0
	t := s.trial
	for i < len(t.Requests) || j < len(t.Changes) || k < len(t.SamplesNs) {
		atNs, act := int64(1<<62), func() {}
		if i < len(t.Requests) {
			atNs, act = t.Requests[i].ArrivalNs, func() { n := i; i++; s.requests.Go(func() { s.arrive(n) }) }
		}
		if j < len(t.Changes) && t.Changes[j].AtNs < atNs {
			atNs, act = t.Changes[j].AtNs, func() { s.cluster.change(t.Changes[j].Objects.Objects); j++ }
		}
		if k < len(t.SamplesNs) && t.SamplesNs[k] < atNs {
			atNs, act = t.SamplesNs[k], func() { k++; synctest.Wait(); s.sample() }
		}
		time.Sleep(time.Until(s.start.Add(time.Duration(atNs))))
		act()
	}
}

func (s *server) sample() {
	s.result.Snapshots = append(s.result.Snapshots, s.snapshot())
	s.sampled()
}

// countObjects tells the estimator how much is stored, as the storage layer does every
// minute: a count of more than three minutes ago would be stale.
func (s *server) countObjects() {
	for _, r := range s.trial.Resources {
		name := r.Resource
		if r.Group != "" {
			name += "." + r.Group
		}
		s.counts.Set(name, storage.Stats{ObjectCount: r.Objects, EstimatedAverageObjectSizeBytes: r.AverageBytes})
	}
}

type decisionKey struct{}

// pending is a request on its way, carried in its context.
type pending struct {
	record   *trace.Record
	decision *trial.Decision
}

func decisionFrom(ctx context.Context) *pending { return ctx.Value(decisionKey{}).(*pending) }

// arrive sends request n through the filters and notes what becomes of it.
func (s *server) arrive(n int) {
	record, d := &s.trial.Requests[n], &s.result.Decisions[n]
	d.DispatchNs = -1
	r, err := NewRequest(record)
	if err != nil {
		s.t.Errorf("request %d: %v", record.ID, err)
		return
	}
	ctx := context.WithValue(r.Context(), decisionKey{}, &pending{record, d})
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: record.User, Groups: record.Groups})
	ctx = request.WithReceivedTimestamp(ctx, time.Now())
	if afterNs := s.hangUps[n]; afterNs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer time.AfterFunc(time.Duration(afterNs), cancel).Stop()
	}
	w := httptest.NewRecorder()
	s.handle(w, r.WithContext(ctx))
	if s.answers != nil {
		s.answers[n] = trial.Answer{AtNs: s.nowNs(), Status: w.Code}
		if w.Code == http.StatusGatewayTimeout || s.hangUps[n] > 0 {
			d.Rejected = d.DispatchNs < 0
			return // the handler may go on
		}
	}

	// The UIDs of the objects are their names.
	schema := w.Header().Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID)
	level := w.Header().Get(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID)
	if schema != d.FlowSchema || level != d.PriorityLevel {
		s.t.Errorf("request %d: the response says flow schema %q and level %q, the estimator %q and %q",
			record.ID, schema, level, d.FlowSchema, d.PriorityLevel)
	}
	if d.DispatchNs < 0 {
		d.Rejected, d.EndNs = true, s.nowNs()
		d.RetryAfterSeconds = retryAfter(w)
	}
	if rejected := w.Code == http.StatusTooManyRequests; rejected != d.Rejected {
		s.t.Errorf("request %d: status %d", record.ID, w.Code)
	}
}
