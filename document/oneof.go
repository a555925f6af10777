package document

import (
	"reflect"
	"strings"
)

// FieldNames returns the names of the fields of a struct in a document, in their order.
func FieldNames[T any]() (names []string) {
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// DecodeOneOf decodes an object of which exactly one of the fields in kinds must be given.
// A field that is null is not given.
func (d *Decoder) DecodeOneOf(n *Node, path string, kinds []string, into any) {
	before := len(d.Errors)
	d.Decode(n, path, into)
	var given []string
	for _, kind := range kinds {
		if value := n.Get(kind); value != nil && value.Kind != Null {
			given = append(given, kind)
		}
	}
	switch {
	case n.Kind != Object: // Decode has reported it
	case len(given) > 1:
		d.Fail(n, path, "has %s: want one of them", strings.Join(given, " and "))
	case len(given) == 0 && len(d.Errors) == before: // a misspelt field is one error, not two
		d.Fail(n, path, "want one of %s", strings.Join(kinds, ", "))
	}
}
