package reports_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/document"
	"apfsim/experiment/output"
	"apfsim/reports/collect"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/record"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// threeServers is a rolling restart of three servers, and then a crash of one. The load balancer notices
// late, so that clients are refused.
const threeServers = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: three}
spec:
  duration: 150s
  warmup: 5s
  servers:
    replicas: 3
    maxRequestsInflight: 20
    maxMutatingRequestsInflight: 10
    loadBalancer: {policy: RoundRobin, probe: {interval: 2s}}
    shutdown: {delay: 1s}
    startup: {duration: 3s}
  events:
  - {at: 20s, rollout: {interval: 20s}}
  - {at: 120s, crash: {server: 0}}
  workload:
  - name: controllers
    clients: 24
    as: {serviceAccount: "team-{i}/controller"}
    request: {verb: list, resource: pods, namespace: "team-{i}"}
    execution: {exponential: {mean: 50ms}}
    arrivals: {poisson: {rate: 4/s}}
    retry: ClientGo
  - name: agents
    clients: 10
    as: {user: "agent-{i}"}
    request: {verb: get, resource: pods, namespace: default, name: "p-{i}"}
    execution: 20ms
    connection: PerRequest
    arrivals: {closed: {concurrency: 1, think: 100ms}}
`

// runServers runs a scenario with its request log.
func runServers(t interface {
	Helper()
	Fatal(...any)
}, scenarioText string, also ...func(*sim.Run)) (*result.Result, []byte) {
	t.Helper()
	scenarios, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(scenarioText)}}, "s.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	run := sim.New(scenarios[0])
	measurement := collect.Measure(run, result.Interval(int64(scenarios[0].Spec.Duration)))
	var lines bytes.Buffer
	log := record.NewRequestLog(&lines, scenarios[0])
	run.Observe(log.Observer())
	for _, attach := range also {
		attach(run)
	}
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return judged(measurement.Result()), lines.Bytes()
}

// addsUp checks that every request of a group has one outcome.
func addsUp(c *metric.Counts) error {
	if sum := c.Executed + c.Rejected + c.Refused + c.Lost + c.Waiting + c.Executing; sum != c.Arrived {
		return fmt.Errorf("%d arrived, and %d have an outcome: %+v", c.Arrived, sum, *c)
	}
	if sum := c.QueueFull + c.ConcurrencyLimit + c.TimedOut; sum != c.Rejected {
		return fmt.Errorf("%d rejected, %d by reason", c.Rejected, sum)
	}
	if sum := c.ConnectionRefused + c.ConnectionReset + c.ShuttingDown + c.NotReady; sum != c.Refused {
		return fmt.Errorf("%d refused, %d by reason", c.Refused, sum)
	}
	if least := min(c.Waiting, c.Executing, c.Lost-c.LostExecuted); least < 0 {
		return fmt.Errorf("a count is negative: %+v", *c)
	}
	return nil
}

// sumOf adds the counts of groups.
func sumOf(all []result.Group) (sum metric.Counts) {
	for _, g := range all {
		sum.Arrived, sum.Executed, sum.Rejected = sum.Arrived+g.Arrived, sum.Executed+g.Executed, sum.Rejected+g.Rejected
		sum.QueueFull, sum.ConcurrencyLimit, sum.TimedOut = sum.QueueFull+g.QueueFull, sum.ConcurrencyLimit+g.ConcurrencyLimit, sum.TimedOut+g.TimedOut
		sum.Retries, sum.Waiting, sum.Executing = sum.Retries+g.Retries, sum.Waiting+g.Waiting, sum.Executing+g.Executing
		sum.Refused, sum.ConnectionRefused, sum.ConnectionReset = sum.Refused+g.Refused, sum.ConnectionRefused+g.ConnectionRefused, sum.ConnectionReset+g.ConnectionReset
		sum.ShuttingDown, sum.NotReady = sum.ShuttingDown+g.ShuttingDown, sum.NotReady+g.NotReady
		sum.Lost, sum.LostExecuted = sum.Lost+g.Lost, sum.LostExecuted+g.LostExecuted
	}
	return sum
}

// Whatever happens to servers, every request that arrived has one outcome, in each division of them, and
// the request log has a line for each.
func TestNoRequestIsMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		servers := rapid.IntRange(1, 4).Draw(t, "servers")
		var events []string
		at := 0
		for range rapid.IntRange(0, 4).Draw(t, "events") {
			at += rapid.IntRange(1, 6).Draw(t, "after")
			kind := rapid.SampledFrom([]string{"stop", "start", "crash", "lose", "rollout"}).Draw(t, "kind")
			what := fmt.Sprintf("{server: %d}", rapid.IntRange(0, servers-1).Draw(t, "server"))
			if kind == "rollout" {
				what = "{interval: 2s}"
			}
			events = append(events, fmt.Sprintf("  - {at: %ds, %s: %s}\n", at, kind, what))
		}
		events = append([]string{""}, events...)
		list := strings.Join(events, "")
		if list != "" {
			list = "  events:\n" + list
		}
		r, log := runServers(t, fmt.Sprintf(`
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: any}
spec:
  seed: %d
  duration: 30s
  warmup: %ds
  servers:
    replicas: %d
    maxRequestsInflight: 6
    maxMutatingRequestsInflight: 3
    loadBalancer: {policy: %s}
    shutdown: {delay: 1s, sendRetryAfter: %v}
    startup: {duration: 2s, objects: 1s}
