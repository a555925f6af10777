// Package document represents a text that has been parsed but not yet interpreted: a tree of
// fields and values, each with its position in the text. A strict decoder turns such a tree into
// Go values, with the defaults and within the bounds that the tags of their fields say, and reports
// all errors of a file together, each with its position. A Checker collects the errors of what
// depends on several fields.
//
// The package does not parse text, so that the core depends on no YAML library. The host of the
// core parses a file, for example with package yaml, and passes the tree.
package document

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is the type of a node's value.
type Kind uint8

// The kinds of a node.
const (
	Null   Kind = iota
	Bool        // Text is "true" or "false"
	Number      // Text is the number as written
	String      // Text is the string without its quotes
	List        // the value is in Items
	Object      // the value is in Fields
)

// String returns the kind for an error message.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// Node is one value of a document, with the position of its first character.
type Node struct {
	Kind         Kind
	Text         string
	Fields       []Field
	Items        []*Node
	Line, Column int // from 1; 0 when unknown
}

// Field is one named value of an Object. Fields are in the order of the text, and a name may
// occur several times.
type Field struct {
	Name         string
	Line, Column int // of the name
	Value        *Node
}

// Get returns the value of the first field with this name, or nil if there is none. N may be nil.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Fields {
		if n.Fields[i].Name == name {
			return n.Fields[i].Value
		}
	}
	return nil
}

// Document is one parsed document of a file.
type Document struct {
	File string
	Root *Node
}

// Position returns the position of the value at path or, if the text does not have it, of the
// closest enclosing value.
func (d *Document) Position(path string) Position {
	steps, _ := splitPath(path)
	n, line, column := d.Root, 0, 0
	if n != nil {
		line, column = n.Line, n.Column
	}
	for _, s := range steps {
		next := n.step(n.find(s))
		if next == nil {
			break
		}
		n, line, column = next, next.Line, next.Column
	}
	return Position{File: d.File, Line: line, Column: column}
}

// Get returns the value at path, or nil if the document has none.
func (d *Document) Get(path string) *Node {
	steps, err := splitPath(path)
	if err != nil {
		return nil
	}
	n := d.Root
	for _, s := range steps {
		n = n.step(n.find(s))
	}
	return n
}

// step returns the value that one step leads to, or nil if there is none.
func (n *Node) step(s step) *Node {
	switch {
	case n == nil:
		return nil
	case !s.isIndex:
		return n.Get(s.name)
	case s.index < len(n.Items):
		return n.Items[s.index]
	}
	return nil
}

// find returns s, with an index in place of the name if n is a list and s names one of its items.
func (n *Node) find(s step) step {
	if n == nil || n.Kind != List || !s.bracketed {
		return s
	}
	for i, item := range n.Items {
		if name, named := item.name(); named && name == s.name {
			return step{index: i, isIndex: true}
		}
	}
	return s
}

// name returns the value of the field "name" of n, if it is a string.
func (n *Node) name() (name string, named bool) {
	field := n.Get("name")
	if field == nil || field.Kind != String {
		return "", false
	}
	return field.Text, true
}

// Resolve returns the canonical spelling of a path, so that paths can be compared: items of lists
// are given by their index, and names are in brackets only where that is necessary.
func (d *Document) Resolve(path string) (string, error) {
	steps, err := splitPath(path)
	if err != nil {
		return "", err
	}
	n, done := d.Root, ""
	for _, s := range steps {
		if s = n.find(s); s.isIndex {
			done = Index(done, s.index)
		} else if n.all(s) {
			done += "[*]"
			s = step{isIndex: true} // all are alike
		} else if n != nil && n.Kind == List && s.bracketed {
			return "", n.noItem(done, s.name)
		} else {
			done = Join(done, s.name)
		}
		n = n.step(s)
	}
	return done, nil
}

// all returns whether s stands for all items of the list n: it is [*], and no item has this name.
func (n *Node) all(s step) bool {
	return n != nil && n.Kind == List && s.bracketed && s.name == "*"
}

// Expand returns the paths that a path stands for: with [*] for a list, one for each of its items.
func (d *Document) Expand(path string) ([]string, error) {
	steps, err := splitPath(path)
	if err != nil {
		return nil, err
	}
	paths, nodes := []string{""}, []*Node{d.Root}
	for _, s := range steps {
		var longer []string
		var next []*Node
		for i, n := range nodes {
			switch s := n.find(s); {
			case s.isIndex:
				longer, next = append(longer, Index(paths[i], s.index)), append(next, n.step(s))
			case n.all(s):
				for k, item := range n.Items {
					longer, next = append(longer, Index(paths[i], k)), append(next, item)
				}
			case n != nil && n.Kind == List && s.bracketed:
				return nil, n.noItem(paths[i], s.name)
			default:
				longer, next = append(longer, Join(paths[i], s.name)), append(next, n.step(s))
			}
		}
		paths, nodes = longer, next
	}
	return paths, nil
}

