package collect

import (
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/metric"
	"apfsim/sim/scenario/loader"
)

// measuredRun runs a scenario, which may replay the trace t.jsonl, and returns its measurement.
func measuredRun(t *testing.T, spec, trace string) *Measurement {
	t.Helper()
	text := "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n" + spec
	loaded, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}, "t.jsonl": {Data: []byte(trace)}}, "s.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	run := sim.New(loaded[0])
	m := Measure(run, 1e9)
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return m
}

// crowded is two servers with few seats whose executions take as long as their processors need, and whose speed falls: so
// requests are queued at the end, which is in the middle of an interval of the series.
const crowded = `  duration: 12500ms
  warmup: 2s
  servers: {replicas: 2, maxRequestsInflight: 4, maxMutatingRequestsInflight: 1, capacity: {cores: 1, speed: [{at: 4s, factor: 0.5}, {at: 6s, factor: 0.25}]}}
  workload:
  - {name: mice, clients: 4, as: {user: "m-{i}"}, request: {verb: get, resource: pods, name: x}, execution: {exponential: {mean: 40ms}}, arrivals: {poisson: {rate: 10/s}}}
  - {name: elephant, as: {user: e}, request: {verb: list, resource: pods}, execution: {exponential: {mean: 100ms}}, arrivals: {poisson: {rate: 10/s}}}
`

// What executes at the end is no failure, however old it is: its own execution takes that long.
func TestLongExecutionsAreNotUnfinished(t *testing.T) {
	for request, want := range map[string]int64{"{verb: create, resource: pods, subresource: exec, namespace: n, name: p}": 0, "{verb: get, resource: pods, namespace: n, name: p}": 0} {
		s := measuredRun(t, "  duration: 30s\n  workload:\n  - {name: w, as: {user: a}, request: "+request+", execution: 1h, arrivals: {burst: {at: 1s, requests: 1}}}\n", "").Result().Summary
		w := &s.Workloads[0]
		got := int64(0)
		if w.NotServed != nil {
			got = w.NotServed.Unfinished
		}
		if got != want || w.Open != 1-want {
			t.Errorf("%s: %d unfinished, %d open; want %d unfinished", request, got, w.Open, want)
		}
	}
}

// The series have a point for each interval, also for the last one, which is shorter. What the gauges of a server were at
// their extremes in the window is that of its points.
func TestPointsOfARun(t *testing.T) {
	out := measuredRun(t, crowded, "").Result()
	queued := int64(0)
	for _, w := range out.Summary.Workloads {
		queued += w.Waiting
	}
	if queued == 0 {
		t.Fatal("no request is queued at the end")
	}
	for _, s := range out.Series {
		if len(s.Points) != 13 || len(s.QueueLengths) != 13 || s.Points[12].EndNs != 12_500_000_000 {
			t.Errorf("%s: %d points, %d of queues, want 13", s.Level, len(s.Points), len(s.QueueLengths))
		}
		for i, p := range s.Points {
			if p.Jain != nil && !(*p.Jain > 0 && *p.Jain <= 1) {
				t.Errorf("%s, point %d: Jain's index %v", s.Level, i, *p.Jain)
			}
		}
	}
	for i, s := range out.ServerSeries {
		if len(s.Points) != 13 {
			t.Fatalf("server %d: %d points, want 13", i, len(s.Points))
		}
		if last := &s.Points[12]; last.Speed == 0 {
			t.Errorf("server %d: the gauges of the last point are %+v", i, last.Gauges)
		}
		var most int
		least := math.Inf(1)
		for _, p := range s.Points[2:] { // of the window
			most = max(most, p.InService)
			least = min(least, p.Speed)
		}
		if got := &out.Summary.Servers[i]; got.MostInService != most || got.LeastSpeed != least {
			t.Errorf("server %d: at most %d in service, a speed of at least %v; its points say %d, %v", i, got.MostInService, got.LeastSpeed, most, least)
		}
	}
}

// Who asks for the result twice gets the same.
func TestResultTwice(t *testing.T) {
	m := measuredRun(t, crowded, "")
	first, second := m.collector.Result().Summary, m.collector.Result().Summary
	if !reflect.DeepEqual(first.Total, second.Total) || !reflect.DeepEqual(first.Workloads, second.Workloads) {
		t.Errorf("%+v\n%+v", first.Total, second.Total)
	}
}

