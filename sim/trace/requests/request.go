package requests

import (
	"apfsim/core/classify"
	"apfsim/sim/trace/serverlog"
)

// Request is a request with the values of all its lines.
type Request struct {
	// Entry has the fields of the lines; those of the audit log take precedence, since its arrival is
	// exact and an httplog has no user. Stage and StageNs are not used.
	serverlog.Entry
	StartedNs int64 // when a long-running request began to respond
	EndNs     int64 // when the response was complete

	Audit, HTTP bool // which logs have lines of the request
	Entries     int  // the number of these lines, without duplicates

	File int   // which file has the line of the httplog, or else a line of the audit log
	Line int64 // the number of this line

	// HTTPArrivalNs is the arrival in the httplog. If the request is in the audit log too, ArrivalNs is
	// that of the audit log, which is exact.
	HTTPArrivalNs int64

	// These are used while lines are joined.
	stages              uint8 // bit s for stage s of the audit log
	httpNs, httpTotalNs int64 // of the line of the httplog
}

// code writes or reads a request.
func (r *Request) code(c *codec) {
	codeEntry(c, &r.Entry)
	number(c, &r.StartedNs)
	number(c, &r.EndNs)
	c.flag(&r.Audit)
	c.flag(&r.HTTP)
	number(c, &r.Entries)
	number(c, &r.File)
	number(c, &r.Line)
	number(c, &r.HTTPArrivalNs)
}

// codeEntry writes or reads an entry.
func codeEntry(c *codec, e *serverlog.Entry) {
	number(c, &e.Log)
	number(c, &e.Stage)
	c.name(&e.AuditID)
	c.word(&e.Server)
	number(c, &e.ArrivalNs)
	number(c, &e.StageNs)
	c.word(&e.User)
	c.words(&e.Groups)
	c.word(&e.UserAgent)
	c.word(&e.SourceIP)
	c.word(&e.Verb)
	c.word(&e.APIGroup)
	c.word(&e.Resource)
	c.word(&e.Subresource)
	c.word(&e.Namespace)
	c.name(&e.Name)
	c.name(&e.Path)
	c.name(&e.Query)
	number(c, &e.Status)
	c.word(&e.StatusReason)
	number(c, &e.WaitNs)
	number(c, &e.TotalNs)
	number(c, &e.ExecutionNs)
	number(c, &e.InitNs)
	number(c, &e.WebhookNs)
	number(c, &e.EtcdNs)
	number(c, &e.SendingNs)
	c.word(&e.FlowSchema)
	c.word(&e.PriorityLevel)
	number(c, &e.Seats)
	number(c, &e.FinalSeats)
	number(c, &e.AdditionalNs)
	c.flag(&e.StageUnknown)
	c.flag(&e.GroupsUnknown)
}

// Attributes returns what flow control sees of the request, except its query.
func (r *Request) Attributes() classify.Attributes {
	return classify.Attributes{User: r.User, Groups: r.Groups, Verb: r.Verb, APIGroup: r.APIGroup, Resource: r.Resource,
		Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name, Path: r.Path}
}
