// Package fingerprint computes a hash of all decisions of a run.
package fingerprint

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"apfsim/reports/observe"
	"apfsim/sim/server"
)

// Fingerprint takes the fingerprint of a run: a hash of all that the server decides, in
// the order in which it does. It implements server.Observer.
//
// Into it go, of each request, when it is put into a queue, dispatched or rejected: the
// number of its arrival, the virtual time, its priority level, FlowSchema and flow by name,
// its queue, its seats of both phases, its additional latency, and with a rejection the
// reason and what Retry-After says; and of each adjustment the current limits of the
// levels. For how long a request executes is not the server's decision, but all that it
// decides later depends on it. What is observed, printed or written of a run does not
// change it. Flows enter by a hash of their names, so that it does not depend on how they
// are numbered.
//
// The hash is XXH64 (Y. Collet, xxhash.com): it tells apart what differs by accident, not by
// intent. It is taken over little-endian words, and so is the same on any machine.
type Fingerprint struct {
	levels  observe.Levels
	hash    xxhash.Digest
	records [hashedAtOnce]byte // not yet hashed
	filled  int                // bytes of them
	flows   []uint64           // by server.Flow.Index: the hash of its names, 0 until it is known
}

// A record is five words:
//
//	number of the arrival << 8 | decision
//	virtual time, in nanoseconds
//	hash of the flow's names; 0 where flow control does not see the request
//	queue << 32 | seats of the initial phase << 16 | of the final phase
//	additional latency, in nanoseconds; of a rejection Retry-After, in seconds
//
// No request has more than a hundred seats. The record of an adjustment has the hash of the
// level's name in the place of the flow's, and then its current limit.
const (
	recordBytes = 5 * 8

	// So much is hashed at once that the hash runs at its full speed.
	hashedAtOnce = 100 * recordBytes
)

// decision is what a record is about. A rejection adds its reason.
type decision uint64

const (
	queued decision = iota + 1
	dispatched
	adjusted
	rejected
)

// New returns the fingerprint of a run in which nothing has happened yet, against the
// server whose levels are given.
func New(of observe.Levels) *Fingerprint {
	f := &Fingerprint{levels: of}
	f.hash.Reset()
	return f
}

// String returns the fingerprint of what has happened so far, as 16 hexadecimal digits.
func (f *Fingerprint) String() string {
	f.flush()
	return fmt.Sprintf("%016x", f.hash.Sum64())
}

// Queued implements server.Observer.
func (f *Fingerprint) Queued(nowNs int64, r *server.Request) {
	f.request(queued, nowNs, r, r.Work.AdditionalLatencyNs)
}

// Dispatched implements server.Observer.
func (f *Fingerprint) Dispatched(nowNs int64, r *server.Request) {
	f.request(dispatched, nowNs, r, r.Work.AdditionalLatencyNs)
}

// Rejected implements server.Observer.
func (f *Fingerprint) Rejected(nowNs int64, r *server.Request) {
	f.request(rejected+decision(r.Rejection), nowNs, r, int64(r.RetryAfterSeconds))
}

// Adjusted implements server.Observer.
func (f *Fingerprint) Adjusted(nowNs int64) {
	if f.levels == nil {
		return
	}
	for _, l := range f.levels.Levels() {
		f.record(adjusted, 0, nowNs, xxhash.Sum64String(l.Name()), uint64(l.CurrentLimit()), 0)
	}
}

// Arrived implements server.Observer: what is decided of an arrival, Queued, Dispatched or
// Rejected tells at the same instant.
func (f *Fingerprint) Arrived(int64, *server.Request) {}

// Executed implements server.Observer: it follows from the dispatch and the scenario.
func (f *Fingerprint) Executed(int64, *server.Request) {}

// Released implements server.Observer: it follows from the execution and the additional latency.
func (f *Fingerprint) Released(int64, *server.Request) {}

// Tick implements server.Observer: the sampling interval changes nothing.
func (f *Fingerprint) Tick(int64) int64 { return 0 }

func (f *Fingerprint) request(d decision, nowNs int64, r *server.Request, then int64) {
	place := uint64(observe.QueueOf(r))<<32 | uint64(r.Work.InitialSeats)<<16 | uint64(r.Work.FinalSeats)
	f.record(d, r.Number, nowNs, f.flow(r), place, uint64(then))
}

func (f *Fingerprint) record(d decision, number, nowNs int64, who, place, then uint64) {
	if f.filled == len(f.records) {
		f.flush()
	}
	b := f.records[f.filled:][:recordBytes]
	binary.LittleEndian.PutUint64(b, uint64(number)<<8|uint64(d))
	binary.LittleEndian.PutUint64(b[8:], uint64(nowNs))
	binary.LittleEndian.PutUint64(b[16:], who)
	binary.LittleEndian.PutUint64(b[24:], place)
	binary.LittleEndian.PutUint64(b[32:], then)
	f.filled += recordBytes
}

func (f *Fingerprint) flush() {
	f.hash.Write(f.records[:f.filled]) // never fails
	f.filled = 0
}

// flow returns the hash of the names of a request's flow.
func (f *Fingerprint) flow(r *server.Request) uint64 {
	if r.Flow == nil {
		return 0
	}
	if i := int(r.FlowIndex); i < len(f.flows) && f.flows[i] != 0 {
		return f.flows[i]
	}
	return f.meet(r.Flow)
}

func (f *Fingerprint) meet(of *server.Flow) uint64 {
	for len(f.flows) <= of.Index {
		f.flows = append(f.flows, 0)
	}
	names := xxhash.New()
	for _, name := range []string{of.Level, of.Schema.Name, of.Distinguisher} {
		names.WriteString(name)
		names.Write([]byte{0}) // so that no name runs into the next
	}
	f.flows[of.Index] = names.Sum64()
	return f.flows[of.Index]
}
