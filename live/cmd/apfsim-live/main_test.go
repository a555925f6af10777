package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/live/load"
	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/format"
	verdict "apfsim/reports/judge"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

// scenarioFile writes a scenario with these workloads and returns its name.
func scenarioFile(t *testing.T, duration, workloads string) string {
	t.Helper()
	text := `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: story}
spec:
  duration: ` + duration + `
  warmup: 0s
  servers: {kubernetesVersion: "1.37", maxRequestsInflight: 40, maxMutatingRequestsInflight: 20}
  workload:
` + workloads
	file := filepath.Join(t.TempDir(), "story.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// reader sends 40 requests a second for half a second.
const reader = `
  - name: readers
    clients: 2
    as: {user: "reader-{i}", groups: [readers]}
    request: {verb: list, resource: configmaps, namespace: "ns-{i}", query: "limit=5"}
    execution: 10ms
    arrivals: {poisson: {rate: 20/s}}
`

// invocation is a call of the program.
type invocation struct {
	status         int
	stdout, stderr string
	dir            string // of the results
}

func call(t *testing.T, ctx context.Context, args ...string) invocation {
	t.Helper()
	var stdout, stderr bytes.Buffer
	s := invocation{dir: filepath.Join(t.TempDir(), "live")}
	if !slices.Contains(args, "-o") {
		args = append(args, "-o", s.dir)
	}
	s.status = run(ctx, &stdout, &stderr, args)
	s.stdout, s.stderr = stdout.String(), stderr.String()
	return s
}

// want fails the test unless the program ended with the status and printed the texts.
func (s *invocation) want(t *testing.T, status int, texts ...string) {
	t.Helper()
	all := s.stdout + s.stderr
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("%q is not printed", text)
		}
	}
	if s.status != status {
		t.Errorf("the exit status is %d, want %d", s.status, status)
	}
	if t.Failed() {
		t.Logf("printed:\n%s", all)
	}
}

