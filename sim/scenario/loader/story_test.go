package loader

import (
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/document"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"

	"github.com/google/go-cmp/cmp"
)

// files returns a file system with the given files: name, text, name, text, ...
func files(namesAndTexts ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(namesAndTexts); i += 2 {
		fsys[namesAndTexts[i]] = &fstest.MapFile{Data: []byte(namesAndTexts[i+1])}
	}
	return fsys
}

// valid is the smallest scenario; %SPEC% is where a test puts more.
const valid = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: smallest}
spec:
  duration: 60s
  %SPEC%
  workload:
  - name: mice
    as: {user: alice}
    request: {verb: get, resource: pods, namespace: default, name: a}
    execution: 5ms
    arrivals: {poisson: {rate: 100/s}}
`

func withSpec(more string) string { return strings.Replace(valid, "%SPEC%", more, 1) }

// withWorkload returns the smallest scenario with another workload.
func withWorkload(fields string) string {
	head, _, _ := strings.Cut(withSpec(""), "  - name")
	return head + "  - name: mice\n    " + strings.ReplaceAll(strings.TrimSpace(fields), "\n", "\n    ") + "\n"
}

func mustLoad(t *testing.T, text string, set ...string) *scenario.Scenario {
	t.Helper()
	scenarios, mistakes := Load(files("s.yaml", text), "s.yaml", Options{Set: assign.New("--set", set)})
	if len(mistakes) > 0 {
		t.Fatalf("mistakes in\n%s\n%v", text, mistakes)
	}
	return scenarios[0]
}

// wantMistakes compares all mistakes with the lines expected.
func wantMistakes(t *testing.T, got document.Errors, want ...string) {
	t.Helper()
	lines := []string{}
	for _, m := range got {
		lines = append(lines, m.Error())
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
}

func TestEveryMistakeOfAFileIsReportedAtOnce(t *testing.T) {
	const broken = `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata:
  name: Broken!
spec:
  duration: 60
  warmup: -1s
  sed: 1
  servers:
    replicas: 300
    kubernetesVersion: "1.16.8"
    flowControl: PriorityAndFairnes
  workload:
  - name: mice
    clients: 20000000
    as: {serviceAccount: default}
    request: {verb: gett, resource: pods}
    execution: {lognormal: {mean: 10ms, p99: 5ms}}
    arrivals: {poisson: {rate: 100}, constant: {rate: 1/s}}
  - name: mice
    as: {user: "u-{j}", node: n}
    requests:
    - {verb: list, resource: pods, path: /version}
    - {verb: list, resource: pods, weight: -1, query: "timeout=soon"}
    execution: {exponental: {mean: 5ms}}
    arrivals: {closed: {concurrency: 0}}
    start: 5s
    stop: 5s
  thresholds:
    "wait{workload:mise}": ["p(99) < 100", "p999 < 1s"]
    "rejected{reason:full}": ["rate = 0"]
    "wiat": ["max < 1s"]
`
	_, mistakes := Load(files("dir/broken.yaml", broken), "dir/broken.yaml", Options{})
	wantMistakes(t, mistakes, strings.Split(strings.TrimSpace(brokenMistakes), "\n")...)
}

const brokenMistakes = `
dir/broken.yaml:4:9: metadata.name: "Broken!": want lower-case letters, digits and dashes, with no dash at either end
dir/broken.yaml:6:13: spec.duration: 60 has no unit; want a duration such as 60s or 1h30m
dir/broken.yaml:7:11: spec.warmup: -1s is negative; want a duration of 0s or more
dir/broken.yaml:8:3: spec.sed: unknown field (did you mean "seed"?)
dir/broken.yaml:10:15: spec.servers.replicas: 300: want 1 to 100
dir/broken.yaml:11:24: spec.servers.kubernetesVersion: "1.16.8" is not a supported version of Kubernetes; want one from "1.18" to "1.38"
dir/broken.yaml:12:18: spec.servers.flowControl: "PriorityAndFairnes": want PriorityAndFairness, MaxInFlight, None (did you mean "PriorityAndFairness"?)
dir/broken.yaml:15:14: spec.workload[0].clients: 20000000: want 0 to 10000000
dir/broken.yaml:16:26: spec.workload[0].as.serviceAccount: "default": want namespace/name
dir/broken.yaml:17:21: spec.workload[0].request.verb: "gett": want get, list, watch, create, update, patch, delete, deletecollection (did you mean "get"?)
dir/broken.yaml:18:28: spec.workload[0].execution.lognormal: mean 10ms, p99 5ms: p99 is 0.5 times the mean; want more than 1 and at most 14.97 times
dir/broken.yaml:19:15: spec.workload[0].arrivals: has constant and poisson: want one of them
dir/broken.yaml:19:32: spec.workload[0].arrivals.poisson.rate: 100 has no unit; want a rate such as 100/s, per second, or /m or /h
dir/broken.yaml:20:11: spec.workload[1].name: duplicate name "mice" (first used by spec.workload[0])
dir/broken.yaml:21:9: spec.workload[1].as: has user and node: want one of them
dir/broken.yaml:23:42: spec.workload[1].requests[0].path: cannot be set with resource; want one of the two
dir/broken.yaml:24:44: spec.workload[1].requests[1].weight: -1: want more than 0 and at most 1e12
dir/broken.yaml:24:55: spec.workload[1].requests[1].query: timeout=soon: want a duration such as 10s
dir/broken.yaml:25:17: spec.workload[1].execution.exponental: unknown field (did you mean "exponential"?)
dir/broken.yaml:26:38: spec.workload[1].arrivals.closed.concurrency: 0: want 1 to 100000000
dir/broken.yaml:28:11: spec.workload[1].stop: 5s: want more than start, 5s
dir/broken.yaml:30:5: spec.thresholds["wait{workload:mise}"]: there is no workload "mise" (did you mean "mice"?)
dir/broken.yaml:30:29: spec.thresholds["wait{workload:mise}"][0]: limit 100 has no unit; want a duration such as 100ms
dir/broken.yaml:30:44: spec.thresholds["wait{workload:mise}"][1]: p(999): want a percentile from 0 to 100
dir/broken.yaml:31:5: spec.thresholds["rejected{reason:full}"]: there is no reason "full"; want one of queue-full, concurrency-limit, time-out
dir/broken.yaml:31:31: spec.thresholds["rejected{reason:full}"][0]: operator =: want one of < <= > >= == !=
dir/broken.yaml:32:5: spec.thresholds.wiat: unknown metric wiat (did you mean "wait"?)
`
