// Package document is text that has been parsed but not yet understood: a tree of
// fields and values that remembers where each of them stands, and a strict decoder from
// such a tree to Go values that reports all of a file's mistakes at once, each with its
// place.
//
// The package parses no text itself: whoever hosts the core does that with the library
// of its choice and hands over the tree.
package document

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind says what a Node holds.
type Kind uint8

// The kinds of a node.
const (
	Null   Kind = iota
	Bool        // Text is "true" or "false"
	Number      // Text is the number as written
	String      // Text is the string without its quotes
	List        // Items
	Object      // Fields
)

// String returns the kind as an error message names it.
func (k Kind) String() string {
	return [...]string{"nothing", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// Node is one value of a document and where it begins.
type Node struct {
	Kind         Kind
	Text         string
	Fields       []Field
	Items        []*Node
	Line, Column int // from 1; 0 when unknown
}

// Field is one named value of an Object, in the order of the text. A name that the text
// repeats is repeated here.
type Field struct {
	Name         string
	Line, Column int // of the name
	Value        *Node
}

// Get returns the value of the field called name, nil when there is none.
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

// Position returns where the value at path stands or, when the text leaves it out, where
// the nearest thing around it does.
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

// find returns the step with the index of an item in place of its name.
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

// name returns what a node's field name says, if it is a string.
func (n *Node) name() (name string, named bool) {
	field := n.Get("name")
	if field == nil || field.Kind != String {
		return "", false
	}
	return field.Text, true
}

// Resolve returns the path in the one spelling that all others come to: items by their
// index, names in brackets only if need be.
func (d *Document) Resolve(path string) (string, error) {
	steps, err := splitPath(path)
	if err != nil {
		return "", err
	}
	n, done := d.Root, ""
	for _, s := range steps {
		if s = n.find(s); s.isIndex {
			done = Index(done, s.index)
		} else if n != nil && n.Kind == List && s.bracketed {
			return "", n.noItem(done, s.name)
		} else {
			done = Join(done, s.name)
		}
		n = n.step(s)
	}
	return done, nil
}

// noItem returns the error for a list, at path, in which nothing is called so.
func (n *Node) noItem(path, name string) error {
	var names []string
	for _, item := range n.Items {
		if name, named := item.name(); named {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has no items with names; want an index, as [0]", path)
	}
	return fmt.Errorf("%s has none called %q%s", path, Abridge(name), Hint(name, names))
}

// Set puts value at path (fields joined by dots; items of lists in brackets, by index or
// by what their field name says, as in spec.workload[0].clients and
// spec.workload[mice].clients), adding objects for the fields on the way that the document
// leaves out. A list is never extended.
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
				return fmt.Errorf("%s ends before [%d]: its length is %d", done, s.index, len(n.Items))
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

// field returns where the value of the named field is kept, adding the field if need be.
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

// Join returns the path of the named field of the object at path. Names that would not
// read as one step, or not on one line, are quoted in brackets.
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

// Within reports whether a path is that of around, or of a part of it. Both are spelled
// alike.
func Within(path, around string) bool {
	rest, found := strings.CutPrefix(path, around)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// step is one field name, or one list index, of a path. In brackets a name may also be that
// of an item of a list.
type step struct {
	name      string
	bracketed bool
	index     int
	isIndex   bool
}

// Names returns the steps of a path that has no list indices.
func Names(path string) ([]string, error) {
	steps, err := splitPath(path)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(steps))
	for i, s := range steps {
		if s.isIndex {
			return nil, fmt.Errorf("%q: want a name in the brackets, not an index; a name of digits wants quotes", path)
		}
		names[i] = s.name
	}
	return names, nil
}

func splitPath(path string) ([]step, error) {
	var steps []step
	rest := path
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, `["`):
			quoted, err := strconv.QuotedPrefix(rest[1:])
			if err != nil || !strings.HasPrefix(rest[1+len(quoted):], "]") {
				return nil, fmt.Errorf("%q: a quoted name wants a closing quote and bracket", path)
			}
			name, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("%q: %v", path, err)
			}
			steps = append(steps, step{name: name, bracketed: true})
			rest = rest[len(quoted)+2:]
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return nil, fmt.Errorf("%q: a bracket is not closed", path)
			}
			s := step{name: strings.TrimSpace(rest[1:end]), bracketed: true}
			if s.name == "" || s.name[0] == '"' {
				return nil, fmt.Errorf("%q: want an index or a name in the brackets, as [0] or [mice]", path)
			}
			if strings.Trim(s.name, "-0123456789") == "" {
				index, err := strconv.Atoi(s.name)
				if err != nil || index < 0 {
					return nil, fmt.Errorf("%q: %q is no list index", path, s.name)
				}
				s = step{index: index, isIndex: true}
			}
			steps = append(steps, s)
			rest = rest[end+1:]
		default:
			if len(steps) > 0 {
				var dotted bool
				if rest, dotted = strings.CutPrefix(rest, "."); !dotted {
					return nil, fmt.Errorf("%q: a dot is missing before %q", path, rest)
				}
			}
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, fmt.Errorf("%q: a field name is empty", path)
			}
			steps = append(steps, step{name: rest[:end]})
			rest = rest[end:]
		}
	}
	return steps, nil
}
