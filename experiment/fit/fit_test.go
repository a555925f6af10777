package fit_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"apfsim/experiment"
	"apfsim/experiment/fit"
	"apfsim/experiment/fit/check"
	"apfsim/reports/format"
	"apfsim/reports/record"
	"apfsim/reports/render"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/workload"
)

// silent displays no progress.
type silent struct{}

func (silent) Begin(time.Duration) experiment.RunProgress { return silent{} }
func (silent) Update(int64, uint64)                       {}
func (silent) Finish()                                    {}

// load returns the scenario of a text.
func load(t testing.TB, text string) *scenario.Scenario {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	sc, err := experiment.LoadOne(path, loader.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return sc
}

// base is a scenario without workloads: 30 seats, and a minute.
const base = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: recorded}
spec:
  seed: 7
  duration: 60s
  servers: {maxRequestsInflight: 25, maxMutatingRequestsInflight: 5}
`

// recordRun returns the request log of a run of the base with workloads.
func recordRun(t testing.TB, workloads string) string {
	t.Helper()
	return recordSeed(t, workloads, 7)
}

// recordSeed is record with a seed.
func recordSeed(t testing.TB, workloads string, seed uint64) string {
	t.Helper()
	text := base + workloads
	if strings.HasPrefix(workloads, "  duration:") {
		text = strings.Replace(text, "  duration: 60s\n", "", 1)
	}
	return recordText(t, text, seed)
}

// recordText returns the request log of a run of the scenario of a text.
func recordText(t testing.TB, text string, seed uint64) string {
	t.Helper()
	sc := load(t, text)
	sc.Spec.Seed = seed
	run := sim.New(sc)
	var b bytes.Buffer
	log := record.NewRequestLog(&b, sc)
	run.Observe(log.Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// fitTo fits a scenario with the servers of the base to a log.
func fitTo(t testing.TB, log string) *fit.Fitted {
	t.Helper()
	f, err := fit.Fit(opener(log), fit.Options{File: "requests.jsonl", Name: "fitted", Base: []byte(base), BaseFile: "base.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func opener(log string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log)), nil }
}

// near fails unless x is within a relative distance of want.
func near(t *testing.T, what string, x, want, distance float64) {
	t.Helper()
	if !(math.Abs(x-want) <= distance*want) {
		t.Errorf("%s: got %g, want %g ± %.0f %%", what, x, want, 100*distance)
	}
}

const (
	app = `
    as: {serviceAccount: "tenant-{i}/app"}
    request: {verb: get, resource: configmaps, namespace: "tenant-{i}", name: "settings-{i}"}
`
	job = `
    as: {serviceAccount: ci/job}
    request: {verb: create, resource: pods, namespace: ci}
`
)

// Each story is a scenario whose request log is fitted. The fitted scenario must have the parameters of the
// original one, and must predict the statistics of the log.
var stories = []struct {
	name      string
	workloads string // of the spec
	check     func(*testing.T, []workload.Workload, *fit.Report)
}{
	{"tenants send independently of each other",
		"  workload:\n  - name: tenants\n    clients: 10" + app + "    execution: {exponential: {mean: 20ms}}\n    arrivals: {poisson: {rate: 20/s}}\n",
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			if len(w) != 1 || w[0].Clients != 10 || w[0].Arrivals.Poisson == nil || w[0].As.ServiceAccount != "tenant-{i}/app" {
				t.Fatalf("%+v", r.Workloads)
			}
			if q := w[0].Requests[0]; q.Namespace != "tenant-{i}" || q.Name != "settings-{i}" {
				t.Errorf("%+v", q)
			}
			near(t, "rate", float64(w[0].Arrivals.Poisson.Rate), 20, 3/math.Sqrt(12000)) // three standard errors
			near(t, "execution", w[0].Execution.MeanNs(), 20e6, 3/math.Sqrt(12000))
			isKind(t, r, "exponential")
		}},
	{"leases are renewed every 2 s, in 8 ms each",
		`  workload:
  - name: kubelets
    clients: 50
    as: {node: "node-{i}"}
    request: {verb: update, group: coordination.k8s.io, resource: leases, namespace: kube-node-lease, name: "node-{i}"}
    execution: 8ms
    arrivals: {constant: {rate: 0.5/s}}