// line is a request in the log of a server, at a second.
func line(second int, more string) string {
	return fmt.Sprintf(`{"arrivalNs":%d,"user":"u","groups":["system:authenticated"],"verb":"list","resource":"pods","executionNs":1000000000,`+
		`"flowSchema":"service-accounts","priorityLevel":"workload-low"%s}`+"\n", int64(second)*1e9, more)
}

// replayOf replays a log and returns the comparison. More is of the trace, and workloads beside it.
func replayOf(t *testing.T, log, more string) *result.Replay {
	t.Helper()
	more, workloads, _ := strings.Cut(more, "\n")
	spec := "  duration: 20s\n  workload:\n  - {name: logged, arrivals: {trace: {file: t.jsonl, decided: Log" + more + "}}}\n" + workloads
	return measuredRun(t, spec, log).Result().Summary.Replay
}

// differences returns the numbers of requests that differ from the log, by what differs.
func differences(r *result.Replay) string {
	var all []string
	for _, d := range r.Differences {
		all = append(all, fmt.Sprint(d.What, " ", d.Requests))
	}
	return strings.Join(all, ", ")
}

// A replay of ten requests that the log has executed, and that do not wait, agrees with it.
func TestReplayThatAgreesWithItsLog(t *testing.T) {
	var log strings.Builder
	for i := range 10 {
		log.WriteString(line(i, `,"outcome":"executed","waitNs":0,"seats":3`))
	}
	r := replayOf(t, log.String(), "")
	if r.Requests != 10 || r.OutcomeEqual == nil || *r.OutcomeEqual != 1 || r.Matches == nil || !*r.Matches || r.SeatsFrom != result.FromLog || len(r.Levels) != 1 {
		t.Fatalf("%+v", r)
	}
	if l := r.Levels[0]; l.PriorityLevel != "workload-low" || l.Requests != 10 || l.SeatSecondsInLog != 30 || l.SeatSecondsInReplay != 30 ||
		l.WaitInLog == nil || l.WaitInLog.Count != 10 || l.WaitInReplay.Count != 10 || len(l.Disagrees) != 0 {
		t.Errorf("%+v", l)
	}
	if got, want := differences(r), "seats 0, flowSchema 0, priorityLevel 0, executions 0"; got != want {
		t.Errorf("differences: %s; want %s", got, want)
	}
}

// What a log does not say is not compared, nor what comes after the time up to which it is complete, nor the requests of
// other workloads.
func TestReplayOfAnIncompleteLog(t *testing.T) {
	var log strings.Builder
	for i := range 10 {
		log.WriteString(line(i, []string{`,"outcome":"executed","seats":0`, ``, `,"outcome":"rejected"`, `,"outcome":"waiting"`}[min(3, i)]))
	}
	r := replayOf(t, log.String(), ", server: {completeUntil: 9s}\n"+
		"  - {name: other, as: {user: v}, request: {verb: get, resource: pods, name: x}, execution: 1ms, arrivals: {constant: {rate: 3/s}}}\n")
	if r.Requests != 2 || r.RejectedInLog != 1 || r.RejectedInReplay != 0 || *r.OutcomeEqual != 0.5 || r.SeatsFrom != result.FromEstimate {
		t.Errorf("%+v", r)
	}
	if l := r.Levels[0]; l.WaitInLog != nil || l.SeatSecondsInLog != 1 || l.SeatSecondsInReplay != 1 || l.B != 1 || l.C != 0 || len(l.Disagrees) > 0 {
		t.Errorf("%+v", l)
	}
	if got, want := differences(r), "seats 0, flowSchema 0, priorityLevel 0, executions 0"; got != want {
		t.Errorf("differences: %s; want %s", got, want)
	}
	if r = replayOf(t, log.String(), ", server: {completeUntil: 2s}"); r.Requests != 1 {
		t.Errorf("up to 2 s: %d requests, want 1", r.Requests)
	}
	if r = replayOf(t, log.String(), ""); r.RejectedInLog != 1 || r.RejectedInReplay != 0 || r.Matches == nil || *r.Matches {
		t.Errorf("%+v, want a replay that does not match its log, which has a rejection", r)
	}
}

