// Package assign implements assignments to fields of a scenario: PATH=VALUE, by which the command
// line and grids of parameters give them other values than the file does. A path leads to a field of
// the scenario, or to one of a priority level. A caller makes assignments with New and passes them to
// package loader, which applies them to each document before it is decoded.
package assign

import (
	"fmt"
	"strings"

	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/sim/scenario"
)

// Assignment gives a field of the scenario another value than the file does, or a field of a
// priority level another value than the configuration does.
type Assignment struct {
	Option string // that it comes from, as messages name it, such as --set
	Text   string // PATH=VALUE; see CheckPath; the value is YAML
}

// New returns the assignments that an option is given.
func New(option string, texts []string) []Assignment {
	all := make([]Assignment, len(texts))
	for i, text := range texts {
		all[i] = Assignment{option, text}
	}
	return all
}

// position is where errors in the assignment are.
func (a *Assignment) position() document.Position {
	return document.Position{File: a.Option + " " + document.Abridge(a.Text)}
}

// assignment is an Assignment that has been parsed.
type assignment struct {
	position     document.Position
	path         string // the long one
	level, field string // of level[NAME].FIELD; "" for what stands in the scenario
	value        string
	line         int // of the nodes that come from it: -1, -2, ..., which no node of a file has
}

// List is assignments that have been parsed, and checked as far as that needs no scenario.
type List []assignment

// Parse parses the texts of assignments.
func Parse(all []Assignment) (List, document.Errors) {
	var assignments List
	var errors document.Errors
	for i := range all {
		a := assignment{position: all[i].position(), line: -1 - i}
		path, value, found := Cut(all[i].Text, '=')
		a.path, a.value = long(strings.TrimSpace(path)), value
		if !found {
			errors.Add(a.position, "", "want PATH=VALUE, as spec.workload[mice].clients=8 or level[workload-low].handSize=6")
			continue
		}
		if err := CheckPath(a.path); err != nil {
			errors.Add(a.position, "", "%v", err)
			continue
		}
		a.level, a.field, _ = levelField(a.path)
		if _, problem := a.parse(); problem != "" {
			errors.Add(a.position, a.path, "%s", problem)
			continue
		}
		assignments = append(assignments, a)
	}
	return assignments, errors
}

// Version is the short path of the release of the servers.
const Version = "version"

// long returns the path that a short one stands for, and any other path unchanged.
func long(path string) string {
	if path == Version {
		return "spec.servers.kubernetesVersion"
	}
	return path
}

// CheckPath returns an error if a path cannot be one of any scenario. A path is spec.FIELD, in which items of
// lists stand in brackets, by index or by name; level[NAME].FIELD, a field of a priority level; or
// [Version].
func CheckPath(path string) error {
	path = long(path)
	if isLevelPath(path) {
		_, _, err := levelField(path)
		return err
	}
	if !strings.HasPrefix(path, "spec.") {
		suggestion := ""
		if head := path[:strings.IndexAny(path+".", ".[")]; head != "spec" && head != "level" {
			suggestion = document.Suggest(head, []string{"spec", "level", Version})
		}
		return fmt.Errorf("%q: want spec.FIELD, spec.workload[NAME].FIELD, level[NAME].FIELD or version%s", document.Abridge(path), suggestion)
	}
	return nil
}

// Path returns the canonical spelling of a path. The error says why the scenario has no such
// field.
func Path(s *scenario.Scenario, path string) (string, error) {
	path = long(path)
	if isLevelPath(path) {
		level, field, err := levelField(path)
		if err == nil {
			_, _, err = levelPath(s, level, field)
		}
		return document.Join("level", level) + "." + field, err
	}
	return s.Document.Resolve(path)
}

