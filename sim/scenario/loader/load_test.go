package loader

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/server"
	"apfsim/sim/trace"
)

// exampleScenario is the example of the documentation: everything of the format is in it once.
const exampleScenario = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata:
  name: elephants-and-mice
  description: Four elephants and a hundred mice share workload-low.
spec:
  seed: 1
  duration: 60s              # of virtual time
  warmup: 10s                # left out of the statistics
  servers:
    replicas: 1
    kubernetesVersion: "1.37"
    maxRequestsInflight: 400
    maxMutatingRequestsInflight: 200
    requestTimeout: 60s
    flowControl: PriorityAndFairness   # or MaxInFlight, or None
  config:                    # the flow-control objects
    base: Suggested          # the suggested set below what follows; or Mandatory
    files: [config/cluster.yaml]       # relative to this file; kubectl's List, or documents
    objects: []              # inline; the same name replaces
  resources:                 # what the servers store, for the list estimate
  - {resource: pods, objects: 150000, averageBytes: 2000}
  - {group: coordination.k8s.io, resource: leases, objects: 5000, averageBytes: 300}
  workload:
  - name: elephants
    clients: 4               # each with an identity and random streams of its own
    as: {serviceAccount: "tenant-{i}/default"}    # {i}: the client's index, from 0
    request: {verb: list, resource: pods, namespace: "tenant-{i}", query: "limit=500&resourceVersion=0"}
    execution: {lognormal: {mean: 80ms, p99: 400ms}}
    arrivals: {poisson: {rate: 100/s}}
  - name: mice
    clients: 100
    as: {serviceAccount: "team-{i}/default"}
    request: {verb: get, resource: configmaps, namespace: default, name: "cm-{i}"}
    execution: {exponential: {mean: 5ms}}
    arrivals: {closed: {concurrency: 1, think: {exponential: {mean: 200ms}}}}
  thresholds:
    "wait{workload:mice}": ["p(99) < 100ms", "max < 1s"]
    "rejected{workload:mice}": ["rate == 0"]
    "fairness{priorityLevel:workload-low}": ["jain > 0.95"]
`

const batchLevel = `apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: batch}
spec: {type: Limited, limited: {nominalConcurrencyShares: 7, limitResponse: {type: Reject}}}
`

func batchSchema(level string) string {
	return `apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: batch}
spec:
  priorityLevelConfiguration: {name: ` + level + `}
  rules:
  - subjects: [{kind: User, user: {name: batch}}]
    resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"]}]
`
}

func TestScenarioOfTheDocumentationLoads(t *testing.T) {
	fsys := files("library/s.yaml", exampleScenario, "library/config/cluster.yaml", batchLevel+"---\n"+batchSchema("batch"))
	scenarios, mistakes := Load(fsys, "library/s.yaml", Options{})
	if len(mistakes) > 0 || len(scenarios) != 1 {
		t.Fatalf("%d scenarios, mistakes:\n%v", len(scenarios), mistakes)
	}
	s := scenarios[0]
	if s.Objects.PriorityLevel("batch").Spec.Shares() != 7 || s.Objects.FlowSchema("service-accounts") == nil ||
		s.Objects.PriorityLevel(config.Exempt) == nil {
		t.Errorf("the configuration is not the suggested one with the file's objects")
	}
	elephants, mice := &s.Spec.Workload[0], &s.Spec.Workload[1]
	if got := float64(elephants.Arrivals.Poisson.Rate); got != 100 {
		t.Errorf("elephants come %v times a second, want 100", got)
	}
	if r := mice.Requests[0]; r.Verb != "get" || r.Weight != 1 || r.Execution.MeanNs() != 5e6 {
		t.Errorf("mice ask %+v, want get with weight 1 and 5 ms", r)
	}
	// A mouse comes about every 205 ms.
	if got, want := mice.ExpectedArrivals(s.Spec.Duration), 100*(1+60/0.205); got != want {
		t.Errorf("mice come about %v times, want %v", got, want)
	}
	var thresholds []string
	for _, th := range s.Spec.Thresholds {
		thresholds = append(thresholds, fmt.Sprintf("%v: %s %v %s(%v) %s %v %s",
			th.Position, th.Metric, th.Tags, th.Stat, th.Percentile, th.Op, th.Limit, th.Unit))
	}
	want := `library/s.yaml:38:29: wait [{workload mice}] p(99) < 1e+08 ns