// Where the configuration is not that of the log, the requests come to other levels, which is told, as it is a what-if.
func TestReplayOfAnotherConfiguration(t *testing.T) {
	var log strings.Builder
	for i := range 10 {
		log.WriteString(line(i, `,"outcome":"executed","waitNs":0,"seats":3`))
	}
	spec := `  duration: 20s
  config: {objects: [{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, metadata: {name: more}, spec: {type: Limited, limited: {nominalConcurrencyShares: 1, limitResponse: {type: Reject}}}}]}
  workload: [{name: logged, arrivals: {trace: {file: t.jsonl, decided: Log, server: {configuration: ` + config.Suggested(rules.Latest()).Digest() + `}}}}]
`
	r := measuredRun(t, spec, log.String()).Result().Summary.Replay
	if r.Matches != nil || r.RoutesFrom != result.FromConfiguration {
		t.Errorf("%+v", r)
	}
	if got, want := differences(r), "seats 0, flowSchema 10, priorityLevel 10, executions 0"; got != want {
		t.Errorf("differences: %s; want %s", got, want)
	}
}

// With rules of no release, differences from the log are no disagreement: they are asked for.
func TestReplayWithRulesOfNoRelease(t *testing.T) {
	for _, c := range []struct {
		share  string
		whatIf bool
	}{{"0.25", false}, {"0.75", true}} {
		spec := "  duration: 20s\n  servers: {whatIf: {queueWaitShare: " + c.share + "}}\n  workload: [{name: logged, arrivals: {trace: {file: t.jsonl, decided: Log}}}]\n"
		r := measuredRun(t, spec, line(0, `,"outcome":"executed","waitNs":0,"seats":3`)).Result().Summary.Replay
		if whatIf := r.Matches == nil; whatIf != c.whatIf || r.RoutesFrom != result.FromLog {
			t.Errorf("a share of %s is a what-if: %v, want %v: %+v", c.share, whatIf, c.whatIf, r)
		}
	}
}

// A level disagrees with its log if its pairs do: outcomes by McNemar's test and a tenth of the rejected requests, waits by the
// signed-rank test, 10 ms and a quarter, seat-seconds by a quarter and one.
func TestDisagreementsOfAReplay(t *testing.T) {
	for _, c := range []struct {
		inLog, inReplay, inBoth int64 // rejected
		seatsInLog, seats       float64
		want                    string
	}{
		{inLog: 31, inReplay: 15, inBoth: 15, want: "rejected"}, // 16 pairs, all one way
		{inLog: 31, inReplay: 31, inBoth: 0},                    // 31 each way
		{inLog: 8, want: "rejected"},                            // p is 2/256
		{inLog: 7},                                              // and 2/128
		{inReplay: 8, want: "rejected"},
		{inLog: 1000, inReplay: 900, inBoth: 900}, // a tenth
		{inLog: 1000, inReplay: 899, inBoth: 899, want: "rejected"},
		{inLog: 1000, inReplay: 850, inBoth: 500, want: "rejected"}, // 500 and 350
		{inLog: 200, inReplay: 170, inBoth: 50},                     // 150 and 120: p is 0.08
		{seatsInLog: 100, seats: 75.1},
		{seatsInLog: 100, seats: 73.9, want: "seatSeconds"},
		{seatsInLog: 1, seats: 2.6},
		{seatsInLog: 1, seats: 2.7, want: "seatSeconds"},
	} {
		l := newReplayedLevel("x")
		l.RejectedInLog, l.RejectedInReplay, l.rejectedInBoth, l.SeatSecondsInLog, l.SeatSecondsInReplay = c.inLog, c.inReplay, c.inBoth, c.seatsInLog, c.seats
		l.pair()
		if got := strings.Join(l.Disagrees, " "); got != c.want || l.B != c.inLog-c.inBoth || l.C != c.inReplay-c.inBoth {
			t.Errorf("%+v: disagrees in %q; b %d, c %d, p %v", c, got, l.B, l.C, l.P)
		}
	}
	const ms = 1_000_000
	for _, c := range []struct {
		what string
		n    int64
		wait func(i int64) (inLog, inReplay int64)
		want string
	}{
		{"the log has half a millisecond of other work", 1000, func(i int64) (int64, int64) { return i*ms + ms/2, i * ms }, ""},
		{"all wait 12 ms longer, of 20", 100, func(int64) (int64, int64) { return 32 * ms, 20 * ms }, "wait"},
		{"all wait 12 ms longer, of 100", 100, func(int64) (int64, int64) { return 112 * ms, 100 * ms }, ""},
		{"the same waits, of other requests", 100, func(i int64) (int64, int64) { return i * 10 * ms, (99 - i) * 10 * ms }, ""},
		{"seven wait for longer", 7, func(int64) (int64, int64) { return 0, 1000 * ms }, ""},
		{"eight wait for longer", 8, func(int64) (int64, int64) { return 0, 1000 * ms }, "wait"},
		{"one in fifty waits for a second in the log alone", 1000, func(i int64) (int64, int64) { return i % 50 / 49 * 1000 * ms, 0 }, "wait"},
	} {
		l := newReplayedLevel("x")
		l.WaitInLog = &result.Distribution{}
		for i := range c.n {
			l.waits.add(c.wait(i))
		}
		l.pair()
		if got := strings.Join(l.Disagrees, " "); got != c.want {
			t.Errorf("%s: disagrees in %q, p %v; want %q", c.what, got, *l.WaitP, c.want)
		}
		if l.WaitInLog = nil; l.WaitP != nil {
			if l.pair(); len(l.Disagrees) > 0 {
				t.Errorf("%s: disagrees in %v without the waits of the log", c.what, l.Disagrees)
			}
		}
	}
}

