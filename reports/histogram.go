package reports

import (
	"math"
	"math/bits"
)

// count is a counter of one bucket: narrow where there are many histograms.
type count interface{ uint32 | uint64 }

// histogram counts durations in nanoseconds in the log-linear layout of HdrHistogram: an
// octave [2^k, 2^(k+1)) is a page of 2^precision buckets of equal width, and values below
// 2^precision have a bucket each. A page is allocated when a value first falls into it.
//
// A quantile is at least the true one and exceeds it by less than the fraction
// 2^-precision. Count, sum, least and most are exact.
type histogram[C count] struct {
	precision       uint8
	pages           [64]uint8 // by octave: one more than the page's place in buckets; 0 when untouched
	buckets         []C       // page after page, in the order of their first use
	n               int64
	sumHigh         uint64 // the sum is 128 bits wide: 10⁹ waits of a minute overflow 64
	sumLow          uint64
	leastNs, mostNs int64
}

// Precisions: quantiles within 0.1 % for groups of requests, within 3.2 % for flows, of
// which there may be tens of thousands.
const (
	finePrecision   = 10
	coarsePrecision = 5
)

// leastRoom is for how many buckets room is made at once. The last pages of the many
// histograms of flows are long in coming, and memory should not grow by each of them.
const leastRoom = 256

// record counts one duration. Negative ones do not occur and count as 0.
func (h *histogram[C]) record(ns int64) {
	ns = max(ns, 0)
	octave, offset := h.place(uint64(ns))
	page := h.pages[octave]
	if page == 0 {
		page = h.turn(octave)
	}
	b := &h.buckets[(int(page)-1)<<h.precision+offset]
	if *b+1 != 0 { // a full counter stays full: its quantiles are then those of its first 2³² values
		*b++
	}
	if h.n == 0 || ns < h.leastNs {
		h.leastNs = ns
	}
	h.mostNs = max(h.mostNs, ns)
	h.n++
	var carry uint64
	h.sumLow, carry = bits.Add64(h.sumLow, uint64(ns), 0)
	h.sumHigh += carry
}

// place returns the octave of a value, from 0 for the values below 2^precision, and the
// bucket within its page.
func (h *histogram[C]) place(v uint64) (octave, offset int) {
	octave = max(0, bits.Len64(v)-int(h.precision))
	if octave == 0 {
		return 0, int(v)
	}
	return octave, int(v>>(octave-1)) - 1<<h.precision
}

// turn allocates the page of an octave.
func (h *histogram[C]) turn(octave int) uint8 {
	n := len(h.buckets) + 1<<h.precision
	if n > cap(h.buckets) {
		grown := make([]C, len(h.buckets), len(h.buckets)+max(1<<h.precision, leastRoom))
		copy(grown, h.buckets)
		h.buckets = grown
	}
	h.buckets = h.buckets[:n]
	h.pages[octave] = uint8(n >> h.precision)
	return h.pages[octave]
}

// reset forgets all values, but keeps the pages.
func (h *histogram[C]) reset() {
	clear(h.buckets)
	h.n, h.sumHigh, h.sumLow, h.leastNs, h.mostNs = 0, 0, 0, 0, 0
}

// each calls visit with every bucket that is not empty, in increasing order of its values:
// from leastNs to mostNs, inclusive.
func (h *histogram[C]) each(visit func(leastNs, mostNs int64, n int64)) {
	first, _ := h.place(uint64(h.leastNs))
	last, _ := h.place(uint64(h.mostNs))
	for octave := first; octave <= last; octave++ {
		page := h.pages[octave]
		if page == 0 {
			continue
		}
		from := (int(page) - 1) << h.precision
		for offset, n := range h.buckets[from : from+1<<h.precision] {
			if n == 0 {
				continue
			}
			if octave == 0 {
				visit(int64(offset), int64(offset), int64(n))
				continue
			}
			least := (uint64(1)<<h.precision + uint64(offset)) << (octave - 1)
			visit(int64(least), int64(least+1<<(octave-1)-1), int64(n))
		}
	}
}

// percentilesNs sets ns to percentiles by nearest rank, in one pass: to the least value
// that at least p percent of the values do not exceed, for each of ps, which increase. It
// wants at least one value.
func (h *histogram[C]) percentilesNs(ps []float64, ns []int64) {
	for i := range ns {
		ns[i] = h.mostNs
	}
	i, seen := 0, int64(0)
	h.each(func(_, mostNs, n int64) {
		seen += n
		for i < len(ps) && seen >= h.rank(ps[i]) {
			ns[i] = min(mostNs, h.mostNs)
			i++
		}
	})
	for i := range ns {
		if h.rank(ps[i]) <= 1 {
			ns[i] = h.leastNs
		}
	}
}

// rank returns the place of the p-th percentile among the sorted values, from 1.
func (h *histogram[C]) rank(p float64) int64 {
	// The factor keeps 99.9 % of 1000, which floating point puts just above 999, at 999.
	return int64(math.Ceil(p / 100 * float64(h.n) * (1 - 1e-12)))
}

// percentileNs returns one percentile.
func (h *histogram[C]) percentileNs(p float64) int64 {
	var ns [1]int64
	h.percentilesNs([]float64{p}, ns[:])
	return ns[0]
}

// meanNs returns the mean. It wants at least one value.
func (h *histogram[C]) meanNs() float64 {
	return (float64(h.sumHigh)*(1<<64) + float64(h.sumLow)) / float64(h.n)
}

// merge adds the values of another histogram of the same precision.
func (h *histogram[C]) merge(other *histogram[C]) {
	if other.n == 0 {
		return
	}
	if h.precision != other.precision {
		panic("reports: histograms of different precisions merged")
	}
	for octave, page := range other.pages {
		if page == 0 {
			continue
		}
		if h.pages[octave] == 0 {
			h.turn(octave)
		}
		into := h.buckets[(int(h.pages[octave])-1)<<h.precision:]
		from := (int(page) - 1) << h.precision
		for i, n := range other.buckets[from : from+1<<h.precision] {
			if into[i]+n < n {
				into[i] = ^C(0)
				continue
			}
			into[i] += n
		}
	}
	if h.n == 0 || other.leastNs < h.leastNs {
		h.leastNs = other.leastNs
	}
	h.mostNs = max(h.mostNs, other.mostNs)
	h.n += other.n
	var carry uint64
	h.sumLow, carry = bits.Add64(h.sumLow, other.sumLow, 0)
	h.sumHigh += other.sumHigh + carry
}
