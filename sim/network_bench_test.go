package sim_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"apfsim/sim"
	"apfsim/sim/network"
	"apfsim/sim/server"
)

// setup is some servers and the connections of their clients.
type setup struct {
	servers    int
	connection string
	policy     string // of the load balancer; "" without one
	divided    bool   // the servers together have the seats of one, rounded up, and each has as many otherwise
}

// evenly are three servers that together have 102 seats, and not 100 as the one of the same load. Each gets a
// third of the clients: with connections at random, one server would be overloaded.
var evenly = setup{3, network.HTTP2, network.RoundRobin, true}

// among simulates the requests of the load A at some servers. After a warm-up, so many requests arrive on
// average; begin and end are called before the first of them and after the last.
func among(c setup, requests int, begin, end func()) error {
	l := regimeA
	warmUp := l.lasting(min(l.warmUp(), 20*requests))
	sc, err := l.scenario(warmUp + max(l.lasting(requests), time.Nanosecond))
	if err != nil {
		return err
	}
	spec := &sc.Spec.Servers
	spec.Replicas = c.servers
	if c.policy != "" {
		spec.LoadBalancer = &network.LoadBalancer{Policy: c.policy}
	}
	if c.divided {
		spec.MaxRequestsInflight = (spec.MaxRequestsInflight + c.servers - 1) / c.servers
		spec.MaxMutatingRequestsInflight = (spec.MaxMutatingRequestsInflight + c.servers - 1) / c.servers
	}
	sc.Spec.Workload[0].Connection = c.connection
	run := sim.New(sc)
	run.Observe(server.Observer{Tick: func(nowNs int64, _ []*server.Server) int64 {
		switch nowNs {
		case int64(warmUp):
			begin()
		case int64(sc.Spec.Duration):
			end()
		}
		return int64(warmUp)
	}})
	return run.Execute(context.Background(), nil)
}

// BenchmarkServers simulates the requests of the same clients on one server and on several, without
// statistics. With several servers, each request also has a connection. Three servers have three times the
// seats of one, so that hardly a request waits, or they divide those of the one.
func BenchmarkServers(b *testing.B) {
	for _, c := range []setup{
		{servers: 1, connection: network.HTTP2}, {servers: 3, connection: network.HTTP2}, {servers: 3, connection: network.PerRequest},
		evenly, {servers: 3, connection: network.PerRequest, divided: true},
	} {
		seats := 100 * c.servers
		if c.divided {
			seats = 102
		}
		b.Run(fmt.Sprintf("%d/%s/%d", c.servers, c.connection, seats), func(b *testing.B) {
			b.ReportAllocs()
			if err := among(c, b.N, b.ResetTimer, b.StopTimer); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// No request allocates on its way through connections and servers. What does is the adjustment of
// limits, and now and then more requests or connections at a time than ever before.
func TestConnectionsAllocateNothing(t *testing.T) {
	const requests = 500_000
	for _, connection := range []string{network.HTTP2, network.PerRequest} {
		var before, after runtime.MemStats
		if err := among(setup{servers: 3, connection: connection}, requests, func() { runtime.ReadMemStats(&before) }, func() { runtime.ReadMemStats(&after) }); err != nil {
			t.Fatal(err)
		}
		if n := after.Mallocs - before.Mallocs; n > requests/1000 {
			t.Errorf("%s: %d allocations for %d requests", connection, n, requests)
		}
	}
}
