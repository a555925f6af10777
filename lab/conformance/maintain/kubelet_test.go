package maintain

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/component-helpers/apimachinery/lease"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/prober"
	"k8s.io/kubernetes/pkg/kubelet/prober/results"
	"k8s.io/kubernetes/pkg/kubelet/status"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/exec"

	"apfsim/sim"
	"apfsim/sim/api"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
	"apfsim/sim/workload"
	"apfsim/sim/workload/workloadtest"
)

// simulated runs a scenario.
func simulated(t *testing.T, spec string, observe func(*sim.Run) server.Observer) {
	t.Helper()
	text := "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: loop}\nspec:\n" + spec
	all, errs := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	run := sim.New(all[0])
	run.Observe(observe(run))
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
}

// probing is how a server answers each probe: how long it takes, and whether it succeeds.
type probing struct {
	takes     time.Duration
	succeeds  bool
	simulated string // the settings of a simulated server that answers so
}

// runner runs a probe of the real kubelet, as a command in a container.
type runner struct {
	probing
	timeout time.Duration
	began   func()
}

func (r *runner) RunInContainer(context.Context, kubecontainer.ContainerID, []string, time.Duration) ([]byte, error) {
	r.began()
	if r.takes > r.timeout {
		time.Sleep(r.timeout)
		return nil, exec.CodeExitError{Err: fmt.Errorf("time-out"), Code: 1}
	}
	time.Sleep(r.takes)
	if r.succeeds {
		return nil, nil
	}
	return nil, exec.CodeExitError{Err: fmt.Errorf("500"), Code: 1}
}

// statuses are the statuses of the pods of the real kubelet.
type statuses struct {
	status.Manager
	pod v1.PodStatus
}

func (s *statuses) GetPodStatus(types.UID) (v1.PodStatus, bool) { return s.pod, true }

// realProbes returns when the worker of the kubelet probes a container, and when it finds that it has failed, from the first
// probe on, up to a time after it.
func realProbes(t *testing.T, p v1.Probe, how probing, until time.Duration) (events []string) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var first time.Time
		var mutex sync.Mutex
		note := func(what string) {
			mutex.Lock()
			defer mutex.Unlock()
			if first.IsZero() {
				first = time.Now()
			}
			if since := time.Since(first); since <= until {
				events = append(events, fmt.Sprintf("%v %s", since, what))
			}
		}
		started := true
		container := v1.ContainerStatus{Name: "server", ContainerID: "test://1", Started: &started}
		container.State.Running = &v1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now())}
		s := &statuses{pod: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{container}}}
		timeout := time.Duration(p.TimeoutSeconds) * time.Second
		liveness := results.NewManager()
		m := prober.NewManager(s, liveness, results.NewManager(), results.NewManager(), &runner{how, timeout, func() { note("probe") }}, record.NewFakeRecorder(1000))
		p.ProbeHandler = v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"probe"}}}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Name: "server", Namespace: "kube-system"},
			Spec: v1.PodSpec{Containers: []v1.Container{{Name: "server", LivenessProbe: &p}}}}
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case u := <-liveness.Updates():
					if u.Result == results.Failure {
						note("kill")
					}
				}
			}
		}()
		time.Sleep(time.Minute) // the kubelet has not started recently
		m.AddPod(ctx, pod)
		time.Sleep(until + time.Minute)
		m.RemovePod(pod)
		cancel()
		time.Sleep(time.Minute)
	})
	return events
}

// simulatedProbes is realProbes for the simulated kubelet.
func simulatedProbes(t *testing.T, p v1.Probe, how probing, until time.Duration) (events []string) {
	first := int64(-1)
	note := func(nowNs int64, what string) {
		if first < 0 {
			first = nowNs
		}
		if since := time.Duration(nowNs - first); since <= until {
			events = append(events, fmt.Sprintf("%v %s", since, what))
		}
	}
	simulated(t, fmt.Sprintf(`
  duration: 20m
  servers: {probes: {execution: %s, liveness: {period: %ds, timeout: %ds, failureThreshold: %d}}}
  store: {read: 3s}
  workload:
  - {name: none, as: {user: u}, request: {verb: get, path: /version}, execution: 1ms, arrivals: {burst: {requests: 1}}}
`, how.simulated, p.PeriodSeconds, p.TimeoutSeconds, p.FailureThreshold), func(run *sim.Run) server.Observer {
		return server.Observer{
			Arrived: func(nowNs int64, r *server.Request) {
				if run.Scenario.Spec.Workload[r.Workload].Name == workload.ProbesName {
					note(nowNs, "probe")
				}
			},
			Changed: func(nowNs int64, s *server.Server) {
				if s.Stage() == server.Stopping {
					note(nowNs, "kill")
				}
			},
		}
	})
	return events
}

// The worker of the kubelet sends its probes at the same times as the simulated one, and ends the container at the same time:
// also if probes take longer than the period, or time out.
func TestProberLikeUpstream(t *testing.T) {
	for _, c := range []struct {
		period, timeout, threshold int32
		how                        probing
	}{
		{10, 15, 8, probing{2 * time.Second, false, "0s"}}, // the read from etcd, which has no answer in time
		{10, 15, 8, probing{12 * time.Second, false, "10s"}},
		{10, 15, 8, probing{time.Hour, false, "1h"}},
		{10, 15, 3, probing{10 * time.Second, false, "8s"}},
		{3, 15, 5, probing{7 * time.Second, false, "5s"}},
		{1, 1, 3, probing{time.Hour, false, "1h"}},
	} {
		p := v1.Probe{PeriodSeconds: c.period, TimeoutSeconds: c.timeout, FailureThreshold: c.threshold, SuccessThreshold: 1}
		until := 130 * time.Second
		real := realProbes(t, p, c.how, until)
		i := slices.IndexFunc(real, func(e string) bool { return strings.HasSuffix(e, "kill") })
		if i < 0 {
			t.Fatalf("%+v: the kubelet has ended nothing: %q", c, real)
		}
		ours := simulatedProbes(t, p, c.how, until)
		if len(ours) < i+1 || !slices.Equal(real[:i+1], ours[:i+1]) {
			t.Errorf("%+v: the kubelet has %q, the simulation %q", c, real, ours)
		}
	}
}