`,
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			if len(w) != 1 || w[0].Clients != 50 || w[0].Arrivals.Constant == nil || w[0].As.Node != "node-{i}" || w[0].Arrivals.Constant.Rate != 0.5 {
				t.Fatalf("%+v", r.Workloads)
			}
			if d := w[0].Execution; d.MeanNs() != 8e6 || r.Workloads[0].Execution != "constant 8ms" {
				t.Errorf("execution: %s", r.Workloads[0].Execution)
			}
		}},
	{"a job creates 40 pods within 2 s, every 10 s",
		"  workload:\n  - name: job" + job + "    execution: {lognormal: {mean: 50ms, p99: 250ms}}\n    arrivals: {burst: {at: 3s, requests: 40, over: 2s, every: 10s}}\n",
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			if len(w) != 1 || w[0].Arrivals.Burst == nil {
				t.Fatalf("%+v", r.Workloads)
			}
			b := w[0].Arrivals.Burst
			if b.Requests != 40 || b.At != 3e9 || b.Every != 10e9 {
				t.Errorf("%+v", b)
			}
			near(t, "length", float64(b.Over), 2e9, 0.001)
		}},
	{"eighty informers list at the same moment",
		`  workload:
  - name: informers
    clients: 80
    start: 30s
    as: {serviceAccount: "agents/informer-{i}"}
    request: {verb: list, resource: pods, query: "resourceVersion=0"}
    execution: {uniform: {min: 100ms, max: 300ms}}
    arrivals: {burst: {requests: 1}}
`,
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			if len(w) != 1 || w[0].Clients != 80 || w[0].Arrivals.Burst == nil || w[0].Arrivals.Burst.At != 30e9 || w[0].Arrivals.Burst.Requests != 1 {
				t.Fatalf("%+v", r.Workloads)
			}
		}},
	{"a tenth of the time, a controller sends fifty times as fast",
		`  workload:
  - name: controllers
    clients: 12
    as: {user: "controller-{i}"}
    request: {verb: patch, resource: pods, subresource: status, namespace: default, name: pod}
    execution: {gamma: {mean: 4ms, shape: 4}}
    arrivals: {onOff: {rate: 50/s, on: {exponential: {mean: 200ms}}, off: {exponential: {mean: 1800ms}}}}
`,
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			if len(w) != 1 || w[0].Arrivals.OnOff == nil {
				t.Fatalf("%+v", r.Workloads)
			}
			a := w[0].Arrivals.OnOff
			near(t, "rate", float64(a.Rate), 50, 0.1)
			near(t, "on", a.On.MeanNs(), 200e6, 0.2)
			near(t, "off", a.Off.MeanNs(), 1800e6, 0.2)
			isKind(t, r, "gamma")
		}},
	{"the rate is three times as high from 20 s to 40 s, and the workload ends at 50 s",
		"  workload:\n  - name: tenants\n    clients: 5\n    stop: 50s" + app + `    execution: {exponential: {mean: 10ms}}
    arrivals: {ramping: {startRate: 10/s, stages: [{duration: 20s, rate: 10/s}, {duration: 0s, rate: 30/s}, {duration: 20s, rate: 30/s}, {duration: 0s, rate: 10/s}]}}
`,
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			if len(w) != 1 || w[0].Arrivals.Ramping == nil || len(w[0].Arrivals.Ramping.Stages) != 5 {
				t.Fatalf("%+v", r.Workloads)
			}
			stages := w[0].Arrivals.Ramping.Stages
			near(t, "first rate", float64(stages[0].Rate), 10, 0.1)
			near(t, "first change", float64(stages[0].Duration), 20e9, 0.02)
			near(t, "second rate", float64(stages[2].Rate), 30, 0.1)
			near(t, "second change", float64(stages[2].Duration), 20e9, 0.02)
			near(t, "end", float64(w[0].Stop), 50e9, 0.01)
		}},
	{"clients wait for the response before they think and send again",
		"  workload:\n  - name: closed\n    clients: 20" + app + "    execution: {exponential: {mean: 80ms}}\n    arrivals: {closed: {think: {exponential: {mean: 100ms}}}}\n",
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			if len(w) != 1 || w[0].Arrivals.Closed == nil || w[0].Arrivals.Closed.Concurrency != 1 {
				t.Fatalf("%+v", r.Workloads)
			}
			near(t, "think time", w[0].Arrivals.Closed.Think.MeanNs(), 100e6, 0.05)
		}},
	{"a job always has 6 requests in progress",
		"  workload:\n  - name: closed" + job + "    execution: {exponential: {mean: 80ms}}\n    arrivals: {closed: {concurrency: 6}}\n",
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			if len(w) != 1 || w[0].Arrivals.Closed == nil || w[0].Arrivals.Closed.Concurrency != 6 {
				t.Fatalf("%+v", r.Workloads)
			}
		}},
	{"one of thirty accounts is eight times as busy as the others",
		`  workload:
  - name: quiet
    clients: 29
    as: {serviceAccount: "noisy/app-{i}"}
    request: {verb: get, resource: secrets, namespace: noisy, name: token}
    execution: {exponential: {mean: 5ms}}
    arrivals: {poisson: {rate: 5/s}}
  - name: busy
    as: {serviceAccount: "noisy/app-29"}
    request: {verb: get, resource: secrets, namespace: noisy, name: token}
    execution: {exponential: {mean: 5ms}}
    arrivals: {poisson: {rate: 40/s}}
