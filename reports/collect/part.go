package collect

import (
	"apfsim/reports/measure"
	"apfsim/sim/server"
)

// part is the requests of one workload in one group at one server: the finest division apart from
// flows. All coarser divisions are merged from the parts.
type part struct {
	workload int
	group    *group
	server   int
	*measure.Measures

	// Not in the measures before the end: the waits of 0, and the executions whose latency they are, too.
	noWaits int64
	alone   measure.Histogram
}

// dispatch counts a dispatched request.
func (p *part) dispatch(waitNs int64) {
	p.Dispatched++
	if waitNs == 0 {
		p.noWaits++
		return
	}
	p.Timed[measure.Wait].Record(waitNs)
}

// execute counts an executed request.
func (p *part) execute(r *server.Request, executionNs, latencyNs int64) {
	p.Execute(r)
	if latencyNs == executionNs {
		p.alone.Record(executionNs)
		return
	}
	p.Timed[measure.Execution].Record(executionNs)
	p.Timed[measure.Latency].Record(latencyNs)
}

// end completes the measures.
func (p *part) end() {
	p.Timed[measure.Wait].RecordN(0, p.noWaits)
	p.Timed[measure.Execution].Merge(&p.alone)
	p.Timed[measure.Latency].Merge(&p.alone)
}

func (c *Collector) partOf(r *server.Request, f *flow) *part {
	if f.part != nil {
		return f.part
	}
	return c.partAt(r.Workload, f.group, c.serverOf(r))
}

func (c *Collector) partAt(workload int, g *group, at int) *part {
	i := g.index*len(c.eachLevel) + at
	for len(c.parts[workload]) <= i {
		c.parts[workload] = append(c.parts[workload], nil)
	}
	cl := &c.parts[workload][i]
	if *cl == nil {
		*cl = &part{workload: workload, group: g, server: at, Measures: measure.New(measure.FinePrecision)}
		(*cl).alone.Precision = measure.FinePrecision
	}
	return *cl
}
