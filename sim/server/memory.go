package server

import (
	"apfsim/core/estimate"
	"apfsim/document"
	"apfsim/sim/quantity"
)

// Memory is how much memory a server has, and what takes it. A server that needs more than the limit is
// killed.
type Memory struct {
	Limit      quantity.Bytes `json:"limit,omitempty" jsonschema_description:"Without it, memory is counted and never ends the server."`
	Base       quantity.Bytes `json:"base,omitempty" jsonschema_description:"What the server takes without requests."`
	ListFactor float64        `json:"listFactor,omitempty" jsonschema:"minimum=0" document:"maximum=1e6" jsonschema_description:"Bytes that a list takes while it executes, for each byte of its objects; without it 5 before 1.33 and 1.1 from then on."`
	Watch      quantity.Bytes `json:"watch,omitempty" jsonschema_description:"What an open watch takes; without it 75kB."`
}

// Check checks the memory at path.
func (m *Memory) Check(to *document.Checker, path string) {
	if m.Limit > 0 && m.Base >= m.Limit {
		to.Fail(path+".base", "%d bytes: want less than limit, %d bytes", m.Base, m.Limit)
	}
}

// memory is what a server needs of its machine's memory:
//
//	base + Σ lists that execute (bytes · factor) + open watches · bytes of a watch
//
// A list is in memory as objects, and encoded in whole or in parts.
type memory struct {
	Memory
	counted              bool
	stored               estimate.Store // by the scenario; not used if it has a store
	takenBytes, topBytes int64          // by lists and watches; the most since the window of the statistics began
	killed               bool           // the process ends, or has ended last, because it needed more than the limit
}

// The defaults of Memory. Before 1.33, a response was encoded in whole, and copied
// (Kubernetes Enhancement Proposal 3157 measures 5 times the size of the response); since then it is
// encoded in parts (KEP-5116). What a watch takes is an order of magnitude.
const (
	wholeListFactor  = 5
	streamListFactor = 1.1
	watchBytes       = 75_000
)

// setMemory makes the server count its memory.
func (s *Server) setMemory(m *Memory) {
	s.memory = memory{Memory: *m, counted: true, stored: Stored(s.deps.Resources)}
	if m.Watch == 0 {
		s.memory.Watch = watchBytes
	}
}

// Memory returns how much memory the server needs, and how much it needed at most within the window of the statistics, in
// bytes. It is not ok if memory is not counted.
func (s *Server) Memory(nowNs int64) (usedBytes, peakBytes int64, ok bool) {
	m := &s.memory
	if !m.counted {
		return 0, 0, false
	}
	m.change(nowNs, s.deps.WindowNs, 0)
	base := int64(m.Base)
	if s.stage != Off {
		usedBytes = base + m.takenBytes
	}
	return usedBytes, base + m.topBytes, true
}

// change changes the memory in use by so many bytes. It first updates the maximum, because the window may have begun
// since the last change.
func (m *memory) change(nowNs, windowNs, bytes int64) {
	if nowNs >= windowNs {
		m.topBytes = max(m.topBytes, m.takenBytes, m.takenBytes+bytes)
	}
	m.takenBytes += bytes
}

// OutOfMemory says whether the process of the server ended because it needed more memory than there is. It is for
// observers of that change of the stage.
func (s *Server) OutOfMemory() bool { return s.memory.killed }

// takeMemory takes what a request needs from its dispatch until it is over. If that is more than there is, the
// server ends, as the kernel kills a process.
func (s *Server) takeMemory(nowNs int64, r *Request) {
	m := &s.memory
	bytes := int64(m.Watch)
	if !r.IsWatch() {
		factor := m.ListFactor
		switch {
		case factor != 0:
		case s.rules.Server.StreamedLists:
			factor = streamListFactor
		default:
			factor = wholeListFactor
		}
		bytes = int64(min(float64(r.Kind().ListBytes(s.stored(r)))*factor, 1<<50))
	}
	r.Details.bytes = bytes
	m.change(nowNs, s.deps.WindowNs, bytes)
	if m.Limit > 0 && int64(m.Base)+m.takenBytes > int64(m.Limit) {
		m.killed = true
		s.Crash(nowNs)
	}
}

// stored returns how many objects of the resource that a request is for are stored, whatever the server knows of them.
func (s *Server) stored(r *Request) estimate.Stats {
	resource := estimate.Resource{Group: r.Attributes.APIGroup, Name: r.Attributes.Resource}
	if h := s.runState.handlers; h != nil && r.Attributes.IsResource() {
		return h.stored(resource)
	}
	return s.memory.stored[resource]
}