// What is left to do at a level is what its queues have, each request with what those of its kind occupy: here twice of what
// the scenario gives. Rejected requests leave nothing.
func TestWhatIsLeftOfMeasuredDemand(t *testing.T) {
	out := measuredRun(t, `  duration: 20s
  servers: {maxRequestsInflight: 15, maxMutatingRequestsInflight: 5, capacity: {speed: [{at: 0s, factor: 0.5}]}}
  workload:
  - {name: w, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 100ms, arrivals: {constant: {rate: 200/s}}}
`, "").Result()
	const each = 0.2 // seat-seconds
	tested := 0
	for _, s := range out.Series {
		for i := range s.Points {
			p := &s.Points[i]
			if i < 10 || p.RejectedTotal() == 0 { // the queues are full
				continue
			}
			tested++
			if waiting := p.LeftSeatSeconds / each; waiting < p.WaitingRequests-1 || waiting > p.WaitingRequests+p.SeatsInUse+1 {
				t.Errorf("%s, point %d: %v seat-seconds are left, for %v requests that wait and %v that execute", s.Level, i, p.LeftSeatSeconds, p.WaitingRequests, p.SeatsInUse)
			}
		}
	}
	if tested != 10 {
		t.Errorf("requests were rejected in %d points after 10 s, want 10", tested)
	}
}

// oneSeat is a server with one seat and one queue for all requests, whose wait limit is a minute.
const oneSeat = `  servers: {maxRequestsInflight: 1, maxMutatingRequestsInflight: 0, requestTimeout: 240s}
  config:
    base: Mandatory
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: sole}
      spec: {type: Limited, limited: {nominalConcurrencyShares: 995, limitResponse: {type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 100}}}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: all}
      spec:
        priorityLevelConfiguration: {name: sole}
        matchingPrecedence: 100
        rules:
        - subjects: [{kind: Group, group: {name: "*"}}]
          resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
`

