package fit_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"apfsim/experiment/fit"
	"apfsim/sim/workload"
)

// asLogged returns a request log as the import of the logs of a real server would have it: without what only a
// simulated server knows, with times in microseconds, with arrivals that are late by what a network needs, and with
// waits that are longer by what a server does before and after it executes a request. Requests of the level exempt
// have the same error. A retry is late by its own delays, as it is sent after the client has seen the rejection.
func asLogged(t *testing.T, log string) string {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 12))
	type line struct {
		ns   int64
		text string
	}
	var lines []line
	add := func(fields map[string]any, ns int64) {
		for _, simulated := range []string{"workload", "client", "flow", "queue", "attempt", "retryAfterSeconds", "dispatchNs", "finishNs", "id"} {
			delete(fields, simulated)
		}
		fields["arrivalNs"] = ns
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line{ns, string(text)})
	}
	micros := func(ns float64) int64 { return int64(ns) / 1000 * 1000 }
	waitError := func() float64 { return 3e5 * math.Exp(0.8*r.NormFloat64()) }
	for text := range strings.Lines(log) {
		decoder := json.NewDecoder(strings.NewReader(text))
		fields := map[string]any{}
		if err := decoder.Decode(&fields); err != nil {
			t.Fatal(err)
		}
		if wait, ok := fields["waitNs"].(float64); ok {
			fields["waitNs"] = micros(wait + waitError())
		}
		fields["executionNs"] = micros(fields["executionNs"].(float64))
		add(fields, micros(fields["arrivalNs"].(float64)+2e4+1e5*r.ExpFloat64()))
	}
	last := lines[len(lines)-1].ns
	for at := int64(0); at < last; at += 200e6 { // a client whose requests never wait
		add(map[string]any{"user": "administrator", "groups": []string{"system:masters"}, "verb": "get", "path": "/readyz", "flowSchema": "exempt",
			"priorityLevel": "exempt", "outcome": "executed", "executionNs": 1e6, "waitNs": micros(waitError()), "seats": 1}, at)
	}
	slices.SortStableFunc(lines, func(a, b line) int { return int(a.ns - b.ns) })
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintln(&b, l.text)
	}
	return b.String()
}

