package retries

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"apfsim/experiment/fit/shape"
)

// Backoff is how clients send rejected requests again: the n-th time after a wait that is uniform between LowNs and HighNs,
// times Factor to the power of n − 1, and Most times at most.
type Backoff struct {
	LowNs, HighNs float64
	Factor        float64
	Most          int
	// Rejected is the probability that a retry is rejected as well. Share is the part of the rejected requests that are
	// sent again, among those whose client has not given up.
	Rejected, Share float64
}

// Jitter returns by which part the longest wait exceeds the shortest, with two digits; 0 if the delays do not show a
// difference.
func (b *Backoff) Jitter() float64 {
	if j := b.HighNs/b.LowNs - 1; j > 0.05 {
		return math.Round(100*j) / 100
	}
	return 0
}

// Value returns the back-off in the format of a scenario, and for people.
func (b *Backoff) Value() (value map[string]any, text string) {
	wait := map[string]any{"initial": shape.Duration(math.Round(b.LowNs/1e4) * 1e4), "factor": b.Factor}
	text = "rejected requests are sent again after " + shape.Duration(b.LowNs)
	if jitter := b.Jitter(); jitter > 0 {
		wait["jitter"] = jitter
		text += " to " + shape.Duration(b.HighNs)
	}
	return map[string]any{"backoff": wait, "maxRetries": b.Most},
		fmt.Sprintf("%s, and %v times as long each time, up to %d times", text, b.Factor, b.Most)
}

// Range returns the shortest and the longest wait before a client sends a request again that it has already sent again
// n times.
func (b *Backoff) Range(n int) (lowNs, highNs float64) {
	grown := math.Pow(b.Factor, float64(n))
	return b.LowNs * grown, b.HighNs * grown
}

// Part returns which part of the rejected requests had been sent again n times: geometric up to Most.
func (b *Backoff) Part(n int) float64 {
	return math.Pow(b.Rejected, float64(n)) * (1 - b.Rejected) / (1 - math.Pow(b.Rejected, float64(b.Most+1)))
}

// Retried returns how many of so many rejected requests were sent again.
func (b *Backoff) Retried(rejected int64) float64 {
	return b.Share * (1 - b.Part(b.Most)) * float64(rejected)
}

// meanNs returns the mean of the waits.
func (b *Backoff) meanNs() int64 {
	sum, parts := 0.0, 0.0
	for n := range b.Most {
		low, high := b.Range(n)
		sum += b.Part(n) * (low + high) / 2
		parts += b.Part(n)
	}
	return int64(sum / parts)
}

// Of the fit of a back-off.
const (
	mostRetries  = 10 // of a request
	coarse       = 4  // bins that are joined
	coarseBins   = delayBins / coarse
	draws        = 400  // chains of retries, for each number of times that a request has been sent again
	leastFit     = 50   // least decrease of the sum of squares, in units of the variance
	mostShare    = 1.5  // of the rejected requests, as the estimate can be greater than 1
	shareOfFirst = 0.5  // least one
	usual        = 0.15 // difference of the part of the retries that are rejected from that of all requests, by chance
	better       = 2    // decrease of the sum of squares for which a request can be sent again more often
	nearlyAll    = 0.8  // of the rejected requests; with more, all are sent again
)

// chances[k][j] are the probabilities that the j+1-th retry of a request that has been sent again k times has a delay in a
// coarse bin, if it is sent.
type chances [mostRetries][mostRetries][]float64

// draw draws chains of retries.
func (b *Backoff) draw() *chances {
	var all chances
	r := rand.New(rand.NewPCG(17, 18))
	for k := range mostRetries {
		for j := range mostRetries - k {
			all[k][j] = make([]float64, coarseBins)
		}
		for range draws {
			delay := 0.0
			for j := range mostRetries - k {
				low, high := b.Range(k + j)
				delay += low + (high-low)*r.Float64()
				if at := bin(int64(delay)); at >= 0 {
					all[k][j][at/coarse] += 1. / draws
				}
			}
		}
	}
	return &all
}

// Fit fits a back-off to the delays after rejected requests: a part that is as after other requests, and the retries of
// the request and their retries, of which about the given part are rejected. It is not ok if they do not explain the
// delays.
func (d *Delays) Fit(rejections float64) (best Backoff, ok bool) {
	low, high, ok := d.First()
	if !ok {
		return best, false
	}
	y, x, weight := make([]float64, coarseBins), make([]float64, coarseBins), make([]float64, coarseBins)
	rejected, executed := float64(d.rejected), float64(d.executed)
	for c := range y {
		after, control := sum(d.after[c*coarse:(c+1)*coarse]), sum(d.control[c*coarse:(c+1)*coarse])
		y[c], x[c] = after/rejected, control/executed
		weight[c] = 1 / ((after+1)/(rejected*rejected) + (control+1)/(executed*executed) + math.Pow(unequal*y[c], 2))
	}
	sharpen(y)
	sharpen(x)
	without, _ := squares(y, x, make([]float64, coarseBins), weight)
	least := math.Inf(1)
	retries := make([]float64, coarseBins)
	for _, factor := range Factors {
		b := Backoff{LowNs: low, HighNs: high, Factor: factor}
		all := b.draw()
		for b.Most = 1; b.Most <= mostRetries; b.Most++ {
			// Where only a part of the time is overloaded, the retries are rejected more often than all requests.
			for b.Rejected = max(0.01, rejections-usual); b.Rejected < 0.99; b.Rejected += 0.05 {
				clear(retries)
				for k := range b.Most {
					part := b.Part(k)
					for j := range b.Most - k {
						for c, p := range all[k][j] {
							retries[c] += part * p
						}
						part *= b.Rejected
					}
				}
				sharpen(retries)
				left, share := squares(y, x, retries, weight)
				if left < least-better && share >= shareOfFirst && share <= mostShare {
					least, best = left, b
					best.Share = share
					if best.Rejected <= rejections+usual {
						best.Rejected = rejections
					}
					if share > nearlyAll {
						best.Share = 1
					}
				}
			}
		}
	}
	return best, least < without-leastFit
}

