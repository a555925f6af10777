package loader

import (
	"slices"
	"testing"
)

const heavier = `
  events:
  - at: 10s
    apply:
      objects:
      - apiVersion: flowcontrol.apiserver.k8s.io/v1
        kind: PriorityLevelConfiguration
        metadata: {name: extra}
        spec: {type: Limited, limited: {nominalConcurrencyShares: 50, limitResponse: {type: Reject}}}
  - at: 20s
    apply:
      files: [cluster.yaml]
      remove:
      - {kind: PriorityLevelConfiguration, name: extra}
      - {kind: FlowSchema, name: catch-all}
  thresholds: {"rejected{priorityLevel:extra}": ["count == 0"]}
`

// Each event's configuration is the one before with the change: extra comes and goes,
// catch-all comes back because it is mandatory.
func TestEventsChangeTheConfiguration(t *testing.T) {
	fsys := files("s.yaml", withSpec(heavier), "cluster.yaml", `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: workload-low}
spec: {type: Limited, limited: {nominalConcurrencyShares: 7, limitResponse: {type: Reject}}}
`)
	loaded, mistakes := Load(fsys, "s.yaml", Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	events := loaded[0].Spec.Events
	if o := events[0].Objects; o.PriorityLevel("extra") == nil || o.PriorityLevel("workload-low").Spec.Shares() != 100 {
		t.Error("after the first event extra is there and workload-low as it was")
	}
	o := events[1].Objects
	if o.PriorityLevel("extra") != nil || o.PriorityLevel("workload-low").Spec.Shares() != 7 || o.FlowSchema("catch-all") == nil {
		t.Error("after the second event extra is gone, workload-low has 7 shares, and catch-all is still there")
	}
	if loaded[0].Objects.PriorityLevel("extra") != nil {
		t.Error("the run begins with extra")
	}
}

func TestMistakesInEvents(t *testing.T) {
	_, mistakes := Load(files("s.yaml", withSpec(`
  events:
  - {at: 10s, apply: {remove: [{kind: FlowSchema, name: catchall}, {kind: Pod, name: x}]}}
  - {at: 5s, apply: {files: [nowhere.yaml]}}
  - {at: 60s, apply: {}}
`)), "s.yaml", Options{})
	wantMistakes(t, mistakes,
		`s.yaml:8:57: spec.events[0].apply.remove[0].name: there is no FlowSchema "catchall" by then (did you mean "catch-all"?)`,
		`s.yaml:8:75: spec.events[0].apply.remove[1].kind: "Pod": want FlowSchema, PriorityLevelConfiguration`,
		`s.yaml:9:10: spec.events[1].at: 5s: want at least that of the event before, 10s`,
		`s.yaml:9:30: spec.events[1].apply.files[0]: nowhere.yaml: there is no such file`,
		`s.yaml:10:10: spec.events[2].at: 1m0s: want less than spec.duration, 1m0s`,
	)
}

func TestEventsWantPriorityAndFairness(t *testing.T) {
	_, mistakes := Load(files("s.yaml", withSpec("servers: {flowControl: None}\n  events: [{at: 1s, apply: {}}]")), "s.yaml", Options{})
	wantMistakes(t, mistakes,
		`s.yaml:7:28: spec.events[0].apply: needs PriorityAndFairness; there are no flow-control objects with flowControl None`)
}

// What happens to servers must be possible with those that there are.
func TestMistakesInTheLivesOfServers(t *testing.T) {
	_, mistakes := Load(files("s.yaml", withSpec(`
  servers: {replicas: 2, kubernetesVersion: "1.22", shutdown: {sendRetryAfter: true, watchTerminationGracePeriod: 3s, watchLeak: -1}, startup: {duration: 1s, objects: 2s}}
  events:
  - {at: 1s, crash: {server: 2}}
  - {at: 2s, stop: {server: 0, kubernetesVersion: "1.22"}}
  - {at: 3s, start: {server: 0, kubernetesVersion: "1.2"}}
  - {at: 4s, rollout: {}, stop: {server: 0}}
  - {at: 5s, speed: {factor: 2}}
  - {at: 6s}
`)), "s.yaml", Options{})
	wantMistakes(t, mistakes,
		"s.yaml:7:80: spec.servers.shutdown.sendRetryAfter: is a flag of servers of Kubernetes 1.23 and later; the scenario has none of them",
		"s.yaml:7:115: spec.servers.shutdown.watchTerminationGracePeriod: is a flag of servers of Kubernetes 1.27 and later; the scenario has none of them",
		"s.yaml:7:130: spec.servers.shutdown.watchLeak: -1: want 0 or more",
		"s.yaml:7:168: spec.servers.startup.objects: 2s: want at most duration, 1s, as a server is not ready before it has read the objects",
		"s.yaml:9:30: spec.events[0].crash.server: 2: want an index from 0 to 1, as spec.servers.replicas is 2",
		"s.yaml:10:51: spec.events[1].stop.kubernetesVersion: can be given with start or rollout only",
		`s.yaml:11:52: spec.events[2].start.kubernetesVersion: "1.2" is not a supported version of Kubernetes; want one from "1.18" to "1.38"`,
		"s.yaml:12:5: spec.events[3]: has rollout and stop: want one of them",
		"s.yaml:13:21: spec.events[4].speed: needs spec.servers.capacity; without it, executions take as long as the workload says",
		"s.yaml:14:5: spec.events[5]: want one of apply, rollout, stop, start, crash, lose, speed",
	)

	// From the rollout on, there are servers with the flags.
	_, mistakes = Load(files("s.yaml", withSpec(`
  servers: {replicas: 2, kubernetesVersion: "1.22", shutdown: {sendRetryAfter: true, watchTerminationGracePeriod: 3s}}
  events: [{at: 1s, rollout: {kubernetesVersion: "1.27"}}]
`)), "s.yaml", Options{})
	if err := mistakes.Err(); err != nil {
		t.Error(err)
	}
}

// A patch release that is not known yet is taken as the newest that is, and the scenario warns of it once.
func TestUnseenPatchReleases(t *testing.T) {
	scenarios, mistakes := Load(files("s.yaml", withSpec(`
  servers: {replicas: 2, kubernetesVersion: [v1.37.9-gke.100, "1.37.9"]}
  events: [{at: 1s, rollout: {kubernetesVersion: v1.37.9}}]
`)), "s.yaml", Options{})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	if got, want := scenarios[0].Warnings.Error(), "s.yaml:7:46: spec.servers.kubernetesVersion[0]: 1.37.9 is not known to this apfsim: it is taken as 1.37.2"; got != want {
		t.Errorf("warnings %s; want %s", got, want)
	}
	if got := scenarios[0].Spec.Servers.Releases(); !slices.Equal(got, []string{"1.37.2", "1.37.2"}) {
		t.Errorf("the servers are of %v", got)
	}
}