`,
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			if len(w) != 2 || w[0].Clients != 29 || w[1].Clients != 1 || w[1].As.ServiceAccount != "noisy/app-29" || w[0].As.ServiceAccount != "noisy/app-{i}" {
				t.Fatalf("%+v", r.Workloads)
			}
			near(t, "busy rate", float64(w[1].Arrivals.Poisson.Rate), 40, 3/math.Sqrt(2400))
		}},
	{"lists take several seats",
		`  resources: [{resource: pods, objects: 1200, averageBytes: 2000}]
  workload:
  - name: lists
    clients: 3
    as: {user: "reader-{i}", groups: ["system:masters"]}
    request: {verb: list, resource: pods, query: "limit=150&resourceVersion=4711&resourceVersionMatch=NotOlderThan"}
    execution: {weibull: {mean: 60ms, shape: 2}}
    arrivals: {poisson: {rate: 6/s}}
`,
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			if len(w) != 1 || w[0].Clients != 3 || !strings.Contains(w[0].Requests[0].Query, "limit=150") {
				t.Fatalf("%+v", r.Workloads)
			}
			isKind(t, r, "weibull")
			if !regexp.MustCompile(`pods: \d+ objects .* all lists take the seats`).MatchString(strings.Join(r.Notes, "\n")) {
				t.Errorf("notes: %q", r.Notes)
			}
		}},
	{"watches last 20 s on average and are opened again, 30 are open at the start",
		`  workload:
  - name: agents
    clients: 30
    as: {user: "agent-{i}"}
    request: {verb: watch, resource: configmaps, query: "watch=1&resourceVersion=17", watch: {duration: {exponential: {mean: 20s}}}}
    execution: 5ms
    arrivals: {closed: {think: 1s}}
