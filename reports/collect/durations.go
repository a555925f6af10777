package collect

import (
	"encoding/binary"

	"apfsim/reports/measure"
)

// durations are those of the requests of one flow. There may be hundreds of thousands of flows with
// a few requests each, for which histograms would take kilobytes: a flow has none until its requests
// fill a list of mostBytes, and then they take what is in the list from time to time.
//
// The list has one number for a wait or an execution, with its kind in the two lowest bits. Most flows
// have many requests that do not wait; such a request takes four bytes. A wait of 0 is not in the list:
// a flow has had as many of them as it has dispatched more requests than it has other waits. As the
// latency of a request is its wait and its execution, only what it waited stands behind the execution.
// Numbers are uvarints until the flow has histograms, and then have 64 bits, which takes less time.
type durations struct {
	list  []byte
	timed *timed // nil until the list was full
}

// timed holds the histograms of one flow. An execution that takes as long as its whole request, because that did
// not wait, is only in alone: many flows have no others, and need a single histogram.
type timed struct {
	alone    measure.Histogram
	byTiming [measure.Timings]measure.Histogram
}

func newTimed() *timed {
	return &timed{alone: measure.Histogram{Precision: measure.CoarsePrecision}, byTiming: measure.New(measure.CoarsePrecision).Timed}
}

// The kinds of what is in the list.
const (
	waited       = iota // a request was dispatched, after more than 0 ns
	executed            // a request was executed whose latency was its execution
	waitExecuted        // likewise, but what its latency was longer follows
	waitRejected        // a request was rejected

	kindBits = 2
)

const (
	mostBytes   = 2048                      // of the list of a flow without histograms
	mostPending = 512                       // of the list of a flow with histograms
	mostOfOne   = 2 * binary.MaxVarintLen64 // more than two numbers of 64 bits
)

// add adds a duration of a kind; moreNs is that of waitExecuted, and 0 for other kinds.
func (d *durations) add(kind, ns, moreNs int64) {
	if len(d.list)+mostOfOne > cap(d.list) {
		d.makeRoom()
	}
	d.put(uint64(ns)<<kindBits | uint64(kind))
	if kind == waitExecuted {
		d.put(uint64(moreNs))
	}
}

// put appends a number to the list.
func (d *durations) put(v uint64) {
	if d.timed == nil {
		d.list = binary.AppendUvarint(d.list, v)
		return
	}
	d.list = binary.LittleEndian.AppendUint64(d.list, v)
}

// take returns the first number of an encoded list and the rest of the list.
func (d *durations) take(list []byte) (v uint64, remaining []byte) {
	if d.timed == nil {
		v, n := binary.Uvarint(list)
		return v, list[n:]
	}
	return binary.LittleEndian.Uint64(list), list[8:]
}

// makeRoom makes room in the list for one more.
func (d *durations) makeRoom() {
	switch {
	case d.timed != nil:
		d.count(&d.timed.byTiming, &d.timed.alone)
		d.list = d.list[:0]
	case cap(d.list) < mostBytes:
		d.list = append(make([]byte, 0, min(max(32, cap(d.list)*3/2), mostBytes)), d.list...)
	default:
		t := newTimed()
		d.count(&t.byTiming, &t.alone)
		d.timed, d.list = t, make([]byte, 0, mostPending)
	}
}

// count counts the durations of the list in histograms: executions whose latencies they are in alone, or without it
// as both.
func (d *durations) count(into *[measure.Timings]measure.Histogram, alone *measure.Histogram) {
	var later [measure.Timings]measure.Buffer
	var laterAlone measure.Buffer
	for list := d.list; len(list) > 0; {
		var v, more uint64
		v, list = d.take(list)
		ns := int64(v >> kindBits)
		switch v & (1<<kindBits - 1) {
		case waited:
			later[measure.Wait].Add(ns, &into[measure.Wait])
		case executed:
			if alone != nil {
				laterAlone.Add(ns, alone)
				break
			}
			later[measure.Execution].Add(ns, &into[measure.Execution])
			later[measure.Latency].Add(ns, &into[measure.Latency])
		case waitExecuted:
			more, list = d.take(list)
			later[measure.Execution].Add(ns, &into[measure.Execution])
			later[measure.Latency].Add(ns+int64(more), &into[measure.Latency])
		case waitRejected:
			later[measure.RejectedWait].Add(ns, &into[measure.RejectedWait])
		}
	}
	for t := range later {
		later[t].Flush(&into[t])
	}
	if alone != nil {
		laterAlone.Flush(alone)
	}
}

// addTo adds all durations to histograms; waits is how many of them are waits, with those of 0.
func (d *durations) addTo(into *[measure.Timings]measure.Histogram, waits int64) {
	before := into[measure.Wait].N
	if d.timed != nil {
		for t := range d.timed.byTiming {
			into[t].Merge(&d.timed.byTiming[t])
		}
		into[measure.Execution].Merge(&d.timed.alone)
		into[measure.Latency].Merge(&d.timed.alone)
	}
	d.count(into, nil)
	into[measure.Wait].RecordN(0, waits-(into[measure.Wait].N-before))
}

// longestNs returns the longest wait of a request that was dispatched, 0 if none waited.
func (d *durations) longestNs() (ns int64) {
	if d.timed != nil {
		ns = d.timed.byTiming[measure.Wait].MostNs
	}
	for list := d.list; len(list) > 0; {
		var v uint64
		v, list = d.take(list)
		switch v & (1<<kindBits - 1) {
		case waited:
			ns = max(ns, int64(v>>kindBits))
		case waitExecuted:
			_, list = d.take(list)
		}
	}
	return ns
}
