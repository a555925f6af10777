package retries

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A client with a back-off of its own sends a rejected request again after a time that nobody else knows. It shows in the
// delays after which the next requests of the same user for the same object follow rejected ones: more of them than after
// requests that were not rejected have one of the delays of the back-off. The shortest of these is the first delay.

const (
	delayBins   = 768       // logarithmic, 64 for each octave
	perOctave   = 64        // bins
	leastDelay  = 1e6       // ns, of the first bin
	mostDelay   = 1e6 << 12 // ns, about 4 s: how long requests are followed
	mostProbes  = 64        // of a key at a time, of each sort
	certain     = 6         // standard errors of an excess that is not by chance
	nearlyMost  = 0.5       // of the greatest excess, in standard errors, from which on the shortest delay is the first
	leastProbes = 20        // rejected requests
	unequal     = 0.02      // of a count: by this, requests that are not retries can be more where others are rejected
)

// Delays counts the delays after which requests follow rejected ones and, for comparison, accepted ones.
type Delays struct {
	rejected, executed int64 // requests that are followed
	after, control     [delayBins]uint32
}

// bin returns the bin of a delay, −1 if it has none.
func bin(ns int64) int {
	if ns < leastDelay {
		return -1
	}
	if k := int(perOctave * math.Log2(float64(ns)/leastDelay)); k < delayBins {
		return k
	}
	return -1
}

// delayOf returns the shortest delay of a bin.
func delayOf(bin float64) float64 { return leastDelay * math.Exp2(bin/perOctave) }

// First returns the range of the first delay, in nanoseconds. It is not ok if there is none. It is the shortest of the
// ranges of bins with nearly the most significant excess.
func (d *Delays) First() (lowNs, highNs float64, ok bool) {
	if d.rejected < leastProbes || d.executed < leastProbes {
		return 0, 0, false
	}
	// Where requests are rejected, there are many others. Each count is therefore compared with the rate at the delays
	// around, and the excess with that after other requests.
	ratio := float64(d.rejected) / float64(d.executed)
	after, control := cumulative(d.after[:]), cumulative(d.control[:])
	beyond := func(counts []float64, from, n int) (count, excess float64) {
		low, high := max(0, from-perOctave/2), min(delayBins, from+n+perOctave/2)
		count = counts[from+n] - counts[from]
		width := delayOf(float64(from+n)) - delayOf(float64(from))
		around := delayOf(float64(high)) - delayOf(float64(low)) - width
		return count, count - (counts[high]-counts[low]-count)*width/around
	}
	excess := func(from, n int) float64 {
		a, more := beyond(after, from, n)
		c, usual := beyond(control, from, n)
		return (more - ratio*usual) / math.Sqrt(a+ratio*ratio*c+1+unequal*unequal*a*a)
	}
	lengths := []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}
	most := 0.0
	for _, n := range lengths {
		for from := 0; from+n <= delayBins; from++ {
			most = max(most, excess(from, n))
		}
	}
	if most < certain {
		return 0, 0, false
	}
	// The best range that begins within an octave of the end of the first one that is nearly as significant.
	first := delayBins
	for _, n := range lengths {
		for from := 0; from+n <= min(delayBins, first); from++ {
			if excess(from, n) >= max(certain, nearlyMost*most) {
				first = from + n
				break
			}
		}
	}
	best, at, length := 0.0, 0, 0
	for n := 1; n <= perOctave; n++ {
		for from := max(0, first-n-perOctave/2); from < first && from+n <= delayBins; from++ {
			if x := excess(from, n); x > best {
				best, at, length = x, from, n
			}
		}
	}
	return delayOf(float64(at)), delayOf(float64(at + length)), true
}

func sum(counts []uint32) (n float64) {
	for _, c := range counts {
		n += float64(c)
	}
	return n
}

func cumulative(counts []uint32) []float64 {
	all := make([]float64, len(counts)+1)
	for i, c := range counts {
		all[i+1] = all[i] + float64(c)
	}
	return all
}

// Followers follows requests with a key, to count the delays of the next ones.
type Followers struct {
	byKey map[string]*probes
	next  int // the number of keys at which outdated ones are removed

	random *rand.Rand
}

// probes are the ends of requests that are followed, in the order of their arrival.
type probes struct {
	rejectedNs, executedNs []int64
	sinceNs                int64 // the first rejected one
	rejected, executed     int64 // since then, whether they are followed or not
}

// Arrive counts a request that arrives now.
func (f *Followers) Arrive(key []byte, nowNs int64, d *Delays) {
	p := f.byKey[string(key)]
	if p == nil {
		return
	}
	p.forget(nowNs)
	for _, end := range p.rejectedNs {
		if k := bin(nowNs - end); k >= 0 {
			d.after[k]++
		}
	}
	for _, end := range p.executedNs {
		if k := bin(nowNs - end); k >= 0 {
			d.control[k]++
		}
	}
}

// Follow follows a request with the key that ends at a time. Those that are not rejected are followed as often as those
// that are.
func (f *Followers) Follow(key []byte, endNs, nowNs int64, rejected bool, d *Delays) {
	p := f.byKey[string(key)]
	switch {
	case rejected:
		if p == nil {
			if f.byKey == nil {
				f.byKey, f.next = map[string]*probes{}, sweepMargin
			}
			p = &probes{sinceNs: nowNs}
			f.byKey[string(key)] = p
			f.sweep(nowNs)
		}
		p.rejected++
		if f.chosen(p.rejected, nowNs-p.sinceNs) && len(p.rejectedNs) < mostProbes {
			p.rejectedNs = append(p.rejectedNs, endNs)
			d.rejected++
		}
	case p != nil:
		p.executed++
		if d.executed >= d.rejected || len(p.executedNs) == mostProbes || !f.chosen(p.executed, nowNs-p.sinceNs) {
			break
		}
		p.executedNs = append(p.executedNs, endNs)
		d.executed++
	}
}

// chosen says whether one more of so many requests in a time is followed. They are chosen at random, so that about half of
// mostProbes are followed at a time: if those were not followed that come soon after one that is, these would be retries.
func (f *Followers) chosen(n, timeNs int64) bool {
	if f.random == nil {
		f.random = rand.New(rand.NewPCG(19, 20))
	}
	atATime := float64(n) * mostDelay / float64(timeNs+mostDelay)
	return f.random.Float64()*atATime < mostProbes/2
}

// sweep removes what is not followed any more, if there are many keys.
func (f *Followers) sweep(nowNs int64) {
	if len(f.byKey) <= f.next {
		return
	}
	for key, p := range f.byKey {
		if p.forget(nowNs); len(p.rejectedNs)+len(p.executedNs) == 0 {
			delete(f.byKey, key)
		}
	}
	f.next = 2*len(f.byKey) + sweepMargin
}

// forget removes requests that have been followed long enough.
func (p *probes) forget(nowNs int64) {
	old := func(end int64) bool { return end+mostDelay < nowNs }
	p.rejectedNs = slices.DeleteFunc(p.rejectedNs, old)
	p.executedNs = slices.DeleteFunc(p.executedNs, old)
}