`,
		func(t *testing.T, w []workload.Workload, r *fit.Report) {
			if len(w) != 1 || w[0].Clients != 30 || w[0].Arrivals.Closed == nil {
				t.Fatalf("%+v", r.Workloads)
			}
			near(t, "lifetime", w[0].Requests[0].Watch.Duration.MeanNs(), 20e9, 0.3)
		}},
}

// isKind fails unless the only workload has this distribution of executions.
func isKind(t *testing.T, r *fit.Report, kind string) {
	t.Helper()
	if !strings.HasPrefix(r.Workloads[0].Execution, kind) {
		t.Errorf("execution: got %s, want %s", r.Workloads[0].Execution, kind)
	}
}

var long = flag.Bool("long", false, "fit all logs of which most are like others, too")

// some returns so many of all cases; all of them with -long.
func some[C any](n int, all []C) []C {
	if *long {
		return all
	}
	return all[:n]
}

func TestStories(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			f := fitTo(t, recordRun(t, s.workloads))
			sc := load(t, string(f.Scenario))
			s.check(t, sc.Spec.Workload, f.Report)
			if t.Failed() {
				t.Logf("%s", f.Scenario)
			}
			predicts(t, f, sc)
		})
	}
}

// predicts fails unless the recorded statistics are within the prediction intervals. Of those of independent
// statistics, one of twenty would be outside by chance.
func predicts(t *testing.T, f *fit.Fitted, sc *scenario.Scenario) {
	t.Helper()
	c, err := check.Run(context.Background(), f, sc, check.DefaultRuns, silent{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Coverage != 0.95 {
		t.Errorf("coverage %v", c.Coverage)
	}
	t.Logf("%d of %d statistics are within their intervals", c.Within, len(c.Rows))
	if len(c.Moved) > 0 {
		t.Errorf("moved: %+v", c.Moved)
	}
	if share := float64(c.Within) / float64(len(c.Rows)); share < 0.9 {
		var b bytes.Buffer
		if err := render.Text(&b, (&check.Report{Report: f.Report, Check: c}).Document(), format.TextOptions{}); err != nil {
			t.Error(err)
		}
		t.Errorf("%d of %d statistics are within their intervals\n%s", c.Within, len(c.Rows), b.String())
	}
}

// A scenario that is fitted to one recording predicts another one of the same clients: most of its statistics are
// within the intervals, though not quite as many, because the parameters are those of the first.
func TestPredictsAnotherRecording(t *testing.T) {
	if testing.Short() {
		t.Skip("no time for many runs")
	}
	within, all := 0, 0
	for _, s := range some(2, stories[:7]) {
		f := fitTo(t, recordRun(t, s.workloads))
		other := fitTo(t, recordSeed(t, s.workloads, 8))
		if len(f.Report.Workloads) != len(other.Report.Workloads) {
			t.Fatalf("%s: %+v, and with another seed %+v", s.name, f.Report.Workloads, other.Report.Workloads)
		}
		f.Recorded = other.Recorded
		c, err := check.Run(context.Background(), f, load(t, string(f.Scenario)), check.DefaultRuns, silent{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d of %d: %s", c.Within, len(c.Rows), s.name)
		within += c.Within
		all += len(c.Rows)
	}
	if share := float64(within) / float64(all); share < 0.8 {
		t.Errorf("%d of %d statistics are within their intervals", within, all)
	}
}

// Elephants whose clients retry, as client-go does. The retries are not arrivals of their own: the rate of the
// fitted scenario is that of first attempts. The log is fitted as it is, without the number of the attempt, and as
// the log of a real server is, which does not say the Retry-After either.
func TestRetriesAreNotArrivals(t *testing.T) {
	log := recordRun(t, `  workload:
  - name: elephants
    clients: 4
    as: {serviceAccount: "tenant-{i}/default"}
    request: {verb: list, resource: pods, namespace: "tenant-{i}"}
    execution: {exponential: {mean: 100ms}}
    arrivals: {poisson: {rate: 90/s}}
    retry: ClientGo