library/s.yaml:38:46: wait [{workload mice}] max(0) < 1e+09 ns
library/s.yaml:39:33: rejected [{workload mice}] rate(0) == 0 
library/s.yaml:40:46: fairness [{priorityLevel workload-low}] jain(0) > 0.95 `
	if got := strings.Join(thresholds, "\n"); got != want {
		t.Errorf("thresholds\n%s\nwant\n%s", got, want)
	}
}

func TestAbsentFieldsHaveTheirDefaults(t *testing.T) {
	s := mustLoad(t, withSpec(""))
	want := scenario.Servers{Settings: server.Settings{
		Replicas: 1, KubernetesVersion: server.Versions{"1.37"}, MaxRequestsInflight: 400, MaxMutatingRequestsInflight: 200,
		RequestTimeout: 60e9, FlowControl: server.PriorityAndFairness,
	}}
	if s.Spec.Seed != 1 || !reflect.DeepEqual(s.Spec.Servers, want) || s.Spec.Workload[0].Clients != 1 || s.Spec.Config.Base != scenario.BaseSuggested {
		t.Errorf("defaults are %+v", s.Spec)
	}
	if len(s.Objects.FlowSchemas) < 10 {
		t.Errorf("%d FlowSchemas, want the suggested ones", len(s.Objects.FlowSchemas))
	}
	// null is the same as leaving the field out.
	s = mustLoad(t, withSpec("seed: null\n  servers: {replicas: ~}\n  config: {base: null}"))
	if s.Spec.Seed != 1 || !reflect.DeepEqual(s.Spec.Servers, want) || s.Spec.Config.Base != scenario.BaseSuggested {
		t.Errorf("defaults with null are %+v", s.Spec)
	}
}

func TestDocumentsOfAFileAreScenarios(t *testing.T) {
	second := strings.Replace(withSpec(""), "smallest", "second", 1)
	scenarios, mistakes := Load(files("s.yaml", withSpec("")+"---\n"+second+"---\n"), "s.yaml", Options{})
	if len(mistakes) > 0 || len(scenarios) != 2 || scenarios[1].Metadata.Name != "second" {
		t.Errorf("%d scenarios, mistakes %v; want smallest and second", len(scenarios), mistakes)
	}
	_, mistakes = Load(files("s.yaml", withSpec("seed: -1")+"---\n"+withSpec("warmup: 60s")), "s.yaml", Options{})
	wantMistakes(t, mistakes,
		"s.yaml:6:9: spec.seed: -1 is not a whole number from 0 to 2^64-1",
		`s.yaml:16:18: metadata.name: duplicate name "smallest" (first used by the scenario on line 3)`,
		"s.yaml:19:11: spec.warmup: 1m0s: want less than the duration, 1m0s")
}

func TestWhatIsNoScenario(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"apiVersion: apfsim/v1\nkind: Scenario\nnonsense: 1\n",
			`s.yaml:1:13: apiVersion: "apfsim/v1": want apfsim/v1alpha1`},
		{"apiVersion: apfsim/v1alpha1\nkind: Scenaro\n", `s.yaml:2:7: kind: "Scenaro": want Scenario (did you mean "Scenario"?)`},
		{"- a\n", "s.yaml:1:1: is a list; want an object with apiVersion apfsim/v1alpha1"},
		{"", "s.yaml: is empty; want a YAML or JSON document"},
	} {
		_, mistakes := Load(files("s.yaml", c.text), "s.yaml", Options{})
		wantMistakes(t, mistakes, c.want)
	}
	_, mistakes := Load(files("s.yaml", "kind: null\n"), "s.yaml", Options{})
	wantMistakes(t, mistakes, "s.yaml:1:1: apiVersion: is missing", "s.yaml:1:1: kind: is missing", "s.yaml:1:1: metadata: is missing",
		"s.yaml:1:1: spec: is missing")
	_, mistakes = Load(files(), "s.yaml", Options{})
	wantMistakes(t, mistakes, "s.yaml: there is no such file")
}

func TestConfigIsPutTogether(t *testing.T) {
	inline := "config:\n    base: Mandatory\n    files: [a.yaml, b.yaml]\n    objects:\n    - " +
		strings.ReplaceAll(strings.TrimSpace(strings.Replace(batchLevel, "nominalConcurrencyShares: 7", "nominalConcurrencyShares: 9", 1)), "\n", "\n      ")
	fsys := files("d/s.yaml", withSpec(inline), "d/a.yaml", batchLevel, "d/b.yaml", batchSchema("batsh"))
	scenarios, mistakes := Load(fsys, "d/s.yaml", Options{})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	s := scenarios[0]
	if got := s.Objects.PriorityLevel("batch").Spec.Shares(); got != 9 {
		t.Errorf("batch has %d shares, want the inline 9", got)
	}
	if got := len(s.Objects.PriorityLevels); got != 3 {
		t.Errorf("%d priority levels, want batch and the mandatory ones", got)
	}
	wantMistakes(t, s.Warnings,
		`d/b.yaml:5:38: FlowSchema batch is ignored: there is no priority level "batsh" (did you mean "batch"?)`)

	// --config takes the place of files and inline objects, not of the base.
	replacement := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(replacement, []byte(strings.ReplaceAll(batchLevel, "batch", "other")), 0o666); err != nil {
		t.Fatal(err)
	}
	scenarios, mistakes = Load(fsys, "d/s.yaml", Options{ConfigFiles: []string{replacement}})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	if o := scenarios[0].Objects; o.PriorityLevel("other") == nil || o.PriorityLevel("batch") != nil || len(o.PriorityLevels) != 3 {
		t.Errorf("%d levels, want other in place of batch", len(o.PriorityLevels))
	}
}

func TestMistakesInConfiguration(t *testing.T) {
	fsys := files("d/s.yaml", withSpec(`config: {base: Sugested, files: [a.yaml, none.yaml, ""], objects: [{kind: FlowSchema}]}`)+"---\n"+
		strings.Replace(withSpec("config: {files: [a.yaml]}"), "smallest", "second", 1),
		"d/a.yaml", strings.Replace(batchLevel, "Reject", "Rejekt", 1))
	_, mistakes := Load(fsys, "d/s.yaml", Options{ConfigFiles: nil})
	var got []string
	for _, m := range mistakes {
		line := m.Error()
		got = append(got, line[:min(len(line), strings.LastIndex(line, ": ")+30)])
	}
	for _, want := range []string{
		"d/a.yaml:4:", // once, though two scenarios read the file
		`d/s.yaml:6:18: spec.config.base: "Sugested"`,
		"d/s.yaml:6:44: spec.config.files[1]: d/none.yaml: there is no such file",
		"d/s.yaml:6:55: spec.config.files[2]: is empty",
		"d/s.yaml:6:70: spec.config.objects[0].apiVersion: is missing",
	} {
		found := 0
		for _, line := range got {
			if strings.HasPrefix(line, want) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%d mistakes begin with %s:\n%s", found, want, strings.Join(got, "\n"))
		}
	}
	_, mistakes = Load(files("s.yaml", withSpec("")), "s.yaml", Options{ConfigFiles: []string{"/none/such.yaml"}})
	wantMistakes(t, mistakes, "/none/such.yaml: there is no such file")
}

func TestTraceWorkloads(t *testing.T) {
	replay := withWorkload("arrivals: {trace: {file: ../traces/t.jsonl}}")
	text := exampleLine + "\n" + strings.ReplaceAll(exampleLine, "1200450", "59999999999") + "\n"
	fsys := files("d/s.yaml", replay, "traces/t.jsonl", text)
	scenarios, mistakes := Load(fsys, "d/s.yaml", Options{})
	if len(mistakes) > 0 || len(scenarios[0].Warnings) > 0 {
		t.Fatal(mistakes, scenarios[0].Warnings)
	}
	reader, err := scenarios[0].Spec.Workload[0].Arrivals.Trace.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, want := range []int64{1200450, 59999999999} {
		if r, ok, err := reader.Next(); !ok || err != nil || r.ArrivalNs != want {
			t.Errorf("next record %+v %v %v, want one at %d", r, ok, err, want)
		}
	}
	if _, ok, err := reader.Next(); ok || err != nil {
		t.Errorf("the trace goes on: %v %v", ok, err)
	}

	arrivals := scenarios[0].Spec.Workload[0].Arrivals.Trace
	wantMistakes(t, arrivals.Warnings(trace.Summary{Requests: 2, LastNs: 60e9}, scenarios[0].Spec.Duration), "d/s.yaml:9:30: spec.workload[0].arrivals.trace.file: "+
		"traces/t.jsonl goes on until 1m0s; requests that arrive after the end of the run, 1m0s, are left out")
	wantMistakes(t, arrivals.Warnings(trace.Summary{}, scenarios[0].Spec.Duration), "d/s.yaml:9:30: spec.workload[0].arrivals.trace.file: traces/t.jsonl has no requests")

	// With a cache, a trace that has changed in between is that of the first scenario.
	cache := NewCache()
	Load(fsys, "d/s.yaml", Options{Cache: cache})
	fsys["traces/t.jsonl"].Data = []byte(exampleLine)
	scenarios, mistakes = Load(fsys, "d/s.yaml", Options{Cache: cache})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	if _, err := scenarios[0].Spec.Workload[0].Arrivals.Trace.Open(); err == nil || !strings.Contains(err.Error(), "traces/t.jsonl: has changed since the scenario was read") {
		t.Errorf("the changed trace is opened: %v", err)
	}

	delete(fsys, "traces/t.jsonl")
	_, mistakes = Load(fsys, "d/s.yaml", Options{})
	wantMistakes(t, mistakes, "d/s.yaml:9:30: spec.workload[0].arrivals.trace.file: traces/t.jsonl: there is no such file")

	_, mistakes = Load(files("s.yaml", withWorkload(`