%s  workload:
  - {name: lists, clients: 20, as: {serviceAccount: "a-{i}/b"}, request: {verb: list, resource: pods, namespace: "a-{i}"}, execution: {exponential: {mean: 300ms}}, arrivals: {poisson: {rate: 2/s}}, retry: ClientGo}
  - {name: watches, clients: 4, as: {user: "w-{i}"}, request: {verb: watch, resource: pods, watch: {duration: 5s}}, execution: 10ms, arrivals: {closed: {concurrency: 2, think: 100ms}}}
  - {name: writes, clients: 4, as: {user: "x-{i}"}, request: {verb: create, resource: pods, namespace: default}, execution: 50ms, connection: PerRequest, arrivals: {poisson: {rate: 5/s}}}
`, rapid.Uint64Range(1, 100).Draw(t, "seed"), rapid.IntRange(0, 10).Draw(t, "warmup"), servers,
			rapid.SampledFrom([]string{"Random", "RoundRobin", "LeastConnections"}).Draw(t, "policy"), rapid.Bool().Draw(t, "retryAfter"), list))
		s := r.Summary
		parts := map[string][]result.Group{"total": {s.Total}, "workloads": s.Workloads, "flowSchemas": s.FlowSchemas}
		for _, l := range s.PriorityLevels {
			parts["levels"] = append(parts["levels"], l.Group)
		}
		for _, f := range s.Flows {
			parts["flows"] = append(parts["flows"], f.Group)
		}
		for _, v := range s.Servers {
			parts["servers"] = append(parts["servers"], v.Group)
		}
		for name, groups := range parts {
			for i := range groups {
				if err := addsUp(&groups[i].Counts); err != nil {
					t.Fatalf("%s %q: %v", name, groups[i].Name, err)
				}
			}
		}
		all := sumOf(parts["total"])
		for _, name := range []string{"workloads", "servers"} {
			if diff := cmp.Diff(all, sumOf(parts[name])); diff != "" {
				t.Fatalf("%s: %s", name, diff)
			}
		}
		controlled := all // what has reached flow control
		controlled.Arrived -= all.Refused
		controlled.Refused, controlled.ConnectionRefused, controlled.ConnectionReset, controlled.ShuttingDown, controlled.NotReady = 0, 0, 0, 0, 0
		for _, name := range []string{"levels", "flowSchemas", "flows"} {
			sum := sumOf(parts[name])
			sum.Retries = controlled.Retries // those of refused requests are in no level
			if diff := cmp.Diff(controlled, sum); diff != "" {
				t.Fatalf("%s: %s", name, diff)
			}
		}
		answers := int64(0)
		for _, a := range s.Total.Responses {
			answers += a.Count
		}
		if answers > all.Arrived {
			t.Fatalf("%d answers to %d requests", answers, all.Arrived)
		}

		logged := metric.Counts{}
		for line := range bytes.Lines(log) {
			var e struct {
				ArrivalNs       int64
				Outcome, Reason string
				Server, Status  *int
			}
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			if e.Server == nil || e.Status == nil || *e.Server >= servers {
				t.Fatalf("want a server and a status in %s", line)
			}
			if e.ArrivalNs < s.WarmupNs {
				continue
			}
			logged.Arrived++
			switch e.Outcome {
			case "executed":
				logged.Executed++
			case "rejected":
				logged.Rejected++
			case "refused":
				logged.Refused++
			case "lost":
				logged.Lost++
			case "waiting":
				logged.Waiting++
			case "executing":
				logged.Executing++
			}
		}
		want := metric.Counts{Arrived: all.Arrived, Executed: all.Executed, Rejected: all.Rejected, Refused: all.Refused, Lost: all.Lost, Waiting: all.Waiting, Executing: all.Executing}
		if diff := cmp.Diff(want, logged); diff != "" {
			t.Fatalf("the request log: %s", diff)
		}
	})
}

// Seats, limits and waiting requests of a level are the sums of those at its servers, at every time and in
// the statistics.
func TestLevelsAreSumsOverServers(t *testing.T) {
	r, _ := runServers(t, threeServers)
	s := r.Summary
	for _, l := range s.PriorityLevels {
		var service, waiting float64
		current, arrived := 0, int64(0)
		for _, v := range s.Servers {
			for _, level := range v.Levels {
				if level.Name == l.Name {
					service, waiting, current, arrived = service+level.ServiceSeatSeconds, waiting+level.MeanWaiting, current+level.Limits.Current, arrived+level.Arrived
				}
			}
		}
		if math.Abs(service-l.ServiceSeatSeconds) > 1e-6 || current != l.Limits.Current || arrived != l.Arrived {
			t.Errorf("%s: service %v, limit %d, %d arrived at the servers; level %v, %d, %d", l.Name, service, current, arrived, l.ServiceSeatSeconds, l.Limits.Current, l.Arrived)
		}
	}
	for i, series := range r.Series {
		for k := range series.Points {
			p := &series.Points[k]
			var seats, limit, waiting float64
			var arrived int64
			for _, v := range r.ServerSeries {
				for _, l := range v.Levels {
					if l.Level == series.Level {
						seats, limit, waiting, arrived = seats+l.Points[k].SeatsInUse, limit+l.Points[k].CurrentLimit, waiting+l.Points[k].WaitingRequests, arrived+l.Points[k].Arrived
					}
				}
			}
			if math.Abs(seats-p.SeatsInUse) > 1e-6 || math.Abs(limit-p.CurrentLimit) > 1e-6 || math.Abs(waiting-p.WaitingRequests) > 1e-6 || arrived != p.Arrived {
				t.Fatalf("series %d, point %d: seats %v and %v, limit %v and %v", i, k, seats, p.SeatsInUse, limit, p.CurrentLimit)
			}
		}
	}
	var executed int64
	for _, v := range r.ServerSeries {
		for k := range v.Points {
			executed += v.Points[k].Executed
		}
	}
	if executed < s.Total.Executed || executed > s.Total.Executed+1000 { // those of the warm-up besides
		t.Errorf("%d executed in the series, %d in the window", executed, s.Total.Executed)
	}
}

// The timeline has every step of every server, and what the load balancer notices; findings say what
// followed from it.
func TestTimelineOfServers(t *testing.T) {
	r, _ := runServers(t, threeServers)
	s := r.Summary
	var ofServer0 []string
	for i := range s.Timeline {
		if m := &s.Timeline[i]; m.Server == 0 {
			ofServer0 = append(ofServer0, m.What)
		}
	}
	want := []string{result.Stopped, result.NotAccepting, result.Drained, result.NoticedDown, result.Gone, result.Started,
		result.BecameReady, result.NoticedUp, result.Crashed, result.NoticedDown}
	if diff := cmp.Diff(want, ofServer0); diff != "" {
		t.Error(diff)
	}
	if end := s.Servers[0]; end.Stage != "off" || !(end.ReadyShare > 0.5 && end.ReadyShare < 0.8) || *end.Connections != 0 {
		t.Errorf("server 0 at the end: %s, ready %v, %d connections", end.Stage, end.ReadyShare, *end.Connections)
	}
	var texts []string
	for _, f := range report.ServerFindings(s) {
		texts = append(texts, f.Subject+": "+f.Text)
	}
	all := strings.Join(texts, "\n")
	for _, part := range []string{"server 0: refusals began when it no longer accepted requests (t = 21 s) and lasted ", "began when it crashed (t = 2 min)", "of all connections at t = "} {
		if !strings.Contains(all, part) {
			t.Errorf("no finding says %q:\n%s", part, all)
		}
	}
	var page bytes.Buffer
	if err := render.Text(&page, report.RunDocument(&result.Result{Summary: s}), format.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"\nServers\n", "\nTimeline\n", "refused", "lost"} {
		if !strings.Contains(page.String(), part) {
			t.Errorf("no %q in\n%s", part, page.String())
		}
	}
	drawn := map[string]bool{}
	for _, p := range report.ServerPlots(r) {
		drawn[p.Name] = true
		if len(p.Lines) != 3 || len(p.Marks) == 0 {
			t.Errorf("%s: %d lines, %d marks", p.Name, len(p.Lines), len(p.Marks))
		}
	}
	if !drawn["servers-executed"] || !drawn["servers-connections"] || !drawn["servers-failed"] || drawn["servers-memory"] {
		t.Errorf("drawn: %v", drawn)
	}
	var series bytes.Buffer
	if err := render.CSVRecords(&series, report.RunDocument(r).Records[1]); err != nil || bytes.Count(series.Bytes(), []byte("\n")) < 3*len(r.ServerSeries[0].Points) {
		t.Errorf("servers.csv: %v\n%.300s", err, series.String())
	}
}

// The statistics of servers have names, which thresholds use.
func TestStatisticsOfServers(t *testing.T) {
	r, _ := runServers(t, threeServers+`  thresholds:
    "arrived{server:1}": ["count > 0"]
    "executed{workload:agents,server:2}": ["count > 0"]
    "latency{server:1}": ["p(99) < 1s", "p(97.3) < 1s"]
    "refused": ["count > 0"]
    "refused{server:0,reason:connection-refused}": ["count > 0"]
    "refused{reason:not-ready}": ["count == 0"]
    "lost{server:1}": ["count == 0"]
    "responses{status:200}": ["rate > 0.9"]
    "responses{workload:agents,status:none}": ["count > 0"]
    "utilisation{priorityLevel:workload-low,server:0}": ["mean > 0"]
    "ready{server:2}": ["share > 0.8"]
    "rejected{server:2}": [{threshold: "rate < 0.5", over: 10s}]
    "refused{server:0}": [{threshold: "count < 1", over: 5s}]
