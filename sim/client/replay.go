package client

import (
	"fmt"

	"apfsim/sim/server"
	"apfsim/sim/trace"
)

// replay is a client that sends what a trace says.
type replay struct {
	client
	reader  *trace.Reader   // of the records that are still to be sent
	pending *server.Request // the next one
}

// Start implements Behaviour.
func (p *replay) Start(int64) {
	p.open()
	reader, err := p.Arrivals.Trace.Open()
	if err != nil {
		p.fail(err)
		return
	}
	p.reader = reader
	p.next()
}

func (p *replay) fail(err error) { p.all.err = fmt.Errorf("workload %s: %w", p.Name, err) }

// next reads the next record and wakes the client at its arrival.
func (p *replay) next() {
	record, ok, err := p.reader.Next()
	for err == nil && ok && record.ArrivalNs < p.startNs {
		record, ok, err = p.reader.Next()
	}
	if err != nil {
		p.fail(err)
		return
	}
	if !ok || record.ArrivalNs >= p.endNs {
		return
	}
	r := p.all.shared.NewRequest()
	r.Template = &server.Template{
		Workload:   p.workload.index,
		Client:     int(p.index),
		Attributes: record.Attributes(),
		Query:      record.Query,
	}
	r.TemplateID, r.ID, r.Attempt = 0, record.ID, 1
	r.ExecutionNs, r.WatchNs = record.ExecutionNs, record.WatchNs
	p.pending = r
	p.wakeAt(record.ArrivalNs)
}

// Wake implements Behaviour. The trace says when requests arrived at the server, so that they do
// not pass a rate limiter.
func (p *replay) Wake(nowNs int64) {
	r := p.pending
	p.next()
	p.all.servers[p.chooseServer()].Arrive(nowNs, r)
}

// Responded implements Behaviour: a rejection is all that it is called for.
func (p *replay) Responded(nowNs int64, r *server.Request, response server.Response) {
	p.retry(nowNs, r, response)
}
