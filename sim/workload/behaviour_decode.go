package workload

import (
	"reflect"
	"strings"
	"time"

	"apfsim/document"
	"apfsim/sim/quantity"

	"github.com/invopop/jsonschema"
)

// kindNames are the names of the kinds.
var kindNames = fieldNames(reflect.TypeFor[Behaviour]())

// fieldNames returns the names of the fields of a type in a scenario file.
func fieldNames(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// UnmarshalDocument implements document.Unmarshaler.
func (b *Behaviour) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Behaviour
	d.DecodeOneOf(n, path, kindNames, (*plain)(b))
}

// JSONSchemaExtend completes the description of the type.
func (Behaviour) JSONSchemaExtend(s *jsonschema.Schema) {
	s.MinProperties, s.MaxProperties = one, one
	s.Description = "What the clients do, in the place of request and arrivals: one of the behaviours."
}

// UnmarshalDocument implements document.Unmarshaler.
func (q *Queue) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	document.SetDefaults(q)
	named(d, n, path, []string{"Default"}, func(string) {}, func() {
		type plain Queue
		d.Decode(n, path, (*plain)(q))
	})
}

// JSONSchemaExtend completes the description of the type.
func (Queue) JSONSchemaExtend(s *jsonschema.Schema) { orNamed(s, "Default", "Default") }

// named decodes a value that is one of some names, or an object.
func named(d *document.Decoder, n *document.Node, path string, names []string, byName func(string), object func()) {
	want := ""
	for _, name := range names {
		want += name + ", "
	}
	switch {
	case n.Kind == document.Object:
		object()
		return
	case n.Kind != document.String:
		d.Fail(n, path, "is %v; want %sor an object", n.Kind, want)
		return
	}
	for _, name := range names {
		if n.Text == name {
			byName(name)
			return
		}
	}
	d.Fail(n, path, "%q: want %sor an object%s", document.Abridge(n.Text), want, document.Suggest(n.Text, names))
}

// orNamed lets a schema be one of some names, too.
func orNamed(s *jsonschema.Schema, byDefault string, names ...any) {
	parameters := *s
	*s = jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string", Enum: names}, &parameters}, Description: parameters.Description, Default: byDefault}
}

// defaultBackoff is client-go's retry.DefaultBackoff. Its retry.DefaultRetry is what the tags of Conflict say.
func defaultBackoff() Conflict {
	return Conflict{Steps: 4, Duration: quantity.Duration(10 * time.Millisecond), Factor: 5, Jitter: 0.1}
}

// UnmarshalDocument implements document.Unmarshaler.
func (c *Conflict) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	document.SetDefaults(c)
	named(d, n, path, []string{"None", "Default", "Backoff"}, func(name string) {
		switch name {
		case "None":
			*c = Conflict{Steps: 1}
		case "Backoff":
			*c = defaultBackoff()
		}
	}, func() {
		type plain Conflict
		d.Decode(n, path, (*plain)(c))
	})
}

// JSONSchemaExtend completes the description of the type.
func (Conflict) JSONSchemaExtend(s *jsonschema.Schema) {
	orNamed(s, "None", "None", "Default", "Backoff")
}
