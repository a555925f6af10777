package document

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Decoder decodes nodes of one document into Go values and collects the errors.
type Decoder struct {
	File   string
	Errors Errors

	fields map[reflect.Type][]structField // of the types that have been decoded
}

// structFields returns the fields of a struct that a document can set.
func (d *Decoder) structFields(t reflect.Type) []structField {
	fields, found := d.fields[t]
	if !found {
		if d.fields == nil {
			d.fields = map[reflect.Type][]structField{}
		}
		fields = structFields(t)
		d.fields[t] = fields
	}
	return fields
}

// Unmarshaler is implemented by types that decode themselves from a node. They report errors
// with d.Fail. After an error the value is not used.
type Unmarshaler interface {
	UnmarshalDocument(d *Decoder, n *Node, path string)
}

// Fail adds an error at the position of n.
func (d *Decoder) Fail(n *Node, path, format string, args ...any) {
	d.Errors.Add(Position{d.File, n.Line, n.Column}, path, format, args...)
}

// Decode decodes n into the value to which into points. The json tag of a struct field is its
// name in the document, the fields of an embedded struct belong to the outer struct, and a field
// with the tag `document:"required"` must be present. Unknown fields, duplicate fields, wrong
// types, null items of lists and numbers out of range are errors. A null field has the same
// effect as an absent one: the Go value does not change. The tags jsonschema and document of a field
// also say its default, which it gets if the document leaves it out, and which values are valid, see
// the type limits.
func (d *Decoder) Decode(n *Node, path string, into any) {
	d.decode(n, path, reflect.ValueOf(into).Elem())
}

