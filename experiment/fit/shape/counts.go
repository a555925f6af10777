package shape

// Windows are the lengths of the windows in which arrivals are counted, in nanoseconds.
var Windows = [...]int64{100e6, 1e9, 10e9, 60e9}

// Lags are the distances of the counts of seconds whose autocorrelation is computed, in seconds.
var Lags = [...]int{1, 10}

const (
	secondWindow = 1  // index of the windows of a second
	longestLag   = 10 // the greatest of Lags
	// Windows begin so late after whole seconds: requests that are sent at whole numbers of milliseconds would
	// otherwise fall into one window or the next by a nanosecond.
	windowOffsetNs = 37_137_137
	leastWindows   = 4 // fewer do not have a dispersion
)

// Counts counts arrivals, which are added in their order, in windows of several lengths. What it tells is how much the
// counts vary: those of a Poisson process by their mean, whatever the length of the windows, and those of bursts by more,
// in windows that are at least as long as bursts are.
//
// The memory does not depend on the number of arrivals or on the time.
type Counts struct {
	N            int64 // arrivals
	fromNs, toNs int64
	windows      [len(Windows)]windows
	largest      int64 // count of a second

	// Of the seconds, for the autocorrelation: the first and the last ones, and the sums of products.
	first, last [longestLag]float64 // last by the index modulo longestLag
	products    [longestLag + 1]float64
}

// windows are the complete windows of one length.
type windows struct {
	at        int64   // index of the one that is being counted; 0 for the part of one before the first complete window
	count     int64   // in that one
	n         float64 // complete windows
	sum, sum2 float64 // of their counts
}

// NewCounts returns counts of the arrivals from one time to another.
func NewCounts(fromNs, toNs int64) *Counts { return &Counts{fromNs: fromNs, toNs: toNs} }

// Add adds an arrival. Those outside the time are ignored.
func (c *Counts) Add(atNs int64) { c.addMany(atNs, 1) }

// addMany adds so many arrivals at a time.
func (c *Counts) addMany(atNs, n int64) {
	if atNs < c.fromNs || atNs >= c.toNs {
		return
	}
	c.N += n
	for i := range c.windows {
		c.advance(i, c.index(i, atNs))
		c.windows[i].count += n
	}
}

// index returns the index of the window at a time.
func (c *Counts) index(i int, atNs int64) int64 {
	since := atNs - c.fromNs - windowOffsetNs
	if since < 0 {
		return 0
	}
	return since/Windows[i] + 1
}

// advance completes the windows before the one with the index.
func (c *Counts) advance(i int, index int64) {
	w := &c.windows[i]
	for w.at < index {
		if i == secondWindow {
			c.largest = max(c.largest, w.count)
			if w.at > 0 {
				c.second(w.n, float64(w.count))
			}
		}
		if w.at > 0 {
			x := float64(w.count)
			w.n++
			w.sum += x
			w.sum2 += x * x
		}
		w.at++
		w.count = 0
		if empty := index - w.at; empty > 0 && w.at > 0 && i != secondWindow { // at once
			w.n += float64(empty)
			w.at = index
		}
	}
}

// second adds the count of the k-th complete second, which is kept until longestLag others have come.
func (c *Counts) second(k, x float64) {
	n := int(k)
	if n < longestLag {
		c.first[n] = x
	}
	for _, lag := range Lags {
		if n >= lag {
			c.products[lag] += x * c.last[(n-lag)%longestLag]
		}
	}
	c.last[n%longestLag] = x
}

// complete completes all windows that end before the end of the time.
func (c *Counts) complete() {
	for i := range c.windows {
		w := &c.windows[i]
		if i == secondWindow {
			c.largest = max(c.largest, w.count)
		}
		c.advance(i, c.index(i, c.toNs))
	}
}

// Dispersion returns the index of dispersion of the counts in the complete windows of Windows[i]: their variance by
// their mean (Cox and Lewis, "The Statistical Analysis of Series of Events", 1966). It is not ok of fewer than four
// windows, or without arrivals.
func (c *Counts) Dispersion(i int) (x float64, ok bool) {
	c.complete()
	w := &c.windows[i]
	if w.n < leastWindows || w.sum == 0 {
		return 0, false
	}
	return w.variance() / (w.sum / w.n), true
}

// variance returns the variance of the counts.
func (w *windows) variance() float64 {
	mean := w.sum / w.n
	return max(0, w.sum2/w.n-mean*mean) * w.n / (w.n - 1)
}

// Largest returns the count of the second with the most arrivals; it is not ok without arrivals.
func (c *Counts) Largest() (n int64, ok bool) {
	c.complete()
	return c.largest, c.N > 0
}

// Autocorrelation returns the correlation of the counts of seconds with those of the seconds Lags[i] later; 0 if all
// counts are equal. It is not ok if there are fewer than four times as many complete seconds as the lag.
func (c *Counts) Autocorrelation(i int) (r float64, ok bool) {
	c.complete()
	w, lag := &c.windows[secondWindow], Lags[i]
	n := int(w.n)
	if n < leastWindows*lag || w.sum == 0 {
		return 0, false
	}
	mean := w.sum / w.n
	squares := w.sum2 - w.n*mean*mean
	if squares <= 1e-9*w.sum2 {
		return 0, true
	}
	early, late := w.sum, w.sum // without the last seconds, and without the first
	for k := range lag {
		early -= c.last[(n-1-k)%longestLag]
		late -= c.first[k]
	}
	return (c.products[lag] - mean*(early+late) + float64(n-lag)*mean*mean) / squares, true
}