// sharpen subtracts from each coarse bin the count that the mean rate of the bins within an octave predicts. More
// requests than usual follow rejections for a while, whatever the back-off is.
func sharpen(v []float64) {
	const around = perOctave / coarse
	rates := make([]float64, len(v)+1) // sums of them
	for c, x := range v {
		rates[c+1] = rates[c] + x*math.Exp2(-float64(c)/around)
	}
	for c := range v {
		from, to := max(0, c-around), min(len(v), c+around+1)
		v[c] -= (rates[to] - rates[from]) / float64(to-from) * math.Exp2(float64(c)/around)
	}
}

// squares returns the least weighted sum of the squares of y − b·x − share·z, and the share.
func squares(y, x, z, weight []float64) (left, share float64) {
	xx, xz, zz, xy, zy, yy := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	for i, w := range weight {
		xx += w * x[i] * x[i]
		xz += w * x[i] * z[i]
		zz += w * z[i] * z[i]
		xy += w * x[i] * y[i]
		zy += w * z[i] * y[i]
		yy += w * y[i] * y[i]
	}
	base := 0.0
	if det := xx*zz - xz*xz; det > 1e-12*xx*zz {
		base, share = (xy*zz-zy*xz)/det, (zy*xx-xy*xz)/det
	} else if xx > 0 {
		base = xy / xx
	}
	return yy - base*xy - share*zy, share
}

// Factors are the growth factors of a back-off that are tried.
var Factors = [...]float64{1, 1.5, 2, 3}

// Chains says which requests are retries with a back-off. Where requests of the same key are so many that others arrive
// when a retry is due, it is not certain. A request is then one with a probability: that of the retries that are due by
// that of all requests (stochastic declustering: Zhuang, Ogata and Vere-Jones, "Stochastic Declustering of Space-Time
// Earthquake Occurrences", 2002). As many requests are taken for retries as the sum of the probabilities.
type Chains struct {
	Backoff Backoff

	byKey map[string]*chain
	next  int
	sum   float64 // of the probabilities, less the requests that were taken for retries
}

// chain is the state of one key with rejected requests.
type chain struct {
	sinceNs int64   // the first of them
	endNs   []int64 // of rejected requests, in order

	arrived, expected float64 // requests after that, and of these retries, by the number of rejected requests
}

const (
	settleNs    = Second / 2 // after the first request of a key, for which the rate of others is not known
	leastOthers = 0.02       // least part of the requests of a key that are first attempts
)

// realSlackNs is how long the messages of a retry are under way.
const realSlackNs = 1_000_000

// Arrive says whether a request that arrives now is a retry.
func (c *Chains) Arrive(key []byte, nowNs int64) bool {
	k := c.byKey[string(key)]
	if k == nil {
		return false
	}
	k.forget(nowNs - c.longestNs())
	due := 0.0 // per ns
	for n := range c.Backoff.Most {
		low, high := c.Backoff.Range(n)
		from, _ := slices.BinarySearch(k.endNs, nowNs-int64(high)-realSlackNs)
		to, _ := slices.BinarySearch(k.endNs, nowNs-int64(low)+1)
		due += c.Backoff.Share * c.Backoff.Part(n) * float64(to-from) / (high - low + realSlackNs)
	}
	k.arrived++
	recent, _ := slices.BinarySearch(k.endNs, nowNs-c.Backoff.meanNs())
	retried := k.expected - c.Backoff.Retried(int64(len(k.endNs)-recent))
	other := max(k.arrived-retried, leastOthers*k.arrived) / float64(nowNs-k.sinceNs+settleNs)
	p := due / (due + other)
	c.sum += p
	if c.sum < 0.5 || p == 0 {
		return false
	}
	c.sum--
	return true
}

// longestNs returns the longest wait.
func (c *Chains) longestNs() int64 {
	_, high := c.Backoff.Range(c.Backoff.Most - 1)
	return int64(high) + realSlackNs
}

// Reject takes note that a request was rejected and ended at a time.
func (c *Chains) Reject(key []byte, endNs, nowNs int64) {
	k := c.byKey[string(key)]
	if k == nil {
		if c.byKey == nil {
			c.byKey, c.next = map[string]*chain{}, sweepMargin
		}
		k = &chain{sinceNs: nowNs}
		c.byKey[string(key)] = k
		if len(c.byKey) > c.next {
			for key, k := range c.byKey {
				if k.forget(nowNs - c.longestNs()); len(k.endNs) == 0 && nowNs-k.sinceNs > settleNs {
					delete(c.byKey, key)
				}
			}
			c.next = 2*len(c.byKey) + sweepMargin
		}
	}
	k.expected += c.Backoff.Retried(1)
	i, _ := slices.BinarySearch(k.endNs, endNs)
	k.endNs = slices.Insert(k.endNs, i, endNs)
}

// forget removes requests that ended before a time.
func (k *chain) forget(ns int64) {
	for len(k.endNs) > 0 && k.endNs[0] < ns {
		k.endNs = k.endNs[1:]
	}
}