`)
	s := r.Summary
	all := result.Statistics(s)
	for i, v := range s.Thresholds {
		if v.Value == nil {
			t.Errorf("%s %s has no value: %s", v.Metric, v.Expression, v.Note)
			continue
		}
		if failed := strings.HasSuffix(v.Expression, "over 5s"); v.Passed == failed {
			t.Errorf("%d: %s %s is %v", i, v.Metric, v.Expression, *v.Value)
		}
		if strings.Contains(v.Expression, "over") || strings.Contains(v.Metric, "workload:agents,server") || strings.Contains(v.Expression, "97.3") || strings.Contains(v.Metric, "workload:agents,status") {
			continue
		}
		stat, _, _ := strings.Cut(v.Expression, " ")
		if k, err := result.FindStatistic(all, v.Metric+"."+stat); err != nil || all[k].Value != *v.Value {
			t.Errorf("%s.%s: %v; the threshold has %v", v.Metric, stat, err, *v.Value)
		}
	}
	for _, c := range []struct{ threshold, want string }{
		{`"rejected{server:3}": ["count == 0"]`, `there is no server "3"`},
		{`"refused{reason:queue-full}": ["count == 0"]`, `there is no reason "queue-full"`},
		{`"rejected{reason:not-ready}": ["count == 0"]`, `there is no reason "not-ready"`},
		{`"responses{status:5xx}": ["count == 0"]`, `"5xx" is not a status`},
		{`"refused{priorityLevel:workload-low}": ["count == 0"]`, `refused has no tag priorityLevel`},
		{`"responses{flow:global-default/u}": ["count > 0"]`, `responses has no tag flow`},
		{`"responses": [{threshold: "count < 1", over: 1s}]`, `measured over the whole run alone`},
	} {
		_, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(threeServers + "  thresholds:\n    " + c.threshold + "\n")}}, "s.yaml", loader.Options{})
		var list document.Errors
		if err := mistakes.Err(); !errors.As(err, &list) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.threshold, err, c.want)
		}
	}
}

// Files for other programs tell the servers apart.
func TestFilesOfServers(t *testing.T) {
	var metrics bytes.Buffer
	var om *record.OpenMetrics
	var ds record.Dumps
	var events bytes.Buffer
	out := bufio.NewWriter(&events)
	var trace *record.Perfetto
	runServers(t, threeServers, func(run *sim.Run) {
		om = record.NewOpenMetrics(&metrics, run.Scenario, run.Servers(), output.Epoch, 10*second)
		trace = record.NewPerfetto(out, run.Scenario, run.Servers(), 119*second, 121*second)
		var err error
		if ds, err = record.NewDumps(run.Scenario, run.Servers(), output.Epoch, []int64{10 * second, 130 * second}); err != nil {
			t.Fatal(err)
		}
		for _, o := range []observing{om, trace, ds} {
			run.Observe(o.Observer())
		}
	})
	if err := om.Close(); err != nil {
		t.Fatal(err)
	}
	samples := func(server int, metric string) (n int) {
		for line := range strings.Lines(metrics.String()) {
			if strings.HasPrefix(line, metric+"{") && strings.Contains(line, fmt.Sprintf(`instance="three-%d"`, server)) && strings.Contains(line, `priority_level="workload-low"`) {
				n++
			}
		}
		return n
	}
	// There is a sample every 10 s from 0 s on; server 0 has none after that at 120 s, when it crashes.
	if a, b := samples(0, "apiserver_flowcontrol_current_limit_seats"), samples(1, "apiserver_flowcontrol_current_limit_seats"); a != 13 || b != 16 {
		t.Errorf("%d samples of server 0, %d of server 1", a, b)
	}
	if n := strings.Count(metrics.String(), "# TYPE apiserver_flowcontrol_current_limit_seats "); n != 1 {
		t.Errorf("the type of a metric is there %d times", n)
	}
	var names []string
	files := ds.Files()
	for _, f := range files.Files {
		names = append(names, f.Name)
	}
	if all := strings.Join(names, " "); !strings.Contains(all, "dumps/10s/server-0/dump_queues.csv") || strings.Contains(all, "dumps/2m10s/server-0/") || !strings.Contains(all, "dumps/2m10s/server-2/") {
		t.Errorf("dumps %s", all)
	}
	if err := trace.Close(); err != nil {
		t.Fatal(err)
	}
	out.Flush()
	var decoded struct {
		TraceEvents []struct {
			Name, Ph, Cat string
			Args          map[string]any
		}
	}
	if err := json.Unmarshal(events.Bytes(), &decoded); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, e := range decoded.TraceEvents {
		if e.Name == "process_name" {
			found[fmt.Sprint(e.Args["name"])] = true
		}
		found[e.Cat+" "+e.Name] = true
	}
	for _, want := range []string{"server 0: workload-low", "server 2", "stage off", "stage ready"} {
		if !found[want] {
			t.Errorf("no %q in the events", want)
		}
	}
}

// One server that is always there is not mentioned, and its request log has no server.
func TestOneServerIsNotMentioned(t *testing.T) {
	r, log := runServers(t, `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: one}