// From 500 ms to 10.5 s, 18 of the 20 seats are taken. The wide list, of three seats, waits for them from 1 s, and a request
// of one seat waits behind it in the only queue, although two seats are free. That a later request times out before,
// from 5 s to 6 s, brings it no nearer to them.
func TestProbesBehindARequestThatTimesOut(t *testing.T) {
	spec := "  duration: 20s\n  resources: [{resource: pods, objects: 100000, averageBytes: 2000}]\n" + strings.Replace(oneSeat, "maxRequestsInflight: 1,", "maxRequestsInflight: 20,", 1) + `  workload:
  - {name: narrow, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 10s, arrivals: {burst: {at: 500ms, requests: 18}}}
  - {name: wide, as: {user: u}, request: {verb: list, resource: pods}, execution: 1s, arrivals: {burst: {at: 1s, requests: 1}}}
  - {name: hasty, as: {user: u}, request: {verb: get, resource: pods, name: x, query: timeout=4s}, execution: 1ms, arrivals: {burst: {at: 5s, requests: 1}}}
`
	workloads := measuredRun(t, spec, "").Result().Summary.Workloads
	if wide, hasty := workloads[1], workloads[2]; wide.Wait == nil || wide.Wait.MaxNs != 9_500_000_000 || hasty.Rejected != 1 {
		t.Fatalf("the wide list waits %+v, and %d requests time out; want 9.5 s and 1", wide.Wait, hasty.Rejected)
	}
	v := workloads[0].VirtualWait
	if v == nil || v.Probes != 975 || v.Rejected != 0 || v.Wait.Count != 975 { // one in 20 ms, from 500 ms on
		t.Fatalf("%+v, want 975 probes", v)
	}
	want := 9.5 * 9.5 / 2 / 19.5
	if mean := float64(v.Wait.MeanNs) / 1e9; v.Wait.MaxNs < 9.48e9 || v.Wait.MaxNs > 9.5e9 || math.Abs(mean-want) > 0.02 {
		t.Errorf("waits of %v s on average and %d ns at most, want %v s and 9.5 s", mean, v.Wait.MaxNs, want)
	}
}

// A client whose server has crashed would connect to the other one, so that no probe is refused.
func TestProbesGoToAServerThatListens(t *testing.T) {
	for crashed := range 2 {
		spec := fmt.Sprintf("  duration: 20s\n  events: [{at: 6s, crash: {server: %d}}]\n", crashed) + strings.Replace(oneSeat, "servers: {", "servers: {replicas: 2, ", 1) +
			"  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1ms, arrivals: {burst: {at: 0s, requests: 1}}}]\n"
		if v := measuredRun(t, spec, "").Result().Summary.Workloads[0].VirtualWait; v == nil || v.Probes != 1000 || v.Refused != 0 || v.Wait.Count != 1000 {
			t.Errorf("server %d crashes: %+v, want 1000 probes and none refused", crashed, v)
		}
	}
}

// The seat is taken from 500 ms to 10.5 s, and again from 12 s to 13 s. The probes between would wait until it is free, and not
// until the next request comes; those of the time in which nothing happens do not wait.
func TestProbesEndWhenTheSeatIsFree(t *testing.T) {
	spec := "  duration: 20s\n" + oneSeat + `  workload:
  - {name: long, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 10s, arrivals: {burst: {at: 500ms, requests: 1}}}
  - {name: short, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {burst: {at: 12s, requests: 1}}}
`
	v := measuredRun(t, spec, "").Result().Summary.Workloads[0].VirtualWait
	if v == nil || v.Probes != 975 || v.Rejected != 0 || v.Wait.Count != 975 { // one in 20 ms, from 500 ms on
		t.Fatalf("%+v, want 975 probes", v)
	}
	want := (10*10/2 + 1*1/2.) / 19.5
	if mean := float64(v.Wait.MeanNs) / 1e9; v.Wait.MaxNs < 9.98e9 || v.Wait.MaxNs > 10e9 || math.Abs(mean-want) > 0.02 {
		t.Errorf("waits of %v s on average and %d ns at most, want %v s and 10 s", mean, v.Wait.MaxNs, want)
	}
}

// The seat is taken from 500 ms to 10.5 s, and a request may wait for a second: the probes of the first 9 s time out.
func TestProbesThatTimeOut(t *testing.T) {
	spec := "  duration: 20s\n" + oneSeat + `  workload:
  - {name: long, as: {user: u}, request: {verb: get, resource: pods, name: x, query: timeout=4s}, execution: 10s, arrivals: {burst: {at: 500ms, requests: 1}}}
`
	v := measuredRun(t, spec, "").Result().Summary.Workloads[0].VirtualWait
	if v == nil || v.Probes != 975 || v.Rejected < 449 || v.Rejected > 451 || v.Wait.Count != v.Probes-v.Rejected || v.Wait.MaxNs > 1e9 {
		t.Errorf("%+v, want 975 probes, 450 of which time out after a second", v)
	}
}

