package workload

import (
	"apfsim/core/classify"
	"apfsim/sim/quantity"
	"apfsim/sim/server"
	"apfsim/sim/trace"
)

// mostTemplates is how many templates a client keeps. Most clients that behave send few kinds of requests, and
// send them often.
const mostTemplates = 16

// templates are those of the latest kinds of requests of a client. When there are mostTemplates, the oldest one
// is replaced. They are so few that they are searched one after another.
type templates struct {
	kept   []keptTemplate
	marks  [mostTemplates]uint16 // of those that are kept: most others differ in it, and need not be read from memory
	oldest int                   // index of the one that is replaced next
}

// templateKind is what requests have in common that share a template, or of which one's template replaces another's: all but
// their query and, unless they are lists or watches, the name of their object. Objects are many, and most are named
// by few requests.
type templateKind struct{ name, resource, verb, subresource, namespace, group string }

type keptTemplate struct {
	templateKind
	*server.Template
}

// get returns the template of a request. Where the query changes each time, as that of a watch from the latest
// version, the template is replaced each time: flow control reads the query, too.
func (ts *templates) get(c *scriptedClient, q *APIRequest) *server.Template {
	k := templateKind{resource: q.Resource, verb: q.Verb, subresource: q.Subresource, namespace: q.Namespace, group: q.Group}
	if ofCollection(q.Verb) {
		k.name = q.Name
	}
	t, known := ts.slot(k)
	if query := c.all.queries.get(q); !known || t.Query != query || t.Attributes.Name != q.Name {
		t.Template = c.all.runState.ReplaceTemplate(t.Template, c.group.index, int(c.index), c.attributes(q), query)
		t.Accept = c.accept
	}
	return t.Template
}

// slot returns the place of the template of a kind. If the kind is not known, the Template there is nil or of
// another kind.
func (ts *templates) slot(k templateKind) (t *keptTemplate, known bool) {
	mark := k.mark()
	for i := range ts.kept {
		if ts.marks[i] == mark && ts.kept[i].templateKind == k {
			return &ts.kept[i], true
		}
	}
	i := ts.oldest
	if len(ts.kept) < mostTemplates {
		i = len(ts.kept)
		ts.kept = append(ts.kept, keptTemplate{})
	} else {
		ts.oldest = (i + 1) % mostTemplates
	}
	ts.marks[i], ts.kept[i].templateKind = mark, k
	return &ts.kept[i], false
}

// mark returns a number that differs for most kinds that one client sends.
func (k *templateKind) mark() uint16 {
	return uint16(len(k.verb))<<8 ^ uint16(k.verb[0])<<4 ^ uint16(len(k.resource))<<6 ^ uint16(len(k.subresource))<<3 ^ uint16(len(k.namespace)) ^ uint16(len(k.name))<<1
}

// queries writes the queries of requests.
type queries struct {
	timeoutNs int64 // that the latest query without options has
	timeout   string
}

// get returns the query of a request. client-go sends how long it waits, so that the server does not work for longer
// (rest/request.go). Most requests that say that, such as heartbeats, say nothing else, and share their query.
func (qs *queries) get(q *APIRequest) string {
	query := q.Call.Options.Query()
	if q.TimeoutNs == 0 {
		return query
	}
	if q.TimeoutNs != qs.timeoutNs {
		qs.timeoutNs, qs.timeout = q.TimeoutNs, "timeout="+quantity.Duration(q.TimeoutNs).String()
	}
	if query == "" {
		return qs.timeout
	}
	return query + "&" + qs.timeout
}

// ofCollection says whether requests with a verb have the path of all objects of a resource, also if they are about
// one of them.
func ofCollection(verb string) bool {
	switch verb {
	case "create", "list", "watch", "deletecollection":
		return true
	}
	return false
}

// attributes returns what a server sees of a request. The path of a request for an object follows from the others,
// and flow control does not look at it.
func (c *scriptedClient) attributes(q *APIRequest) classify.Attributes {
	a := classify.Attributes{
		User: c.user, Groups: c.groups,
		Verb: q.Verb, APIGroup: q.Group, Resource: q.Resource, Subresource: q.Subresource, Namespace: q.Namespace,
	}
	if ofCollection(q.Verb) {
		a.Path = trace.ResourcePath(&a)
	}
	a.Name = q.Name
	info := a.Info()
	a.Namespace = info.URLNamespace()
	return a
}
