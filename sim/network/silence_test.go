package network_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"apfsim/sim/network"
	"apfsim/sim/server"
)

// A connection to a server whose node is gone is given up after 30 s, and earlier by a client that does not wait so long.
func TestDialTimesOut(t *testing.T) {
	for timeoutNs, want := range map[int64]string{
		0:             "31s: no connection",
		1:             "1.000000001s: timed out",
		10 * second:   "11s: timed out",
		30*second - 1: "30.999999999s: timed out",
		30 * second:   "31s: no connection",
		40 * second:   "31s: no connection",
	} {
		w := newWorld(t, plan{servers: 1})
		w.at(0, w.servers[0].Lose)
		w.at(second, func(nowNs int64) {
			r := w.request("", second)
			r.Details.ClientTimeoutNs = timeoutNs
			w.Send(nowNs, r, 0, 0)
		})
		w.run(5 * minute)
		if got := strings.ReplaceAll(strings.Join(w.lines, "\n"), "  at 0", ""); got != want {
			t.Errorf("a client that waits %v: %s; want %s", time.Duration(timeoutNs), got, want)
		}
		if dials, failed := w.Dials(0); dials != 1 || failed != 1 {
			t.Errorf("%d connections were tried, and %d failed", dials, failed)
		}
		w.connections(0)
	}
}

// An HTTP/2 client sends a ping when it has received nothing for 30 s, and waits 15 s for its answer. Of a client that has
// received something at 2 s, the pings of 32 s and 62 s are answered before the node is lost. What it sends until it
// notices the silence is lost, and so is what is in progress, unless the client waits less.
func TestSilentConnections(t *testing.T) {
	for lostNs, noticed := range map[int64]int64{20 * second: 47 * second, 40 * second: 77 * second, 62*second - 1: 77 * second, 62 * second: 107 * second} {
		w := newWorld(t, plan{servers: 1})
		w.send(second, 0, "first", second)
		w.at(lostNs, w.servers[0].Lose)
		w.send(lostNs+second, 0, "later", second)
		w.at(lostNs+2*second, func(nowNs int64) {
			r := w.request("impatient", second)
			r.Details.ClientTimeoutNs = 3 * second
			w.Send(nowNs, r, 0, 0)
		})
		w.run(noticed - 1)
		w.connections(1)
		w.run(noticed)
		w.connections(0)
		w.wants(fmt.Sprintf("2s first at 0: 200\n%v impatient at 0: timed out\n%v later at 0: connection broken", time.Duration(lostNs+5*second), time.Duration(noticed)))
	}
}

// What is in progress when a node is lost breaks when the client notices: over HTTP/2 within 45 s, and with a connection of
// its own when nine probes of TCP have had no answer. A client that gives up before learns that at its time.
func TestRequestsInProgressAtALoss(t *testing.T) {
	for _, c := range []struct {
		workloads []network.Workload
		timeoutNs int64
		want      string
	}{
		{nil, 0, "45s: connection broken"},
		{nil, 20 * second, "20s: timed out"},
		{nil, 45 * second, "45s: timed out"},
		{nil, 50 * second, "45s: connection broken"},
		{perRequest, 0, "2m47s: connection broken"}, // 2 s + 30 s + 9·15 s
		{perRequest, 20 * second, "20s: timed out"},
	} {
		w := newWorld(t, plan{servers: 1, network: network.Deps{Workloads: c.workloads}})
		w.at(0, func(nowNs int64) {
			r := w.request("", 50*second)
			r.Details.ClientTimeoutNs = c.timeoutNs
			w.Send(nowNs, r, 0, 0)
		})
		w.at(2*second, w.servers[0].Lose)
		w.run(2*second - 1)
		w.connections(1)
		w.run(5 * minute)
		w.connections(0)
		if got := strings.ReplaceAll(strings.Join(w.lines, "\n"), "  at 0", ""); got != c.want {
			t.Errorf("a client that waits %v: %s; want %s", time.Duration(c.timeoutNs), got, c.want)
		}
	}
}

// A silent connection is that of the process that was there before: what happens to the next one does not concern it. A
// client with another connection uses that.
func TestSilenceOutlivesARestart(t *testing.T) {
	for name, end := range map[string]func(s *server.Server) func(int64){
		"stop":  func(s *server.Server) func(int64) { return s.Stop },
		"crash": func(s *server.Server) func(int64) { return s.Crash },
		"lose":  func(s *server.Server) func(int64) { return s.Lose },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plan{servers: 1})
			w.send(second, 0, "first", second)
			w.at(20*second, w.servers[0].Lose)
			w.at(30*second, func(nowNs int64) { w.servers[0].Start(nowNs, "") })
			w.send(31*second, 0, "on the silent one", second)
			w.send(32*second, 1, "on a new one", second)
			w.at(40*second, end(w.servers[0]))
			w.at(46*second, func(int64) { w.connections(map[string]int{"stop": 1, "crash": 1, "lose": 2}[name]) })
			w.run(47 * second)
			w.wants("2s first at 0: 200\n33s on a new one at 0: 200\n47s on the silent one at 0: connection broken")
			w.run(5 * minute)
			w.connections(0)
		})
	}
}
