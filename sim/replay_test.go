package sim_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"testing"
	"testing/fstest"

	"apfsim/reports/record"
	"apfsim/scenarios"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
	"apfsim/sim/trace"
)

// ofRun returns the fingerprint of a run, and its request log if log is not nil.
func ofRun(t testing.TB, sc *scenario.Scenario, log io.Writer) string {
	t.Helper()
	run := sim.New(sc)
	decisions := record.NewFingerprint()
	run.Observe(decisions.Observer())
	var lines *record.RequestLog
	if log != nil {
		lines = record.NewRequestLog(log, sc)
		run.Observe(lines.Observer())
	}
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if log != nil {
		if err := lines.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return decisions.String()
}

// replayOf returns a scenario that replays a trace instead of its workloads.
func replayOf(t testing.TB, sc *scenario.Scenario, open func() io.Reader) *scenario.Scenario {
	t.Helper()
	const text = "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: replay}\n" +
		"spec: {duration: 1s, workload: [{name: replay, arrivals: {trace: {file: t.jsonl}}}]}\n"
	loaded, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}, "t.jsonl": {}}, "s.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	again := *sc
	again.Spec.Workload, again.Spec.Thresholds = loaded[0].Spec.Workload, nil
	again.Spec.Workload[0].Arrivals.Trace.Open = func() (*trace.Reader, error) { return trace.NewReader(open(), "t.jsonl"), nil }
	return &again
}

// Requests that differ in their names only, of more kinds than a replay remembers: watches last
// while their kinds are replaced, writes are estimated by the watches that are open, and there is more than
// one flow. All decisions are those of the run, also after a change of the configuration, by which
// the requests of known kinds get other routes.
func TestReplayOfMoreKindsThanAreRemembered(t *testing.T) {
	const text = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: kinds}
spec:
  duration: 60s
  servers: {maxRequestsInflight: 60, maxMutatingRequestsInflight: 30}
  events:
  - at: 31s
    apply: {remove: [{kind: FlowSchema, name: service-accounts}, {kind: PriorityLevelConfiguration, name: workload-low}]}
  workload:
  - name: watchers
    clients: 40
    as: {serviceAccount: "a/watcher-{i}"}
    request: {verb: watch, resource: pods, namespace: n, watch: {duration: 25s}}
    execution: 10ms
    arrivals: {constant: {rate: 0.1/s}}
  - name: writers
    clients: 45000
    as: {serviceAccount: "b/writer-{i}"}
    request: {verb: update, resource: pods, namespace: n, name: "x-{i}"}
    execution: 30ms
    arrivals: {constant: {rate: 0.05/s}}
  - name: readers
    clients: 30000
    as: {user: reader}
    request: {verb: get, resource: pods, namespace: n, name: "x-{i}"}
    execution: 10ms
    arrivals: {constant: {rate: 0.05/s}}
`
	loaded, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	want := ofRun(t, loaded[0], &log)
	if n := bytes.Count(log.Bytes(), []byte("\n")); n < 200_000 {
		t.Fatalf("there are %d requests", n)
	}
	if got := ofRun(t, replayOf(t, loaded[0], func() io.Reader { return bytes.NewReader(log.Bytes()) }), nil); got != want {
		t.Errorf("the replay has the fingerprint %s, the run %s", got, want)
	}
}

// generated is a trace of so many lines, a request each millisecond, of a hundred kinds.
type generated struct {
	lines, next  int
	line, unread []byte
}

func (g *generated) Read(b []byte) (int, error) {
	if len(g.unread) == 0 {
		if g.next == g.lines {
			return 0, io.EOF
		}
		g.line = strconv.AppendInt(append(g.line[:0], `{"arrivalNs":`...), int64(1_000_000*g.next), 10)
		g.line = strconv.AppendInt(append(g.line, `,"user":"user-`...), int64(g.next%100), 10)
		g.line = append(g.line, `","groups":["system:authenticated"],"verb":"get","resource":"pods","namespace":"n","executionNs":2500000}`+"\n"...)
		g.unread = g.line
		g.next++
	}
	n := copy(b, g.unread)
	g.unread = g.unread[n:]
	return n, nil
}

