package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

// diary writes down what it observes, a line an event, and leaves out what most stories
// do not turn on.
type diary struct {
	lines   []string
	ignores map[string]bool
}

func (d *diary) note(nowNs int64, what string, r *server.Request, more string) {
	if d.ignores[what] {
		return
	}
	d.lines = append(d.lines, strings.TrimSpace(fmt.Sprintf("%v %s %s/%d %s", time.Duration(nowNs), what, r.Attributes.Verb, r.Client, more)))
}

// observer returns what the diary observes.
func (d *diary) observer() server.Observer {
	note := func(what string) func(int64, *server.Request) {
		return func(nowNs int64, r *server.Request) { d.note(nowNs, what, r, "") }
	}
	return server.Observer{
		Arrived: func(nowNs int64, r *server.Request) {
			d.note(nowNs, "arrives", r, fmt.Sprintf("attempt %d seats %d", r.Attempt, r.Seats()))
		},
		Dispatched: note("starts"),
		Rejected: func(nowNs int64, r *server.Request) {
			d.note(nowNs, "rejected", r, fmt.Sprintf("%v, retry after %d", r.Rejection, r.RetryAfterSeconds))
		},
		Executed: note("executed"),
		Released: note("released"),
	}
}

// oneSeat is a configuration in which everybody's requests go to one level of one seat
// and one queue.
const oneSeat = `
  config:
    base: Mandatory
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: one}
      spec: {type: Limited, limited: {nominalConcurrencyShares: 995, limitResponse: {type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 1}}}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: all}
      spec:
        priorityLevelConfiguration: {name: one}
        matchingPrecedence: 100
        rules:
        - subjects: [{kind: Group, group: {name: "*"}}]
          resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
  servers: {maxRequestsInflight: 1, maxMutatingRequestsInflight: 0, requestTimeout: 60s}
`

