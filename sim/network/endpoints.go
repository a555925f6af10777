package network

import (
	"slices"

	"apfsim/sim/clock"
	"apfsim/sim/random"
	"apfsim/sim/server"
)

// endpoints are the servers that the Service kubernetes lists. No probe decides about them: the servers list
// each other. Each has a lease in etcd, and all of them write those that have one into the Service
// (k8s.io/kubernetes pkg/controlplane, reconcilers/lease.go, controller/kubernetesservice/controller.go).
//
// Invariant: a server that is Ready has a lease and is listed. One whose process has ended is listed until its
// lease has ended and another server has written the Service after that.
type endpoints struct {
	network *Network
	listed  []int16 // by index
	leases  []lease // by server
	left    int16   // the server that was removed last
	noticed []Notice
}

// lease is that of a server, which says that its process is there.
type lease struct {
	endNs int64        // when it ends or has ended
	renew clock.Handle // its next renewal; 0 if there will be none
}

func (l lease) holds(nowNs int64) bool { return l.endNs > nowNs }

// The reconciler of a server renews its lease and writes the Service in an interval (controlplane/instance.go,
// DefaultEndpointReconcilerInterval and DefaultEndpointReconcilerTTL).
const (
	reconcileNs = 10_000_000_000
	leaseNs     = 15_000_000_000
)

// newEndpoints returns those of servers that were ready long before the run: each renews its lease at times of
// its own.
func newEndpoints(n *Network) *endpoints {
	e := &endpoints{network: n, leases: make([]lease, len(n.servers))}
	for i := range n.servers {
		var phase random.Stream
		phase.Open(n.seed, "", i, "endpoints") // no workload has an empty name
		nextNs := phase.Int64N(reconcileNs)
		e.listed = append(e.listed, int16(i))
		e.leases[i] = lease{nextNs - reconcileNs + leaseNs, n.schedule(nextNs, renews, int32(i))}
	}
	n.runState.Observe(server.Observer{Changed: e.changed})
	return e
}

// changed is called when a server has entered another stage. One that is told to stop removes itself at once,
// and one that starts removes what a process before it has left behind. If a process ends, nobody removes it.
func (e *endpoints) changed(nowNs int64, s *server.Server) {
	i := s.Index()
	l := &e.leases[i]
	if s.Stage() == server.Ready {
		e.renew(nowNs, i)
		return
	}
	if l.renew != 0 {
		e.network.runState.Events.Cancel(l.renew)
		l.renew = 0
	}
	stops := s.Stage() == server.Stopping
	if !stops && s.Stage() != server.Starting || !l.holds(nowNs) {
		return
	}
	l.endNs = nowNs
	// That there is no server left is only written by one that stops: for others it is an error.
	if stops || slices.ContainsFunc(e.leases, func(l lease) bool { return l.holds(nowNs) }) {
		e.write(nowNs)
	}
}

// renew renews the lease of a server, which then writes the Service.
func (e *endpoints) renew(nowNs int64, i int) {
	e.leases[i] = lease{nowNs + leaseNs, e.network.schedule(nowNs+reconcileNs, renews, int32(i))}
	e.write(nowNs)
}

// write makes the Service list the servers that have a lease.
func (e *endpoints) write(nowNs int64) {
	was := e.listed
	e.listed = nil
	for i := range e.leases {
		listed, has := len(was) > 0 && was[0] == int16(i), e.leases[i].holds(nowNs)
		if listed {
			was = was[1:]
		}
		if has {
			e.listed = append(e.listed, int16(i))
		}
		if listed && !has {
			e.left = int16(i)
		}
		if listed != has {
			e.noticed = append(e.noticed, Notice{AtNs: nowNs, Server: i, Up: has, Service: true})
		}
	}
}

// choose chooses the server of a connection, each with the same probability, as kube-proxy does. Without any,
// it refuses the connection; the server is then the one that was removed last.
func (e *endpoints) choose(choice *random.Stream) (to int16, ok bool) {
	if len(e.listed) == 0 {
		return e.left, false
	}
	return e.listed[choice.IntN(len(e.listed))], true
}
