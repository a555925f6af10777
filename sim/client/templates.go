package client

import (
	"apfsim/core/classify"
	"apfsim/sim/behaviour"
	"apfsim/sim/quantity"
	"apfsim/sim/server"
	"apfsim/sim/trace"
)

// mostTemplates is how many templates a client keeps. Most clients that behave send few kinds of requests, and
// send them often. Some name an object only once, of many; to keep more of these would only take memory, here and
// at the servers.
const mostTemplates = 16

// templates are those of the latest kinds of requests of a client. When there are mostTemplates, the oldest one
// is replaced. They are so few that they are searched one after another.
type templates struct {
	kept   []keptTemplate
	oldest int // index of the one that is replaced next
}

// kind is what requests have in common that share a template, but for their query.
type kind struct{ name, resource, verb, subresource, namespace, group string }

type keptTemplate struct {
	kind
	*server.Template
}

// of returns the template of a request. Where the query changes each time, as that of a watch from the latest
// version, the template is replaced each time: flow control reads the query, too.
func (ts *templates) of(c *behaving, q *behaviour.Request) *server.Template {
	t, known := ts.slot(kind{name: q.Name, resource: q.Resource, verb: q.Verb, subresource: q.Subresource, namespace: q.Namespace, group: q.Group})
	if query := query(q); !known || t.Query != query {
		t.Template = c.all.shared.ReplaceTemplate(t.Template, c.workload.index, int(c.index), c.attributes(q), query)
	}
	return t.Template
}

// slot returns the place of the template of a kind. If the kind is not known, the Template there is nil or of
// another kind.
func (ts *templates) slot(k kind) (t *keptTemplate, known bool) {
	for i := range ts.kept {
		if ts.kept[i].kind == k {
			return &ts.kept[i], true
		}
	}
	if len(ts.kept) < mostTemplates {
		ts.kept = append(ts.kept, keptTemplate{})
		t = &ts.kept[len(ts.kept)-1]
	} else {
		t = &ts.kept[ts.oldest]
		ts.oldest = (ts.oldest + 1) % mostTemplates
	}
	t.kind = k
	return t, false
}

// query returns the query of a request. client-go sends how long it waits, so that the server does not work
// for longer (rest/request.go).
func query(q *behaviour.Request) string {
	query := q.Call.Options.Query()
	if q.TimeoutNs > 0 {
		if query != "" {
			query += "&"
		}
		query += "timeout=" + quantity.Duration(q.TimeoutNs).String()
	}
	return query
}

// attributes returns what a server sees of a request.
func (c *behaving) attributes(q *behaviour.Request) classify.Attributes {
	a := classify.Attributes{
		User: c.user, Groups: c.groups,
		Verb: q.Verb, APIGroup: q.Group, Resource: q.Resource, Subresource: q.Subresource, Namespace: q.Namespace,
	}
	switch q.Verb { // whose path is that of the collection
	case "create", "list", "watch", "deletecollection":
		a.Path = trace.ResourcePath(&a)
		a.Name = q.Name
	default:
		a.Name = q.Name
		a.Path = trace.ResourcePath(&a)
	}
	return a
}