func load(t *testing.T, spec string) *scenario.Scenario {
	t.Helper()
	text := "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: story}\nspec:\n" + spec
	loaded, mistakes := loader.Load(fstest.MapFS{"story.yaml": {Data: []byte(text)}}, "story.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	return loaded[0]
}

// clockwork wants a tick at some moments.
type clockwork struct{ wants, gets []int64 }

func (c *clockwork) tick(nowNs int64, _ []*server.Server) (nextNs int64) {
	c.gets = append(c.gets, nowNs)
	if len(c.wants) > 0 {
		nextNs, c.wants = c.wants[0], c.wants[1:]
	}
	return nextNs
}

// Each observer has ticks of its own: at both ends, and when it wants one, be that never, at
// the end, or after it.
func TestTicks(t *testing.T) {
	r := New(load(t, `
  duration: 10ns
  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods}, execution: 1ns, arrivals: {constant: {rate: 1/s}}}]
`))
	var all []*clockwork
	for _, wants := range [][]int64{nil, {3, 4, 9}, {10}, {11}, {7, 7}} {
		c := &clockwork{wants: wants}
		all = append(all, c)
		r.Observe(server.Observer{Tick: c.tick})
	}
	if err := r.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int64{{0, 10}, {0, 3, 4, 9, 10}, {0, 10}, {0, 10}, {0, 7, 10}} {
		if !slices.Equal(all[i].gets, want) {
			t.Errorf("observer %d has ticks at %v, want %v", i, all[i].gets, want)
		}
	}
}

// tell runs a scenario and returns its diary.
func tell(t *testing.T, spec string, ignores ...string) string {
	t.Helper()
	r := New(load(t, spec))
	d := &diary{ignores: map[string]bool{}}
	for _, what := range ignores {
		d.ignores[what] = true
	}
	r.Observe(d.observer())
	if err := r.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return strings.Join(d.lines, "\n")
}

func wants(t *testing.T, got, want string) {
	t.Helper()
	if want = strings.TrimSpace(want); got != want {
		t.Errorf("got:\n%s\n\nwant:\n%s", got, want)
	}
}

// Three requests come together to a level with one seat and room for one to wait: one
// starts, one waits, one is rejected. That is the whole of the second; nothing was dropped
// before it, so the client may come back after 1 s. It does so exactly then, through
// client-go's retry, and finds the level idle.
func TestRetryAfterARejection(t *testing.T) {
	wants(t, tell(t, oneSeat+`
  duration: 10s
  workload:
  - name: w
    clients: 3
    as: {user: "u{i}"}
    request: {verb: get, resource: pods, name: x}
    execution: 100ms
    arrivals: {burst: {at: 1s, requests: 1}}
    retry: ClientGo
`, "released"), `
1s arrives get/0 attempt 1 seats 1
1s starts get/0
1s arrives get/1 attempt 1 seats 1
1s arrives get/2 attempt 1 seats 1
1s rejected get/2 queue-full, retry after 1
1.1s executed get/0
1.1s starts get/1
1.2s executed get/1
2s arrives get/2 attempt 2 seats 1
2s starts get/2
2.1s executed get/2
`)
}

// A request waits for a quarter of the time until its deadline: 15 s of the server's 60,
// less when the client says so.
func TestWaitLimit(t *testing.T) {
	spec := oneSeat + `
  duration: 60s
  workload:
  - name: long
    as: {user: long}
    request: {verb: update, resource: pods, name: x}
    execution: 50s
    arrivals: {burst: {requests: 1}}
  - name: w
    as: {user: u}
    request: {verb: get, resource: pods, name: x, query: "QUERY"}
    execution: 100ms
    arrivals: {burst: {at: 1s, requests: 1}}
`
	for query, at := range map[string]string{"": "16s", "timeout=10s": "3.5s", "timeout=0s": "16s", "timeout=10m": "16s"} {
		got := tell(t, strings.Replace(spec, "QUERY", query, 1), "arrives", "starts", "executed", "released")
		wants(t, got, at+" rejected get/0 time-out, retry after 1")
	}
}

// A watch gives its seat back when it is initialised, and is watched by writes until it
// ends: with ten watchers a write holds ⌈10/10⌉ seat for 5 ms after its answer.
func TestWatchersMakeWritesWider(t *testing.T) {
	got := tell(t, oneSeat+`
  duration: 10s
  workload:
  - name: watches
    clients: 10
    as: {user: "watcher-{i}"}
    request: {verb: watch, resource: pods, query: "resourceVersion=7", watch: {duration: 3s}}
    execution: 1ms
    arrivals: {burst: {requests: 1}}
    retry: {maxRetries: 100, backoff: {initial: 2ms, factor: 1}}
  - name: writes
    as: {user: writer}
    request: {verb: update, resource: pods, name: x}
    execution: 1ms
    arrivals: {burst: {at: 1s, requests: 1, every: 4s}}
`)
	story := got[strings.Index(got, "1s arrives update"):]
	wants(t, story, `
1s arrives update/0 attempt 1 seats 1
1s starts update/0
1.001s executed update/0
1.006s released update/0
5s arrives update/0 attempt 1 seats 1
5s starts update/0
5.001s executed update/0
5.001s released update/0
9s arrives update/0 attempt 1 seats 1
9s starts update/0
9.001s executed update/0
9.001s released update/0
`)
}

// Seats that are kept for an additional latency are free again afterwards, and the server is done with the request.
func TestAdditionalLatencyEnds(t *testing.T) {
	run := New(load(t, oneSeat+`
  duration: 3s
  workload:
  - name: watches
    clients: 10
    as: {user: "watcher-{i}", groups: ["system:masters"]}
    request: {verb: watch, resource: pods, watch: {duration: 2s}}
    execution: 1ms
    arrivals: {burst: {requests: 1}}
  - name: writes
    as: {user: writer}
    request: {verb: update, resource: pods, name: x}
    execution: 1ms
    arrivals: {burst: {at: 1s, requests: 1}}
`))
	var at []int64
	inFlight := func() (n int) {
		run.Server.InFlight(func(*server.Request) { n++ })
		return n
	}
	execute(t, run, server.Observer{Released: func(nowNs int64, r *server.Request) {
		if r.Attributes.Verb == "update" {
			at = append(at, nowNs, int64(inFlight()))
		}
	}})
	if want := []int64{1_006_000_000, 11}; !slices.Equal(at, want) {
		t.Errorf("the write is released at, and beside it are in flight, %v; want %v", at, want)
	}
	if n := inFlight(); n > 0 {
		t.Errorf("%d requests are in flight at the end", n)
	}
}

// A request that has timed out in its queue leaves nothing behind that could concern one that uses its memory afterwards, nor
// anything else: whether it times out by itself, or by the arrival of another one, as in 1.27.
func TestNothingIsLeftOfATimeOut(t *testing.T) {
	for _, version := range []string{"1.37", "1.27"} {
		run := New(load(t, strings.Replace(oneSeat, "servers: {", "servers: {kubernetesVersion: '"+version+"', ", 1)+`
  duration: 100s
  workload:
  - {name: busy, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 30s, retry: {maxRetries: 0}, arrivals: {burst: {requests: 2}}}
  - {name: late, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1s, retry: {maxRetries: 0}, arrivals: {burst: {at: 20s, requests: 1}}}
  - {name: soon, as: {user: a, groups: ["system:masters"]}, request: {verb: get, resource: pods, name: x}, execution: 15s, arrivals: {burst: {at: 18s, requests: 1}}}
  - {name: exempt, as: {user: a, groups: ["system:masters"]}, request: {verb: get, resource: pods, name: x}, execution: 15s, arrivals: {burst: {at: 40s, requests: 10}}}
`))
		timedOut, executed, adjusted := 0, 0, 0
		execute(t, run, server.Observer{
			Rejected: func(int64, *server.Request) { timedOut++ },
			Executed: func(int64, *server.Request) { executed++ },
			Adjusted: func(int64, *server.Server) {
				if run.Server.AdjustsPeriodically() {
					adjusted++
				}
			},
		})
		if timedOut != 1 || executed != 13 || adjusted != 10 {
			t.Errorf("%s: %d requests timed out, %d were executed, and the limits were adjusted %d times; want 1, 13 and 10", version, timedOut, executed, adjusted)
		}
	}
}

// Requests that run on, other than watches, pass by flow control.
func TestLongRunningRequestsPassBy(t *testing.T) {
	wants(t, tell(t, oneSeat+`
  duration: 10s
  workload:
  - name: w
    clients: 3
    as: {user: "u{i}"}
    request: {verb: get, resource: pods, subresource: log, name: x}
    execution: 5s
    arrivals: {burst: {requests: 1}}
`, "released"), `
0s arrives get/0 attempt 1 seats 0
0s starts get/0
0s arrives get/1 attempt 1 seats 0
0s starts get/1
0s arrives get/2 attempt 1 seats 0
0s starts get/2
5s executed get/0
5s executed get/1
5s executed get/2
`)
}

// Max-in-flight counts reads and writes apart, and neither watches nor system:masters.
func TestMaxInFlight(t *testing.T) {
	wants(t, tell(t, `
  duration: 10s
  servers: {flowControl: MaxInFlight, maxRequestsInflight: 1, maxMutatingRequestsInflight: 1}
  workload:
  - name: reads
    clients: 2
    as: {user: "u{i}"}
    request: {verb: get, resource: pods, name: x}
    execution: 1s
    arrivals: {burst: {requests: 1}}
  - name: write
    as: {user: u}
    request: {verb: update, resource: pods, name: x}
    execution: 1s
    arrivals: {burst: {requests: 1}}
  - name: watch
    as: {user: u}
    request: {verb: watch, resource: pods}
    execution: 1s
    arrivals: {burst: {requests: 1}}
  - name: master
    as: {user: admin, groups: ["system:masters"]}
    request: {verb: list, resource: pods}
    execution: 1s
    arrivals: {burst: {requests: 1}}
  - name: later
    as: {user: u}
    request: {verb: get, resource: pods, name: x}
    execution: 1s
    arrivals: {burst: {at: 1s, requests: 1}}
`, "executed", "released", "arrives"), `
0s starts get/0
0s rejected get/1 concurrency-limit, retry after 1
0s starts update/0
0s starts watch/0
0s starts list/0
1s starts get/0
`)
}

// A closed loop thinks, asks, waits for the answer and thinks again. One whose request is
// a watch has its answer when the watch ends.
func TestClosedLoop(t *testing.T) {
	wants(t, tell(t, oneSeat+`
  duration: 10s
  workload:
  - name: w
    as: {user: u}
    request: {verb: get, resource: pods, name: x}
    execution: 500ms
    arrivals: {closed: {think: 1s}}
    start: 1s
    stop: 5s
  - name: watch
    as: {user: u}
    request: {verb: watch, resource: nodes, watch: {duration: 3s}}
    execution: 1s
    arrivals: {closed: {think: 2500ms}}
    stop: 9s
`, "starts", "released"), `
2s arrives get/0 attempt 1 seats 1
2.5s executed get/0
2.5s arrives watch/0 attempt 1 seats 1
3.5s executed watch/0
3.5s arrives get/0 attempt 1 seats 1
4s executed get/0
`)
}

// A token bucket of 2 that gains one a second sends two of five requests at once and the
// others as their tokens come.
func TestRateLimit(t *testing.T) {
	wants(t, tell(t, oneSeat+`
  duration: 10s
  workload:
  - name: w
    as: {user: u}
    request: {verb: get, resource: pods, name: x}
    execution: 1ms
    arrivals: {burst: {requests: 5}}
    rateLimit: {qps: 1, burst: 2}
`, "starts", "released", "executed"), `
0s arrives get/0 attempt 1 seats 1
0s arrives get/0 attempt 1 seats 1
1s arrives get/0 attempt 1 seats 1
2s arrives get/0 attempt 1 seats 1
3s arrives get/0 attempt 1 seats 1
`)
}

func TestCancelledRunSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := New(load(t, oneSeat+`
  duration: 24h
  workload:
  - {name: w, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1ms, arrivals: {constant: {rate: 100/s}}}
`))
	told := 0
	err := r.Execute(ctx, func(int64, uint64) {
		if told++; told == 3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || told != 3 {
		t.Errorf("error %v after %d reports of progress, want it cancelled at the third", err, told)
	}
}

// From 1.5 s on the level rejects what finds no seat, which would have waited before.
func TestConfigurationChangesUnderLoad(t *testing.T) {
	wants(t, tell(t, oneSeat+`
  duration: 10s
  events:
  - at: 1500ms
    apply:
      objects:
      - apiVersion: flowcontrol.apiserver.k8s.io/v1
        kind: PriorityLevelConfiguration
        metadata: {name: one}
        spec: {type: Limited, limited: {nominalConcurrencyShares: 995, limitResponse: {type: Reject}}}
  workload:
  - name: w
    as: {user: u}
    request: {verb: get, resource: pods, name: x}
    execution: 1800ms
    arrivals: {burst: {at: 1s, requests: 4, over: 4s}}
`, "released"), `
1s arrives get/0 attempt 1 seats 1
1s starts get/0
2s arrives get/0 attempt 1 seats 1
2s rejected get/0 concurrency-limit, retry after 1
2.8s executed get/0
3s arrives get/0 attempt 1 seats 1
3s starts get/0
4s arrives get/0 attempt 1 seats 1
4s rejected get/0 concurrency-limit, retry after 1
4.8s executed get/0
`)
}

// adjustments writes down when limits are adjusted, and which levels there are then.
type adjustments struct{ lines []string }

func (a *adjustments) adjusted(nowNs int64, s *server.Server) {
	var levels []string
	for _, l := range s.Levels() {
		levels = append(levels, fmt.Sprintf("%s:%d", l.Name(), l.CurrentLimit()))
	}
	a.lines = append(a.lines, fmt.Sprint(time.Duration(nowNs), " ", strings.Join(levels, " ")))
}

// A level that is taken away at 2 s keeps its share of the 100 seats until its last request is
// done, at 6 s. The others get it then, and not only with the adjustment at 10 s.
func TestALevelThatHasDrainedGivesBackItsSeats(t *testing.T) {
	r := New(load(t, strings.Replace(oneSeat, "maxRequestsInflight: 1,", "maxRequestsInflight: 100,", 1)+`
  duration: 11s
  events:
  - at: 2s
    apply:
      remove: [{kind: PriorityLevelConfiguration, name: one}]
  workload:
  - name: w
    as: {user: u}
    request: {verb: get, resource: pods, name: x}
    execution: 5s
    arrivals: {burst: {at: 1s, requests: 1}}
`))
	a := &adjustments{}
	r.Observe(server.Observer{Adjusted: a.adjusted})
	if err := r.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	wants(t, strings.Join(a.lines, "\n"), `
0s catch-all:1 exempt:0 one:100
2s catch-all:1 exempt:0 one:100
6s catch-all:100 exempt:0
10s catch-all:100 exempt:0
`)
}

// A trace is looked at when the scenario is read, and read when it is replayed. One that is
// another file by then, that grows, gets shorter or vanishes, or that changes in the middle of the
// run, would give a run of something else: it is an error that says so.
func TestTraceThatChangesAfterTheScenarioWasRead(t *testing.T) {
	line := func(i int) string {
		return fmt.Sprintf(`{"arrivalNs":%d,"user":"u","verb":"get","path":"/version","executionNs":1}`+"\n", i*1000)
	}
	var text strings.Builder
	for i := range 40_000 { // more than a reader holds, and than pass between two looks at the clients
		text.WriteString(line(i))
	}
	half := text.String()[:len(line(0))*10]
	const spec = "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: replay}\nspec: {duration: 1s, workload: [{name: replay, arrivals: {trace: {file: t.jsonl}}}]}\n"
	write := func(text string) func(path string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o666) }
	}
	for name, c := range map[string]struct {
		before, during func(path string) error
		want           string // "" for no error
	}{
		"unchanged": {},
		"shorter":   {before: write(half), want: "t.jsonl: has changed since the scenario was read: it has "},
		"longer":    {before: write(text.String() + line(40_000)), want: "t.jsonl: has changed since the scenario was read: it has "},
		"empty":     {before: write(""), want: "t.jsonl: has changed since the scenario was read: it has 0 bytes"},
		"of the same size": {before: func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) },
			want: "t.jsonl: has changed since the scenario was read: it was written at 1970-01-01T"},
		"gone":                     {before: os.Remove, want: "t.jsonl: there is no such file"},
		"shorter in the middle":    {during: write(half), want: "t.jsonl: has changed since the scenario was read: it has "},
		"no JSON in the middle":    {during: write(strings.Repeat("x", 2*text.Len())), want: "t.jsonl: has changed since the scenario was read: it has "},
		"another file by the name": {during: func(path string) error { return errors.Join(os.Rename(path, path+".old"), write(half)(path)) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, trace := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "t.jsonl")
			if err := errors.Join(write(spec)(file), write(text.String())(trace)); err != nil {
				t.Fatal(err)
			}
			loaded, mistakes := loader.Load(nil, file, loader.Options{})
			if err := mistakes.Err(); err != nil {
				t.Fatal(err)
			}
			if c.before != nil {
				if err := c.before(trace); err != nil {
					t.Fatal(err)
				}
			}
			err := New(loaded[0]).Execute(t.Context(), func(int64, uint64) {
				if c.during != nil {
					if err := c.during(trace); err != nil {
						t.Error(err)
					}
					c.during = nil
				}
			})
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}
