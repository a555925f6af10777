package sim_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"apfsim/sim"
	"apfsim/sim/scenario/cluster"
	"apfsim/sim/server"
)

// among simulates the requests of the load A at so many servers. After a warm-up, so
// many requests arrive on average; begin and end are called before the first of them and after the last.
func among(servers, requests int, connection string, begin, end func()) error {
	l := regimeA
	warmUp := l.lasting(min(l.warmUp(), 20*requests))
	sc, err := l.scenario(warmUp + max(l.lasting(requests), time.Nanosecond))
	if err != nil {
		return err
	}
	sc.Spec.Servers.Replicas = servers
	sc.Spec.Workload[0].Connection = connection
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
// statistics. With several servers, each request also has a connection.
func BenchmarkServers(b *testing.B) {
	for _, c := range []struct {
		servers    int
		connection string
	}{{1, cluster.HTTP2}, {3, cluster.HTTP2}, {3, cluster.PerRequest}} {
		b.Run(fmt.Sprintf("%d/%s", c.servers, c.connection), func(b *testing.B) {
			b.ReportAllocs()
			if err := among(c.servers, b.N, c.connection, b.ResetTimer, b.StopTimer); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// No request allocates on its way through connections and servers. What does is the adjustment of
// limits, and now and then more requests or connections at a time than ever before.
func TestConnectionsAllocateNothing(t *testing.T) {
	const requests = 500_000
	for _, connection := range []string{cluster.HTTP2, cluster.PerRequest} {
		var before, after runtime.MemStats
		if err := among(3, requests, connection, func() { runtime.ReadMemStats(&before) }, func() { runtime.ReadMemStats(&after) }); err != nil {
			t.Fatal(err)
		}
		if n := after.Mallocs - before.Mallocs; n > requests/1000 {
			t.Errorf("%s: %d allocations for %d requests", connection, n, requests)
		}
	}
}
