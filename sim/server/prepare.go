package server

import (
	"net/url"
	"slices"
	"time"

	"apfsim/core/flowcontrol"
)

// prepare finds out what all requests of a template have in common: once, and their
// route again whenever the configuration has changed.
func (s *Server) prepare(t *Template) {
	if !t.prepared {
		t.prepared = true
		a := &t.Attributes
		t.isWatch = a.Verb == "watch"
		t.longRunning = a.LongRunning()
		t.passesBy = a.PassesBy()
		t.readOnly = a.ReadOnly()
		t.master = slices.Contains(a.Groups, "system:masters")
		t.waitNs = s.waitLimitNs(t)
		work, err := s.estimator.NewRequest(a, t.Query)
		if err != nil {
			panic("server: a query that validation let pass: " + err.Error())
		}
		t.work = *work
	}
	if s.flowControl != nil && !t.passesBy && t.generation != s.flowControl.Generation() {
		t.generation = s.flowControl.Generation()
		t.route = s.flowControl.Route(&t.Attributes)
		t.flow = s.flow(&t.route)
		t.flowIndex = int32(t.flow.Index)
	}
}

// waitLimitNs returns for how long a request may wait: a quarter of the time until its
// deadline. A watch has none, and the server's timeout stands in.
func (s *Server) waitLimitNs(t *Template) int64 {
	timeout := int64(s.settings.RequestTimeout)
	if query, err := url.ParseQuery(t.Query); err == nil && !t.isWatch {
		if asked, err := time.ParseDuration(query.Get("timeout")); err == nil && asked > 0 {
			timeout = min(timeout, int64(asked))
		}
	}
	return min(s.rules.MaxWaitNs, timeout/4)
}

// counted says whether max-in-flight counts the request.
func (t *Template) counted() bool { return !t.longRunning && !t.master }

// flow returns the flow of a route, the same for the same one.
func (s *Server) flow(route *flowcontrol.Route) *Flow {
	key := flowKey{route.Schema, route.Level.Spec(), route.Distinguisher}
	f := s.flows[key]
	if f == nil {
		f = &Flow{
			Index:         len(s.flows),
			Schema:        route.Schema,
			Level:         route.Level.Name(),
			Distinguisher: route.Distinguisher,
			Hand:          route.Hand.Queues(),
		}
		s.flows[key] = f
	}
	return f
}
