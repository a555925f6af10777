package record

import (
	"encoding/binary"
	"fmt"

	"apfsim/core/queueset"
	"apfsim/sim/server"

	"github.com/cespare/xxhash/v2"
)

// Fingerprint computes a hash of all decisions of a run. Two runs with the same fingerprint made the same
// decisions for the same requests in the same order.
//
// The hash covers, for each request that is queued, dispatched or rejected: the number of its
// arrival, the virtual time, the names of its priority level, FlowSchema and flow, its queue, the
// seats of both phases, and its additional latency; for a rejection also the reason and
// Retry-After. For each adjustment it covers the current limits of the server's levels. Of servers that
// are not always there it covers their stages, the requests that were refused, and those that were given up.
// It does not cover
// execution times, which the server does not decide, but later decisions depend on them. Observers
// and output options do not change it. Flows enter by the hash of their names, so that it does not
// depend on how they are numbered.
//
// The hash is XXH64 (Y. Collet, xxhash.com), which detects accidental differences, not intended
// ones. Its input is words in little-endian order, so it is the same on all machines.
type Fingerprint struct {
	hash    xxhash.Digest
	records [hashedAtOnce]byte // not yet hashed
	filled  int                // bytes of them

	limit      func(server.LevelState) bool // recordLimit: a new function each time would be memory
	adjustedNs int64                        // for it: when, and at which server
	adjustedAt int16
}

// A record is five words:
//
//	server << 57 | number of the arrival << 8 | decision
//	virtual time, in nanoseconds
//	hash of the flow's names; 0 if the request is not subject to flow control
//	queue << 32 | seats of the initial phase << 16 | of the final phase
//	additional latency, in nanoseconds; for a rejection, Retry-After in seconds
//
// A request has at most a hundred seats, so 16 bits are enough. In the record of an adjustment, the
// third word is the hash of the level's name and the fourth word is its current limit; in that of a
// changed stage, the fourth word is the stage.
const (
	recordBytes = 5 * 8

	// The hash is fast only with large blocks.
	hashedAtOnce = 100 * recordBytes
)

// decision is the kind of a record. For a rejection, the reason is added to it.
type decision uint64

const (
	queuedDecision decision = iota + 1
	dispatchedDecision
	adjustedDecision
	rejectedDecision
	refusedDecision decision = rejectedDecision + decision(queueset.Rejections) + iota
	givenUpDecision
	changedDecision
)

// serverShift leaves room for server.MostReplicas servers, and for 2⁴⁹ requests.
const serverShift = 57

// NewFingerprint returns a recorder for a run.
func NewFingerprint() *Fingerprint {
	f := &Fingerprint{}
	f.limit = f.recordLimit
	f.hash.Reset()
	return f
}

// String returns the fingerprint of the decisions so far, as 16 hexadecimal digits.
func (f *Fingerprint) String() string {
	f.flush()
	return fmt.Sprintf("%016x", f.hash.Sum64())
}

// Observer returns what goes into the fingerprint. Nothing is taken of an Arrived, because Queued, Dispatched or
// Rejected follows at the same instant, nor of what follows from the dispatch and the scenario: Executed
// and Released.
func (f *Fingerprint) Observer() server.Observer {
	return server.Observer{
		Queued:     f.queued,
		Dispatched: f.dispatched,
		Rejected:   f.rejected,
		Adjusted:   f.adjusted,
		Refused:    f.refused,
		GivenUp:    f.givenUp,
		Changed:    f.changed,
	}
}

func (f *Fingerprint) queued(nowNs int64, r *server.Request) {
	f.request(queuedDecision, nowNs, r, r.Work.AdditionalLatencyNs)
}

func (f *Fingerprint) dispatched(nowNs int64, r *server.Request) {
	f.request(dispatchedDecision, nowNs, r, r.Work.AdditionalLatencyNs)
}

func (f *Fingerprint) rejected(nowNs int64, r *server.Request) {
	f.request(rejectedDecision+decision(r.Rejection), nowNs, r, int64(r.RetryAfterSeconds))
}

func (f *Fingerprint) refused(nowNs int64, r *server.Request) {
	f.record(refusedDecision, r.Server, r.Number, nowNs, 0, uint64(r.Refusal), uint64(r.Status))
}

func (f *Fingerprint) givenUp(nowNs int64, r *server.Request) {
	f.request(givenUpDecision, nowNs, r, 0)
}

func (f *Fingerprint) changed(nowNs int64, s *server.Server) {
	f.record(changedDecision, int16(s.Index()), 0, nowNs, 0, uint64(s.Stage()), 0)
}

func (f *Fingerprint) adjusted(nowNs int64, s *server.Server) {
	if s == nil {
		return // of a story that is told by hand
	}
	f.adjustedNs, f.adjustedAt = nowNs, int16(s.Index())
	s.EachLevel(f.limit)
}

// recordLimit records the current limit of a level.
func (f *Fingerprint) recordLimit(l server.LevelState) bool {
	f.record(adjustedDecision, f.adjustedAt, 0, f.adjustedNs, xxhash.Sum64String(l.Name()), uint64(l.CurrentLimit()), 0)
	return true
}

func (f *Fingerprint) request(d decision, nowNs int64, r *server.Request, last int64) {
	queueAndSeats := uint64(r.QueueIndex())<<32 | uint64(r.Work.InitialSeats)<<16 | uint64(r.Work.FinalSeats)
	f.record(d, r.Server, r.Number, nowNs, f.flow(r), queueAndSeats, uint64(last))
}

func (f *Fingerprint) record(d decision, at int16, number, nowNs int64, name, details, last uint64) {
	if f.filled == len(f.records) {
		f.flush()
	}
	b := f.records[f.filled:][:recordBytes]
	binary.LittleEndian.PutUint64(b, uint64(at)<<serverShift|uint64(number)<<8|uint64(d))
	binary.LittleEndian.PutUint64(b[8:], uint64(nowNs))
	binary.LittleEndian.PutUint64(b[16:], name)
	binary.LittleEndian.PutUint64(b[24:], details)
	binary.LittleEndian.PutUint64(b[32:], last)
	f.filled += recordBytes
}

func (f *Fingerprint) flush() {
	f.hash.Write(f.records[:f.filled]) // never fails
	f.filled = 0
}

// flow returns the hash of the names of a request's flow, 0 if it has none.
func (f *Fingerprint) flow(r *server.Request) uint64 {
	if r.Flow == nil {
		return 0
	}
	return r.FlowHash
}
