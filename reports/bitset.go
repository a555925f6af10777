package reports

import "math/bits"

// bitset is a set of small numbers.
type bitset []uint64

func (s *bitset) set(i int) {
	for len(*s) <= i/64 {
		*s = append(*s, 0)
	}
	(*s)[i/64] |= 1 << (i % 64)
}

func (s bitset) count() int { return s.shared(s) }

// shared returns how many numbers are in both sets.
func (s bitset) shared(other bitset) int {
	n := 0
	for i := range min(len(s), len(other)) {
		n += bits.OnesCount64(s[i] & other[i])
	}
	return n
}
