package network

import (
	"cmp"
	"slices"

	"apfsim/sim/random"
	"apfsim/sim/server"
)

// balancer chooses the server of each connection.
type balancer struct {
	network *Network
	policy  string
	all     bool     // without probes it chooses among all servers, otherwise among those that listen
	check   *Probe   // nil without probes
	health  []health // by server, with probes or readiness
	noticed []Notice

	turn     int     // index of the server whose turn it is
	eligible []int16 // what the latest choice was made among
}

// health is what a balancer knows of a server.
type health struct {
	up   bool
	runs int // probes in a row that contradict up
}

// Notice is a change of what the load balancer takes a server for, or of what the Service kubernetes lists.
type Notice struct {
	AtNs    int64
	Server  int
	Up      bool // healthy, or listed
	Service bool
}

// Noticed returns what the probes of the load balancer have found so far, and how the Service has changed, each
// in order of time.
func (n *Network) Noticed() []Notice {
	if n.service == nil {
		return n.balancer.noticed
	}
	return slices.Concat(n.balancer.noticed, n.service.noticed)
}

// newBalancer returns the load balancer of a scenario, which may have none: then each connection is to
// a server that listens, at random.
func newBalancer(spec *LoadBalancer, n *Network) balancer {
	b := balancer{network: n, policy: Random}
	if spec == nil {
		return b
	}
	b.policy, b.all, b.check = spec.Policy, true, spec.Probe
	if spec.Readiness {
		b.health = make([]health, len(n.servers))
		for i := range b.health {
			b.health[i].up = true // the servers have been ready before the run
		}
	}
	if b.check != nil {
		b.health = make([]health, len(n.servers))
		for i, s := range n.servers {
			b.health[i].up = s.Healthy(b.check.Path)
		}
		n.schedule(int64(b.check.Interval), probes, 0)
	}
	return b
}

// probe probes all servers, at each multiple of the interval. The answer takes no time; of a server
// whose node is gone, the probe fails at once.
func (b *balancer) probe(nowNs int64) {
	for i := range b.health {
		h, want := &b.health[i], b.check.Failures
		if !h.up {
			want = b.check.Successes
		}
		if b.network.servers[i].Healthy(b.check.Path) == h.up {
			h.runs = 0
			continue
		}
		if h.runs++; h.runs == want {
			h.up, h.runs = !h.up, 0
			b.noticed = append(b.noticed, Notice{AtNs: nowNs, Server: i, Up: h.up})
		}
	}
	b.network.schedule(nowNs+int64(b.check.Interval), probes, 0)
}

// setReady is called when the readiness probe of a server finds something else than before.
func (b *balancer) setReady(nowNs int64, i int, ready bool) {
	if b.check == nil && b.health != nil {
		b.health[i].up = ready
		b.noticed = append(b.noticed, Notice{AtNs: nowNs, Server: i, Up: ready})
	}
}

// mayGet says whether a server may get a connection, as far as the balancer knows.
func (b *balancer) mayGet(i int, s *server.Server) bool {
	switch {
	case b.health != nil:
		return b.health[i].up
	case b.all:
		return true
	}
	return s.Listens()
}

// choose chooses the server of a connection; choice is the stream of who opens it. If no server may get
// the connection, it is chosen among all, as network load balancers do, rather than refused.
func (b *balancer) choose(choice *random.Stream) int16 {
	b.eligible = b.eligible[:0]
	for i, s := range b.network.servers {
		if b.mayGet(i, s) {
			b.eligible = append(b.eligible, int16(i))
		}
	}
	if len(b.eligible) == 0 {
		for i := range b.network.servers {
			b.eligible = append(b.eligible, int16(i))
		}
	}
	switch b.policy {
	case Random:
		return b.eligible[choice.IntN(len(b.eligible))]
	case LeastConnections:
		return b.inTurn(true)
	}
	return b.inTurn(false)
}

// inTurn returns the eligible server whose turn it is: the first one from turn on, cyclically, or of
// those with the fewest connections.
func (b *balancer) inTurn(fewest bool) int16 {
	n := len(b.network.servers)
	after := func(i int16) int { return (int(i) - b.turn + n) % n }
	best := slices.MinFunc(b.eligible, func(i, j int16) int {
		load := 0
		if fewest {
			load = cmp.Compare(b.network.counts[i].connections, b.network.counts[j].connections)
		}
		return cmp.Or(load, cmp.Compare(after(i), after(j)))
	})
	b.turn = (int(best) + 1) % n
	return best
}
