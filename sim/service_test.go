package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/sim/metric"
	"apfsim/sim/network"
	"apfsim/sim/server"
)

// changesOfService returns how the Service kubernetes has changed.
func changesOfService(run *Run) []network.Notice {
	return slices.DeleteFunc(run.Network().Noticed(), func(n network.Notice) bool { return !n.Service })
}

// Case L19 of one crashed server: the Service lists it for 5 to 25 s more. Its lease has been renewed up to 10 s before
// and ends 15 s after that, and the next of the other servers writes the Service within 10 s. For renewals at
// random times, with one other server that is 10 s + 5 s on average, with two 10 s + 10/3 s.
func TestServiceListsACrashedServer(t *testing.T) {
	const seeds, crashNs = 300, 37e9
	for replicas, mean := range map[int]float64{2: 15, 3: 10 + 10./3} {
		var sum float64
		shortest, longest := 100., 0.
		for seed := range seeds {
			run := execute(t, New(load(t, fmt.Sprintf(`
  seed: %d
  duration: 63s
  servers: {replicas: %d}
  events: [{at: 37s, crash: {server: 1}}]
  workload:
  - name: w
    as: {user: u}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 1ms
    arrivals: {burst: {at: 1s, requests: 1}}
    through: Service
`, seed, replicas))), server.Observer{})
			all := changesOfService(run)
			if len(all) != 1 || all[0].Server != 1 || all[0].Up {
				t.Fatalf("the Service changed so: %v; want only server 1 to be removed", all)
			}
			seconds := float64(all[0].AtNs-crashNs) / 1e9
			sum += seconds
			shortest, longest = min(shortest, seconds), max(longest, seconds)
		}
		// The standard deviation is at most √(100/12 + 100/12) s, so that the mean is within 0.8 s but for a
		// chance of 1 in 1000.
		if got := sum / seeds; got < mean-0.8 || got > mean+0.8 {
			t.Errorf("%d servers: the Service lists the crashed one for another %.2f s on average, want %.2f", replicas, got, mean)
		}
		if shortest < 5 || shortest > 7 || longest > 25 || replicas == 2 && longest < 23 {
			t.Errorf("%d servers: the Service lists the crashed one for another %v to %v s, want 5 to 25", replicas, shortest, longest)
		}
	}
}

// Case L19 for clients: of the connections through the Service, a third is refused until it no longer lists the
// crashed server, and none after that. A load balancer without probes never finds out. The watches of
// the server are opened again at once; those that are refused then wait as reflectors do.
func TestConnectionsThroughServiceToACrashedServer(t *testing.T) {
	through := func(name, through string) string {
		return `
  - name: ` + name + `
    clients: 20
    as: {user: "u{i}"}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 1ms
    connection: PerRequest
    through: ` + through + `
    arrivals: {poisson: {rate: 20/s}}`
	}
	run := New(load(t, `
  duration: 60s
  servers: {replicas: 3, loadBalancer: {}}
  events: [{at: 30s, crash: {server: 1}}]
  workload:`+through("inside", "Service")+through("outside", "LoadBalancer")+`
  - name: watches
    clients: 3000
    as: {user: "u{i}", groups: ["system:masters"]}
    request: {verb: watch, resource: pods, watch: {duration: 1h}}
    execution: 1ms
    arrivals: {closed: {}}
    retry: ClientGo
    through: Service
`))
	const inside, outside, watches = 0, 1, 2
	type counts struct{ all, refused int }
	var listed, unlisted, balanced, reopened counts
	broken, back := 0, 0
	seen := func(nowNs int64, r *server.Request, refused int) {
		group := &balanced
		switch stale := len(changesOfService(run)) == 0; {
		case nowNs < 30e9:
			return
		case r.Workload == watches && nowNs == 30e9:
			group = &reopened
		case r.Workload == watches:
			if back++; nowNs < 30.8e9 {
				t.Errorf("a watch was opened after %d ns, before the back-off was over", nowNs-30e9)
			}
			return
		case r.Workload == inside && stale:
			group = &listed
		case r.Workload == inside:
			group = &unlisted
		}
		group.all++
		group.refused += refused
	}
	execute(t, run, server.Observer{
		Arrived: func(nowNs int64, r *server.Request) { seen(nowNs, r, 0) },
		Refused: func(nowNs int64, r *server.Request) { seen(nowNs, r, 1) },
		GivenUp: func(_ int64, r *server.Request) {
			if r.Workload == watches {
				broken++
			}
		},
	})
	proportion(t, "refused while the Service lists the server", listed.refused, listed.all, 1./3)
	proportion(t, "refused by the load balancer", balanced.refused, balanced.all, 1./3)
	if unlisted.refused > 0 || unlisted.all < 1000 || listed.all < 1000 {
		t.Errorf("%d of %d connections were refused after the server had been removed from the Service", unlisted.refused, unlisted.all)
	}
	proportion(t, "watches of the server", broken, 3000, 1./3)
	if reopened.all != broken || back < reopened.refused {
		t.Errorf("of %d broken watches, %d were opened again at once; of %d that were refused, %d came back", broken, reopened.all, reopened.refused, back)
	}
	proportion(t, "watches refused at once", reopened.refused, reopened.all, 1./3)
}

