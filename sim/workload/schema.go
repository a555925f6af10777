package workload

import (
	"apfsim/document"

	"github.com/invopop/jsonschema"
)

var one = func() *uint64 { n := uint64(1); return &n }()

// requireOneOf returns a schema for each of the fields: an object that has it.
func requireOneOf(fields ...string) []*jsonschema.Schema {
	schemas := make([]*jsonschema.Schema, len(fields))
	for i, f := range fields {
		schemas[i] = &jsonschema.Schema{Required: []string{f}}
	}
	return schemas
}

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
