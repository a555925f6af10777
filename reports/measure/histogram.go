package measure

import (
	"cmp"
	"iter"
	"math"
	"math/bits"
	"slices"
)

// Histogram counts durations in nanoseconds in the log-linear layout of HdrHistogram: an
// octave [2^k, 2^(k+1)) is a page of 2^precision buckets of equal width, and values below
// 2^precision have a bucket each. A page is allocated when a value first falls into it.
//
// Most buckets of most histograms have small counts. A bucket therefore has 16 bits, and counts modulo 2¹⁶; how often it
// has reached 2¹⁶ is in a list. A bucket counts up to 2⁴⁸ values.
//
// A quantile is at least the true one and exceeds it by less than the fraction
// 2^-precision. Count, sum, least and most are exact.
type Histogram struct {
	Precision       uint8
	pages           [64]uint8 // by octave: one more than the page's place in buckets; 0 when untouched
	buckets         []uint16  // page after page, in the order of their first use
	carries         []carried // in the order of their buckets
	N               int64
	sumHigh         uint64 // the sum is 128 bits wide: 10⁹ waits of a minute overflow 64
	sumLow          uint64
	LeastNs, MostNs int64
}

// carried is how often a bucket has reached 2¹⁶.
type carried struct{ bucket, times uint32 }

// The precisions: quantiles are within 0.1 % for groups of requests, and within 3.2 % for flows, because
// there may be tens of thousands of flows.
const (
	FinePrecision   = 10
	CoarsePrecision = 5
)

// minGrowth is the minimum number of buckets that are allocated at once. The many histograms of flows
// reach their last pages late in a run, and memory should not grow with each of them.
const minGrowth = 256

// Record counts one duration. A negative one counts as 0; there should be none.
func (h *Histogram) Record(ns int64) {
	one := [1]int64{ns}
	h.RecordAll(one[:])
}

// RecordAll counts durations, as Record does: in less time for each if there are many.
func (h *Histogram) RecordAll(all []int64) {
	if len(all) == 0 {
		return
	}
	// Two loops, as all that one would need is more than the registers of a processor.
	leastNs, mostNs, low := int64(math.MaxInt64), h.MostNs, h.sumLow
	for _, ns := range all {
		ns = max(ns, 0)
		leastNs, mostNs = min(leastNs, ns), max(mostNs, ns)
		var carry uint64
		low, carry = bits.Add64(low, uint64(ns), 0)
		h.sumHigh += carry
	}
	if h.N == 0 || leastNs < h.LeastNs {
		h.LeastNs = leastNs
	}
	h.MostNs, h.sumLow, h.N = mostNs, low, h.N+int64(len(all))
	buckets, precision := h.buckets, uint(h.Precision%64)
	within := uint64(1)<<precision - 1
	for _, ns := range all {
		octave, offset := octaveOf(uint64(max(ns, 0)), within, precision)
		page := h.pages[octave%64]
		if page == 0 {
			page = h.allocate(int(octave))
			buckets = h.buckets
		}
		bucket := int(uint(page-1)<<precision) + offset
		buckets[bucket]++
		if buckets[bucket] == 0 {
			h.carry(bucket, 1)
		}
	}
}

// Buffer holds durations until there are so many that a histogram counts them at once.
type Buffer struct {
	n  int
	ns [64]int64
}

// Add adds a duration that is for h, as all are that the buffer holds.
func (b *Buffer) Add(ns int64, h *Histogram) {
	b.ns[b.n%len(b.ns)] = ns // without a check of the bound
	if b.n++; b.n == len(b.ns) {
		b.Flush(h)
	}
}

// Flush makes h count what the buffer holds.
func (b *Buffer) Flush(h *Histogram) {
	h.RecordAll(b.ns[:b.n])
	b.n = 0
}

// RecordN counts n durations of the same length.
func (h *Histogram) RecordN(ns, n int64) {
	if n <= 0 {
		return
	}
	h.Record(ns)
	n--
	octave, offset := h.place(uint64(max(ns, 0)))
	h.add(h.start(h.pages[octave])+offset, n)
	h.N += n
	high, low := bits.Mul64(uint64(max(ns, 0)), uint64(n))
	var carry uint64
	h.sumLow, carry = bits.Add64(h.sumLow, low, 0)
	h.sumHigh += high + carry
}

// add adds n values to the count of a bucket.
func (h *Histogram) add(bucket int, n int64) {
	n += int64(h.buckets[bucket])
	h.buckets[bucket] = uint16(n)
	if times := n >> 16; times > 0 {
		h.carry(bucket, times)
	}
}

// carry notes that a bucket has reached 2¹⁶ so many times.
//
//go:noinline
func (h *Histogram) carry(bucket int, times int64) {
	i, found := h.carriesFrom(bucket)
	if !found {
		h.carries = slices.Insert(h.carries, i, carried{bucket: uint32(bucket)})
	}
	c := &h.carries[i]
	c.times = uint32(min(int64(c.times)+times, math.MaxUint32))
}

// carriesFrom returns the place of the first carry of a bucket or of one after it.
func (h *Histogram) carriesFrom(bucket int) (i int, found bool) {
	return slices.BinarySearchFunc(h.carries, uint32(bucket), func(c carried, bucket uint32) int { return cmp.Compare(c.bucket, bucket) })
}