spec:
  duration: 2s
  workload:
  - {name: w, as: {user: u}, request: {verb: get, path: /}, execution: 1ms, arrivals: {poisson: {rate: 50/s}}}
`)
	encoded, err := json.Marshal(r.Summary)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{`"servers"`, `"timeline"`, `"failures"`, `"responses"`, `"refused"`, `"lost"`} {
		if bytes.Contains(encoded, []byte(word)) {
			t.Errorf("%s is in the summary", word)
		}
	}
	if bytes.Contains(log, []byte(`"server"`)) || !bytes.Contains(log, []byte(`"status":200`)) || r.ServerSeries != nil {
		t.Errorf("the log: %.200s", log)
	}
	for _, one := range []func(*scenario.Spec){
		func(s *scenario.Spec) { s.Servers.Replicas = 2 },
		func(s *scenario.Spec) { s.Servers.GoawayChance = 0.01 },
	} {
		spec := scenario.Spec{Servers: scenario.Servers{Settings: server.Settings{Replicas: 1}}}
		if !spec.Steady() {
			t.Error("one server is not steady")
		}
		if one(&spec); spec.Steady() {
			t.Errorf("%+v is steady", spec.Servers)
		}
	}
}

// judged gives the verdict on a result.
func judged(r *result.Result) *result.Result {
	judge.Verdict(r)
	return r
}