as: {user: a}
request: {verb: get, path: /version}
execution: 1s
clients: 2
arrivals: {trace: {file: ""}}`)), "s.yaml", Options{})
	wantMistakes(t, mistakes,
		"s.yaml:9:9: spec.workload[0].as: cannot be set with a trace, which contains it",
		"s.yaml:10:14: spec.workload[0].request: cannot be set with a trace, which contains it",
		"s.yaml:11:16: spec.workload[0].execution: cannot be set with a trace, which contains it",
		"s.yaml:12:14: spec.workload[0].clients: 2: a trace is sent once; want 1, or 0 to leave it out",
		"s.yaml:13:30: spec.workload[0].arrivals.trace.file: is missing")
}

func TestScenariosOfTheHostReadAnywhere(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/s.yaml": withSpec("config: {files: [../b/c.yaml, " + filepath.ToSlash(dir) + "/b/c.yaml]}"), "b/c.yaml": batchLevel,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	scenarios, mistakes := Load(nil, filepath.Join(dir, "a", "s.yaml"), Options{})
	if len(mistakes) > 0 || scenarios[0].Objects.PriorityLevel("batch") == nil {
		t.Errorf("mistakes %v", mistakes)
	}
}

// Whatever the text is, loading ends, with scenarios or with mistakes.
func FuzzScenario(f *testing.F) {
	f.Add(exampleScenario, "spec.seed=1")
	f.Add(withSpec("config: {objects: [{kind: List}]}"), "spec.workload[0].arrivals={burst: {requests: 1, every: 1ns}}")
	f.Add(withWorkload("arrivals: {trace: {file: s.yaml}}"), "spec.workload[0].retry={backoff: {initial: 1s}}")
	f.Add(withSpec("thresholds: {wait: [{threshold: max < 1s, over: 7s}]}"), "spec.thresholds.wait[0].over=1ns")
	f.Add(withWorkload("as: null\nrequests: [null]\narrivals: {onOff: {on: null, off: 1s, rate: 1/s}}"), "spec.thresholds={wait: [null]}")
	f.Add("a: &a [*a]", "spec=")
	f.Add(behaving("{kubelet: {pods: 1}}"), "spec.workload[0].as={node: a}")
	f.Add(behaving("{writer: {resource: a, every: 1s, retryOnConflict: {}}}"), "spec.store.watchCache=[a, b.c]")
	f.Add(withSpec("store: {costs: {request: 1ns}}"), "spec.workload[0].execution=")
	f.Add(withSpec(""), "level[workload-low].handSize=3")
	f.Add(withSpec(""), `level["exempt"].lendablePercent={x: [`)
	f.Fuzz(func(t *testing.T, text, set string) {
		fsys := fstest.MapFS{"s.yaml": {Data: []byte(text)}, "config/cluster.yaml": {Data: []byte(batchLevel)}}
		scenarios, mistakes := Load(fsys, "s.yaml", Options{Set: assign.New("--set", []string{set})})
		if (len(scenarios) > 0) == (len(mistakes) > 0) {
			t.Fatalf("%d scenarios and %d mistakes", len(scenarios), len(mistakes))
		}
		for _, s := range scenarios {
			for i := range s.Spec.Workload {
				w := &s.Spec.Workload[i]
				if w.Arrivals.Trace != nil {
					continue
				}
				if n := w.ExpectedArrivals(s.Spec.Duration); !(n >= 0 && n <= 1<<40) {
					t.Fatalf("%v requests are expected", n)
				}
				for _, r := range w.Requests {
					r.Attributes(&w.As, 3)
					if r.Weight <= 0 || !r.Execution.IsSet() && s.Spec.Store == nil {
						t.Fatalf("an incomplete request: %+v", r)
					}
				}
			}
		}
	})
}

// A scenario's configuration may be a folder; what is skipped or outdated there is noted, and a
// FlowSchema that has no effect is reported at its own line, be it from the start or from an event.
func TestConfigurationInFolders(t *testing.T) {
	spec := "config: {base: Mandatory, files: [cluster]}\n  events:\n  - at: 1s\n    apply: {files: [later.yaml], remove: [{kind: PriorityLevelConfiguration, name: batch}]}"
	fsys := files("d/s.yaml", withSpec(spec),
		"d/cluster/a/level.yaml", strings.Replace(batchLevel, "/v1\n", "/v1beta3\n", 1),
		"d/cluster/b.yml", batchSchema("batch")+"\n---\nkind: Service\n",
		"d/cluster/.hidden.yaml", "[", "d/cluster/notes.txt", "[",
		"d/later.yaml", strings.ReplaceAll(batchSchema("lost"), "name: batch", "name: later"))
	scenarios, mistakes := Load(fsys, "d/s.yaml", Options{})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	s := scenarios[0]
	var inputs []string
	for _, in := range s.Inputs {
		inputs = append(inputs, in.Name)
	}
	if got := strings.Join(inputs, " "); got != "s.yaml cluster/a/level.yaml cluster/b.yml later.yaml" {
		t.Errorf("read from %s", got)
	}
	wantMistakes(t, s.Notes,
		"d/cluster: skipped 1 object of other kinds: Service 1",
		"d/cluster/a/level.yaml:1:13: apiVersion: flowcontrol.apiserver.k8s.io/v1beta3 (1 object): Kubernetes 1.32 and later do not serve this version; use flowcontrol.apiserver.k8s.io/v1 (served from 1.29)")
	wantMistakes(t, s.Warnings,
		`d/cluster/b.yml:5:38: spec.events[0]: FlowSchema batch is ignored: there is no priority level "batch"`,
		`d/later.yaml:5:38: spec.events[0]: FlowSchema later is ignored: there is no priority level "lost"`)

	_, mistakes = Load(files("s.yaml", withSpec(`config: {files: ["-", empty]}`), "empty/notes.txt", ""), "s.yaml", Options{})
	wantMistakes(t, mistakes,
		`s.yaml:6:20: spec.config.files[0]: "-": want a file or a folder; standard input can be given with --config`,
		"s.yaml:6:25: spec.config.files[1]: empty: is a folder without a file that ends in .yaml, .yml, .json")
}

// exampleLine is a line of a trace.
const exampleLine = `{"id":17,"arrivalNs":1200450,"user":"alice","groups":["system:authenticated"],"verb":"list","resource":"pods",` +
	`"namespace":"default","path":"/api/v1/namespaces/default/pods","query":"limit=500","executionNs":12000000}`

// A release needs no quotes, although 1.20 is the same number as 1.2, which is not a release.
func TestReleases(t *testing.T) {
	for text, want := range map[string]string{`"1.26"`: "1.26", "1.26": "1.26", "1.20": "1.20", "1.30": "1.30", "1.26.8": "1.26.8"} {
		s := mustLoad(t, withSpec("servers: {kubernetesVersion: "+text+"}"))
		r, err := s.Spec.Servers.Rules()
		if err != nil || r.Version != want {
			t.Errorf("kubernetesVersion: %s: %v, %v; want the rules of %s", text, r, err, want)
		}
	}
}

// The gates change the rules of the release. An error in one of them is where it is written.
func TestFeatureGates(t *testing.T) {
	s := mustLoad(t, withSpec("servers: {kubernetesVersion: \"1.34\", featureGates: {WatchList: false, SizeBasedListCostEstimate: false}}"))
	set, err := s.Spec.Servers.Rules()
	byDefault, _ := rules.For("1.34")
	if err != nil || set.WatchLists != rules.NoWatchLists || set.ListSeats == byDefault.ListSeats {
		t.Errorf("rules %+v, %v; want no watch lists, and lists not by bytes", set, err)
	}
	const text = `servers:
    kubernetesVersion: "1.26"
    featureGates:
      WatchLists: true
      WatchList: true
      APIListChunking: false`
	_, mistakes := Load(files("s.yaml", withSpec(text)), "s.yaml", Options{})
	wantMistakes(t, mistakes,
		`s.yaml:9:19: spec.servers.featureGates.WatchLists: "WatchLists" is not a feature gate that flow control depends on (did you mean "WatchList"?)`,
		`s.yaml:10:18: spec.servers.featureGates.WatchList: the feature gate WatchList does not exist in Kubernetes 1.26; it exists from 1.27 on`)
	_, mistakes = Load(files("s.yaml", withSpec(strings.Replace(text, "1.26", "1.29", 1))), "s.yaml", Options{})
	wantMistakes(t, mistakes,
		`s.yaml:9:19: spec.servers.featureGates.WatchLists: "WatchLists" is not a feature gate that flow control depends on (did you mean "WatchList"?)`,
		"s.yaml:11:24: spec.servers.featureGates.APIListChunking: the feature gate APIListChunking is locked to true in Kubernetes 1.29; it can be set up to 1.28")
}
