package network_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/sim/network"
	"apfsim/sim/quantity"
	"apfsim/sim/server"
)

// perRequest are clients of which each request has a connection of its own.
var perRequest = []network.Workload{{Name: "w", Clients: 10, PerRequest: true}}

func balanced(policy string, probe *network.Probe) network.Deps {
	return network.Deps{LoadBalancer: &network.LoadBalancer{Policy: policy, Probe: probe}, Workloads: perRequest}
}

// crash makes a server crash at a time, and start again at another, if that is not 0.
func (w *world) crash(i int, atNs, startNs int64) {
	w.at(atNs, w.servers[i].Crash)
	if startNs > 0 {
		w.at(startNs, func(nowNs int64) { w.servers[i].Start(nowNs, "") })
	}
}

// A load balancer counts the probes in a row that contradict what it takes a server for: three that fail, or two that
// succeed, change its mind, and one in between makes it count anew. Probes come at each second.
func TestProbesInARow(t *testing.T) {
	w := newWorld(t, plan{servers: 2, network: balanced(network.RoundRobin,
		&network.Probe{Path: "/readyz", Interval: quantity.Duration(second), Failures: 3, Successes: 2})})
	half := second / 2
	w.crash(1, second+half, 3*second+half)     // fails at 2 s and 3 s
	w.crash(1, 4*second+half, 6*second+half)   // at 5 s and 6 s
	w.crash(1, 7*second+half, 10*second+half)  // at 8 s, 9 s and 10 s; succeeds at 11 s and 12 s
	w.crash(1, 12*second+half, 15*second+half) // fails at 13 s, 14 s and 15 s; succeeds at 16 s
	w.crash(1, 16*second+half, 17*second+half) // fails at 17 s; succeeds from 18 s on
	w.run(minute)
	want := []network.Notice{
		{AtNs: 10 * second, Server: 1}, {AtNs: 12 * second, Server: 1, Up: true},
		{AtNs: 15 * second, Server: 1}, {AtNs: 19 * second, Server: 1, Up: true},
	}
	if got := w.Noticed(); !slices.Equal(got, want) {
		t.Errorf("the load balancer noticed\n%v\nwant\n%v", got, want)
	}
}

// chosen returns the servers that the requests of a world were sent to, in their order.
func (w *world) chosen() *[]string {
	var all []string
	note := func(_ int64, r *server.Request) { all = append(all, fmt.Sprint(r.Server)) }
	w.runState.Observe(server.Observer{Arrived: note, Refused: note})
	return &all
}

// Which server gets each of a few requests, by the policy. The first, third, fifth and sixth take 10 s, the second and the
// fourth 1 s, so that at 2 s server 1 has no connection any more.
func TestWhoseTurnItIs(t *testing.T) {
	for policy, want := range map[string]string{
		network.RoundRobin:       "0 1 2 0 1 2 0",
		network.LeastConnections: "0 1 2 1 2 0 1",
	} {
		w := newWorld(t, plan{servers: 3, network: balanced(policy, nil)})
		got := w.chosen()
		for i, executionNs := range []int64{10 * second, second, 10 * second} {
			w.send(0, i, "early", executionNs)
		}
		for i, executionNs := range []int64{second, 10 * second, 10 * second} {
			w.send(2*second, i, "late", executionNs)
		}
		w.send(2*second, 0, "last", second) // of 1, 1, 2 and 2 connections in two places; the turn decides
		w.run(minute)
		if strings.Join(*got, " ") != want {
			t.Errorf("%s: the servers %v are chosen, want %s", policy, *got, want)
		}
	}
}

// Who is chosen when server 0 has crashed: without a load balancer those that listen; with one that does not probe, all;
// with one that probes, all until it has noticed. If no server may be chosen, all of them may.
func TestWhoMayBeChosen(t *testing.T) {
	probe := func() *network.Probe {
		return &network.Probe{Path: "/readyz", Interval: quantity.Duration(10 * second), Failures: 1, Successes: 1}
	}
	for _, c := range []struct {
		name     string
		network  network.Deps
		both     bool // crash
		at       int64
		servers  string // that are chosen
		failures bool
	}{
		{"without a load balancer", network.Deps{Workloads: perRequest}, false, 5 * second, "1", false},
		{"without a load balancer and a server", network.Deps{Workloads: perRequest}, true, 5 * second, "0 1", true},
		{"without probes", balanced(network.Random, nil), false, 5 * second, "0 1", true},
		{"before a probe", balanced(network.Random, probe()), false, 5 * second, "0 1", true},
		{"after a probe", balanced(network.Random, probe()), false, 15 * second, "1", false},
		{"after a probe of none", balanced(network.Random, probe()), true, 15 * second, "0 1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, plan{servers: 2, network: c.network})
			w.crash(0, second, 0)
			if c.both {
				w.crash(1, second, 0)
			}
			got := w.chosen()
			for i := range 10 {
				w.send(0, i, "", millisecond)
			}
			w.run(second / 2)
			early, _ := w.Dials(0)
			*got = nil
			for i := range 100 {
				w.send(c.at, i%10, "", second)
			}
			w.run(minute)
			zeros := 0
			for _, server := range *got {
				if server == "0" {
					zeros++
				}
			}
			// Of 100 requests to two servers at random, from 30 to 70 are to one of them but for a chance of 1 in 10 000.
			if both := c.servers == "0 1"; len(*got) != 100 || both && (zeros < 30 || zeros > 70) || !both && zeros > 0 {
				t.Errorf("%d of %d requests were sent to the server that has crashed; want those to servers %s", zeros, len(*got), c.servers)
			}
			dials, failed := w.Dials(0)
			if dials -= early; int(dials) != zeros || (failed > 0) != c.failures || c.failures && failed != dials {
				t.Errorf("%d connections to server 0 were tried, %d failed", dials, failed)
			}
		})
	}
}