`)
	first := float64(strings.Count(log, `"attempt":1,`))
	retries := float64(strings.Count(log, "\n")) - first
	if retries < 1000 {
		t.Fatalf("only %g retries", retries)
	}
	attempt := regexp.MustCompile(`,"attempt":\d+`)
	after := regexp.MustCompile(`,"retryAfterSeconds":\d+`)
	for name, text := range map[string]string{
		"as it is":                             log,
		"without attempts":                     attempt.ReplaceAllString(log, ""),
		"without attempts and Retry-After":     after.ReplaceAllString(attempt.ReplaceAllString(log, ""), ""),
		"with wrong attempts, no Retry-After ": after.ReplaceAllString(attempt.ReplaceAllString(log, `,"attempt":2`), ""),
	} {
		t.Run(name, func(t *testing.T) {
			f := fitTo(t, text)
			sc := load(t, string(f.Scenario))
			w := sc.Spec.Workload
			if len(w) != 1 || w[0].Clients != 4 || w[0].Retry.MaxRetries == 0 {
				t.Fatalf("%+v", f.Report.Workloads)
			}
			tolerance := 0.0 // attempts that are recognised wrongly
			if strings.Contains(name, "Retry-After") {
				tolerance = 0.02
			}
			near(t, "first attempts", float64(f.Report.Workloads[0].First), first, tolerance)
			near(t, "retries", float64(f.Report.Retries), retries, tolerance)
			if p := w[0].Arrivals.Poisson; p == nil {
				t.Errorf("arrivals: %s", f.Report.Workloads[0].Arrivals)
			} else {
				near(t, "rate", float64(p.Rate), 90, tolerance+3/math.Sqrt(first))
			}
			if name == "as it is" {
				predicts(t, f, sc)
			}
		})
	}
}

// Clients that do not retry are not taken for ones that do, however often they are rejected: their next requests
// come as often at any other time as when a retry would be due.
func TestBusyClientsDoNotRetry(t *testing.T) {
	log := recordRun(t, "  workload:\n  - name: busy"+job+"    execution: {exponential: {mean: 200ms}}\n    arrivals: {poisson: {rate: 400/s}}\n")
	if rejected := strings.Count(log, `"outcome":"rejected"`); rejected < 3000 {
		t.Fatalf("only %d rejected", rejected)
	}
	log = regexp.MustCompile(`,"(attempt|retryAfterSeconds)":\d+`).ReplaceAllString(log, "")
	f := fitTo(t, log)
	if f.Report.Retries != 0 || strings.Contains(string(f.Scenario), "retry") {
		t.Errorf("%d retries\n%s", f.Report.Retries, f.Scenario)
	}
}

// Accounts of one name in many namespaces are one workload, with other names; those of Kubernetes are left alone.
func TestLikeUsersGetOtherNames(t *testing.T) {
	var b strings.Builder
	for i := range 600 {
		namespace := []string{"alpha", "beta", "gamma", "kube-system", "delta"}[i%5]
		fmt.Fprintf(&b, `{"arrivalNs":%d,"user":"system:serviceaccount:%s:agent","verb":"list","resource":"pods","namespace":"%[2]s","executionNs":%d}`+"\n",
			i*1e8+i*i%97*1e6, namespace, 1e6+i*i%89*1e5)
	}
	f, err := fit.Fit(opener(b.String()), fit.Options{File: "trace.jsonl", Name: "fitted"})
	if err != nil {
		t.Fatal(err)
	}
	sc := load(t, string(f.Scenario))
	w := sc.Spec.Workload
	if len(w) != 2 || w[0].Clients != 4 || w[0].As.ServiceAccount != "namespace-{i}/agent" || w[0].Requests[0].Namespace != "namespace-{i}" ||
		w[1].As.ServiceAccount != "kube-system/agent" {
		t.Errorf("%s", f.Scenario)
	}
	if notes := strings.Join(f.Report.Workloads[0].Notes, "\n"); !strings.Contains(notes, "4 users have other names in the scenario: namespace-{i} stands for alpha, beta, delta, …") {
		t.Errorf("notes: %s", notes)
	}
	c, err := check.Run(context.Background(), f, sc, 3, silent{})
	if err != nil || c.Skipped == "" || c.Rows[len(c.Rows)-1].Statistic != "execution p99" {
		t.Errorf("%v %+v", err, c)
	}
}

// Rare workloads are joined if there are too many.
func TestManyWorkloads(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		resource := fmt.Sprintf("kind%c%c", 'a'+i%15, 'a'+i%20)
		fmt.Fprintf(&b, `{"arrivalNs":%d,"user":"jane","verb":"get","resource":"%s","executionNs":1000000}`+"\n", i*1e8, resource)
	}
	f, err := fit.Fit(opener(b.String()), fit.Options{File: "trace.jsonl", Name: "fitted", MaxWorkloads: 10})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(load(t, string(f.Scenario)).Spec.Workload); n != 11 || !strings.Contains(strings.Join(f.Report.Notes, "\n"), "50 workloads with few requests were joined to 1") {
		t.Errorf("%d workloads, %q", n, f.Report.Notes)
	}
}

// The servers, the configuration and the resources are those of the base, whose paths stay valid; its workloads and
// thresholds are not.
func TestBase(t *testing.T) {
	text := `# yesterday
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: incident}
spec:
  seed: 3
  duration: 10s
  warmup: 1s
  servers: {kubernetesVersion: "1.34"}
  config: {files: [config/cluster.yaml, /etc/more.yaml]}
  events: [{at: 5s, apply: {files: [proposal.yaml]}}]
  resources: [{resource: pods, objects: 5}]
  workload: [{name: recorded, arrivals: {trace: {file: trace.jsonl}}}]
  thresholds: {"wait{workload:recorded}": ["max < 1s"]}