// A replay allocates nothing for a line, and its memory does not grow with the trace: after a warm-up,
// 400 000 lines make hardly an allocation, and leave no memory in use.
func TestReplayInFlatMemory(t *testing.T) {
	const warmUp, lines = 50_000, 450_000
	loaded, mistakes := loader.Load(scenarios.Files, scenarios.File("elephants-and-mice"),
		loader.Options{Set: assign.New("--set", []string{fmt.Sprintf("spec.duration=%dms", lines), "spec.warmup=0s"})})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	sc := replayOf(t, loaded[0], func() io.Reader { return &generated{lines: lines} })
	run := sim.New(sc)
	var before, after runtime.MemStats
	run.Observe(server.Observer{Tick: func(nowNs int64, _ []*server.Server) int64 {
		switch nowNs {
		case 0:
			return warmUp * 1_000_000
		case warmUp * 1_000_000:
			runtime.GC()
			runtime.ReadMemStats(&before)
		default:
			runtime.ReadMemStats(&after)
			allocations := after.Mallocs - before.Mallocs
			runtime.GC()
			runtime.ReadMemStats(&after)
			t.Logf("%d allocations; %d bytes in use, then %d", allocations, before.HeapAlloc, after.HeapAlloc)
			if allocations > 1000 {
				t.Errorf("%d lines made %d allocations, want at most 1000", lines-warmUp, allocations)
			}
			if after.HeapAlloc > before.HeapAlloc+256<<10 {
				t.Errorf("%d bytes were in use after %d lines, and %d after %d", before.HeapAlloc, warmUp, after.HeapAlloc, lines)
			}
		}
		return 0
	}})
	if err := run.Execute(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if after.HeapAlloc == 0 {
		t.Error("the memory was not looked at")
	}
}

// BenchmarkReplay makes the run of a scenario of the library, replays its log, and only reads it: an
// op is the whole.
func BenchmarkReplay(b *testing.B) {
	loaded, mistakes := loader.Load(scenarios.Files, scenarios.File("elephants-and-mice"), loader.Options{})
	if err := mistakes.Err(); err != nil {
		b.Fatal(err)
	}
	sc := loaded[0]
	var log bytes.Buffer
	want := ofRun(b, sc, &log)
	lines := bytes.Count(log.Bytes(), []byte("\n"))
	open := func() io.Reader { return bytes.NewReader(log.Bytes()) }
	again := replayOf(b, sc, open)
	read := func() error {
		s := trace.NewReader(open(), "t.jsonl").Stream(context.Background(), 0, 0)
		defer s.Close()
		_, errs := s.Drain()
		return errs.Err()
	}
	for _, c := range []struct {
		name string
		op   func(b *testing.B)
	}{
		{"run", func(b *testing.B) { ofRun(b, sc, nil) }},
		{"replay", func(b *testing.B) {
			if got := ofRun(b, again, nil); got != want {
				b.Fatalf("the replay has the fingerprint %s, the run %s", got, want)
			}
		}},
		{"read", func(b *testing.B) {
			if err := read(); err != nil {
				b.Fatal(err)
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.op(b)
			}
			b.ReportMetric(float64(b.N)*float64(lines)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}

// The request log of several servers says where each request went, and its replay sends it there.
func TestReplayOfSeveralServers(t *testing.T) {
	const text = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: servers}
spec:
  duration: 60s
  servers: {replicas: 3, goawayChance: 0.02, maxRequestsInflight: 30, maxMutatingRequestsInflight: 10}
  workload:
  - name: watchers
    clients: 40
    as: {serviceAccount: "a/watcher-{i}"}
    request: {verb: watch, resource: pods, namespace: n, watch: {duration: 25s}}
    execution: 10ms
    arrivals: {constant: {rate: 0.1/s}}
  - name: writers
    clients: 50
    as: {serviceAccount: "b/writer-{i}"}
    request: {verb: update, resource: pods, namespace: n, name: "x-{i}"}
    execution: {exponential: {mean: 30ms}}
    arrivals: {poisson: {rate: 10/s}}
`
	loaded, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	want := ofRun(t, loaded[0], &log)
	for i := range 3 {
		if n := bytes.Count(log.Bytes(), []byte(`"server":`+strconv.Itoa(i))); n < 1000 {
			t.Errorf("only %d requests went to server %d", n, i)
		}
	}
	if got := ofRun(t, replayOf(t, loaded[0], func() io.Reader { return bytes.NewReader(log.Bytes()) }), nil); got != want {
		t.Errorf("the replay has the fingerprint %s, the run %s", got, want)
	}
}