// A level of more flows than a word of its bits has the requests of each of them in its series, and lists each flow.
func TestManyFlowsOfALevel(t *testing.T) {
	const clients = 130
	out := measuredRun(t, fmt.Sprintf(`  duration: 5s
  servers: {maxRequestsInflight: 400, maxMutatingRequestsInflight: 200}
  workload:
  - {name: w, clients: %d, as: {user: "u-{i}"}, request: {verb: get, resource: pods, name: x}, execution: 100ms, arrivals: {burst: {at: 1s, requests: 1}}}
`, clients), "").Result()
	asked := 0.0
	for _, s := range out.Series {
		for i := range s.Points {
			asked += s.Points[i].AskedSeatSeconds
		}
	}
	if math.Abs(asked-clients*0.1) > 1e-9 || len(out.Summary.Flows) != clients || len(out.Summary.OtherFlows) != 0 {
		t.Errorf("%v seat-seconds, %d flows and %d combined; want %v and %d flows", asked, len(out.Summary.Flows), len(out.Summary.OtherFlows), clients*0.1, clients)
	}
}

// A FlowSchema that a change moves to another level has flows of one name at both, each of which says so. The flows of another
// one do not.
func TestFlowsOfASchemaThatMoves(t *testing.T) {
	schema := func(name, level, user string, precedence int) string {
		return fmt.Sprintf(`{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, metadata: {name: %s}, spec: {priorityLevelConfiguration: {name: %s}, matchingPrecedence: %d, `+
			`rules: [{subjects: [{kind: User, user: {name: %s}}], resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"]}]}]}}`, name, level, precedence, user)
	}
	out := measuredRun(t, "  duration: 20s\n  events: [{at: 10s, apply: {objects: ["+schema("moves", "workload-high", "u", 100)+"]}}]\n"+
		"  config: {objects: ["+schema("moves", "workload-low", "u", 100)+", "+schema("stays", "workload-low", "v", 101)+`]}
  workload:
  - {name: u, as: {user: u}, request: {verb: get, resource: pods, namespace: n, name: x}, execution: 1ms, arrivals: {constant: {rate: 1/s}}}
  - {name: v, as: {user: v}, request: {verb: get, resource: pods, namespace: n, name: x}, execution: 1ms, arrivals: {constant: {rate: 1/s}}}
`, "").Result()
	got := map[string]bool{}
	for i := range out.Summary.Flows {
		f := &out.Summary.Flows[i]
		got[f.FlowSchema+" at "+f.PriorityLevel] = f.SeveralLevels
	}
	if want := map[string]bool{"moves at workload-low": true, "moves at workload-high": true, "stays at workload-low": false}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A server that has crashed before the window begins had no levels in it.
func TestLevelsOfAServerThatIsAway(t *testing.T) {
	spec := "  duration: 20s\n  warmup: 5s\n  events: [{at: 1s, crash: {server: 1}}]\n" + strings.Replace(oneSeat, "servers: {", "servers: {replicas: 2, ", 1) +
		"  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1ms, arrivals: {constant: {rate: 1/s}}}]\n"
	servers := measuredRun(t, spec, "").Result().Summary.Servers
	if len(servers) != 2 || len(servers[0].Levels) == 0 || len(servers[1].Levels) != 0 {
		t.Errorf("%+v; want levels of the first server only", servers)
	}
}

// The calls to etcd of a run are those of its kinds of requests, at each server and at all.
func TestEtcdCallsOfARun(t *testing.T) {
	s := measuredRun(t, `  duration: 20s
  servers: {replicas: 2}
  store: {}
  resources: [{resource: pods, objects: 100, averageBytes: 2000}]
  workload:
  - {name: readers, clients: 4, as: {user: "reader-{i}"}, request: {verb: list, resource: pods, query: limit=10}, arrivals: {poisson: {rate: 2/s}}}
  - {name: writers, clients: 2, as: {user: "writer-{i}"}, behaviour: {writer: {resource: configmaps, namespace: shared, with: Put, retryOnConflict: Default, every: 500ms}}}
`, "").Result().Summary
	byKind, byServer := int64(0), int64(0)
	for _, k := range s.RequestKinds {
		byKind += k.EtcdCalls
	}
	for i := range s.Servers {
		byServer += s.Servers[i].Stored.Values[metric.EtcdCalls]
	}
	if all := s.Total.Stored.Values[metric.EtcdCalls]; byKind == 0 || all != byKind || all != byServer {
		t.Errorf("%d calls, %d by kinds of requests, %d by servers; want the same number", all, byKind, byServer)
	}
}