// noItem returns the error for a list at path that has no item with this name.
func (n *Node) noItem(path, name string) error {
	var names []string
	for _, item := range n.Items {
		if name, named := item.name(); named {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("the items of %s have no names; use an index, such as [0]", path)
	}
	return fmt.Errorf("%s has no item named %q%s", path, Abridge(name), Hint(name, names))
}

// Set replaces the value at path. The names of fields are joined by dots. The items of lists are
// given in brackets, by their index or by the value of their field "name":
// spec.workload[0].clients and spec.workload[mice].clients. Set adds the fields of objects that
// the document does not have, but no items of lists.
func (d *Document) Set(path string, value *Node) error {
	steps, err := splitPath(path)
	if err != nil {
		return err
	}
	if len(steps) == 0 {
		return fmt.Errorf("the path is empty")
	}
	if d.Root == nil {
		d.Root = &Node{Kind: Object}
	}
	at := &d.Root
	done := ""
	kind := func(n *Node, want string) error {
		what := done
		if what == "" {
			what = "the document"
		}
		return fmt.Errorf("%s is %v, not %s", what, n.Kind, want)
	}
	for _, s := range steps {
		n := *at
		if s = n.find(s); s.isIndex {
			if n.Kind != List {
				return kind(n, "a list")
			}
			if s.index >= len(n.Items) {
				return fmt.Errorf("%s has no item [%d]; its length is %d", done, s.index, len(n.Items))
			}
			at = &n.Items[s.index]
			done = Index(done, s.index)
			continue
		}
		if n.Kind == Null {
			*n = Node{Kind: Object, Line: n.Line, Column: n.Column}
		}
		if n.Kind == List && s.bracketed {
			return n.noItem(done, s.name)
		}
		if n.Kind != Object {
			return kind(n, "an object")
		}
		done = Join(done, s.name)
		at = n.field(s.name)
	}
	*at = value
	return nil
}

// field returns a pointer to the value of the named field, which it adds if n does not have it.
func (n *Node) field(name string) **Node {
	for i := range n.Fields {
		if n.Fields[i].Name == name {
			return &n.Fields[i].Value
		}
	}
	n.Fields = append(n.Fields, Field{Name: name, Line: n.Line, Column: n.Column,
		Value: &Node{Kind: Null, Line: n.Line, Column: n.Column}})
	return &n.Fields[len(n.Fields)-1].Value
}

// Join returns the path of the named field of the object at path. A name that contains a
// separator or an unprintable character is quoted in brackets, so that a path is one line and
// can be split again.
func Join(path, name string) string {
	if name == "" || strings.ContainsAny(name, `.[]"{}`) || strings.ContainsFunc(name, unprintable) {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func unprintable(r rune) bool { return !strconv.IsPrint(r) }

// Index returns the path of item i of the list at path.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Within reports whether path is the path around, or that of a value within it. Both must be in
// the same spelling.
func Within(path, around string) bool {
	remaining, found := strings.CutPrefix(path, around)
	return found && (remaining == "" || remaining[0] == '.' || remaining[0] == '[')
}

// step is one part of a path: the name of a field, or the index of an item of a list. A name in
// brackets may also be the name of an item.
type step struct {
	name      string
	bracketed bool
	index     int
	isIndex   bool
}

// Names returns the names in a path. An index in the path is an error.
func Names(path string) ([]string, error) {
	steps, err := splitPath(path)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(steps))
	for i, s := range steps {
		if s.isIndex {
			return nil, fmt.Errorf("%q: want a name in the brackets, not an index; put quotes around a name of digits", path)
		}
		names[i] = s.name
	}
	return names, nil
}

func splitPath(path string) ([]step, error) {
	var steps []step
	remaining := path
	for remaining != "" {
		switch {
		case strings.HasPrefix(remaining, `["`):
			quoted, err := strconv.QuotedPrefix(remaining[1:])
			if err != nil || !strings.HasPrefix(remaining[1+len(quoted):], "]") {
				return nil, fmt.Errorf("%q: a quoted name has no closing quote and bracket", path)
			}
			name, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("%q: %v", path, err)
			}
			steps = append(steps, step{name: name, bracketed: true})
			remaining = remaining[len(quoted)+2:]
		case remaining[0] == '[':
			end := strings.IndexByte(remaining, ']')
			if end < 0 {
				return nil, fmt.Errorf("%q: a bracket is not closed", path)
			}
			s := step{name: strings.TrimSpace(remaining[1:end]), bracketed: true}
			if s.name == "" || s.name[0] == '"' {
				return nil, fmt.Errorf("%q: want an index or a name in the brackets, such as [0] or [mice]", path)
			}
			if strings.Trim(s.name, "-0123456789") == "" {
				index, err := strconv.Atoi(s.name)
				if err != nil || index < 0 {
					return nil, fmt.Errorf("%q: %q is not a list index", path, s.name)
				}
				s = step{index: index, isIndex: true}
			}
			steps = append(steps, s)
			remaining = remaining[end+1:]
		default:
			if len(steps) > 0 {
				var dotted bool
				if remaining, dotted = strings.CutPrefix(remaining, "."); !dotted {
					return nil, fmt.Errorf("%q: a dot is missing before %q", path, remaining)
				}
			}
			end := strings.IndexAny(remaining, ".[")
			if end < 0 {
				end = len(remaining)
			}
			if end == 0 {
				return nil, fmt.Errorf("%q: a field name is empty", path)
			}
			steps = append(steps, step{name: remaining[:end]})
			remaining = remaining[end:]
		}
	}
	return steps, nil
}
