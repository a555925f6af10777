package collect

import (
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/server"
)

// workloadInGroup is the requests of one workload in one group at one server: the finest division apart from
// flows. All coarser divisions are merged from the parts.
type workloadInGroup struct {
	workload int
	group    *group
	server   int
	*measure.Measures

	seats int64        // that the requests wanted, summed
	spent result.Spent // by executed requests, in seat-nanoseconds; only where the demand is measured

	// Not in the measures before the end: the waits of 0, and the executions whose latency they are, too.
	noWaits int64
	alone   measure.Histogram

	// What is counted later, in the measures and in alone.
	later      [measure.Timings]measure.Buffer
	laterAlone measure.Buffer

	batches measure.Batcher
}

// closeBatches ends the batches that have ended before something is measured at a time.
func (p *workloadInGroup) closeBatches(nowNs int64) {
	if nowNs >= p.batches.EndNs {
		p.endBatches(nowNs)
	}
}

// endBatches ends the batches that have ended by a time.
func (p *workloadInGroup) endBatches(nowNs int64) {
	p.flush()
	var totals [measure.Timings]measure.Total
	for t := range p.Timed {
		h := &p.Timed[t]
		totals[t] = measure.Total{N: float64(h.N), Sum: h.SumNs()}
	}
	totals[measure.Wait].N += float64(p.noWaits)
	for _, t := range []measure.Timing{measure.Execution, measure.Latency} {
		totals[t].N += float64(p.alone.N)
		totals[t].Sum += p.alone.SumNs()
	}
	p.batches.Close(nowNs, &totals)
}

// flush counts all that has been measured.
func (p *workloadInGroup) flush() {
	for t := range p.later {
		p.later[t].Flush(&p.Timed[t])
	}
	p.laterAlone.Flush(&p.alone)
}

// record measures a duration.
func (p *workloadInGroup) record(t measure.Timing, ns int64) { p.later[t].Add(ns, &p.Timed[t]) }

// dispatched measures the wait of a dispatched request.
func (p *workloadInGroup) dispatched(waitNs int64) {
	if waitNs == 0 {
		p.noWaits++
		return
	}
	p.record(measure.Wait, waitNs)
}

// executed measures the times of an executed request.
func (p *workloadInGroup) executed(executionNs, latencyNs int64) {
	if latencyNs == executionNs {
		p.laterAlone.Add(executionNs, &p.alone)
		return
	}
	p.record(measure.Execution, executionNs)
	p.record(measure.Latency, latencyNs)
}

// end completes the measures at the end of the run.
func (p *workloadInGroup) end(nowNs int64) {
	p.endBatches(nowNs)
	p.Timed[measure.Wait].RecordN(0, p.noWaits)
	p.Timed[measure.Execution].Merge(&p.alone)
	p.Timed[measure.Latency].Merge(&p.alone)
}

// countingOf returns where a request of a flow counts.
func (c *Collector) countingOf(r *server.Request, f *flow) counting {
	return counting{in: &c.inGroupOf(r, f).Counted, flow: f}
}

func (c *Collector) inGroupOf(r *server.Request, f *flow) *workloadInGroup {
	if f.inGroup != nil {
		return f.inGroup
	}
	return c.inGroupAt(r.Workload, f.group, c.serverOf(r))
}

func (c *Collector) inGroupAt(workload int, g *group, at int) *workloadInGroup {
	i := g.index*len(c.eachLevel) + at
	for len(c.inGroups[workload]) <= i {
		c.inGroups[workload] = append(c.inGroups[workload], nil)
	}
	cl := &c.inGroups[workload][i]
	if *cl == nil {
		*cl = &workloadInGroup{workload: workload, group: g, server: at, Measures: measure.New(measure.FinePrecision)}
		(*cl).alone.Precision = measure.FinePrecision
		(*cl).batches = measure.NewBatcher(c.fromNs, c.toNs)
	}
	return *cl
}
