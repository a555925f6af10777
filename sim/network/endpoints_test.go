package network_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"apfsim/sim/network"
	"apfsim/sim/quantity"
	"apfsim/sim/server"
)

// inside are clients that connect through the Service kubernetes.
var inside = []network.Workload{{Name: "w", Clients: 10, PerRequest: true, Service: true}}

// service returns how the Service has changed: "20s -1" says that server 1 was removed.
func (w *world) service() string {
	var changes []string
	for _, n := range w.Noticed() {
		if n.Service {
			changes = append(changes, fmt.Sprintf("%v %c%d", time.Duration(n.AtNs), map[bool]rune{true: '+', false: '-'}[n.Up], n.Server))
		}
	}
	return strings.Join(changes, ", ")
}

// Server 0 starts at 20 s and renews its lease at 30 s and 40 s, so that it has it until 55 s although it crashes at 41 s.
// Server 1 removes it when it writes the Service then: at 55 s if it has started at 25 s, and at 65 s if it has started so
// much earlier that it writes before the end of the lease.
func TestEndOfALease(t *testing.T) {
	for startNs, removed := range map[int64]string{25 * second: "55s", 25*second - 1: "1m4.999999999s"} {
		w := newWorld(t, plan{servers: 2, network: network.Deps{Workloads: inside}})
		w.crash(0, 19*second, 20*second)
		w.crash(1, 19*second, startNs)
		w.crash(0, 41*second, 0)
		w.run(3 * minute)
		start := time.Duration(startNs)
		want := fmt.Sprintf("20s -0, 20s +0, %v -1, %v +1, %s -0", start, start, removed)
		if got := w.service(); got != want {
			t.Errorf("server 1 starts at %v: the Service changed so: %s; want %s", start, got, want)
		}
	}
}

// The servers of the start renew their leases at times of their own, which the seed decides: one that crashes at once is
// removed when its lease, of which 5 to 15 s are left, has ended and the other server has written the Service.
func TestLeasesOfTheStart(t *testing.T) {
	at := map[string]bool{}
	for seed := range uint64(50) {
		w := newWorld(t, plan{servers: 2, network: network.Deps{Workloads: inside, Seed: seed}})
		w.crash(1, 0, 0)
		w.run(3 * minute)
		notices := w.Noticed()
		if len(notices) != 1 || notices[0].Server != 1 || notices[0].AtNs < 5*second || notices[0].AtNs >= 25*second {
			t.Errorf("seed %d: the Service changed so: %s; want server 1 to be removed from 5 s to 25 s", seed, w.service())
		}
		at[w.service()] = true
	}
	if len(at) != 50 {
		t.Errorf("%d different times, want one for each seed", len(at))
	}
}

// What the Service lists, and what clients get that connect through it, each at 10 s, 20 s and so on.
func TestServiceAndItsServers(t *testing.T) {
	delay := server.Process{Shutdown: server.Shutdown{Delay: quantity.Duration(45 * second)}}
	for _, c := range []struct {
		name    string
		servers int
		process server.Process
		happens func(w *world)
		service string
		clients string // of 10 s, 20 s, 30 s, and so on until 60 s
	}{{
		"nobody has written that the only server has crashed", 1, server.Process{Startup: server.Startup{Duration: quantity.Duration(15 * second)}},
		func(w *world) { w.crash(0, 15*second, 16*second) },
		"", "200 at 0, 200 at 0, 200 at 0, 200 at 0, 200 at 0, 200 at 0",
	}, {
		"the last server that stops leaves nobody, though it listens", 2, delay,
		func(w *world) { w.at(15*second, w.servers[0].Stop); w.at(16*second, w.servers[1].Stop) },
		"15s -0, 16s -1", "200, no connection at 1, no connection at 1, no connection at 1, no connection at 1, no connection at 1",
	}, {
		"so does it the other way round", 2, delay,
		func(w *world) { w.at(15*second, w.servers[1].Stop); w.at(16*second, w.servers[0].Stop) },
		"15s -1, 16s -0", "200, no connection at 0, no connection at 0, no connection at 0, no connection at 0, no connection at 0",
	}, {
		"one that starts has nothing to remove when its lease has ended", 1, server.Process{},
		func(w *world) { w.crash(0, 15*second, 45*second) },
		"", "200 at 0, no connection at 0, no connection at 0, no connection at 0, 200 at 0, 200 at 0",
	}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, plan{servers: c.servers, process: c.process, network: network.Deps{Workloads: inside}})
			c.happens(w)
			for i := range int64(6) {
				w.send((i+1)*10*second, 0, "", second)
			}
			w.run(65 * second)
			if got := w.service(); got != c.service {
				t.Errorf("the Service changed so: %s; want %s", got, c.service)
			}
			want := strings.Split(c.clients, ", ")
			if len(w.lines) != len(want) {
				t.Fatalf("the clients have learned %q", w.lines)
			}
			refused := 0
			for i, line := range w.lines {
				_, learned, _ := strings.Cut(line, " at ")
				server, learned, _ := strings.Cut(learned, ": ")
				if got := learned + " at " + server; !strings.HasPrefix(got, want[i]) {
					t.Errorf("the client of %d s got %s, want %s", (i+1)*10, got, want[i])
				}
				if learned != "200" {
					refused++
				}
			}
			tried, failed := w.Dials(0)
			if c.servers > 1 {
				more, ofOther := w.Dials(1)
				tried, failed = tried+more, failed+ofOther
			}
			if tried != 6 || int(failed) != refused {
				t.Errorf("%d connections were tried and %d failed, want 6 and %d", tried, failed, refused)
			}
		})
	}
}

// Each client of the Service gets one of the servers that it lists, all with the same probability.
func TestServiceChoosesAtRandom(t *testing.T) {
	w := newWorld(t, plan{servers: 3, network: network.Deps{Workloads: inside}})
	w.at(second, w.servers[1].Stop)
	got := w.chosen()
	for i := range 100 {
		w.send(2*second, i%10, "", second)
	}
	w.run(minute)
	n := strings.Count(strings.Join(*got, ""), "0")
	if len(*got) != 100 || n < 30 || n > 70 || strings.Contains(strings.Join(*got, ""), "1") {
		t.Errorf("the servers %v were chosen; want 0 and 2 alike", *got)
	}
}
