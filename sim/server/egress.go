package server

import (
	"apfsim/document"
	"apfsim/sim/clock"
	"apfsim/sim/machine"
	"apfsim/sim/quantity"
)

// Egress is the network by which the answers of a server leave it. Those that are sent at a time share its bandwidth, each
// as much as the others. While an answer is sent, the request executes: it has its seats, and its memory.
type Egress struct {
	Bandwidth quantity.Bytes `json:"bandwidth" document:"required" jsonschema:"minimum=1" jsonschema_description:"Bytes of answers that leave the server in a second, before compression."`
}

// Check checks the network at path.
func (e *Egress) Check(to *document.Checker, path string, stored bool) {
	if !stored && !to.Failed(path) {
		to.Fail(path, "needs spec.store, with which the size of an answer is known")
	}
}

// egress is the Egress of a server: a machine of one core, whose jobs are answers. The demand of an answer is the time
// that it takes alone.
type egress struct {
	*sharing
	bytesPerNs float64
	nextEnd    clock.Handle // of the answer that is sent first; 0 without one
}

// setEgress gives the server a network.
func (s *Server) setEgress(e *Egress) {
	s.egress = &egress{sharing: newSharing(&machine.Capacity{Cores: 1}, s.deps.WindowNs), bytesPerNs: float64(e.Bandwidth) / second}
}

// send begins to send so many bytes to the client of a request that is handled, and returns whether that takes time: not
// without a network, nor if there is nobody to send them to.
func (s *Server) send(nowNs int64, r *Request, bytes int64) (takesTime bool) {
	if s.egress == nil || bytes <= 0 || r.Answered() {
		return false
	}
	r.Details.step = inSending
	aloneNs := int64(float64(bytes) / s.egress.bytesPerNs)
	r.Details.Spent.begin(nowNs, aloneNs)
	s.egress.begin(nowNs, r, aloneNs)
	s.moveSent(nowNs)
	return true
}

// sent ends the answer that is sent first.
func (s *Server) sent(nowNs int64, r *Request) {
	s.egress.nextEnd = 0
	s.egress.End(nowNs, r)
	s.moveSent(nowNs)
}

// stopSending cancels an answer whose remainder is not sent.
func (s *Server) stopSending(nowNs int64, r *Request) {
	s.egress.Cancel(nowNs, r)
	s.moveSent(nowNs)
}

// moveSent schedules the end of the answer that is sent first, after each change.
func (s *Server) moveSent(nowNs int64) {
	s.unschedule(&s.egress.nextEnd)
	if r, atNs, ok := s.egress.Next(nowNs); ok {
		s.egress.nextEnd = s.events.Schedule(atNs, uint8(Finish), Event{Kind: Finish, Owner: s.index, Request: r})
	}
}
