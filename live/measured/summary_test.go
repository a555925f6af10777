package measured

import (
	"errors"
	"strings"
	"testing"
	"time"

	"apfsim/core/classify"
	"apfsim/live/cluster"
	"apfsim/live/load"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

const ms = time.Millisecond

// sent is a request of user u that was sent and answered at these times.
func sent(at, latency time.Duration, status int) *load.Sent {
	s := &load.Sent{Template: &server.Template{Attributes: classify.Attributes{User: "u", Namespace: "n"}}, Planned: at, At: at, Attempt: 1}
	s.Answered, s.Status, s.Latency = true, status, latency
	s.Rejected = status == 429
	s.SchemaUID, s.LevelUID = "1", "2"
	return s
}

// A run of 10 s with a warm-up of 1 s: of the first request, which is of the warm-up, nothing is counted. Of those after
// it, two are executed and one is rejected. One is answered only after the end, one has no answer and one an error of the
// connection: they are unanswered.
func TestSummarize(t *testing.T) {
	sc := &scenario.Scenario{}
	sc.Metadata.Name = "story"
	sc.Spec.Duration, sc.Spec.Warmup.Duration = quantity.Duration(10*time.Second), quantity.Duration(time.Second)
	sc.Spec.Servers.FlowControl = server.PriorityAndFairness
	sc.Spec.Workload = []workload.Workload{{Name: "w", Clients: 1}}
	silent, broken, retry := sent(9*time.Second, 0, 0), sent(9500*ms, ms, 0), sent(5*time.Second, 30*ms, 200)
	silent.Answered, broken.Err, retry.Attempt = false, errors.New("connection reset"), 2
	r := &load.Result{Length: 10 * time.Second, Requests: []*load.Sent{
		sent(500*ms, 3*time.Second, 200), sent(2*time.Second, 10*ms, 404), sent(4*time.Second, 5*ms, 429), retry,
		silent, broken, sent(9900*ms, 200*ms, 200),
	}}
	names := &cluster.FlowControl{Schemas: map[string]cluster.Schema{"1": {Name: "s", Distinguisher: "ByNamespace"}}, Levels: map[string]string{"2": "l"}}
	s := Summarize(sc, r, names, Warnings(r, names))
	want := Group{Name: "w", Arrived: 6, Executed: 2, Rejected: 1, Unanswered: 3, Retries: 1}
	got := s.Workloads[0]
	if got.Latency == nil || got.Latency.MinNs != int64(10*ms) || got.Latency.MaxNs != int64(30*ms) || got.RejectedWait == nil || got.RejectedWait.MaxNs != int64(5*ms) {
		t.Errorf("latency %+v, of rejected requests %+v; want 10 ms to 30 ms, and 5 ms", got.Latency, got.RejectedWait)
	}
	if got.Latency, got.RejectedWait = nil, nil; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if len(s.Flows) != 1 || s.Flows[0].Name != "s/n" || s.Flows[0].PriorityLevel != "l" || s.Flows[0].Arrived != 6 {
		t.Errorf("the flows are %+v, want s/n with 6 requests", s.Flows)
	}
	warnings := strings.Join(s.Warnings, "\n")
	for _, text := range []string{"2 requests without an answer", "1 answer with an error other than a rejection"} {
		if !strings.Contains(warnings, text) {
			t.Errorf("no warning %q in %q", text, warnings)
		}
	}
}

// A run that was stopped is as long as it was, also within the warm-up.
func TestStoppedRun(t *testing.T) {
	sc := &scenario.Scenario{}
	sc.Spec.Duration, sc.Spec.Warmup.Duration = quantity.Duration(time.Hour), quantity.Duration(time.Minute)
	sc.Spec.Workload = []workload.Workload{{Name: "w", Clients: 1}}
	r := &load.Result{Length: 20 * time.Second, Stopped: load.ErrInterrupted, Requests: []*load.Sent{sent(time.Second, ms, 200)}}
	s := Summarize(sc, r, nil, Warnings(r, nil))
	if s.DurationNs != int64(20*time.Second) || s.WarmupNs != s.DurationNs || s.Total.Arrived != 0 {
		t.Errorf("%d ns, warm-up %d ns, %d requests; want 20 s without a window", s.DurationNs, s.WarmupNs, s.Total.Arrived)
	}
	if text := strings.Join(s.Warnings, "\n"); !strings.Contains(text, "stopped after 20 s: interrupted") || !strings.Contains(text, "FlowSchema and the priority level of 1 answered request") {
		t.Errorf("warnings: %q", text)
	}
}