// log returns the lines of requests.jsonl.
func (s *invocation) log(t *testing.T) (lines []map[string]any) {
	t.Helper()
	f, err := os.Open(filepath.Join(s.dir, "story", "requests.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scanner := bufio.NewScanner(f)
	for scanner.Scan() {
		var line map[string]any
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// Without --yes it is printed what would be sent, and the server is not even asked for its version.
func TestNothingIsSentWithoutYes(t *testing.T) {
	f := startFake(t)
	s := call(t, t.Context(), scenarioFile(t, "500ms", reader), "--kubeconfig", f.kubeconfig(t, "secret"))
	s.want(t, statusInvalid, f.URL, "test, user loader", "story, seed", "at most 10000 are sent", "reader-0, reader-1",
		"GET /api/v1/namespaces/ns-0/configmaps?limit=5", "there are none", "execution times", "nothing was sent; use --yes")
	if len(f.requests()) > 0 || len(f.own) > 0 {
		t.Errorf("the server has received %v %v, want nothing", f.requests(), f.own)
	}
	if _, err := os.Stat(s.dir); err == nil {
		t.Error("there is a folder of results")
	}
}

// An open workload sends exactly the requests that a simulation with the same seed sends, as the same users and at
// the same times.
func TestRequestsAreThoseOfASimulation(t *testing.T) {
	f := startFake(t)
	file := scenarioFile(t, "1s", reader)
	loaded, wrong := loader.Load(nil, file, loader.Options{})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	loaded[0].Spec.Seed = 7
	type request struct{ User, URL string }
	var want []request
	var times []time.Duration
	simulation := sim.New(loaded[0])
	simulation.Observe(server.Observer{Arrived: func(nowNs int64, r *server.Request) {
		want = append(want, request{r.Attributes.User, r.Attributes.Path + "?" + r.Query})
		times = append(times, time.Duration(nowNs))
	}})
	if err := simulation.Execute(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s := call(t, t.Context(), file, "--kubeconfig", f.kubeconfig(t, "secret"), "--seed", "7", "--yes")
	s.want(t, statusDone)
	var got []request
	for i, line := range s.log(t) {
		got = append(got, request{line["user"].(string), line["path"].(string) + "?" + line["query"].(string)})
		planned := time.Duration(line["arrivalNs"].(float64) - line["lateNs"].(float64))
		if d := planned - times[i]; d.Abs() > time.Microsecond {
			t.Errorf("request %d was planned for %v, and the simulation sends it at %v", i+1, planned, times[i])
		}
	}
	if d := cmp.Diff(want, got); d != "" || len(want) < 20 {
		t.Errorf("simulation (-), live (+):\n%s", d)
	}
	received := f.requests()
	if len(received) != len(want) {
		t.Fatalf("the server received %d requests, want %d", len(received), len(want))
	}
	for _, r := range received {
		if r.method != http.MethodGet || !slices.Equal(r.groups, []string{"readers"}) || r.authorization != "Bearer secret" {
			t.Errorf("the server received %+v", r)
		}
	}
}

// The identities of a scenario are those that the server sees. Groups that the server adds by itself are not asked
// for.
func TestImpersonation(t *testing.T) {
	f := startFake(t)
	once := "    request: {verb: get, resource: pods, namespace: a, name: b}\n    execution: 1ms\n    arrivals: {burst: {at: 10ms, requests: 1}}\n"
	s := call(t, t.Context(), scenarioFile(t, "100ms",
		"  - name: account\n    as: {serviceAccount: \"kube-system/job\"}\n"+once+
			"  - name: node\n    as: {node: \"n-{i}\"}\n"+once+
			"  - name: anonymous\n    as: {anonymous: true}\n"+once+
			"  - name: user\n    as: {user: u, groups: [g, h]}\n"+once), "--kubeconfig", f.kubeconfig(t, "secret"), "--yes")
	s.want(t, statusDone)
	got := map[string][]string{}
	for _, r := range f.requests() {
		got[r.user] = r.groups
	}
	want := map[string][]string{"system:serviceaccount:kube-system:job": nil, "system:node:n-0": {"system:nodes"}, "system:anonymous": nil, "u": {"g", "h"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
}

// Each write has dryRun=All, also if the scenario has another value, unless --writes is given. Objects are the smallest
// of their kind, in the version that the server prefers.
func TestWrites(t *testing.T) {
	workloads := `
  - name: writers
    as: {user: w}
    requests:
    - {weight: 1, verb: create, resource: configmaps, namespace: a, query: "fieldManager=x&dryRun=None"}
    - {weight: 1, verb: update, group: example.com, resource: gadgets, name: big}
    - {weight: 1, verb: create, group: example.com, resource: gears}
    - {weight: 1, verb: patch, resource: pods, namespace: a, name: p}
    - {weight: 1, verb: delete, resource: pods, namespace: a, name: p}
    - {weight: 1, verb: deletecollection, resource: pods, namespace: a}
    - {weight: 1, verb: create, resource: pods, subresource: eviction, namespace: a, name: p}
    execution: 1ms
    arrivals: {constant: {rate: 200/s}}
`
	type write struct{ Method, URL, Type, Body string }
	for _, c := range []struct {
		flag string
		want []write
	}{
		{"--max-requests=1000", []write{
			{"DELETE", "/api/v1/namespaces/a/pods/p?dryRun=All", "", ""},
			{"DELETE", "/api/v1/namespaces/a/pods?dryRun=All", "", ""},
			{"PATCH", "/api/v1/namespaces/a/pods/p?dryRun=All", "application/merge-patch+json", `{}`},
			{"POST", "/api/v1/namespaces/a/configmaps?fieldManager=x&dryRun=All", "application/json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"apfsim-","namespace":"a"}}`},
			{"POST", "/api/v1/namespaces/a/pods/p/eviction?dryRun=All", "application/json", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"a"}}`},
			{"POST", "/apis/example.com/v1/gears?dryRun=All", "application/json", `{"apiVersion":"example.com/v1","kind":"Gear","metadata":{"generateName":"apfsim-"}}`},
			{"PUT", "/apis/example.com/v2/gadgets/big?dryRun=All", "application/json", `{"apiVersion":"example.com/v2","kind":"Gadget","metadata":{"name":"big"}}`},
		}},
		{"--writes", []write{
			{"DELETE", "/api/v1/namespaces/a/pods", "", ""},
			{"DELETE", "/api/v1/namespaces/a/pods/p", "", ""},
			{"PATCH", "/api/v1/namespaces/a/pods/p", "application/merge-patch+json", `{}`},
			{"POST", "/api/v1/namespaces/a/configmaps?fieldManager=x&dryRun=None", "application/json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"apfsim-","namespace":"a"}}`},
			{"POST", "/api/v1/namespaces/a/pods/p/eviction", "application/json", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"a"}}`},
			{"POST", "/apis/example.com/v1/gears", "application/json", `{"apiVersion":"example.com/v1","kind":"Gear","metadata":{"generateName":"apfsim-"}}`},
			{"PUT", "/apis/example.com/v2/gadgets/big", "application/json", `{"apiVersion":"example.com/v2","kind":"Gadget","metadata":{"name":"big"}}`},
		}},
	} {
		f := startFake(t)
		s := call(t, t.Context(), scenarioFile(t, "400ms", workloads), "--kubeconfig", f.kubeconfig(t, "secret"), "--yes", c.flag)
		text := "each has dryRun=All; none lasts, unless an aggregated API server serves example.com and ignores dryRun"
		if c.flag == "--writes" {
			text = "CARRIED OUT"
		}
		s.want(t, statusDone, text)
		var got []write
		for _, r := range f.requests() {
			if w := (write{r.method, r.url, r.mediaType, r.body}); !slices.Contains(got, w) {
				got = append(got, w)
			}
		}
		slices.SortFunc(got, func(a, b write) int { return strings.Compare(a.Method+a.URL, b.Method+b.URL) })
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: want (-), got (+):\n%s", c.flag, d)
		}
	}
}

// What cannot be sent is an error before anything is sent, and all of it is reported.
func TestRequestsThatAreNotSent(t *testing.T) {
	f := startFake(t)
	workloads := `
  - name: odd
    as: {user: w}
    requests:
    - {weight: 1, verb: create, resource: pods, subresource: exec, namespace: a, name: p}
    - {weight: 1, verb: post, path: /openapi}
    - {weight: 1, verb: get, path: /api/v1/namespaces/a/services/b/proxy/}
    execution: 1ms
    arrivals: {constant: {rate: 10/s}}
`
	s := call(t, t.Context(), scenarioFile(t, "100ms", workloads), "--kubeconfig", f.kubeconfig(t, "secret"), "--yes")
	s.want(t, statusInvalid, "story.yaml:13:7: spec.workload[0].requests[0]: create pods/exec: connects to a pod", "post /openapi: is a write without a resource", "get services/proxy: connects")
	if len(f.requests()) > 0 || len(f.own) > 0 {
		t.Errorf("the server has received %v %v, want nothing", f.requests(), f.own)
	}
	s = call(t, t.Context(), scenarioFile(t, "100ms", strings.ReplaceAll(reader, "resource: configmaps", "group: example.com, resource: gadget")), "--kubeconfig", f.kubeconfig(t, "secret"), "--yes")
	s.want(t, statusFailed, `the server does not serve gadget.example.com (did you mean "gadgets"?)`)
	if n := len(f.requests()); n > 0 {
		t.Errorf("the server has received %d requests, want none", n)
	}
}

// After the bound nothing is sent, and the results say that they are of a shorter time.
func TestBound(t *testing.T) {
	f := startFake(t)
	s := call(t, t.Context(), scenarioFile(t, "1h", reader), "--kubeconfig", f.kubeconfig(t, "secret"), "--yes", "--max-requests", "10")
	s.want(t, statusDone, "10 expected, at most 10 are sent", "The bound of 10 requests is reached after about", "the bound of requests is reached")
	if n := len(f.requests()); n != 10 {
		t.Errorf("the server has received %d requests, want 10", n)
	}
	results, err := output.ReadResults(filepath.Join(s.dir, "story"))
	if err != nil || results.DurationNs > int64(20*time.Second) {
		t.Errorf("the results are of %d ns (%v), want a second or so", results.DurationNs, err)
	}
}

// A rejected request is sent again after as long as its Retry-After says.
func TestRetries(t *testing.T) {
	f := startFake(t)
	rejected := false
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !rejected {
			rejected = true
			reject(w, "1")
		}
	}
	s := call(t, t.Context(), scenarioFile(t, "4s", `
  - name: once
    as: {user: u}
    request: {verb: get, resource: pods, namespace: a, name: b}
    execution: 1ms
    arrivals: {burst: {at: 0s, requests: 1}}
    retry: ClientGo
`), "--kubeconfig", f.kubeconfig(t, "secret"), "--yes")
	s.want(t, statusDone)
	got := f.requests()
	if len(got) != 2 || got[1].at.Sub(got[0].at) < time.Second {
		t.Fatalf("the server has received %+v; want two requests, a second apart", got)
	}
	log := s.log(t)
	for _, c := range []struct {
		field         string
		first, second any
	}{{"outcome", "rejected", "executed"}, {"attempt", 1.0, 2.0}, {"id", 1.0, 1.0}, {"status", 429.0, 200.0}, {"retryAfterSeconds", 1.0, nil},
		{"waitNs", nil, nil}, {"flow", "global-default/u", "global-default/u"}, {"priorityLevel", "global-default", "global-default"}} {
		if log[0][c.field] != c.first || log[1][c.field] != c.second {
			t.Errorf("%s is %v and %v, want %v and %v", c.field, log[0][c.field], log[1][c.field], c.first, c.second)
		}
	}
}

// Status 429 with an object is not from flow control: such as that of an eviction which a budget forbids.
func TestOtherTooManyRequests(t *testing.T) {
	f := startFake(t)
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, `{"kind": "Status", "message": "Cannot evict pod as it would violate the pod's disruption budget."}`)
	}
	s := call(t, t.Context(), scenarioFile(t, "300ms", reader), "--kubeconfig", f.kubeconfig(t, "secret"), "--yes")
	s.want(t, statusDone, "with an error other than a rejection by flow control")
	for _, line := range s.log(t) {
		if line["outcome"] != "executed" || line["status"] != 429.0 {
			t.Errorf("got %v, want it executed, with status 429", line)
		}
	}
}

// A closed loop waits for the answer and thinks before it sends the next request.
func TestClosedLoop(t *testing.T) {
	f := startFake(t)
	const service, think = 30 * time.Millisecond, 40 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var answered atomic.Int32
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(service):
		case <-r.Context().Done():
		}
		if answered.Add(1) == 4 {
			cancel()
		}
	}
	s := call(t, ctx, scenarioFile(t, "1h", `
  - name: users
    as: {user: u}
    request: {verb: get, resource: pods, namespace: a, name: b}
    execution: 1ms
    arrivals: {closed: {concurrency: 1, think: 40ms}}
`), "--kubeconfig", f.kubeconfig(t, "secret"), "--yes")
	s.want(t, statusFailed, "about ")
	got := f.requests()
	if len(got) != 4 {
		t.Errorf("%d requests; want 4, and none after the interruption", len(got))
	}
	for i := 1; i < len(got); i++ {
		if d := got[i].at.Sub(got[i-1].at); d < service+think-time.Millisecond {
			t.Errorf("request %d came %v after the one before it, want 70 ms or more", i+1, d)
		}
	}
}

// A watch is open as long as the scenario says, and is closed at the end of the run. Its latency is the time until it
// is open.
func TestWatches(t *testing.T) {
	f := startFake(t)
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	s := call(t, t.Context(), scenarioFile(t, "1500ms", `
  - name: short
    as: {user: short}
    request: {verb: watch, resource: pods, namespace: a, watch: {duration: 100ms}}
    execution: 1ms
    arrivals: {burst: {at: 10ms, requests: 1}}
  - name: long
    as: {user: long}
    request: {verb: watch, resource: pods, namespace: a, query: "watch=1", watch: {duration: 1h}}
    execution: 1ms
    arrivals: {burst: {at: 20ms, requests: 1}}
`), "--kubeconfig", f.kubeconfig(t, "secret"), "--yes")
	s.want(t, statusDone)
	for _, r := range f.requests() {
		if r.url != "/api/v1/namespaces/a/pods?watch=true" {
			t.Errorf("the server has received %s", r.url)
		}
	}
	log := s.log(t)
	if len(log) != 2 {
		t.Fatalf("the log has %v, want two watches", log)
	}
	short, long := time.Duration(log[0]["watchNs"].(float64)), time.Duration(log[1]["watchNs"].(float64))
	if short < 95*time.Millisecond || long < 300*time.Millisecond {
		t.Errorf("the watches were open for %v and %v, want 100 ms and until the end of the run", short, long)
	}
	if log[0]["outcome"] != "executed" || log[1]["outcome"] != "executed" {
		t.Errorf("the outcomes are %v and %v", log[0]["outcome"], log[1]["outcome"])
	}
}

// An interrupted run sends nothing more, and its results are written.
func TestInterrupt(t *testing.T) {
	f := startFake(t)
	ctx, interrupt := context.WithCancel(t.Context())
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		if len(f.requests()) == 5 {
			interrupt()
		}
	}
	s := call(t, ctx, scenarioFile(t, "1h", reader), "--kubeconfig", f.kubeconfig(t, "secret"), "--yes")
	s.want(t, statusFailed, "apfsim-live: interrupted", "wrote the results")
	sent := len(f.requests())
	if log := s.log(t); len(log) != sent || sent < 5 || sent > 100 {
		t.Errorf("%d requests were sent, and the log has %d; want about 5", sent, len(log))
	}
	if _, err := output.ReadResults(filepath.Join(s.dir, "story")); err != nil {
		t.Error(err)
	}
}

// A user who may not impersonate is told the rule that is missing.
func TestImpersonationIsForbidden(t *testing.T) {
	f := startFake(t)
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"message": "users \"reader-0\" is forbidden: User \"loader\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope"}`)
	}
	s := call(t, t.Context(), scenarioFile(t, "1h", reader), "--kubeconfig", f.kubeconfig(t, "secret"), "--yes")
	s.want(t, statusFailed, "does not let the user impersonate", `User "loader" cannot impersonate`, "resources: [users, groups, serviceaccounts]", "verbs: [impersonate]")
}

func TestServersThatDoNotAnswer(t *testing.T) {
	f := startFake(t)
	file := f.kubeconfig(t, "secret")
	s := call(t, t.Context(), scenarioFile(t, "1s", reader), "--kubeconfig", f.kubeconfig(t, "wrong"), "--yes")
	s.want(t, statusFailed, `does not accept the user "loader"`, "status 401: Unauthorized")
	f.Close()
	s = call(t, t.Context(), scenarioFile(t, "1s", reader), "--kubeconfig", file, "--yes")
	s.want(t, statusFailed, f.URL+" cannot be reached: ")
}

// A server that goes away during the run is not sent to for long.
func TestServerGoesAway(t *testing.T) {
	f := startFake(t)
	f.answer = func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }
	s := call(t, t.Context(), scenarioFile(t, "1h", strings.ReplaceAll(reader, "20/s", "500/s")), "--kubeconfig", f.kubeconfig(t, "secret"), "--yes")
	s.want(t, statusFailed, load.ErrUnreachable.Error(), "none: ")
	if n := len(f.requests()); n > 500 {
		t.Errorf("%d requests were sent, want little more than 50", n)
	}
}

func TestWrongUsage(t *testing.T) {
	f := startFake(t)
	file, sc := f.kubeconfig(t, "secret"), scenarioFile(t, "1s", reader)
	full := t.TempDir()
	if err := os.MkdirAll(filepath.Join(full, "story"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(full, "story", "summary.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("clusters: 5"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "there are 0 arguments; want one scenario"},
		{[]string{sc}, "--kubeconfig: is not given"},
		{[]string{sc, "--kubeconfig", "nowhere"}, "nowhere: there is no such file"},
		{[]string{sc, "--kubeconfig", broken}, "is not a kubeconfig file"},
		{[]string{sc, "--kubeconfig", t.TempDir()}, "is a folder"},
		{[]string{sc, "--kubeconfig", file, "--context", "tst"}, `has no context "tst" (did you mean "test"?); there are as, test`},
		{[]string{sc, "--kubeconfig", file, "--context", "as"}, `already impersonates "somebody"`},
		{[]string{sc, "--kubeconfig", file, "--max-requests", "0"}, "--max-requests: 0: want 1 or more"},
		{[]string{sc, "--kubeconfig", file, "-o", full}, "is not empty"},
		{[]string{"no-such-scenario", "--kubeconfig", file}, "neither a file nor a scenario of the library"},
		{[]string{sc, "--kubeconfig", file, "--set", "spec.sed=1"}, "spec.sed"},
		{[]string{sc, "--kubeconfig", file, "--sed", "1"}, "unknown flag: --sed"},
	} {
		s := call(t, t.Context(), c.args...)
		s.want(t, statusInvalid, c.want)
	}
	if len(f.requests()) > 0 || len(f.own) > 0 {
		t.Errorf("the server has received %v %v, want nothing", f.requests(), f.own)
	}
}

// The whole folder: apfsim compares it with that of a simulation, statistic by statistic, and nothing that a client
// cannot know is in it.
func TestFolderIsCompared(t *testing.T) {
	f := startFake(t)
	file := scenarioFile(t, "1s", reader)
	s := call(t, t.Context(), file, "--kubeconfig", f.kubeconfig(t, "secret"), "--yes")
	s.want(t, statusDone, "adjustmentPhase is not measured: no adjustment was seen", "handover is not measured: ", "200: ")
	folder := filepath.Join(s.dir, "story")
	var names []string
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if d := cmp.Diff([]string{"measurement.json", "metrics-after.txt", "metrics-before.txt", "requests.jsonl", "summary.json"}, names); d != "" {
		t.Errorf("files: want (-), got (+):\n%s", d)
	}
	text, err := os.ReadFile(filepath.Join(folder, "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{`"wait"`, "queueFull", "timedOut", "limits", "serviceSeatSeconds", "utilisation", "waiting", "fingerprint"} {
		if bytes.Contains(text, []byte(absent)) {
			t.Errorf("summary.json has %s, which a client cannot know", absent)
		}
	}
	live, err := output.ReadResults(folder)
	if err != nil {
		t.Fatal(err)
	}
	prediction, err := output.ReadResults(simulated(t, file))
	if err != nil {
		t.Fatal(err)
	}
	c := compare.Compare("results", prediction, "live", live)
	sent := float64(len(f.requests()))
	found := false
	for _, ch := range c.Changes {
		if ch.Name == "arrived{flow:global-default/reader-0}.count" {
			found = true
		}
		if ch.Name == "arrived{workload:readers}.count" && (ch.Base != sent || ch.Head != sent) {
			t.Errorf("arrived %v and %v, want %v on both sides", ch.Base, ch.Head, sent)
		}
	}
	if !found {
		t.Error("the flows are not compared")
	}
	var printed bytes.Buffer
	if err := render.Text(&printed, report.ComparisonDocument(c, true), format.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"measured by a client", "a client cannot measure", "latency{workload:readers}.med"} {
		if !strings.Contains(printed.String(), text) {
			t.Errorf("the comparison does not have %q:\n%s", text, printed.String())
		}
	}
}

// simulated runs a scenario and returns the folder of its results.
func simulated(t *testing.T, file string) string {
	t.Helper()
	loaded, wrong := loader.Load(nil, file, loader.Options{})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return simulate(t, loaded[0])
}

// Recorded requests are sent at their times, with their users and IDs.
func TestTrace(t *testing.T) {
	f := startFake(t)
	file := scenarioFile(t, "500ms", `
  - name: recorded
    arrivals: {trace: {file: trace.jsonl}}
`)
	line := `{"id": %ID%, "arrivalNs": %ID%00000000, "user": "u%ID%", "groups": ["system:authenticated"], "verb": "get", "apiGroup": "", "resource": "pods", "subresource": "", "namespace": "a", "name": "b", "path": "/api/v1/namespaces/a/pods/b", "query": "", "executionNs": 1000000, "watchNs": 0}` + "\n"
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "trace.jsonl"),
		[]byte(strings.ReplaceAll(line, "%ID%", "1")+strings.ReplaceAll(line, "%ID%", "3")), 0o644); err != nil {
		t.Fatal(err)
	}
	s := call(t, t.Context(), file, "--kubeconfig", f.kubeconfig(t, "secret"), "--yes")
	s.want(t, statusDone, "u1, u3", "GET /api/v1/namespaces/a/pods/b")
	log := s.log(t)
	if len(log) != 2 || log[0]["id"] != 1.0 || log[1]["id"] != 3.0 || log[1]["user"] != "u3" || log[1]["arrivalNs"].(float64) < 300e6 {
		t.Errorf("the log has %v, want requests 1 and 3 at 100 and 300 ms", log)
	}
}

// Where the server refers to another address, neither the request nor the credentials go there.
func TestRedirect(t *testing.T) {
	f := startFake(t)
	other := startFake(t)
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/elsewhere", http.StatusFound)
	}
	s := call(t, t.Context(), scenarioFile(t, "200ms", reader), "--kubeconfig", f.kubeconfig(t, "secret"), "--yes")
	s.want(t, statusDone, "302: ")
	if len(other.requests()) > 0 || len(other.own) > 0 {
		t.Errorf("the other server has received %v %v, want nothing", other.requests(), other.own)
	}
}

// The objects of flow control and the metrics are not needed. What is then unknown is said.
func TestUserWhoMayReadLittle(t *testing.T) {
	f := startFake(t)
	f.noNames = true
	f.metrics = func(int) (int, string) {
		return http.StatusForbidden, `{"message": "forbidden: cannot get path \"/metrics\""}`
	}
	s := call(t, t.Context(), scenarioFile(t, "300ms", reader), "--kubeconfig", f.kubeconfig(t, "secret"), "--yes")
	s.want(t, statusDone, "nonResourceURLs [/metrics]", "adjustmentPhase is not measured", "the FlowSchema and the priority level of", "flowschemas is forbidden")
	if _, err := os.Stat(filepath.Join(s.dir, "story", "metrics-after.txt")); err == nil {
		t.Error("there is a file of metrics")
	}
}

// simulate runs a scenario and returns the folder of its results.
func simulate(t *testing.T, sc *scenario.Scenario) string {
	t.Helper()
	dir := t.TempDir()
	simulation := sim.New(sc)
	measurement := collect.Measure(simulation, result.Interval(int64(sc.Spec.Duration)))
	if err := simulation.Execute(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var set atomicfile.Set
	r := measurement.Result()
	verdict.Verdict(r)
	if _, err := output.WriteRun(&set, dir, r, nil, nil); err != nil {
		t.Fatal(err)
	}
	return output.Folder(dir, sc.Metadata.Name)
}