// counts iterates over the buckets of a page that are not empty, by their offset.
func (h *Histogram) counts(page uint8) iter.Seq2[int, int64] {
	return func(yield func(offset int, n int64) bool) {
		from := h.start(page)
		next, _ := h.carriesFrom(from)
		for offset, low := range h.buckets[from : from+1<<h.Precision] {
			n := int64(low)
			if next < len(h.carries) && int(h.carries[next].bucket) == from+offset {
				n += int64(h.carries[next].times) << 16
				next++
			}
			if n > 0 && !yield(offset, n) {
				return
			}
		}
	}
}

// place returns the octave of a value, from 0 for the values below 2^precision, and the
// bucket within its page.
func (h *Histogram) place(v uint64) (octave, offset int) {
	precision := uint(h.Precision % 64)
	at, offset := octaveOf(v, 1<<precision-1, precision)
	return int(at), offset
}

// octaveOf is place for a histogram of 2^precision buckets a page, which is within+1.
func octaveOf(v, within uint64, precision uint) (octave uint, offset int) {
	octave = uint(bits.Len64(v|within)) - precision
	return octave, int(v >> ((max(octave, 1) - 1) % 64) & within)
}

// start returns where a page begins in buckets.
func (h *Histogram) start(page uint8) int { return (int(page) - 1) << (h.Precision % 64) }

// allocate allocates the page of an octave. Record would be slower with its code inlined.
//
//go:noinline
func (h *Histogram) allocate(octave int) uint8 {
	n := len(h.buckets) + 1<<h.Precision
	if n > cap(h.buckets) {
		grown := make([]uint16, len(h.buckets), len(h.buckets)+max(1<<h.Precision, minGrowth))
		copy(grown, h.buckets)
		h.buckets = grown
	}
	h.buckets = h.buckets[:n]
	h.pages[octave] = uint8(n >> h.Precision)
	return h.pages[octave]
}

// Reset removes all values and keeps the pages.
func (h *Histogram) Reset() {
	clear(h.buckets)
	h.carries = h.carries[:0]
	h.N, h.sumHigh, h.sumLow, h.LeastNs, h.MostNs = 0, 0, 0, 0, 0
}

// Each calls visit with every bucket that is not empty, in increasing order of its values:
// from leastNs to mostNs, inclusive.
func (h *Histogram) Each(visit func(leastNs, mostNs int64, n int64)) {
	first, _ := h.place(uint64(h.LeastNs))
	last, _ := h.place(uint64(h.MostNs))
	for octave := first; octave <= last; octave++ {
		page := h.pages[octave]
		if page == 0 {
			continue
		}
		for offset, n := range h.counts(page) {
			if octave == 0 {
				visit(int64(offset), int64(offset), n)
				continue
			}
			least := (uint64(1)<<h.Precision + uint64(offset)) << (octave - 1)
			visit(int64(least), int64(least+1<<(octave-1)-1), n)
		}
	}
}

// PercentilesNs sets ns to percentiles by nearest rank, in one pass: to the least value
// that at least p percent of the values do not exceed, for each of ps, which increase. There must
// be at least one value.
func (h *Histogram) PercentilesNs(ps []float64, ns []int64) {
	for i := range ns {
		ns[i] = h.MostNs
	}
	i, seen := 0, int64(0)
	h.Each(func(_, mostNs, n int64) {
		seen += n
		for i < len(ps) && seen >= int64(Rank(ps[i], float64(h.N))) {
			ns[i] = min(mostNs, h.MostNs)
			i++
		}
	})
	for i := range ns {
		if int64(Rank(ps[i], float64(h.N))) <= 1 {
			ns[i] = h.LeastNs
		}
	}
}

// PercentileNs returns one percentile. There must be at least one value.
func (h *Histogram) PercentileNs(p float64) int64 {
	var ns [1]int64
	h.PercentilesNs([]float64{p}, ns[:])
	return ns[0]
}

// SumNs returns the sum of all values.
func (h *Histogram) SumNs() float64 { return float64(h.sumHigh)*(1<<64) + float64(h.sumLow) }

// MeanNs returns the mean. There must be at least one value.
func (h *Histogram) MeanNs() float64 {
	return h.SumNs() / float64(h.N)
}

// Merge adds the values of another histogram of the same precision.
func (h *Histogram) Merge(other *Histogram) {
	if other.N == 0 {
		return
	}
	if h.Precision != other.Precision {
		panic("measure: precisions differ")
	}
	missing := 0
	for octave, page := range other.pages {
		if page != 0 && h.pages[octave] == 0 {
			missing++
		}
	}
	h.buckets = slices.Grow(h.buckets, missing<<h.Precision)
	for octave, page := range other.pages {
		if page == 0 {
			continue
		}
		if h.pages[octave] == 0 {
			h.allocate(octave)
		}
		into := h.start(h.pages[octave])
		for offset, n := range other.counts(page) {
			h.add(into+offset, n)
		}
	}
	if h.N == 0 || other.LeastNs < h.LeastNs {
		h.LeastNs = other.LeastNs
	}
	h.MostNs = max(h.MostNs, other.MostNs)
	h.N += other.N
	var carry uint64
	h.sumLow, carry = bits.Add64(h.sumLow, other.sumLow, 0)
	h.sumHigh += other.sumHigh + carry
}