// The stories of live servers: what their logs say must give the parameters of the clients, and the fitted scenario
// must predict the logged statistics.
var logged = []struct {
	name      string
	workloads string
	check     func(*testing.T, []workload.Workload, *fit.Report)
}{
	{"an overload without retries",
		`  workload:
  - name: hasty
    clients: 8
    as: {user: "hasty-{i}"}
    request: {verb: create, resource: configmaps, namespace: live, query: dryRun=All&timeout=4s}
    execution: {lognormal: {mean: 150ms, p99: 450ms}}
    arrivals: {poisson: {rate: 12/s}}
`,
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			if r.Workloads[0].Rejected < 500 {
				t.Errorf("only %d rejected", r.Workloads[0].Rejected)
			}
			if r.Retries != 0 || w[0].Retry.MaxRetries != 0 {
				t.Errorf("%d retries; want none", r.Retries)
			}
			if p := w[0].Arrivals.Poisson; p == nil {
				t.Errorf("arrivals: %s", r.Workloads[0].Arrivals)
			} else {
				near(t, "rate", float64(p.Rate), 12, 3/math.Sqrt(8*12*60))
			}
		}},
	{"an overload with retries",
		`  workload:
  - name: hasty
    clients: 8
    as: {user: "hasty-{i}"}
    request: {verb: create, resource: configmaps, namespace: live, query: dryRun=All&timeout=4s}
    execution: {lognormal: {mean: 150ms, p99: 450ms}}
    arrivals: {poisson: {rate: 6/s}}
    retry: ClientGo
`,
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			if r.Retries < 400 || w[0].Retry.MaxRetries == 0 {
				t.Errorf("%d retries", r.Retries)
			}
			if p := w[0].Arrivals.Poisson; p == nil {
				t.Errorf("arrivals: %s", r.Workloads[0].Arrivals)
			} else { // of first attempts
				near(t, "rate", float64(p.Rate), 6, 0.02+3/math.Sqrt(8*6*60))
			}
		}},
	{"requests pile up in the queues from 20 s on, as with a closed loop of many users",
		`  workload:
  - name: late
    start: 20s
    stop: 55s
    as: {user: late}
    request: {verb: create, resource: configmaps, namespace: live, query: dryRun=All}
    execution: {lognormal: {mean: 1200ms, sigma: 0.32}}
    arrivals: {poisson: {rate: 12/s}}
`,
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			if p := w[0].Arrivals.Poisson; p == nil {
				t.Errorf("arrivals: %s", r.Workloads[0].Arrivals)
			} else {
				near(t, "rate", float64(p.Rate), 12, 3/math.Sqrt(12*35))
			}
		}},
	{"an elephant comes and goes, mice are always there",
		`  workload:
  - name: elephant
    as: {user: elephant}
    request: {verb: create, resource: configmaps, namespace: live, query: dryRun=All}
    execution: {lognormal: {mean: 240ms, p99: 700ms}}
    arrivals: {ramping: {startRate: 8/s, stages: [{duration: 20s, rate: 8/s}, {duration: 0s, rate: 45/s}, {duration: 20s, rate: 45/s}, {duration: 0s, rate: 8/s}]}}
  - name: mice
    clients: 20
    as: {user: "mouse-{i}"}
    request: {verb: create, resource: configmaps, namespace: live, query: dryRun=All}
    execution: {lognormal: {mean: 240ms, p99: 700ms}}
    arrivals: {poisson: {rate: 0.4/s}}
`,
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			a := w[0].Arrivals.Ramping
			if a == nil || len(a.Stages) != 5 || w[1].Clients != 20 || w[1].Arrivals.Poisson == nil {
				t.Fatalf("%+v", r.Workloads)
			}
			near(t, "rate at first", float64(a.Stages[0].Rate), 8, 3/math.Sqrt(160))
			near(t, "highest rate", float64(a.Stages[2].Rate), 45, 3/math.Sqrt(900))
			near(t, "its begin", float64(a.Stages[0].Duration), 20e9, 0.03)
		}},
	{"a controller has 30 writes of two kinds in flight, and pauses for 10 ms after each",
		`  workload:
  - name: controller
    as: {serviceAccount: doom/controller}
    requests:
    - {weight: 2, verb: create, resource: pods, namespace: doom, execution: {exponential: {mean: 200ms}}}
    - {weight: 1, verb: delete, resource: pods, namespace: doom, name: pod, execution: {exponential: {mean: 50ms}}}
    execution: 0s
    arrivals: {closed: {concurrency: 30, think: 10ms}}
  - name: tenants
    clients: 10
    as: {serviceAccount: "tenant-{i}/app"}
    requests:
    - {weight: 4, verb: get, resource: configmaps, namespace: "tenant-{i}", name: settings}
    - {weight: 1, verb: patch, resource: pods, subresource: status, namespace: "tenant-{i}", name: pod}
    execution: {exponential: {mean: 5ms}}
    arrivals: {poisson: {rate: 2/s}}
`,
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			c := w[0].Arrivals.Closed
			if len(w) != 4 || c == nil || len(w[0].Requests) != 2 || w[0].Name != "doom-controller" {
				t.Fatalf("%+v", r.Workloads)
			}
			if c.Concurrency != 30 {
				t.Errorf("concurrency %d", c.Concurrency)
			}
			near(t, "think time", c.Think.MeanNs(), 10e6, 0.1)
			q := w[0].Requests
			n := q[0].Weight + q[1].Weight
			near(t, "creates", q[0].Weight/n, 2./3, 3/math.Sqrt(n))
			near(t, "execution of creates", q[0].Execution.MeanNs(), 200e6, 3/math.Sqrt(q[0].Weight))
			near(t, "execution of deletes", q[1].Execution.MeanNs(), 50e6, 3/math.Sqrt(q[1].Weight))
			for _, independent := range w[1:] {
				if len(independent.Requests) != 1 {
					t.Errorf("%s has %d kinds of requests, which are independent", independent.Name, len(independent.Requests))
				}
			}
		}},
	{"operators do one thing at a time: they get, update and list",
		`  workload:
  - name: operators
    clients: 5
    as: {serviceAccount: "tenant-{i}/operator"}
    requests:
    - {weight: 6, verb: get, resource: configmaps, namespace: "tenant-{i}", name: settings, execution: {exponential: {mean: 20ms}}}
    - {weight: 3, verb: update, resource: configmaps, namespace: "tenant-{i}", name: settings, execution: {exponential: {mean: 90ms}}}
    - {weight: 1, verb: list, resource: pods, namespace: "tenant-{i}", execution: {exponential: {mean: 400ms}}}
    execution: 0s
    arrivals: {closed: {think: {exponential: {mean: 150ms}}}}
`,
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			c := w[0].Arrivals.Closed
			if c == nil || c.Concurrency != 1 || w[0].Clients != 5 || len(w[0].Requests) != 3 {
				t.Fatalf("%+v", r.Workloads)
			}
			near(t, "think time", c.Think.MeanNs(), 150e6, 0.1)
		}},
}

func TestLogsOfServers(t *testing.T) {
	for _, s := range logged {
		t.Run(s.name, func(t *testing.T) {
			log := recordRun(t, s.workloads)
			f := fitTo(t, asLogged(t, log))
			if first := strings.Count(log, `"attempt":1,`); first > 0 {
				near(t, "retries", float64(f.Report.Retries), float64(strings.Count(log, "\n")-first), 0.15)
			}
			sc := load(t, string(f.Scenario))
			s.check(t, sc.Spec.Workload, f.Report)
			if t.Failed() {
				t.Logf("%s", f.Scenario)
			}
			predicts(t, f, sc)
		})
	}
}
