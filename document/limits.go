package document

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// limits are the valid values of a field, as its tags say them:
//
//	Replicas int `json:"replicas" jsonschema:"default=1,minimum=1,maximum=100"`
//	Clients  int `json:"clients" jsonschema:"default=1,minimum=1" document:"maximum=10000000"`
//
// The keywords are those of JSON Schema. They apply wherever they stand: in the tag jsonschema, which the
// schema shows, or in the tag document, for what it does not show. The default and the bounds are written
// as in a document, so that a duration is 60s. Limits apply to what a document says; a field that is left
// out has its default or its zero value, which need not be within them.
type limits struct {
	enum             []string // the valid strings, of a list those of its items; any if empty
	minimum, maximum string   // as a document would have them; "" without such a bound
	exclusive        bool     // the minimum itself is not valid
	message          string   // what an error says in place of "{value}: want {want}"
}

// readTags reads what the tags say of a field.
func (f *structField) readTags(tag reflect.StructTag) {
	f.limits.message = tag.Get("message")
	for _, keyword := range strings.Split(tag.Get("jsonschema")+","+tag.Get("document"), ",") {
		switch name, value, _ := strings.Cut(keyword, "="); name {
		case "required":
			f.required = true
		case "default":
			f.fallback = value
		case "enum":
			f.limits.enum = append(f.limits.enum, value)
		case "minimum":
			f.limits.minimum = value
		case "exclusiveMinimum":
			f.limits.minimum, f.limits.exclusive = value, true
		case "maximum":
			f.limits.maximum = value
		}
	}
}

// SetDefaults sets the fields of the struct to which into points to the defaults that their tags say, and so
// those of the structs in it. Fields without a default do not change. A struct that is an Unmarshaler is one
// value: it has a default only if the tag of its field says one.
func SetDefaults(into any) { new(Decoder).setDefaults(reflect.ValueOf(into).Elem()) }

func (d *Decoder) setDefaults(v reflect.Value) {
	for _, f := range d.structFields(v.Type()) {
		field := v.FieldByIndex(f.index)
		if f.fallback != "" {
			setText(field, f.fallback)
		} else if _, whole := field.Addr().Interface().(Unmarshaler); field.Kind() == reflect.Struct && !whole {
			d.setDefaults(field)
		}
	}
}

// setText sets v to a value that a tag says.
func setText(v reflect.Value, text string) {
	n := &Node{Kind: String, Text: text}
	if _, decodes := reflect.New(pointed(v.Type())).Interface().(Unmarshaler); !decodes {
		switch pointed(v.Type()).Kind() {
		case reflect.Bool:
			n.Kind = Bool
		case reflect.String:
		default:
			n.Kind = Number
		}
	}
	var d Decoder
	if d.decode(n, "", v); len(d.Errors) > 0 {
		panic(fmt.Sprintf("document: a tag says %q for a field of type %v: %v", text, v.Type(), d.Errors))
	}
}

// pointed returns the type to which a pointer type points, and any other type itself.
func pointed(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// check adds an error if the value of n, which has been decoded into v, is not valid.
func (l *limits) check(d *Decoder, n *Node, path string, v reflect.Value) {
	v = reflect.Indirect(v)
	switch {
	case len(l.enum) == 0:
	case v.Kind() == reflect.String && !slices.Contains(l.enum, v.String()):
		d.Fail(n, path, "%s", notOneOf(v.String(), l.enum))
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			if name := v.Index(i).String(); !slices.Contains(l.enum, name) {
				d.Fail(n.Items[i], Index(path, i), "%s", notOneOf(name, l.enum))
			}
		}
	}
	low, high := l.minimum != "", l.maximum != ""
	if low {
		order := compare(v, l.minimum)
		low = order < 0 || l.exclusive && order == 0
	}
	if high {
		high = compare(v, l.maximum) > 0
	}
	if !low && !high {
		return
	}
	message := l.message
	if message == "" {
		message = "{value}: want {want}"
		// A quantity at its excluded minimum is 0, whatever its unit.
		if _, quantity := v.Addr().Interface().(Unmarshaler); quantity && low {
			message = "want {want}"
		}
	}
	d.Fail(n, path, "%s", strings.NewReplacer("{value}", fmt.Sprint(v), "{want}", l.String()).Replace(message))
}

// String returns the bounds in words.
func (l *limits) String() string {
	switch {
	case l.minimum == "":
		return "at most " + l.maximum
	case l.exclusive && l.maximum == "":
		return "more than " + l.minimum
	case l.exclusive:
		return "more than " + l.minimum + " and at most " + l.maximum
	case l.maximum == "":
		return l.minimum + " or more"
	}
	return l.minimum + " to " + l.maximum
}

// compare compares a number with a bound.
func compare(v reflect.Value, bound string) int {
	b := reflect.New(v.Type()).Elem()
	setText(b, bound)
	switch {
	case v.CanInt():
		return cmp.Compare(v.Int(), b.Int())
	case v.CanUint():
		return cmp.Compare(v.Uint(), b.Uint())
	}
	return cmp.Compare(v.Float(), b.Float())
}