`
	log := `{"arrivalNs":0,"user":"jane","verb":"get","path":"/healthz","executionNs":1000000}
{"arrivalNs":9900000000,"user":"jane","verb":"get","path":"/healthz","executionNs":1000000}
`
	f, err := fit.Fit(opener(log), fit.Options{File: "trace.jsonl", Name: "fitted", Base: []byte(text), BaseFile: "incident/scenario.yaml", Dir: "out/fitted"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Fitted to recorded requests", `kubernetesVersion: "1.34"`, "../../incident/config/cluster.yaml, /etc/more.yaml", "../../incident/proposal.yaml",
		"{resource: pods, objects: 5}", "duration: 10s", "warmup: 1s", "name: fitted", "path: /healthz"} {
		if !strings.Contains(string(f.Scenario), want) {
			t.Errorf("want %s in\n%s", want, f.Scenario)
		}
	}
	for _, gone := range []string{"yesterday", "seed", "recorded}", "trace.jsonl}", "thresholds"} {
		if strings.Contains(string(f.Scenario), gone) {
			t.Errorf("%s is in\n%s", gone, f.Scenario)
		}
	}
}

// All wrong lines are reported, with what is wanted.
func TestWrongLines(t *testing.T) {
	for name, c := range map[string]struct{ log, base, want string }{
		"lines": {`{"arrivalNs":5,"verb":"get","resource":"pods","executionNs":1}
{"arrivalNs":4,"verb":"get","resource":"pods","executionNs":1}
{"arrivalNs":"x"}

{"arrivalNs":6,"resource":"pods"}
{"arrivalNs":7,"verb":"get"}
{"arrivalNs":-1,"verb":"get","resource":"pods"}
{"arrivalNs":`, "", `requests.jsonl:2:1: arrivalNs: 4 is before the line above, 5; want the requests in order of arrival
requests.jsonl:3:14: arrivalNs: is a string; want a whole number
requests.jsonl:5:1: verb: is missing
requests.jsonl:6:1: has neither resource nor path; want one of them
requests.jsonl:7:1: arrivalNs: -1 is out of range; want 0 to 576460752303423487
requests.jsonl:8:14: is not valid JSON: unexpected EOF`},
		"server":     {`{"arrivalNs":1,"verb":"get","resource":"pods","server":100}`, "", "requests.jsonl:1:1: server: 100 is out of range; want 0 to 99"},
		"retry":      {`{"arrivalNs":1,"verb":"get","resource":"pods","retryAfterSeconds":1000001}`, "", "requests.jsonl:1:1: retryAfterSeconds: 1000001 is out of range; want 0 to 1000000"},
		"no request": {"\n", "", "requests.jsonl: has no request; want at least one"},
		"base":       {"", "spec: {duration: 5}", "base.yaml:1: spec.duration: 5 is not a duration; use a number with a unit, such as 60s"},
		"no spec":    {"", "a: b", "base.yaml:1: spec: is missing; want a scenario"},
		"two":        {"", "spec: {}\n---\nspec: {}", "base.yaml:2: has more than one scenario; want one"},
		"no YAML":    {"", "a: [", "base.yaml: is not YAML: line 1: did not find expected node content"},
	} {
		t.Run(name, func(t *testing.T) {
			o := fit.Options{File: "requests.jsonl", Name: "fitted", BaseFile: "base.yaml"}
			if c.base != "" {
				o.Base = []byte(c.base)
			}
			_, err := fit.Fit(opener(c.log), o)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// The same log gives the same bytes.
func TestDeterministic(t *testing.T) {
	log := recordRun(t, stories[4].workloads)
	first, second := fitTo(t, log), fitTo(t, log)
	if !bytes.Equal(first.Scenario, second.Scenario) {
		t.Errorf("%s\n%s", first.Scenario, second.Scenario)
	}
}

// Whatever is in a log, it is refused or gives a scenario that can be loaded.
func FuzzFit(f *testing.F) {
	f.Add(`{"arrivalNs":0,"user":"system:serviceaccount:a-1:b","groups":["g"],"verb":"list","resource":"pods","namespace":"a-1","query":"limit=5&continue=x","executionNs":5,"outcome":"executed","seats":3}
{"arrivalNs":9,"user":"system:serviceaccount:a-2:b","verb":"list","resource":"pods","namespace":"a-2","executionNs":5,"outcome":"rejected","retryAfterSeconds":1}
{"arrivalNs":1000000009,"user":"system:node:n","verb":"watch","resource":"pods","executionNs":5,"watchNs":3,"outcome":"executing","attempt":2}
{"arrivalNs":1000000010,"user":"{i}","verb":"get","path":"/healthz","executionNs":5,"outcome":"waiting"}`)
	f.Add(`{"arrivalNs":7,"verb":"create","resource":"pods","executionNs":0,"name":"x"}`)
	f.Fuzz(func(t *testing.T, log string) {
		fitted, err := fit.Fit(opener(log), fit.Options{File: "requests.jsonl", Name: "fitted"})
		if err != nil {
			return
		}
		load(t, string(fitted.Scenario))
	})
}
