package trial

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"apfsim/experiment/fit/sharing"
	"apfsim/lab/live/outcome"
	"apfsim/live/calibrate"
	"apfsim/sim/trace/serverlog"

	"github.com/google/go-cmp/cmp"
)

// A renewal belongs to the load during which it arrives. The time between two renewals is that between their ends, and begins
// with the last one before the load.
func TestHeartbeatFigures(t *testing.T) {
	sc, err := outcome.Load("../cases/node-heartbeats.yaml")
	if err != nil {
		t.Fatal(err)
	}
	renewal := func(user string, atMs, tookMs int64, verb string, status int) (o outcome.Outcome) {
		o.Workload, o.User, o.Resource, o.Verb, o.Status, o.WaitNs = "nodes", user, "leases", verb, status, 2*ms
		o.ArrivalNs = atMs * ms
		o.FinishNs = o.ArrivalNs + tookMs*ms
		return o
	}
	values := map[string]float64{}
	for _, f := range heartbeatFigures(sc, []outcome.Outcome{
		renewal("a", 4000, 10, "update", 200), renewal("a", 14100, 20, "update", 200), renewal("a", 14000, 5, "get", 200), renewal("b", 15000, 30, "update", 200),
		renewal("b", 16000, 2500, "update", 429), renewal("b", 17000, 10000, "update", 0), renewal("a", 29500, 40, "update", 200),
	}) {
		values[f.Part+": "+f.Name] = f.Value
	}
	for name, want := range map[string]float64{
		"0.25: nodes: requests": 4, "0.25: nodes: status 200": 0.5, "0.25: nodes: status 429": 0.25, "0.25: nodes: another status, or no answer": 0.25,
		"0.25: nodes: latency p90": 30e6, "0.25: nodes: wait mean": 2e6, "0.25: nodes: time between two renewals p100": 10.11e9,
		"0.75: nodes: requests": 1, "0.75: nodes: time between two renewals p100": 15.42e9, "0.25: lists: requests": 0,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// Requests of a node have the times of the log and the status that the node has seen. One that is sent too late is not sent.
func TestLiveNode(t *testing.T) {
	answers := []int{200, 0}
	n := &liveNode{name: "node-1", workload: "nodes", prefix: "x-", user: "system:node:node-1", next: transport(func(r *http.Request) (*http.Response, error) {
		status := answers[0]
		if answers = answers[1:]; status == 0 {
			return nil, errors.New("no answer")
		}
		return &http.Response{StatusCode: status}, nil
	})}
	request := httptest.NewRequest(http.MethodPut, "/", nil)
	n.RoundTrip(request)
	n.RoundTrip(request)
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.RoundTrip(request.WithContext(late)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	start := n.sent[0].at.Add(-time.Second)
	var e serverlog.Entry
	e.Reset()
	e.ArrivalNs, e.TotalNs, e.ExecutionNs, e.Status = start.UnixNano()+1001*ms, 8*ms, 3*ms, 200
	type line struct {
		verb, outcome string
		status        int
		arrivalMs     int64
	}
	var got []line
	for _, o := range n.outcomes(map[string]serverlog.Entry{"x-node-1-0": e}, start) {
		got = append(got, line{o.Verb, o.Outcome, o.Status, o.ArrivalNs / ms})
	}
	want := []line{{"update", outcome.Executed, 200, 1001}, {"update", outcome.Refused, 0, n.sent[1].at.Sub(start).Milliseconds()}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(line{})); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// The executions of lists are scaled to the mean that closed loops have measured, and the scenario takes all that is fitted.
func TestHeartbeatFit(t *testing.T) {
	sc, err := outcome.Load("../cases/node-heartbeats.yaml")
	if err != nil {
		t.Fatal(err)
	}
	executed := func(workload, verb string, executionMs int64) (o outcome.Outcome) {
		o.Workload, o.Verb, o.Outcome, o.ArrivalNs, o.ExecutionNs = workload, verb, outcome.Executed, int64(15*time.Second), executionMs*ms
		return o
	}
	fit := fitHeartbeats(sc, []outcome.Outcome{executed("lists", "list", 30), executed("lists", "list", 10), executed("nodes", "update", 3)},
		&calibrate.Capacity{Law: sharing.Law{Cores: 1.5, Contention: 0.1}, Demand: 10 * time.Millisecond})
	want := []string{"spec.servers.capacity={contention: 0.1, coherency: 0, cores: 1.5}", "spec.store.write={empirical: {values: [2.75ms]}}",
		"spec.workload[0].execution={empirical: {values: [5ms, 15ms]}}"}
	got := fit.assignments(1)
	if d := cmp.Diff(want, got[:3]); d != "" || len(got) != 5 {
		t.Errorf("%d assignments, want (-), got (+):\n%s", len(got), d)
	}
	if _, err := outcome.Load("../cases/node-heartbeats.yaml", got...); err != nil {
		t.Error(err)
	}
	fit.capacity.Law.Cores = math.Inf(1)
	if got := fit.assignments(1)[0]; strings.Contains(got, "cores") {
		t.Errorf("%s; want no bound", got)
	}
}
