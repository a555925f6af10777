// Package random provides random streams for the clients of a simulation, and distributions to
// sample from them.
//
// A stream depends only on the seed, the client and the purpose of its numbers, not on the order
// in which streams are opened. A change of one workload does not change the streams of the
// others, so that two runs differ only by the effects of the change (common random numbers).
package random

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// Stream is a stream of random numbers. It contains its generator, so that a stream is one
// object without further allocations. Open must be called before its first use. It must not be
// copied after that, because Rand points to pcg.
type Stream struct {
	rand.Rand
	pcg rand.PCG
}

// Open makes s the stream of one client of a workload for one purpose. The generator is a PCG
// (O'Neill 2014). Its state is the first 128 bits of the SHA-256 of the four arguments, where each
// string follows its length, so that different arguments cannot have the same encoding.
func (s *Stream) Open(seed uint64, workload string, client int, purpose string) {
	name := make([]byte, 0, 4*8+len(workload)+len(purpose))
	name = binary.LittleEndian.AppendUint64(name, seed)
	name = binary.LittleEndian.AppendUint64(name, uint64(len(workload)))
	name = append(name, workload...)
	name = binary.LittleEndian.AppendUint64(name, uint64(client))
	name = binary.LittleEndian.AppendUint64(name, uint64(len(purpose)))
	name = append(name, purpose...)
	sum := sha256.Sum256(name)
	s.pcg.Seed(binary.LittleEndian.Uint64(sum[0:]), binary.LittleEndian.Uint64(sum[8:]))
	s.Rand = *rand.New(&s.pcg)
}

// Distribution is a distribution of durations. Sampling does not allocate memory.
type Distribution interface {
	// Sample draws a duration in nanoseconds, from 0 to LongestNs.
	Sample(r *rand.Rand) int64
	// MeanNs returns the expectation in nanoseconds.
	MeanNs() float64
}

// LongestNs is the upper bound of samples; longer ones are replaced by it. It is about 146 years,
// half of the range of int64, so that the sum of a sample and any time of a simulation does not
// overflow.
const LongestNs = math.MaxInt64 / 2

// nanoseconds rounds x to an integer from 0 to LongestNs.
func nanoseconds(x float64) int64 {
	switch {
	case x >= LongestNs:
		return LongestNs
	case x > 0:
		return int64(math.Round(x))
	}
	return 0 // also for NaN, the product of a zero scale and an infinite draw
}