// A simulated kubelet starts a container again when the back-off of client-go allows it, asked as doBackOff of
// pkg/kubelet/kuberuntime asks it.
func TestRestartBackoffLikeUpstream(t *testing.T) {
	var ends, starts []int64
	simulated(t, `
  duration: 40m
  servers: {flowControl: MaxInFlight, maxRequestsInflight: 1, kubernetesVersion: "1.21", shutdown: {killAfter: 10s}, probes: {liveness: {initialDelay: 15s, timeout: 15s}}}
  workload:
  - {name: hog, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 59s, arrivals: {burst: {at: 100ms, requests: 1, every: 100ms}}}
`, func(*sim.Run) server.Observer {
		return server.Observer{Changed: func(nowNs int64, s *server.Server) {
			switch s.Stage() {
			case server.Off:
				ends = append(ends, nowNs)
			case server.Starting:
				starts = append(starts, nowNs)
			}
		}}
	})
	now := testingclock.NewFakeClock(time.Unix(0, 0))
	backoff := flowcontrol.NewFakeBackOff(10*time.Second, 300*time.Second, now)
	const key = "server"
	waited := 0
	for i, start := range starts {
		want := ends[i]
		if i > 0 { // the kubelet knows the container before
			now.SetTime(time.Unix(0, ends[i]))
			before := time.Unix(0, ends[i-1])
			if backoff.IsInBackOffSince(key, before) {
				waited++
				before = time.Unix(0, ends[i])
				want = ends[i] + int64(backoff.Get(key))
				now.SetTime(time.Unix(0, want-1))
				if !backoff.IsInBackOffSince(key, before) {
					t.Errorf("restart %d: client-go allows it before %v", i, time.Duration(want))
				}
				now.SetTime(time.Unix(0, want))
				if backoff.IsInBackOffSince(key, before) {
					t.Errorf("restart %d: client-go does not allow it at %v", i, time.Duration(want))
				}
			}
			backoff.Next(key, before)
		}
		if start != want {
			t.Errorf("restart %d: at %v, want %v", i, time.Duration(start), time.Duration(want))
		}
	}
	if len(starts) < 10 || waited < 3 {
		t.Errorf("%d restarts, %d of them after a wait", len(starts), waited)
	}
}

// leaseServer answers the requests of a lease controller, and no renewals while it is silent.
type leaseServer struct {
	silent func() bool
	put    func()
}

func (s *leaseServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut {
		s.put()
		if s.silent() {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
	}
	const body = `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"n","namespace":"kube-node-lease","resourceVersion":"7"},"spec":{}}`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// leaseEvents returns when the lease controller of component-helpers tries to renew a lease, and when it closes connections,
// from the first try that has no answer on.
func leaseEvents(t *testing.T) (events []string) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		var first time.Time
		silent := false
		note := func(what string) {
			if !silent {
				return
			}
			if first.IsZero() {
				first = time.Now()
			}
			if since := time.Since(first); since < 50*time.Second {
				events = append(events, fmt.Sprintf("%v %s", since.Round(time.Millisecond), what))
			}
		}
		client, err := kubernetes.NewForConfig(&restclient.Config{Host: "http://server", Timeout: 10 * time.Second, QPS: -1,
			ContentConfig: restclient.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"},
			Transport:     &leaseServer{silent: func() bool { return silent }, put: func() { note("put") }}})
		if err != nil {
			t.Fatal(err)
		}
		c := lease.NewController(clock.RealClock{}, client, "n", 40, func() { note("close") }, 10*time.Second, "n", "kube-node-lease", nil)
		go c.Run(ctx)
		time.Sleep(25 * time.Second)
		silent = true
		time.Sleep(2 * time.Minute)
		cancel()
		time.Sleep(time.Minute)
	})
	return events
}

// The lease controller closes the connections as often and at the same times as that of a simulated kubelet: each time that
// a try fails that was not the first.
func TestLeaseClosesLikeUpstream(t *testing.T) {
	real := leaseEvents(t)
	var ours []string
	silent, first := false, int64(-1)
	note := func(nowNs int64, what string) {
		if first < 0 {
			first = nowNs
		}
		if since := time.Duration(nowNs - first); since < 50*time.Second {
			ours = append(ours, fmt.Sprintf("%v %s", since, what))
		}
	}
	var c *workloadtest.Client
	c = workloadtest.New(func(nowNs int64, r *workload.APIRequest) {
		if r.Resource == "leases" && r.Verb == "update" && silent {
			note(nowNs, "put")
			c.Answer(nowNs+r.TimeoutNs, r.Token, &api.Answer{Failure: api.ClientTimedOut, Items: -1})
			return
		}
		if r.Verb != "watch" {
			c.Answer(nowNs, r.Token, &api.Answer{Status: 200, Version: 7, Items: 0})
		}
	})
	c.NodeName = "n"
	c.Closed = func(nowNs int64, idle bool) { note(nowNs, "close") }
	k := (&workload.Kubelet{Closes: workload.CloseAll, Start: "List", NotReady: 50e9}).Machine(c)
	c.Run(k, 35e9)
	silent = true
	c.Run(k, 150e9)
	if len(real) < 8 || !slices.Equal(real, ours) {
		t.Errorf("the lease controller has %q, the simulation %q", real, ours)
	}
}
