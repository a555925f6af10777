package network_test

import (
	"fmt"
	"strings"
	"testing"

	"apfsim/sim/metric"
	"apfsim/sim/network"
	"apfsim/sim/server"
)

// With the chance of GOAWAY, a request is the last one on its connection, whose client connects anew for the next. How
// often depends on the chance, and each client has its own luck.
func TestChanceOfGoaway(t *testing.T) {
	for chance, between := range map[float64][2]int{0: {1, 1}, 0.5: {30, 70}, 1: {100, 100}} {
		for client := range 3 {
			w := newWorld(t, plan{servers: 1, network: network.Deps{GoawayChance: chance}})
			for i := range int64(100) {
				w.send(i*second, client, "", 1500*millisecond)
			}
			w.run(3 * minute)
			dials, failed := w.Dials(0)
			if n := int(dials); n < between[0] || n > between[1] || failed > 0 {
				t.Errorf("with a chance of %v, 100 requests need %d connections, %d of which failed; want from %d to %d", chance, n, failed, between[0], between[1])
			}
			if n := strings.Count(strings.Join(w.lines, "\n"), ": 200"); n != 100 {
				t.Errorf("with a chance of %v, %d of 100 requests succeed", chance, n)
			}
			w.run(10 * minute)
			w.connections(0)
		}
	}
}

// A request for a certain server has a connection of its own, which no other request uses, and which is closed with it. It
// is refused if the server does not listen, though the other one does.
func TestSendTo(t *testing.T) {
	w := newWorld(t, plan{servers: 2, network: balanced(network.RoundRobin, nil)})
	to := func(atNs int64, label string, server int16) {
		w.at(atNs, func(nowNs int64) { w.SendTo(nowNs, w.request(label, 5*second), 0, 0, server) })
	}
	to(0, "chosen", 1)
	w.send(second, 0, "any", 2*second)
	w.run(2 * second)
	w.connections(1, 1)
	w.run(5*second - 1)
	w.connections(0, 1)
	w.run(5 * second)
	w.connections(0, 0)
	w.crash(1, 6*second, 0)
	to(7*second, "in vain", 1)
	w.run(minute)
	w.wants(`
3s any at 0: 200
5s chosen at 1: 200
7s in vain at 1: no connection`)
	if dials, failed := w.Dials(1); dials != 2 || failed != 1 {
		t.Errorf("%d connections to server 1, of which %d failed; want 2 and 1", dials, failed)
	}
}

// A request is on a connection from when it is sent until its client has an answer or has gone, also if its execution goes
// on. One that reaches no server is on none.
func TestConnectionOfARequest(t *testing.T) {
	w := newWorld(t, plan{servers: 1})
	note := func(what string) func(int64, *server.Request) {
		return func(_ int64, r *server.Request) {
			w.lines = append(w.lines, fmt.Sprintf("%s %s on %d", w.labels[r.ID], what, r.Connection))
		}
	}
	w.runState.Observe(server.Observer{Arrived: note("arrives"), Answered: note("is answered"), Executed: note("is executed"), Refused: note("is refused")})
	w.at(0, func(nowNs int64) {
		r := w.request("slow", 5*second)
		w.Send(nowNs, r, 0, 0)
		w.at(second, func(nowNs int64) { w.HangUp(nowNs, r) })
	})
	w.send(2*second, 0, "quick", second)
	w.crash(0, 10*second, 0)
	w.send(11*second, 0, "late", second)
	w.run(minute)
	w.wants(`
slow arrives on 1
slow is answered on 1
1s slow at 0: timed out
quick arrives on 1
quick is executed on 1
quick is answered on 1
3s quick at 0: 200
slow is executed on 0
late is refused on 0
late is answered on 0
11s late at 0: no connection`)
}

// Requests that are lost on their way have not reached a server; why is told to the observers.
func TestWhyRequestsAreRefused(t *testing.T) {
	w := newWorld(t, plan{servers: 1})
	var why []string
	w.runState.Observe(server.Observer{Refused: func(_ int64, r *server.Request) { why = append(why, w.labels[r.ID]+": "+r.Refusal.String()) }})
	w.send(0, 0, "first", second)
	w.at(5*second, w.servers[0].Lose)
	w.send(6*second, 0, "on a silent connection", second)
	w.send(6*second, 1, "on none", second)
	w.run(minute)
	if got, want := strings.Join(why, "; "), fmt.Sprintf("on none: %v; on a silent connection: %v", metric.ConnectionRefused, metric.ConnectionReset); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
