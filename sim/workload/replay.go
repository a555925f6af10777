package workload

import (
	"apfsim/core/request"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/sim/api"
	"apfsim/sim/quantity"
	"apfsim/sim/server"
	"apfsim/sim/trace"
)

// TraceArrivals are read from a file, JSON Lines with one trace.Record each. The users, the
// requests and their execution times are those of the trace.
type TraceArrivals struct {
	File string `json:"file" document:"required" jsonschema:"minLength=1" jsonschema_description:"Relative to the scenario file."`

	Decided string        `json:"decided,omitempty" jsonschema:"enum=Log" jsonschema_description:"Log: FlowSchema, priority level and seats are those of the trace, as the server that logged it decided, and the replay is compared with the outcomes and waits in the trace. Without it, the simulated servers decide."`
	Server  *trace.Server `json:"server,omitempty" jsonschema_description:"The server that logged the trace."`

	// Path is the file as messages name it. Field and Position are where the scenario mentions it.
	Path     string            `json:"-"`
	Field    string            `json:"-"`
	Position document.Position `json:"-"`
	// Open opens the trace for a run. The caller closes the reader. An error is a document.Error.
	Open func() (*trace.Reader, error) `json:"-"`
	// Requests are those of the trace, if it has been read: runs then send these, and do not open it.
	Requests []trace.Arrival `json:"-"`
}

// Warnings returns what is probably not intended about the trace in a run of this duration. read is
// what reading it to its end has found.
func (t *TraceArrivals) Warnings(read trace.Summary, duration quantity.Duration) (all document.Errors) {
	switch {
	case read.Requests == 0:
		all.Add(t.Position, t.Field, "%s has no requests", t.Path)
	case read.LastNs >= int64(duration):
		all.Add(t.Position, t.Field, "%s goes on until %v; requests that arrive after the end of the run, %v, are left out",
			t.Path, quantity.Duration(read.LastNs), duration)
	}
	return all
}

// replay checks a workload whose arrivals are a trace.
func (c *checker) replay(path string, w *Workload) {
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"as", w.As.given()},
		{"request", w.Request != nil},
		{"requests", w.Requests != nil},
		{"execution", w.Execution.IsSet()},
		{"rateLimit", w.RateLimit != nil},
		{"behaviour", w.Behaviour != nil},
	} {
		if field.given {
			c.Fail(path+"."+field.name, "cannot be set with a trace, which contains it")
		}
	}
	if w.Clients > 1 {
		c.Fail(path+".clients", "%d: a trace is sent once; want 1, or 0 to leave it out", w.Clients)
	}
	if w.Arrivals.Trace.File == "" {
		c.Fail(path+".arrivals.trace.file", "is missing")
	}
	if s := w.Arrivals.Trace.Server; s != nil && s.KubernetesVersion != "" {
		if _, err := rules.For(document.Abridge(s.KubernetesVersion)); err != nil {
			c.Fail(path+".arrivals.trace.server.kubernetesVersion", "%v", err)
		} else if note := rules.Note(s.KubernetesVersion); note != "" {
			c.Warn(path+".arrivals.trace.server.kubernetesVersion", "%s", note)
		}
	}
}

// Decided says which decisions a replay takes from the log that its trace is of. The others are made by the
// simulated servers.
type Decided struct {
	// Routes are FlowSchema and priority level: if the servers have the configuration that the server of the log had
	// and keep it.
	Routes bool
	// Seats are those of the execution and those after it: if the releases of the servers estimate them as the release
	// of the server of the log.
	Seats bool
}

// mostAnswers is how many answers of a trace are remembered: a reference to an earlier one finds none.
const mostAnswers = 1 << 16

// answers are what the latest requests of a trace were answered, by their IDs.
type answers struct {
	byID   map[int64]trace.Answered
	oldest []int64 // the IDs in the order of the answers, a ring when it is full
	next   int     // in the ring
}

// keep remembers an answer.
func (as *answers) keep(id int64, a *api.Answer) {
	if as.byID == nil {
		as.byID = map[int64]trace.Answered{}
	}
	if len(as.oldest) < mostAnswers {
		as.oldest = append(as.oldest, id)
	} else {
		delete(as.byID, as.oldest[as.next])
		as.oldest[as.next] = id
		as.next = (as.next + 1) % mostAnswers
	}
	as.byID[id] = trace.Answered{Version: a.Version, UID: a.UID, Continue: a.Continue}
}

// call returns what a request of a trace asks for, with its references replaced. It is nil if the query of the
// template says it all.
func (as *answers) call(t *server.Template, asked *trace.Asked) *api.Call {
	if asked == nil && !trace.Refers(t.Query) {
		return nil
	}
	answered := func(id int64) trace.Answered { return as.byID[id] }
	options, _ := request.ParseOptions(t.Attributes.Verb, trace.Query(t.Query, answered)) // the reader has seen that it is in URL encoding
	c := &api.Call{Options: options}
	if asked == nil {
		return c
	}
	var p request.Preconditions
	c.Body, p = asked.Body(t.Attributes.Verb, t.Attributes.Name, answered)
	if p != (request.Preconditions{}) {
		c.Options.Preconditions = p
	}
	c.Options.DryRun = c.Options.DryRun || asked.DryRun
	if asked.FieldManager != "" {
		c.Options.FieldManager = asked.FieldManager
	}
	return c
}

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
	decided Decided
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
	if requests := p.Arrivals.Trace.Requests; requests != nil {
		p.stream = trace.Replay(requests, p.startNs, p.endNs)
		p.next()
		return
	}
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
	r := p.all.runState.NewRequest()
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
		s.template = p.all.runState.ReplaceTemplate(s.template, p.group.index, int(p.index), k.Attributes, k.Query)
		s.template.FlowSchema, s.template.Accept = schema, p.accept
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
		p.summary, p.errors = p.stream.Drain()
		p.stream.Close()
		p.stream = nil
	}
}
