package document

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// text and number return nodes at a line and a column.
func text(s string, line, column int) *Node {
	return &Node{Kind: String, Text: s, Line: line, Column: column}
}

func number(s string, line, column int) *Node {
	return &Node{Kind: Number, Text: s, Line: line, Column: column}
}

func list(line, column int, items ...*Node) *Node {
	return &Node{Kind: List, Items: items, Line: line, Column: column}
}

func object(line, column int, fields ...Field) *Node {
	return &Node{Kind: Object, Fields: fields, Line: line, Column: column}
}

// field returns a field whose name is on the line of the value, ten columns before it.
func field(name string, value *Node) Field {
	return Field{Name: name, Line: value.Line, Column: max(1, value.Column-10), Value: value}
}

func TestPositionOfAbsentValuesIsTheEnclosingOne(t *testing.T) {
	d := Document{File: "f.yaml", Root: object(1, 1,
		field("spec", object(2, 3, field("clients", list(3, 5, number("7", 4, 7))))))}
	for path, want := range map[string]string{
		"":                        "f.yaml:1:1",
		"spec.clients[0]":         "f.yaml:4:7",
		"spec.clients[1]":         "f.yaml:3:5",
		"spec.clients[0].deeper":  "f.yaml:4:7",
		"spec.servers.replicas":   "f.yaml:2:3",
		`spec["clients"][0]`:      "f.yaml:4:7",
		`[""]`:                    "f.yaml:1:1",
		"metadata.name":           "f.yaml:1:1",
		"spec.clients.name.inner": "f.yaml:3:5",
	} {
		if got := d.Position(path).String(); got != want {
			t.Errorf("the position of %q is %s, want %s", path, got, want)
		}
	}
}

func TestPositionOmitsUnknownParts(t *testing.T) {
	for want, p := range map[string]Position{
		"f.yaml:3:4": {"f.yaml", 3, 4},
		"f.yaml:3":   {"f.yaml", 3, 0},
		"f.yaml":     {"f.yaml", 0, 0},
		"3:4":        {"", 3, 4},
		"":           {},
	} {
		if p.String() != want {
			t.Errorf("%#v is printed as %q, want %q", p, p.String(), want)
		}
	}
}

func TestSetReplacesAndAdds(t *testing.T) {
	d := Document{Root: object(1, 1, field("spec", object(2, 3,
		field("seed", number("1", 2, 9)),
		field("workload", list(3, 5, object(4, 5))),
		field("empty", &Node{Kind: Null, Line: 5, Column: 9}))))}
	for _, path := range []string{"spec.seed", "spec.workload[0].clients", "spec.servers.replicas",
		"spec.empty.limit", `spec["a.b"][""]`} {
		value := number("42", 0, 0)
		if err := d.Set(path, value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		steps, _ := splitPath(path)
		n := d.Root
		for _, s := range steps {
			n = n.step(s)
		}
		if n != value {
			t.Errorf("%s is %v after it was set", path, n)
		}
	}
	if got := len(d.Root.Get("spec").Fields); got != 5 {
		t.Errorf("spec has %d fields, want the first 3, servers and a.b", got)
	}
}

func TestSetErrors(t *testing.T) {
	for path, want := range map[string]string{
		"":                              "the path is empty",
		".":                             "a field name is empty",
		"a..b":                          "a field name is empty",
		"seed[0]":                       "seed is a number, not a list",
		"seed.x":                        "seed is a number, not an object",
		"[0]":                           "the document is an object, not a list",
		"items[1]":                      "items has no item [1]; its length is 1",
		"items[-1]":                     `"-1" is not a list index`,
		"items[x]":                      "the items of items have no names; use an index, such as [0]",
		"named[mcie]":                   `named has no item named "mcie" (did you mean "mice"?)`,
		`named["0"]`:                    `named has no item named "0"; want one of mice, rats`,
		"named.mice":                    "named is a list, not an object",
		"items[]":                       "want an index or a name in the brackets",
		"items[0":                       "a bracket is not closed",
		"items[0]name":                  `a dot is missing before "name"`,
		`["seed`:                        "closing quote",
		`["seed"x`:                      "closing quote",
		"items[9999999999999999999999]": "is not a list index",
	} {
		d := Document{Root: object(1, 1, field("seed", number("1", 1, 7)), field("items", list(2, 3, number("1", 2, 5))),
			field("named", list(3, 3, object(3, 5, field("name", text("mice", 3, 15))), object(4, 5, field("name", text("rats", 4, 15))), number("7", 5, 5))))}
		err := d.Set(path, number("2", 0, 0))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("set %q: %v, want %q", path, err, want)
		}
	}
}

