package sim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

// free are the costs of a store in which nearly all of the time of a list is that of the network.
const free = "{request: 1ns, walkedObject: 0s, matchedObject: 0s, encodedKilobyte: 0s, compressedKilobyte: 0s, initialEvent: 0s, initialWalk: 0s}"

// answersOf says when the answer of each request has been sent, in milliseconds, rounded, in the order of their ends: "name 1500".
func answersOf(t *testing.T, spec string) []string {
	t.Helper()
	var all []string
	run := New(load(t, spec))
	execute(t, run, server.Observer{Answered: func(nowNs int64, r *server.Request) {
		all = append(all, fmt.Sprintf("%s %d %d", run.Scenario.Spec.Workload[r.Workload].Name, r.Status, int64(math.Round(float64(nowNs)/1e6))))
	}})
	return all
}

// A network of 100 MB a second is shared by all answers that are sent, each as much as the others. A list of 200 MB begins at 0 s. In
// the first second it has sent 100 MB. From 1 s on, it shares with one of 100 MB: at 2 s, 50 MB of each are left. Two of 10 MB come, and
// all four send 25 MB a second: the small ones end at 2.4 s, when 40 MB of the others are left, which end together at 3.2 s.
func TestAnswersShareTheNetwork(t *testing.T) {
	got := answersOf(t, `
  duration: 10s
  servers: {kubernetesVersion: "1.32", network: {bandwidth: 100MB}}
  store: {costs: `+free+`}
  resources: [{resource: pods, objects: 200, averageBytes: 1000000}, {resource: secrets, objects: 100, averageBytes: 1000000}, {resource: configmaps, objects: 10, averageBytes: 1000000}]
  workload:
  - {name: large, as: {user: a}, request: {verb: list, resource: pods, query: "resourceVersion=0"}, arrivals: {burst: {at: 0s, requests: 1}}}
  - {name: middle, as: {user: b}, request: {verb: list, resource: secrets, query: "resourceVersion=0"}, arrivals: {burst: {at: 1s, requests: 1}}}
  - {name: small, clients: 2, as: {user: c}, request: {verb: list, resource: configmaps, query: "resourceVersion=0"}, arrivals: {burst: {at: 2s, requests: 1}}}
`)
	if want := []string{"small 200 2400", "small 200 2400", "large 200 3200", "middle 200 3200"}; !slices.Equal(got, want) {
		t.Errorf("answers %q; want %q", got, want)
	}
}

// Each server has a network of its own: 20 lists of 100 MB take 20 s at one server of 100 MB a second, and with as many at each of two, 10 s.
// An answer that needs no time to be sent waits for none of them.
func TestServersHaveNetworksOfTheirOwn(t *testing.T) {
	for replicas, want := range map[int]string{1: "lists 200 20000", 2: "lists 200 10000"} {
		got := answersOf(t, fmt.Sprintf(`
  duration: 30s
  servers: {replicas: %d, kubernetesVersion: "1.32", loadBalancer: {policy: RoundRobin}, network: {bandwidth: 100MB}}
  store: {costs: %s}
  resources: [{resource: pods, objects: 100, averageBytes: 1000000}]
  workload:
  - {name: lists, clients: 20, as: {user: "u-{i}"}, request: {verb: list, resource: pods, query: "resourceVersion=0"}, arrivals: {burst: {at: 0s, requests: 1}}}
`, replicas, free))
		if last := got[len(got)-1]; last != want {
			t.Errorf("with %d servers, the last answer is %q; want %q", replicas, last, want)
		}
	}
}

// A list keeps its memory until the last byte is sent: ten lists of 100 MB, one each 100 ms, take five times that, 5 GB, as none
// has been sent when the last one begins. Without the network, each is over before the next begins. A watch with the same
// initial events sends as many bytes, and keeps nothing of them.
func TestAnswersKeepTheirMemoryWhileTheyAreSent(t *testing.T) {
	for _, c := range []struct {
		network, request string
		peak             int64
	}{
		{"network: {bandwidth: 100MB}", `verb: list, resource: pods, query: "resourceVersion=0"`, 5_000_000_000},
		{"", `verb: list, resource: pods, query: "resourceVersion=0"`, 500_000_000},
		{"network: {bandwidth: 100MB}", `verb: watch, resource: pods, query: "resourceVersion=0"`, 10 * 75_000},
	} {
		run := execute(t, New(load(t, fmt.Sprintf(`
  duration: 15s
  servers: {kubernetesVersion: "1.32", memory: {}, %s}
  store: {costs: %s}
  resources: [{resource: pods, objects: 100, averageBytes: 1000000}]
  workload:
  - {name: lists, as: {user: u}, request: {%s}, arrivals: {burst: {at: 1s, requests: 10, over: 1s}}}
`, c.network, free, c.request))), server.Observer{})
		if _, peak, _ := run.Server.Memory(15e9); peak != c.peak {
			t.Errorf("%s with %q: at most %d bytes; want %d", c.request, c.network, peak, c.peak)
		}
	}
}

