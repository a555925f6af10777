package scenario

import (
	"strings"

	"apfsim/document"
)

// Decode decodes a document over the defaults. If ok is false, it is not a scenario at all, and
// nothing of it has been decoded.
func Decode(doc *document.Document) (s *Scenario, errors document.Errors, ok bool) {
	s = New()
	s.File, s.Document = doc.File, doc
	c := document.Checker{Document: doc}
	if !isScenario(&c) {
		return s, c.Errors, false
	}
	d := document.Decoder{File: doc.File}
	d.Decode(doc.Root, "", s)
	return s, append(c.Errors, d.Errors...), true
}

// isScenario checks that the document is a scenario at all. If it says that it is something
// else, nothing in it would make sense.
func isScenario(c *document.Checker) bool {
	if c.Document.Root == nil || c.Document.Root.Kind != document.Object {
		kind := document.Null
		if c.Document.Root != nil {
			kind = c.Document.Root.Kind
		}
		c.Fail("", "is %v; want an object with apiVersion %s", kind, APIVersion)
		return false
	}
	text := func(name string) string {
		if n := c.Document.Root.Get(name); n != nil && n.Kind == document.String {
			return n.Text
		}
		return ""
	}
	if kind := text("kind"); kind == "List" || strings.HasPrefix(text("apiVersion"), "flowcontrol.apiserver.k8s.io/") {
		c.Fail("kind", "%q: want %s; flow-control objects can be given with --config, in addition to a scenario", document.Abridge(kind), Kind)
		return false
	}
	ok := true
	for _, field := range []struct{ name, want string }{{"apiVersion", APIVersion}, {"kind", Kind}} {
		n := c.Document.Root.Get(field.name)
		// The decoder reports one that is missing or no string.
		if n != nil && n.Kind == document.String && n.Text != field.want {
			c.Fail(field.name, "%q: want %s%s", document.Abridge(n.Text), field.want, document.Suggest(n.Text, []string{field.want}))
			ok = false
		}
	}
	return ok
}
