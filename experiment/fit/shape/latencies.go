package shape

import (
	"container/heap"

	"apfsim/reports/measure"
)

// LatencyWindows are the lengths of the windows of Latencies, in nanoseconds.
var LatencyWindows = [...]int64{1e9, 10e9, 60e9}

// fewestLatencies is the least number of requests of a window that has a mean.
const fewestLatencies = 10

// Latencies are the mean latencies of the requests that end in each of consecutive windows: a server that is slow for some
// seconds has the same percentiles as one of which requests are slow at all times.
//
// The memory does not depend on the number of requests, except on that of those in progress, or on the time.
type Latencies struct {
	fromNs, toNs int64
	windows      [len(LatencyWindows)]latencyWindow
	shortest     measure.Histogram // of the means of the shortest windows
	inProgress   endings
}

// latencyWindow is the present window of one length, and the slowest one before.
type latencyWindow struct {
	at        int64 // index of the present one
	sum       float64
	n         int64
	slowestNs float64 // 0 without one
}

// NewLatencies returns the latencies of requests that arrive and end between two times.
func NewLatencies(fromNs, toNs int64) *Latencies {
	return &Latencies{fromNs: fromNs, toNs: toNs, shortest: measure.Histogram{Precision: measure.FinePrecision}}
}

// Begin adds a request whose end is known when it arrives, as in a log. Requests are added in the order of their arrival.
func (l *Latencies) Begin(arrivalNs, latencyNs int64) {
	for len(l.inProgress) > 0 && l.inProgress[0].endNs <= arrivalNs {
		l.next()
	}
	heap.Push(&l.inProgress, ending{arrivalNs + latencyNs, latencyNs})
}

func (l *Latencies) next() {
	e := heap.Pop(&l.inProgress).(ending)
	l.End(e.endNs, e.latencyNs)
}

// End adds a request at its end. Requests are added in the order of their ends.
func (l *Latencies) End(endNs, latencyNs int64) {
	if endNs-latencyNs < l.fromNs || endNs >= l.toNs {
		return
	}
	for i := range l.windows {
		w := &l.windows[i]
		if at := (endNs - l.fromNs) / LatencyWindows[i]; at != w.at {
			l.complete(i)
			w.at = at
		}
		w.sum += float64(latencyNs)
		w.n++
	}
}

// complete ends the present window of LatencyWindows[i].
func (l *Latencies) complete(i int) {
	w := &l.windows[i]
	if w.n >= fewestLatencies {
		mean := w.sum / float64(w.n)
		if w.slowestNs = max(w.slowestNs, mean); i == 0 {
			l.shortest.Record(int64(mean))
		}
	}
	w.sum, w.n = 0, 0
}

// Slowest returns the greatest mean of the windows of LatencyWindows[i], in nanoseconds. It is not ok if no whole window has ten
// requests.
func (l *Latencies) Slowest(i int) (ns float64, ok bool) {
	w := &l.windows[i]
	l.end(i)
	return w.slowestNs, w.slowestNs > 0
}

// SlowTwentieth returns what the means of the slowest twentieth of the windows of LatencyWindows[0] have at least, in nanoseconds. It is 0 if no whole
// window has ten requests.
func (l *Latencies) SlowTwentieth() (ns float64) {
	if l.end(0); l.shortest.N == 0 {
		return 0
	}
	return float64(l.shortest.PercentileNs(95))
}

// end ends the last window of LatencyWindows[i], if it is whole.
func (l *Latencies) end(i int) {
	for len(l.inProgress) > 0 {
		l.next()
	}
	if l.fromNs+(l.windows[i].at+1)*LatencyWindows[i] <= l.toNs {
		l.complete(i)
	}
}

// ending is a request in progress.
type ending struct{ endNs, latencyNs int64 }

// endings is a heap, the request that ends first at index 0.
type endings []ending

func (e endings) Len() int { return len(e) }
func (e endings) Less(i, j int) bool {
	return e[i].endNs < e[j].endNs || e[i].endNs == e[j].endNs && e[i].latencyNs < e[j].latencyNs
}
func (e endings) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)   { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}