// The initial events of a watch are sent like an answer: two watches of 100 MB share 100 MB a second, and are open after 2 s.
func TestInitialEventsAreSent(t *testing.T) {
	var opened []int64
	execute(t, New(load(t, `
  duration: 10s
  servers: {kubernetesVersion: "1.32", network: {bandwidth: 100MB}}
  store: {costs: `+free+`}
  resources: [{resource: pods, objects: 100, averageBytes: 1000000}]
  workload:
  - {name: watches, clients: 2, as: {user: u}, request: {verb: watch, resource: pods, query: "resourceVersion=0"}, arrivals: {burst: {at: 1s, requests: 1}}}
`)), server.Observer{Executed: func(nowNs int64, r *server.Request) { opened = append(opened, nowNs/1e6) }})
	if want := []int64{3000, 3000}; !slices.Equal(opened, want) {
		t.Errorf("the watches are open at %d ms; want %d", opened, want)
	}
}

// Nobody reads the rest of an answer whose client has gone: at a server that ends requests after 2 s, two lists of 200 MB are
// answered 504 then, when 100 MB of each have been sent, and do not slow down a third one of 100 MB, which has begun at 1 s. At
// 2 s, 100/3 MB of it have been sent.
func TestSendingEndsWithTheRequest(t *testing.T) {
	got := answersOf(t, `
  duration: 10s
  servers: {kubernetesVersion: "1.32", requestTimeout: 2s, network: {bandwidth: 200MB}}
  store: {costs: `+free+`}
  resources: [{resource: pods, objects: 400, averageBytes: 1000000}, {resource: secrets, objects: 100, averageBytes: 1000000}]
  workload:
  - {name: large, clients: 2, as: {user: a}, request: {verb: list, resource: pods, query: "resourceVersion=0"}, retry: {maxRetries: 0}, arrivals: {burst: {at: 0s, requests: 1}}}
  - {name: other, as: {user: b}, request: {verb: list, resource: secrets, query: "resourceVersion=0"}, arrivals: {burst: {at: 1s, requests: 1}}}
`)
	// 200/3 MB of the third are sent in the second that it shares with the others, and the other 100/3 MB take a sixth of a second.
	if want := []string{"large 504 2000", "large 504 2000", "other 200 2167"}; !slices.Equal(got, want) {
		t.Errorf("answers %q; want %q", got, want)
	}
}

// Poisson arrivals of answers of one size that keep the network busy for a share ρ of the time are an M/D/1 queue with processor sharing:
// an answer takes S/(1-ρ) on average, whatever the distribution of the sizes (Kleinrock, Queueing Systems, volume 2, 1976, section 4.4).
func TestNetworkIsProcessorSharing(t *testing.T) {
	const size, rho = 0.1, 0.6 // seconds, and the share
	var sum float64
	n := 0
	execute(t, New(load(t, fmt.Sprintf(`
  duration: 4000s
  servers: {kubernetesVersion: "1.32", flowControl: None, network: {bandwidth: 100MB}}
  store: {costs: %s}
  resources: [{resource: pods, objects: 10, averageBytes: 1000000}]
  workload:
  - {name: lists, as: {user: u}, request: {verb: list, resource: pods, query: "resourceVersion=0"}, arrivals: {poisson: {rate: %v/s}}}
`, free, rho/size))), server.Observer{Executed: func(nowNs int64, r *server.Request) {
		sum, n = sum+float64(nowNs-r.DispatchNs)/1e9, n+1
	}})
	want := size / (1 - rho)
	if got := sum / float64(n); math.Abs(got-want) > 0.05*want {
		t.Errorf("an answer takes %.4f s on average over %d; want %.4f s", got, n, want)
	}
}

// mistakesOf returns what is wrong with a spec.
func mistakesOf(spec string) error {
	text := "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: story}\nspec:\n" + spec
	_, mistakes := loader.Load(fstest.MapFS{"story.yaml": {Data: []byte(text)}}, "story.yaml", loader.Options{})
	return mistakes.Err()
}

// The network needs a store, and a bandwidth.
func TestNetworkIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"servers: {network: {bandwidth: 1GB}}\n  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {poisson: {rate: 1/s}}}]": "spec.servers.network: needs spec.store, with which the size of an answer is known",
		"servers: {network: {}}\n  store: {}\n  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods, name: x}, arrivals: {poisson: {rate: 1/s}}}]":                 "spec.servers.network.bandwidth: is missing",
		"servers: {network: {bandwidth: 0}}\n  store: {}\n  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods, name: x}, arrivals: {poisson: {rate: 1/s}}}]":     "spec.servers.network.bandwidth: want 1 or more",
		"servers: {network: {bandwith: 1GB}}\n  store: {}\n  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods, name: x}, arrivals: {poisson: {rate: 1/s}}}]":    "bandwidth",
		"servers: {network: {bandwidth: 1GB/s}}\n  store: {}\n  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods, name: x}, arrivals: {poisson: {rate: 1/s}}}]": "want a number of bytes",
	} {
		err := mistakesOf("  duration: 1s\n  " + text + "\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; want %q", text, err, want)
		}
	}
}
