package client

import (
	"apfsim/document"
	"apfsim/sim/server"
	"apfsim/sim/trace"
	"apfsim/sim/workload"
)

// replay is a client that sends what a trace says.
type replay struct {
	sender
	stream  *trace.Stream   // of the requests that are still to be sent
	sent    []sentKind      // by Kind.Slot
	pending *server.Request // the next one
	asked   *trace.Asked    // of the next one
	to      int64           // index of the server that it is for; -1 for any
	errors  document.Errors // of the trace
	answers answers         // to references in the trace
	decided workload.Decided
	summary trace.Summary
}

// sentKind is the template of the requests of a kind.
type sentKind struct {
	kind     *trace.Kind
	template *server.Template
}

// Start implements source.
func (p *replay) Start(int64) {
	p.open()
	p.decided = p.all.Decided[p.group.index]
	reader, err := p.Arrivals.Trace.Open()
	if err != nil {
		p.errors = append(p.errors, err.(document.Error))
		p.all.failed = true
		return
	}
	reader.Stored, reader.Decided = p.all.Stored, p.Arrivals.Trace.Decided != ""
	p.stream = reader.Stream(p.all.ctx, p.startNs, p.endNs)
	p.next()
}

// next takes the next request from the trace and wakes the client at its arrival.
func (p *replay) next() {
	arrival, ok := p.stream.Next()
	if !ok {
		p.all.failed = p.all.failed || p.stream.Failed()
		return
	}
	r := p.all.shared.NewRequest()
	schema := ""
	if arrival.Logged != nil && p.decided.Routes {
		schema = arrival.Logged.FlowSchema
	}
	r.Template = p.template(arrival.Kind, schema)
	r.TemplateID, r.ID, r.Attempt = r.Template.TemplateID, arrival.ID, 1
	r.ExecutionNs, r.WatchNs = arrival.ExecutionNs, arrival.WatchNs
	if r.Details != nil {
		p.detail(r.Details)
		r.GiveExecution(arrival.Execution)
		r.Details.Logged = arrival.Logged
		r.Details.LoggedSeats = arrival.Logged != nil && p.decided.Seats && arrival.Logged.Seats > 0
	}
	p.asked = arrival.Asked
	p.pending, p.to = r, arrival.Server
	p.wakeAt(arrival.ArrivalNs)
}

// template returns the template of a kind with a FlowSchema, "" for what the configuration says, which its requests share as those of any other client
// do. The number of templates is bounded: one that takes the slot of another replaces it.
func (p *replay) template(k *trace.Kind, schema string) *server.Template {
	if k.Slot >= len(p.sent) {
		p.sent = append(p.sent, make([]sentKind, k.Slot+1-len(p.sent))...)
	}
	s := &p.sent[k.Slot]
	if s.kind != k || schema != "" && s.template.FlowSchema != schema { // one that is unknown is that of the request before
		s.kind = k
		s.template = p.all.shared.ReplaceTemplate(s.template, p.group.index, int(p.index), k.Attributes, k.Query)
		s.template.FlowSchema = schema
	}
	return s.template
}

// Wake implements source. The trace says when requests arrived at the server, so that they do
// not pass a rate limiter. If it also says at which one, they go there, unless the scenario has fewer
// servers.
func (p *replay) Wake(nowNs int64) {
	r, to := p.pending, p.to
	if p.all.Stored {
		r.Details.Asked = p.answers.call(r.Template, p.asked)
	}
	p.next()
	if n := p.all.network; n != nil && to >= 0 && to < int64(len(n.Servers())) {
		n.SendTo(nowNs, r, p.group.index, int(p.index), int16(to))
		return
	}
	p.sendNow(nowNs, r)
}

// Responded implements source: upon success it is called only if the servers have a store.
func (p *replay) Responded(nowNs int64, r *server.Request, response server.Response) {
	if p.all.Stored {
		p.answers.keep(r.ID, &r.Details.Answer)
	}
	p.retry(nowNs, r, response)
}

// close reads the trace to its end, if the context is not cancelled, and closes it.
func (p *replay) close() {
	if p.stream != nil {
		p.summary, p.errors = p.stream.Rest()
		p.stream.Close()
		p.stream = nil
	}
}
