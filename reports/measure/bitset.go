package measure

import "math/bits"

// Bitset is a set of small numbers.
type Bitset []uint64

// Set adds a number.
func (s *Bitset) Set(i int) {
	for len(*s) <= i/64 {
		*s = append(*s, 0)
	}
	(*s)[i/64] |= 1 << (i % 64)
}

// Has says whether a number is in the set.
func (s Bitset) Has(i int) bool { return i/64 < len(s) && s[i/64]&(1<<(i%64)) != 0 }

// Count returns how many numbers are in the set.
func (s Bitset) Count() int { return s.Shared(s) }

// Shared returns how many numbers are in both sets.
func (s Bitset) Shared(other Bitset) int {
	n := 0
	for i := range min(len(s), len(other)) {
		n += bits.OnesCount64(s[i] & other[i])
	}
	return n
}
