package server

import (
	"testing"

	"apfsim/core/classify"
	"apfsim/core/queueset"
	"apfsim/sim/metric"
)

// What has become of a request, by what its server has written.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		what string
		r    Request
		want Outcome
	}{
		{"it waits", Request{Decision: Decision{DispatchNs: -1}, Completion: Completion{FinishNs: -1}}, Waiting},
		{"it was dispatched at 0", Request{Completion: Completion{FinishNs: -1}}, Executing},
		{"it was executed at 0", Request{}, Executed},
		{"it was rejected", Request{Decision: Decision{DispatchNs: -1, Rejection: queueset.QueueFull}, Completion: Completion{FinishNs: -1}}, Rejected},
		{"it reached no server", Request{Decision: Decision{DispatchNs: -1}, Completion: Completion{FinishNs: -1, Refusal: metric.ConnectionRefused}}, Refused},
		{"its server ended while it waited", Request{Decision: Decision{DispatchNs: -1}, Completion: Completion{FinishNs: -1, Lost: true}}, Lost},
		{"its server ended while it was executed", Request{Completion: Completion{FinishNs: -1, Lost: true}}, Lost},
	} {
		if got := c.r.Outcome(); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// A request that flow control does not handle has no queue, whatever the request had that used its memory before.
func TestQueueOfNoFlow(t *testing.T) {
	if got := new(Request).QueueIndex(); got != -1 {
		t.Errorf("queue %d, want -1", got)
	}
}

// A reference to a request refers to nothing once that is over, also when its memory is used for another one.
func TestReferencesEnd(t *testing.T) {
	s := NewRunState(Options{})
	first := s.NewRequest()
	ref := first.Ref()
	if ref.Request() != first {
		t.Error("a reference does not refer to its request")
	}
	s.Discard(first)
	if ref.Request() != nil {
		t.Error("a reference refers to a request that is over")
	}
	second := s.NewRequest()
	if second != first {
		t.Fatal("the memory of a request is not used again")
	}
	if ref.Request() != nil || second.Ref().Request() != second || new(Ref).Request() != nil {
		t.Error("a reference refers to another request than its own")
	}
}

// Templates are alike if their requests differ in nothing but the name of their object, and if that does not change what a
// server knows of them: a list or a watch of one object is another one.
func TestTemplatesAreAlike(t *testing.T) {
	base := func() *Template {
		return &Template{Query: "timeout=1s", FlowSchema: "s", Attributes: classify.Attributes{
			User: "u", Groups: []string{"g", "h"}, Verb: "get", APIGroup: "apps", Resource: "deployments", Subresource: "status", Namespace: "n", Name: "a"}}
	}
	for what, change := range map[string]func(t *Template){
		"query":       func(t *Template) { t.Query = "" },
		"FlowSchema":  func(t *Template) { t.FlowSchema = "" },
		"user":        func(t *Template) { t.Attributes.User = "v" },
		"groups":      func(t *Template) { t.Attributes.Groups = []string{"g"} },
		"verb":        func(t *Template) { t.Attributes.Verb = "update" },
		"group":       func(t *Template) { t.Attributes.APIGroup = "batch" },
		"resource":    func(t *Template) { t.Attributes.Resource = "daemonsets" },
		"subresource": func(t *Template) { t.Attributes.Subresource = "" },
		"namespace":   func(t *Template) { t.Attributes.Namespace = "m" },
	} {
		changed := base()
		change(changed)
		if changed.isLike(base()) || base().isLike(changed) {
			t.Errorf("templates with another %s are alike", what)
		}
	}
	named := base()
	named.Attributes.Name = "b"
	if !named.isLike(base()) {
		t.Error("templates that differ in the name are not alike")
	}
	for _, verb := range []string{"list", "watch"} {
		a, b := base(), base()
		a.Attributes.Verb, b.Attributes.Verb = verb, verb
		if a.isLike(b) || !a.isLike(a) {
			t.Errorf("a template of a %s is like another one, or not like itself", verb)
		}
	}
	a, b := base(), base()
	a.Attributes.Resource, b.Attributes.Resource = "", ""
	if a.isLike(b) {
		t.Error("templates of paths are alike")
	}
}

// Reads of one template share what they ask for. A write has a body of its own.
func TestReadsShareTheirCalls(t *testing.T) {
	var all templateCalls
	ask := func(t *Template, number int64) *Request {
		return &Request{Sent: Sent{Template: t}, Decision: Decision{Number: number}}
	}
	list := &Template{Attributes: classify.Attributes{Verb: "list", Resource: "pods"}, Query: "limit=5"}
	create := &Template{Attributes: classify.Attributes{Verb: "create", Resource: "pods"}}
	first := all.call(0, ask(list, 1), nil)
	if first.Options.Limit != 5 || first.Body != nil {
		t.Errorf("a list asks for %+v", first)
	}
	one, other := all.call(0, ask(create, 2), nil), all.call(0, ask(create, 3), nil)
	if one.Body.Stamp != 2 || other.Body.Stamp != 3 || one.Body.GenerateName != "apfsim-" || one.Body.Name != "" {
		t.Errorf("two creates ask for %+v and %+v", one.Body, other.Body)
	}
	if all.call(0, ask(list, 4), nil) != first {
		t.Error("another list of the template asks for something else")
	}
	for i := range int64(mostTemplateCalls) {
		all.call(0, ask(&Template{Attributes: list.Attributes}, i), nil)
	}
	if len(all) > mostTemplateCalls {
		t.Errorf("%d templates are remembered, want %d at most", len(all), mostTemplateCalls)
	}
}