// Value returns the text of the field at path, to which an assignment would give another one. The error says why the
// scenario has no such field, or that it is not a number or a text.
func Value(s *scenario.Scenario, path string) (string, error) {
	path = long(path)
	if err := CheckPath(path); err != nil {
		return "", err
	}
	doc := s.Document
	if level, field, _ := levelField(path); level != "" {
		index, within, err := levelPath(s, level, field)
		if err != nil {
			return "", err
		}
		doc, path = new(levelDocument(s.Objects.PriorityLevels[index])), "items[0].spec."+within
	}
	if _, err := doc.Resolve(path); err != nil {
		return "", err
	}
	switch n := doc.Get(path); {
	case n == nil:
		return "", fmt.Errorf("%q: the scenario does not give this field a value%s", document.Abridge(path), suggestField(doc, path))
	case n.Kind != document.Number && n.Kind != document.String:
		return "", fmt.Errorf("%q is %v; want a number, or a text with a number", document.Abridge(path), n.Kind)
	default:
		return n.Text, nil
	}
}

// suggestField returns text that suggests what is meant by a path to nothing: the first part of it that does not exist, as the
// most similar field beside it.
func suggestField(doc *document.Document, path string) string {
	for end := strings.LastIndexByte(path, '.'); end > 0; end = strings.LastIndexByte(path[:end], '.') {
		parent := doc.Get(path[:end])
		if parent == nil {
			continue
		}
		var names []string
		for i := range parent.Fields {
			names = append(names, parent.Fields[i].Name)
		}
		name := path[end+1:]
		return document.Suggest(name[:strings.IndexAny(name+".", ".[")], names)
	}
	return ""
}

// Cut cuts a text at the first separator that is outside of quotes and brackets.
func Cut(text string, separator byte) (before, after string, found bool) {
	depth, quote := 0, byte(0)
	begins := true // whether a quote would open a quotation here: elsewhere it is an apostrophe
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && begins:
			quote = c
		case c == separator && depth == 0:
			return text[:i], text[i+1:], true
		case strings.IndexByte("[{(", c) >= 0:
			depth++
		case strings.IndexByte("]})", c) >= 0:
			depth = max(0, depth-1)
		}
		begins = strings.IndexByte(" \t[{(,:=", c) >= 0
	}
	return text, "", false
}

// parse returns a new tree of the value; an empty value is null.
func (a *assignment) parse() (value *document.Node, problem string) {
	switch strings.TrimSpace(a.value) {
	case "", "~", "null":
		return &document.Node{Kind: document.Null}, ""
	}
	docs, wrong := yaml.Parse("", []byte(a.value))
	if len(wrong) > 0 {
		return nil, wrong[0].Message
	}
	if len(docs) != 1 {
		return nil, "is several YAML documents; want one value"
	}
	return docs[0].Root, ""
}

// apply puts the value into a document at path, or at all paths that it stands for.
func (a *assignment) apply(doc *document.Document, path string) error {
	old := map[*document.Node]bool{}
	visit(doc.Root, func(n *document.Node) { old[n] = true })
	paths, err := doc.Expand(path)
	if err != nil {
		return err
	}
	for _, path := range paths {
		value, _ := a.parse()
		if err := doc.Set(path, value); err != nil {
			return err
		}
	}
	// What has been added on the way to the value, the names of fields included, is also from
	// this assignment.
	visit(doc.Root, func(n *document.Node) {
		if !old[n] {
			n.Line, n.Column = a.line, 0
		}
		for i := range n.Fields {
			if f := &n.Fields[i]; !old[f.Value] {
				f.Line, f.Column = a.line, 0
			}
		}
	})
	return nil
}

// visit calls f for each node of a tree.
func visit(n *document.Node, f func(*document.Node)) {
	if n == nil {
		return
	}
	f(n)
	for i := range n.Fields {
		visit(n.Fields[i].Value, f)
	}
	for _, item := range n.Items {
		visit(item, f)
	}
}

// Apply gives the fields of a scenario's document their values.
func (l List) Apply(doc *document.Document) (errors document.Errors) {
	for i := range l {
		a := &l[i]
		if a.level != "" {
			continue
		}
		if err := a.apply(doc, a.path); err != nil {
			errors.Add(a.position, "", "%v", err)
		}
	}
	return errors
}

// Position returns the position of the assignment for a position in what it assigned, and any other
// position unchanged.
func (l List) Position(p document.Position) document.Position {
	for i := range l {
		if l[i].line == p.Line {
			return l[i].position
		}
	}
	return p
}