// A server that is told to stop removes itself at once, and adds itself when it is ready again, so that no
// connection is refused whatever the delay. A crash that is followed by a start within the lease ends
// the entry at the start. The last server that stops leaves nobody, and connections are refused although it
// still listens. The last one that crashes or whose node is lost stays in the Service, as no server
// writes that there is none. The first refuses connections itself, the second does not answer.
func TestServiceInTheLifeOfServers(t *testing.T) {
	for _, c := range []struct {
		name, servers, events string
		changes               string // of the Service
		fromNs, toNs          int64  // connections fail between; both 0 for never
	}{
		{"stop", "replicas: 3", "{at: 20s, stop: {server: 1}}, {at: 90s, start: {server: 1}}", "20s -1, 1m30s +1", 0, 0},
		{"stop with a delay", "replicas: 3, shutdown: {delay: 10s}", "{at: 20s, stop: {server: 1}}", "20s -1", 0, 0},
		{"slow start", "replicas: 2, startup: {duration: 7s}", "{at: 20s, stop: {server: 1}}, {at: 90s, start: {server: 1}}", "20s -1, 1m37s +1", 0, 0},
		{"crash and start", "replicas: 2, startup: {duration: 5s}", "{at: 20s, crash: {server: 1}}, {at: 23s, start: {server: 1}}", "23s -1, 28s +1", 20e9, 23e9},
		{"last stop", "replicas: 1, shutdown: {delay: 10s}", "{at: 20s, stop: {server: 0}}, {at: 50s, start: {server: 0}}", "20s -0, 50s +0", 20e9, 50e9},
		{"last crash", "replicas: 1", "{at: 20s, crash: {server: 0}}, {at: 60s, start: {server: 0}}", "", 20e9, 60e9},
		{"lost", "replicas: 1", "{at: 20s, lose: {server: 0}}, {at: 30s, start: {server: 0}}", "", 50e9, 60e9},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := New(load(t, `
  duration: 120s
  servers: {`+c.servers+`}
  events: [`+c.events+`]`+strings.Replace(independent, "connection:", "through: Service\n    connection:", 1)))
			failures := 0
			execute(t, run, server.Observer{Refused: func(nowNs int64, r *server.Request) {
				if failures++; nowNs < c.fromNs || nowNs > c.toNs || r.Refusal != metric.ConnectionRefused {
					t.Errorf("%v: %v at server %d", time.Duration(nowNs), r.Refusal, r.Server)
				}
			}})
			if (failures > 100) != (c.toNs > 0) {
				t.Errorf("%d connections failed", failures)
			}
			var changes []string
			for _, n := range changesOfService(run) {
				changes = append(changes, fmt.Sprintf("%v %c%d", time.Duration(n.AtNs), map[bool]rune{true: '+', false: '-'}[n.Up], n.Server))
			}
			if got := strings.Join(changes, ", "); got != c.changes {
				t.Errorf("the Service changed so: %s; want %s", got, c.changes)
			}
			dials, failed := run.Network().Dials(0)
			if more, ofOne := run.Network().Dials(len(run.Servers()) - 1); len(run.Servers()) > 1 {
				dials, failed = dials+more, failed+ofOne
			}
			if int(failed) != failures && c.name != "lost" || dials <= failed {
				t.Errorf("%d connections, of which %d failed; %d refusals", dials, failed, failures)
			}
		})
	}
}
