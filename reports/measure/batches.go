package measure

import "math"

// The window of a run is divided into Blocks of equal length, and each of them into batchesPerBlock batches.
const (
	Blocks          = 8
	batchesPerBlock = 64
)

// Batches are sums over the values of one kind that were measured in each batch of a run's window, from which
// [Effective] computes how much they depend on each other. With x the sum of a batch's values and n their number, a
// block has the sums of x, n, x², x·n and n² over its batches.
type Batches [Blocks]Block

// Block is the sums of one block of [Batches]. Values are in nanoseconds.
type Block struct {
	Sum, N, SumSquares, SumTimesN, NSquares float64
}

func (b *Block) add(sum, n float64) {
	b.Sum += sum
	b.N += n
	b.SumSquares += sum * sum
	b.SumTimesN += sum * n
	b.NSquares += n * n
}

// Batcher divides the values that histograms get in the course of a run into [Batches].
type Batcher struct {
	EndNs   int64 // of the current batch; values that are measured from then on belong to later ones
	fromNs  int64
	toNs    int64
	current int // index of the current batch
	before  [Timings]Total
	Batches [Timings]Batches
}

// Total is the number and the sum of values.
type Total struct{ N, Sum float64 }

// NewBatcher returns the batcher of the window from fromNs to toNs.
func NewBatcher(fromNs, toNs int64) Batcher {
	b := Batcher{fromNs: fromNs, toNs: toNs}
	b.EndNs = b.endOf(0)
	return b
}

func (b *Batcher) endOf(batch int) int64 {
	// In this order, it does not overflow within a year of virtual time.
	return b.fromNs + int64(float64(batch+1)/(Blocks*batchesPerBlock)*float64(b.toNs-b.fromNs))
}

// Close ends the batches that have ended by nowNs, before a value of that time is recorded. totals are those of
// all values so far.
func (b *Batcher) Close(nowNs int64, totals *[Timings]Total) {
	for t, now := range totals {
		// All values since the last call belong to the current batch; those in between are empty.
		b.Batches[t][b.current/batchesPerBlock].add(now.Sum-b.before[t].Sum, now.N-b.before[t].N)
		b.before[t] = now
	}
	for b.current < Blocks*batchesPerBlock-1 && nowNs >= b.EndNs {
		b.current++
		b.EndNs = b.endOf(b.current)
	}
	if b.current == Blocks*batchesPerBlock-1 {
		b.EndNs = b.toNs + 1 // the last batch ends with the run
	}
}

// Effective returns how many independent batches say as much about the window of one run as its values do that depend on
// each other: at most the number of batches, and not much more than the number of blocks, or less, if what is measured
// changes so slowly that the values of a block are alike. It is the variance of a batch's sum over that of a block's, from
// the means of the block in all runs. So what happens at the same time in every run, as a burst that the scenario has,
// does not count as dependence. There must be at least two runs.
//
// It is the ratio of window and correlation time that decides how many values in the tail of a distribution are
// independent (W. Whitt, Planning Queueing Simulations, Management Science 35, 1989).
func Effective(runs []*Batches) float64 {
	const all = Blocks * batchesPerBlock
	n := float64(len(runs))
	var means, counts [Blocks]float64
	for block := range Blocks {
		var sum Block
		for _, r := range runs {
			sum.Sum += r[block].Sum
			sum.N += r[block].N
		}
		if sum.N > 0 {
			means[block] = sum.Sum / sum.N
		}
		counts[block] = sum.N / n / batchesPerBlock
	}
	ofBatch, ofBlock := 0.0, 0.0 // variances
	for i, mean := range means {
		for _, r := range runs {
			b := &r[i]
			deviation := b.Sum - mean*b.N
			ofBlock += deviation * deviation / (Blocks * (n - 1))
			ofBatch += (b.SumSquares - 2*mean*b.SumTimesN + mean*mean*b.NSquares) / (all * n)
		}
		// A mean that rises within the block, as from the block before to that after it, is not a variation of the batches.
		before, after := mean-means[max(i-1, 0)], means[min(i+1, Blocks-1)]-mean
		switch i {
		case 0:
			before = after
		case Blocks - 1:
			after = before
		}
		if before*after > 0 {
			rise := min(math.Abs(before), math.Abs(after))
			ofBatch -= rise * rise / 12 * counts[i] * counts[i] / Blocks
		}
	}
	switch {
	case ofBlock <= 0:
		return all // all runs are alike
	case ofBatch <= 0:
		return 0
	}
	return min(all*ofBatch/(ofBlock/batchesPerBlock), all)
}
