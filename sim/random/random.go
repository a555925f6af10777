// Package random gives every client of a simulation random streams of its own, and the
// distributions that are sampled from them.
//
// A stream is named by what it is for, never by when it is made: a workload that is
// added, removed or changed leaves every other stream as it was (common random numbers),
// so two runs differ only in what was meant to differ.
package random

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// Stream is a stream of random numbers, all of it in one place. It must be opened before
// anything is drawn from it, and not be copied after that.
type Stream struct {
	rand.Rand
	pcg rand.PCG
}

// Open makes s the stream that one client of a workload draws from for one purpose. It is
// a PCG (O'Neill 2014) whose 128 bits of state are the first of the SHA-256 of the four,
// each string preceded by its length.
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

// Distribution is a distribution of durations. Sampling allocates nothing.
type Distribution interface {
	// Sample draws a duration in nanoseconds, from 0 to LongestNs.
	Sample(r *rand.Rand) int64
	// MeanNs returns the expectation in nanoseconds.
	MeanNs() float64
}

// LongestNs is where samples are cut off: some 146 years, half of what an int64 holds, so
// that the sum of a sample and any time of a simulation does not overflow.
const LongestNs = math.MaxInt64 / 2

// nanoseconds rounds to the nearest whole nanosecond within the bounds of a sample.
func nanoseconds(x float64) int64 {
	switch {
	case x >= LongestNs:
		return LongestNs
	case x > 0:
		return int64(math.Round(x))
	}
	return 0 // also for NaN, the product of a zero scale and an infinite draw
}
