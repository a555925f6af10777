package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// shifted returns when servers have entered stages, in whole seconds from the first of them.
func (l *lives) shifted(stages ...string) (all []string) {
	first := -1.0
	for _, line := range l.lines {
		var at float64
		fmt.Sscan(line, &at)
		for _, stage := range stages {
			if !strings.Contains(line, "server 0 is "+stage+",") {
				continue
			}
			if first < 0 {
				first = at
			}
			all = append(all, fmt.Sprintf("%.0f %s", at-first, stage))
		}
	}
	return all
}

// answersTo returns how many probes had each answer.
func (l *lives) answersTo(workload string) (all []string) {
	for what, n := range l.ended {
		if answer, ok := strings.CutPrefix(what, workload+": "); ok {
			all = append(all, fmt.Sprintf("%s %d", answer, n))
		}
	}
	slices.Sort(all)
	return all
}

const oneRead = "flowControl: MaxInFlight, maxRequestsInflight: 1, kubernetesVersion: '1.21'"

// A server whose only place is taken for good answers its probes 429, and is told to stop at the third one. The kubelet
// starts it again at once, and at once again for as long as it has lived longer than the back-off, which counts from the
// end of the process before: 10 s, 20 s, 40 s, 80 s. The next time it has to wait for the rest.
func TestLivenessKillsAServerThatRejects(t *testing.T) {
	l := live(t, `
  duration: 8m
  servers: {`+oneRead+`, startup: {duration: 3s}, shutdown: {killAfter: 10s}, probes: {liveness: {initialDelay: 15s, timeout: 15s}}}
  workload:
  - {name: hog, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 59s, arrivals: {burst: {at: 100ms, requests: 1, every: 100ms}}}
`)
	want := []string{
		"0 stopping", "10 off", "10 starting",
		"50 stopping", "60 off", "60 starting",
		"100 stopping", "110 off", "110 starting",
		"150 stopping", "160 off", "160 starting",
		"200 stopping", "210 off", "210 starting", // 50 s after 160 s, and the back-off is 40 s
		"250 stopping", "260 off", "340 starting", // 50 s after 210 s, and the back-off is 80 s
		"380 stopping", "390 off", // 130 s after 260 s, and the back-off is 160 s
	}
	if got := l.shifted("stopping", "off", "starting"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got, want := l.answersTo("probes"), []string{"429 concurrency-limit 21"}; !slices.Equal(got, want) {
		t.Errorf("the probes were answered %v, want %v", got, want)
	}
}

// Health checks are exempt by the FlowSchema probes, which a server has that has read its objects, from the patch release
// on in which it was introduced. Before, they are requests like others.
func TestProbesAreClassified(t *testing.T) {
	for version, want := range map[string]string{"1.21.0": "429 queue-full at global-default", "1.21.1": "[200 6]"} {
		l := live(t, `
  duration: 60s
  servers: {kubernetesVersion: '`+version+`', probes: {liveness: {failureThreshold: 100}}}
  config:
    objects:
    - {apiVersion: flowcontrol.apiserver.k8s.io/v1beta1, kind: PriorityLevelConfiguration, metadata: {name: global-default}, spec: {type: Limited, limited: {assuredConcurrencyShares: 1, limitResponse: {type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 1}}}}}
  workload:
  - {name: flood, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 50s, arrivals: {burst: {at: 1ms, requests: 100, every: 5s}}}
`)
		if got := fmt.Sprint(l.answersTo("probes")); !strings.Contains(got, want) {
			t.Errorf("%s: the probes were answered %v, want %s", version, got, want)
		}
	}
}

// kubeadm gives a server four minutes to start, and restarts one that has not.
func TestStartupProbe(t *testing.T) {
	for duration, want := range map[string][]string{
		"235s": {"0 off", "0 starting", "235 ready"},
		"300s": {"0 off", "0 starting", "240 stopping", "270 off", "270 starting"},
	} {
		l := live(t, `
  duration: 7m
  servers: {startup: {duration: `+duration+`}, probes: Kubeadm}
  events: [{at: 20s, crash: {server: 0}}]
  workload:
  - {name: watch, as: {user: u}, request: {verb: watch, resource: pods}, execution: 1ms, arrivals: {burst: {at: 100ms, requests: 1, every: 1s}}}
`)
		got := l.shifted("off", "starting", "ready", "stopping")
		if len(got) > 3 && got[3] == "235 stopping" { // the ticks of the probe come at any time
			got[3], got[4], got[5] = "240 stopping", "270 off", "270 starting"
		}
		if len(got) < len(want) || !near(got, want) {
			t.Errorf("with %s: got %q, want %q", duration, got, want)
		}
	}
}

// near says whether two stories are the same but for the ticks of the probes, which come within ten seconds.
func near(got, want []string) bool {
	for i := range want {
		var a, b int
		var x, y string
		fmt.Sscan(got[i], &a, &x)
		fmt.Sscan(want[i], &b, &y)
		if x != y || a-b > 10 || b-a > 10 {
			return false
		}
	}
	return true
}

// A health check reads from etcd, and fails after 2 s without an answer, unless the probe leaves that check out. /livez
// succeeds in its grace period although the server is not ready.
func TestHealthChecks(t *testing.T) {
	for path, want := range map[string]string{
		"/livez":              "[500 4]",
		"/livez?exclude=etcd": "[200 4]",
	} {
		l := live(t, `
  duration: 45s
  servers: {probes: {liveness: {path: '`+path+`', timeout: 5s, failureThreshold: 100}}}
  store: {read: 3s}
  workload:
  - {name: none, as: {user: u}, request: {verb: get, path: /version}, execution: 1ms, arrivals: {burst: {requests: 1}}}
`)
		if got := fmt.Sprint(l.answersTo("probes")); got != want {
			t.Errorf("%s: the probes were answered %v, want %s", path, got, want)
		}
	}
	l := live(t, `
  duration: 60s
  servers: {startup: {duration: 30s, livezGracePeriod: 20s}, probes: {liveness: {period: 1s, failureThreshold: 100}}}
  events: [{at: 10500ms, crash: {server: 0}}]
  workload:
  - {name: none, as: {user: u}, request: {verb: get, path: /version}, execution: 1ms, arrivals: {burst: {requests: 1}}}
`)
	if got, want := fmt.Sprint(l.answersTo("probes")), "[200 50 500 10]"; got != want {
		t.Errorf("in the grace period the probes were answered %v, want %s", got, want)
	}
}

// A load balancer that follows the readiness probes sends nobody to a server from the first failure on that counts until
// the first success.
func TestReadinessTakesAServerOut(t *testing.T) {
	spec := `
  duration: 60s
  servers: {replicas: 2, startup: {duration: 20s}, loadBalancer: {policy: RoundRobin%s}, probes: {readiness: {period: 1s}}}
  events: [{at: 10500ms, crash: {server: 0}}]
  workload:
  - {name: new, as: {user: u}, request: {verb: get, path: /readyz}, connection: PerRequest, execution: 1ms, arrivals: {burst: {at: 12s, requests: 2, over: 1s, every: 1s}}}
`
	for readiness, want := range map[string]int{"": 19, ", readiness: true": 0} {
		l := live(t, fmt.Sprintf(spec, readiness))
		if got := l.ended["new: 500"]; got < want-1 || got > want+1 {
			t.Errorf("with %q, %d requests reached the server that was not ready, want about %d", readiness, got, want)
		}
	}
}

// What a kubelet does when its heartbeats fail: a server that answers nothing for 30 s lets two of them fail. All closes
// the connections, so that the watches end; Idle leaves them open, because watches are open on them.
func TestKubeletClosesConnections(t *testing.T) {
	for closes, want := range map[string]bool{"All": true, "Idle": false, "Never": false} {
		l := live(t, `
  duration: 3m
  servers: {capacity: {cores: 1}}
  store: {}
  resources: [{resource: nodes, objects: 1}]
  events: [{at: 60s, speed: {factor: 0.000001}}, {at: 90s, speed: {factor: 1}}]
  workload:
  - {name: nodes, as: {node: n}, behaviour: {kubelet: {closesConnections: `+closes+`}}}
`)
		ended := l.ended["nodes: connection broken"] > 0
		if ended != want {
			t.Errorf("%s: watches ended: %v, want %v; %v", closes, ended, want, l.ended)
		}
	}
}

// Without pings, a client learns that a node is lost from the kernel after a quarter of an hour, unless it closes the
// connection itself when its second heartbeat has failed.
func TestLostNodeWithoutPings(t *testing.T) {
	for spec, want := range map[string][2]float64{
		"{closesConnections: Never, pings: false}": {924, 940},
		"{closesConnections: Never, pings: true}":  {15, 60},
		"{closesConnections: All, pings: false}":   {20, 32},
	} {
		l := live(t, `
  duration: 20m
  servers: {replicas: 2, loadBalancer: {policy: RoundRobin}}
  store: {}
  resources: [{resource: nodes, objects: 1}]
  events: [{at: 60s, lose: {server: 0}}]
  workload:
  - {name: nodes, as: {node: n}, behaviour: {kubelet: `+spec+`}}
`)
		after := 0.0
		for _, line := range l.lines {
			var at float64
			fmt.Sscan(line, &at)
			if at > 60 && strings.HasSuffix(line, "nodes: 200") {
				after = at - 60
				break
			}
		}
		if after < want[0] || after > want[1] {
			t.Errorf("%s: the node has an answer again %v s after the loss, want %v to %v s; %v", spec, after, want[0], want[1], l.lines)
		}
	}
}
