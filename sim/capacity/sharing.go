// Package capacity is how fast a simulated server executes what it has dispatched: all requests whose
// demand is being served share its speed.
package capacity

import (
	"apfsim/sim/capacity/machine"
	"apfsim/sim/scenario/cluster"
	"apfsim/sim/server"
)

// Sharing is a machine whose jobs are requests. It implements server.Capacity.
type Sharing struct {
	*machine.Machine
	requests []*server.Request // by their slots
}

// New returns an idle machine of speed 1. What cluster.Capacity says of the speed over time and of watch
// events is the server's to tell it, by SetSpeed and SetBusy.
func New(law *cluster.Capacity) *Sharing { return &Sharing{Machine: machine.New(law)} }

// Throughput returns how much demand n requests at a time are served per unit of time, on an undisturbed
// machine of speed 1: n·v(n). It is the oracle of a closed loop: n clients that do not think have a
// throughput of n·v(n) divided by the mean demand.
func Throughput(law *cluster.Capacity, n int) float64 { return machine.New(law).Throughput(n) }

// Begin implements server.Capacity. The demand is Request.ExecutionNs.
func (s *Sharing) Begin(nowNs int64, r *server.Request) {
	slot := s.Machine.Begin(nowNs, r.ExecutionNs)
	if int(slot) == len(s.requests) {
		s.requests = append(s.requests, nil)
	}
	s.requests[slot], r.Details.Place = r, slot
}

// Next implements server.Capacity.
func (s *Sharing) Next(nowNs int64) (r *server.Request, atNs int64) {
	slot, atNs, ok := s.Machine.Next(nowNs)
	if !ok {
		return nil, 0
	}
	return s.requests[slot], atNs
}

// End implements server.Capacity.
func (s *Sharing) End(nowNs int64, r *server.Request) {
	s.Machine.End(nowNs, r.Details.Place)
	s.requests[r.Details.Place] = nil
}

// Cancel implements server.Capacity.
func (s *Sharing) Cancel(nowNs int64, r *server.Request) {
	s.Machine.Cancel(nowNs, r.Details.Place)
	s.requests[r.Details.Place] = nil
}