func (d *Decoder) decode(n *Node, path string, v reflect.Value) {
	if n.Kind == Null {
		return
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.decode(n, path, v.Elem())
		return
	}
	if u, ok := v.Addr().Interface().(Unmarshaler); ok {
		u.UnmarshalDocument(d, n, path)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.decodeStruct(n, path, v)
	case reflect.Slice:
		if !d.expect(n, path, List) {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
		for i, item := range n.Items {
			if item.Kind == Null {
				d.Fail(item, Index(path, i), "is empty")
				continue
			}
			d.decode(item, Index(path, i), v.Index(i))
		}
	case reflect.Map:
		d.decodeMap(n, path, v)
	case reflect.String:
		if d.expect(n, path, String) {
			v.SetString(n.Text)
		}
	case reflect.Bool:
		if d.expect(n, path, Bool) {
			v.SetBool(n.Text == "true")
		}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		d.decodeInteger(n, path, v)
	case reflect.Float64:
		if !d.expect(n, path, Number) {
			return
		}
		f, err := strconv.ParseFloat(n.Text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			d.Fail(n, path, "%s is not a finite number", Abridge(n.Text))
			return
		}
		v.SetFloat(f)
	default:
		panic("document: cannot decode into a value of type " + v.Type().String())
	}
}

// expect reports whether n is of the wanted kind, and adds an error if not.
func (d *Decoder) expect(n *Node, path string, want Kind) bool {
	if n.Kind == want {
		return true
	}
	switch {
	case want == String && (n.Kind == Number || n.Kind == Bool):
		d.Fail(n, path, "%s is %v; want a string: put it in quotes", Abridge(n.Text), n.Kind)
	case n.Kind == String:
		d.Fail(n, path, "%q is %v; want %v", Abridge(n.Text), n.Kind, want)
	case n.Kind == List || n.Kind == Object:
		d.Fail(n, path, "is %v; want %v", n.Kind, want)
	default:
		d.Fail(n, path, "%s is %v; want %v", Abridge(n.Text), n.Kind, want)
	}
	return false
}

// Abridge returns the first 60 characters of a value, so that a message that quotes it stays
// readable.
func Abridge(s string) string {
	const length = 60
	if runes := []rune(s); len(runes) > length {
		return string(runes[:length]) + "…"
	}
	return s
}

func (d *Decoder) decodeInteger(n *Node, path string, v reflect.Value) {
	if !d.expect(n, path, Number) {
		return
	}
	if v.Kind() == reflect.Uint64 {
		u, err := strconv.ParseUint(n.Text, 0, 64)
		if err != nil {
			d.Fail(n, path, "%s is not a whole number from 0 to 2^64-1", Abridge(n.Text))
			return
		}
		v.SetUint(u)
		return
	}
	i, err := strconv.ParseInt(n.Text, 0, v.Type().Bits())
	if err != nil {
		d.Fail(n, path, "%s is not a whole number of %d bits", Abridge(n.Text), v.Type().Bits())
		return
	}
	v.SetInt(i)
}

func (d *Decoder) decodeMap(n *Node, path string, v reflect.Value) {
	if !d.expect(n, path, Object) {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, f := range d.distinct(n, path) {
		value := reflect.New(v.Type().Elem()).Elem()
		d.decode(f.Value, Join(path, f.Name), value)
		v.SetMapIndex(reflect.ValueOf(f.Name).Convert(v.Type().Key()), value)
	}
}

// distinct returns the fields of n without duplicates, for which it adds errors.
func (d *Decoder) distinct(n *Node, path string) []Field {
	lines := make(map[string]int, len(n.Fields))
	fields := make([]Field, 0, len(n.Fields))
	for _, f := range n.Fields {
		if earlier, ok := lines[f.Name]; ok {
			d.Errors.Add(Position{d.File, f.Line, f.Column}, Join(path, f.Name),
				"duplicate field, first defined on line %d", earlier)
			continue
		}
		lines[f.Name] = f.Line
		fields = append(fields, f)
	}
	return fields
}

func (d *Decoder) decodeStruct(n *Node, path string, v reflect.Value) {
	d.setDefaults(v)
	if !d.expect(n, path, Object) {
		return
	}
	known := d.structFields(v.Type())
	for _, f := range d.distinct(n, path) {
		i := slices.IndexFunc(known, func(sf structField) bool { return sf.name == f.Name })
		if i < 0 {
			d.Errors.Add(Position{d.File, f.Line, f.Column}, Join(path, f.Name),
				"unknown field%s", fieldHint(f.Name, v.Type(), known))
			continue
		}
		value, at, before := v.FieldByIndex(known[i].index), Join(path, f.Name), len(d.Errors)
		d.decode(f.Value, at, value)
		if f.Value.Kind != Null && len(d.Errors) == before {
			known[i].limits.check(d, f.Value, at, value)
		}
	}
	for _, sf := range known {
		if !sf.required {
			continue
		}
		if value := n.Get(sf.name); value == nil || value.Kind == Null {
			d.Fail(n, Join(path, sf.name), "is missing")
		}
	}
}

// Hint returns text that suggests the name closest to a misspelt name or, if no name is
// similar, lists all names.
func Hint(name string, names []string) string {
	if s := Suggest(name, names); s != "" {
		return s
	}
	return "; want one of " + strings.Join(names, ", ")
}

// fieldHint returns text that suggests the field that is meant by an unknown one: a field that has the word in its
// tag also, a field of a part, the most similar name, or all names.
func fieldHint(word string, t reflect.Type, known []structField) string {
	if path := FieldPath(t, word); path != "" {
		return fmt.Sprintf(" (did you mean %q?)", path)
	}
	names := make([]string, len(known))
	for i, sf := range known {
		names[i] = sf.name
	}
	return Hint(word, names)
}

// FieldPath returns the path of the field that people mean by a word, in a struct or in the structs that it
// contains, lists excepted: "" if there is none. A field is known by its name and by the words of its tag also,
// which are separated by commas; case, dashes and underscores do not count. Of several fields the one with the
// shortest path is meant, then the first of the struct.
//
//	Group string `json:"group" also:"apiGroup"`
func FieldPath(t reflect.Type, word string) string {
	word = plainWord(word)
	type part struct {
		typ  reflect.Type
		path string
	}
	seen := map[reflect.Type]bool{}
	for parts := []part{{t, ""}}; len(parts) > 0; parts = parts[1:] {
		p := parts[0]
		if seen[p.typ] {
			continue
		}
		seen[p.typ] = true
		fields := structFields(p.typ)
		for _, f := range fields {
			if slices.ContainsFunc(append(f.also, f.name), func(w string) bool { return plainWord(w) == word }) {
				return Join(p.path, f.name)
			}
		}
		for _, f := range fields {
			t := p.typ.FieldByIndex(f.index).Type
			if t.Kind() == reflect.Pointer {
				t = t.Elem()
			}
			if t.Kind() == reflect.Struct {
				parts = append(parts, part{t, Join(p.path, f.name)})
			}
		}
	}
	return ""
}

var separators = strings.NewReplacer("-", "", "_", "")

// plainWord returns a name as names are compared that people write differently.
func plainWord(name string) string {
	return separators.Replace(strings.ToLower(name))
}

// structField is a field of a Go struct that a document can set.
type structField struct {
	name     string
	index    []int // for reflect.Value.FieldByIndex
	required bool
	also     []string // what people call it
	fallback string   // the default as a document would have it; "" for the zero value
	limits   limits
}

// structFields returns the fields that a document can set, in the order of the struct.
func structFields(t reflect.Type) []structField {
	var fields []structField
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" {
			continue
		}
		field := structField{name: name, index: f.Index}
		if words := f.Tag.Get("also"); words != "" {
			field.also = strings.Split(words, ",")
		}
		field.readTags(f.Tag)
		fields = append(fields, field)
	}
	return fields
}
