package reports_test

import (
	"fmt"
	"strings"
	"testing"

	"apfsim/reports/judge"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// failing is a scenario of one client, on a server of the given fields.
func failing(seconds int, servers, workload string) string {
	return fmt.Sprintf(`
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: failing}
spec:
  duration: %ds
  servers: {%s}
  workload:
  - {name: w, as: {user: u}, %s}
`, seconds, servers, workload)
}

// What is not served has no check mark, and its finding says how many requests that were, and why.
func TestWhatIsNotServedIsNotGood(t *testing.T) {
	for _, c := range []struct {
		what, scenario string
		want           result.NotServed
		judgement      judge.Judgement
		text           string
	}{
		{"while its server is away, clients are refused",
			strings.Replace(failing(60, "", "request: {verb: get, resource: pods, name: x}, execution: 1ms, connection: PerRequest, arrivals: {constant: {rate: 10/s}}"),
				"  workload:", "  events: [{at: 20s, crash: {server: 0}}, {at: 30s, start: {server: 0}}]\n  workload:", 1),
			result.NotServed{Refused: 100}, judge.Bad, "not served otherwise: refused 100"},
		{"a list of 70 s is answered 504, and goes on",
			failing(300, "", "request: {verb: list, resource: pods}, execution: 70s, arrivals: {constant: {rate: 0.1/s}}, stop: 100s"),
			result.NotServed{Failures: metric.Failures{Deadline: 10}}, judge.Bad, "10 of 10 (100 %) not served otherwise: deadline 10"},
		{"a patch is cut off after 34 s",
			failing(300, "", "request: {verb: patch, resource: pods, name: x}, execution: 40s, arrivals: {constant: {rate: 0.1/s}}, stop: 100s"),
			result.NotServed{Failures: metric.Failures{Deadline: 10}}, judge.Bad, "deadline 10"},
		{"the client gives up",
			failing(100, "", "request: {verb: get, resource: pods, name: x}, execution: 5s, clientTimeout: 1s, arrivals: {constant: {rate: 1/s}}, stop: 50s"),
			result.NotServed{Failures: metric.Failures{Deadline: 50}}, judge.Bad, "deadline 50"},
		{"a webhook fails",
			failing(60, "", "request: {verb: create, resource: pods, calls: [{name: hook, kind: ValidatingWebhook, latency: 20s, timeout: 10s, failurePolicy: Fail}]}, execution: 1ms, arrivals: {constant: {rate: 1/s}}, stop: 30s"),
			result.NotServed{Failures: metric.Failures{Error: 30}}, judge.Bad, "error 30"},
		{"long executions when the run ends",
			failing(60, "", "requests: [{verb: get, resource: pods, name: x, weight: 1000, execution: 10ms}, {verb: list, resource: pods, weight: 1, execution: 50s}], arrivals: {constant: {rate: 50/s}}, stop: 30s"),
			result.NotServed{}, judge.Good, ""},
		{"a machine that stands still until the end",
			failing(60, "capacity: {cores: 4, speed: [{at: 50s, factor: 0.0001}]}", "request: {verb: get, resource: pods, name: x}, execution: 10ms, arrivals: {constant: {rate: 1/s}}"),
			result.NotServed{Failures: metric.Failures{Unfinished: 5}}, judge.Bad, "unfinished 5"},
		{"a queue in which requests wait when the run ends",
			failing(60, "maxRequestsInflight: 20, maxMutatingRequestsInflight: 10", "request: {verb: get, resource: pods, name: x}, execution: 60s, arrivals: {burst: {at: 58900ms, requests: 40}}"),
			result.NotServed{Failures: metric.Failures{Unfinished: 38}}, judge.Bad, "unfinished 38"},
		{"all is well",
			failing(60, "", "request: {verb: create, resource: pods}, execution: 10ms, arrivals: {constant: {rate: 50/s}}"),
			result.NotServed{}, judge.Good, ""},
	} {
		r, _ := runServers(t, c.scenario)
		g := &r.Summary.Workloads[0]
		var got result.NotServed
		if g.NotServed != nil {
			got = *g.NotServed
		}
		if got != c.want || judge.Group(g) != c.judgement {
			t.Errorf("%s: not served %+v, judged %q; want %+v, %q", c.what, got, judge.Group(g), c.want, c.judgement)
		}
		for _, f := range report.RunDocument(r).Findings {
			if f.Group == "Workloads" && !strings.Contains(f.Text, c.text) {
				t.Errorf("%s: %s; want %q in it", c.what, f.Text, c.text)
			}
		}
	}
}

// A burst a second and a half before the end, of which the server can execute ten requests at a time for a minute, still
// waits: it is not said that it did not.
func TestABurstThatStillWaitsHasWaited(t *testing.T) {
	r, _ := runServers(t, strings.Replace(failing(60, "maxRequestsInflight: 20, maxMutatingRequestsInflight: 10",
		"request: {verb: get, resource: pods, name: x}, execution: 60s, arrivals: {burst: {at: 58500ms, requests: 40}}"), "  workload:", "  warmup: 10s\n  workload:", 1))
	s := r.Summary
	g := &s.Workloads[0]
	if g.Wait == nil || g.Wait.MaxNs != 0 || g.StillQueued == nil || *g.StillQueued != (result.StillQueued{MaxNs: 1.5e9, WaitP99Ns: g.StillQueued.WaitP99Ns}) {
		t.Fatalf("wait %+v, still queued %+v; want waits of 1.5 s that have not ended", g.Wait, g.StillQueued)
	}
	if d := float64(g.StillQueued.WaitP99Ns) / 1.5e9; d < 1 || d > 1.001 {
		t.Errorf("wait p99 %d, want that of those who still wait", g.StillQueued.WaitP99Ns)
	}
	for _, f := range report.RunDocument(&result.Result{Summary: s}).Findings {
		if strings.Contains(f.Text, "no wait") || f.Judgement == judge.Good {
			t.Errorf("%s is %q: %s", f.Subject, f.Judgement, f.Text)
		}
	}
}

// A machine that stands still for 50 s makes ten clients of a closed loop wait for their answers once each: of 20 000 requests
// ten are slow, and none of them has waited in a queue. Neither the workload nor its level has a check mark.
func TestAFreezeOfAClosedLoopIsNotGood(t *testing.T) {
	r, _ := runServers(t, strings.Replace(failing(120, "capacity: {cores: 4, speed: [{at: 30s, factor: 0.0001}, {at: 80s, factor: 1}]}",
		"clients: 10, request: {verb: get, resource: pods, name: x}, execution: 10ms, arrivals: {closed: {concurrency: 1, think: 10ms}}"), "user: u", `user: "u-{i}"`, 1))
	s := r.Summary
	if g := &s.Workloads[0]; g.Latency.P99Ns > 1e9 || g.Wait.MaxNs > 0 || judge.Group(g) != judge.Bad {
		t.Errorf("latency %+v, wait %+v, judged %q; want a bad one without slow percentiles", g.Latency, g.Wait, judge.Group(g))
	}
	for _, l := range s.PriorityLevels {
		if l.Arrived > 0 && judge.Group(&l.Group) != judge.Bad {
			t.Errorf("the level %s is judged %q: %+v", l.Name, judge.Group(&l.Group), l.Freeze)
		}
	}
	z := s.Workloads[0].Freeze
	if z.Count != 1 || z.MaxNs < 49e9 || z.MaxNs > 50e9 || z.FromNs < 30e9 || z.FromNs > 31e9 {
		t.Errorf("the freeze is %+v", z)
	}
	found := 0
	for _, f := range report.StallFindings(s) {
		if strings.HasPrefix(f.Text, "no request was served for 49.") && strings.HasSuffix(f.Text, "while requests were late") && f.Judgement == judge.Bad {
			found++
		}
	}
	if found != 2 {
		t.Errorf("%+v; want one of the workload and one of the level", report.StallFindings(s))
	}
}

// Executions that always take long are no freeze, and neither are long ones beside short ones.
func TestLongExecutionsAreNoFreeze(t *testing.T) {
	for _, request := range []string{
		"request: {verb: list, resource: pods}, execution: {constant: 20s}, arrivals: {closed: {concurrency: 1, think: 10ms}}",
		"request: {verb: get, resource: pods, name: x}, execution: {lognormal: {mean: 100ms, sigma: 2}}, arrivals: {closed: {concurrency: 1}}",
		"requests: [{verb: get, resource: pods, name: x, weight: 100, execution: 10ms}, {verb: list, resource: pods, weight: 1, execution: 20s}], arrivals: {closed: {concurrency: 1}}",
		"requests: [{verb: get, resource: pods, name: x, weight: 1, execution: 10ms}, {verb: create, resource: pods, subresource: exec, name: x, weight: 1, execution: 50s}], arrivals: {burst: {requests: 100, every: 60s}}",
	} {
		r, _ := runServers(t, failing(1000, "capacity: {cores: 4}", request))
		if z := r.Summary.Workloads[0].Freeze; z == nil || z.Count > 0 {
			t.Errorf("%s: a freeze: %+v", request, z)
		}
	}
}