// A path may give an item of a list by its name or its index, and a field after a dot or in
// brackets.
func TestItemsByName(t *testing.T) {
	d := Document{Root: object(1, 1, field("named", list(3, 3,
		number("7", 5, 5), object(3, 5, field("name", text("mice", 3, 15))), object(4, 5, field("name", text("a b]", 4, 15))))))}
	for path, want := range map[string]string{
		"named[mice].x":        "named[1].x",
		`[named]["mice"].x`:    "named[1].x",
		`named["a b]"].y.z[0]`: "named[2].y.z[0]",
		`named["a b]"]["y"]`:   "named[2].y",
		"named[0]":             "named[0]",
		"none[mice][0]":        "none.mice[0]",
	} {
		if got, err := d.Resolve(path); got != want || err != nil {
			t.Errorf("%s is %s, %v, want %s", path, got, err, want)
		}
		if d.Position(path) != d.Position(want) {
			t.Errorf("%s is at %v, want %v", path, d.Position(path), d.Position(want))
		}
	}
	if got, err := d.Resolve("named[*].x"); got != "named[*].x" || err != nil {
		t.Errorf("named[*].x is %s, %v", got, err)
	}
	for path, want := range map[string][]string{
		"named[*].x":    {"named[0].x", "named[1].x", "named[2].x"},
		"named[mice].x": {"named[1].x"},
		"none[*].x":     {"none.*.x"},
	} {
		got, err := d.Expand(path)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is expanded to %q, %v, want %q", path, got, err, want)
		}
	}
	if _, err := d.Expand("named[rats].x"); err == nil || !strings.Contains(err.Error(), `no item named "rats"`) {
		t.Errorf("named[rats].x is expanded: %v", err)
	}
	if err := d.Set("named[mice].x", number("9", 9, 9)); err != nil || d.Root.Get("named").Items[1].Get("x").Line != 9 {
		t.Errorf("named[mice].x is not set: %v", err)
	}
}

// For arbitrary names, the path that Join builds is the path of the value.
func TestJoinedPathsFindTheValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := ""
		var names []string
		for range rapid.IntRange(1, 5).Draw(t, "depth") {
			name := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", ".", "[0]", `"`, "a.b", "p(99)", "a\nb"})).Draw(t, "name")
			names = append(names, name)
			path = Join(path, name)
		}
		var d Document
		if err := d.Set(path, number("1", 3, 4)); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		n := d.Root
		for _, name := range names {
			n = n.Get(name)
		}
		if n == nil || n.Text != "1" {
			t.Fatalf("%q is not the path of the value at %q", path, names)
		}
		if at := d.Position(path); at.Line != 3 || at.Column != 4 {
			t.Fatalf("%q is at %v", path, at)
		}
		if strings.Contains(path, "\n") {
			t.Fatalf("%q is more than one line", path)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{"spec.workload[0].clients", `a["b.c"][""]`, "a[", `["`, ".", "a..b", "[0]x", `["\x"]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		d := Document{Root: &Node{Kind: Object}}
		if err := d.Set(path, number("1", 3, 4)); err == nil && d.Position(path).Line != 3 {
			t.Errorf("%q was set, but Position does not find it", path)
		}
	})
}

func TestGet(t *testing.T) {
	d := Document{Root: object(1, 1, field("a", list(1, 1, object(1, 1, field("name", text("x", 1, 1)), field("b", number("1", 1, 1))))))}
	for path, want := range map[string]bool{"a": true, "a[0].b": true, "a[x].b": true, "": true,
		"a[1].b": false, "a[y].b": false, "a[0].c": false, "b.c": false, "a[": false} {
		if got := d.Get(path) != nil; got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
}
