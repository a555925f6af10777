package scenario

import (
	"fmt"
	"strings"

	"apfsim/document"
	"apfsim/document/yaml"
)

// Assignment gives a field another value than the scenario file does, or a field of a
// priority level another than the configuration does.
type Assignment struct {
	Option string // that it comes from, as messages name it, such as --set
	Text   string // PATH=VALUE; see CheckPath; the value is YAML
}

// Assignments returns those that an option is given.
func Assignments(option string, texts []string) []Assignment {
	all := make([]Assignment, len(texts))
	for i, text := range texts {
		all[i] = Assignment{option, text}
	}
	return all
}

// place is where mistakes in the assignment are.
func (a *Assignment) place() document.Position {
	return document.Position{File: a.Option + " " + document.Abridge(a.Text)}
}

// assignment is one that has been taken apart.
type assignment struct {
	place        document.Position
	path         string
	level, field string // of level[NAME].FIELD; "" for what stands in the scenario
	value        string
	line         int // of the nodes that come from it: -1, -2, ... tells them from those of the file
}

// parseAssignments takes the texts of assignments apart.
func parseAssignments(all []Assignment) ([]assignment, document.Errors) {
	var assignments []assignment
	var mistakes document.Errors
	for i := range all {
		a := assignment{place: all[i].place(), line: -1 - i}
		path, value, found := Cut(all[i].Text, '=')
		a.path, a.value = strings.TrimSpace(path), value
		if !found {
			mistakes.Add(a.place, "", "want PATH=VALUE, as spec.workload[mice].clients=8 or level[workload-low].handSize=6")
			continue
		}
		if err := CheckPath(a.path); err != nil {
			mistakes.Add(a.place, "", "%v", err)
			continue
		}
		a.level, a.field, _ = levelField(a.path)
		if _, problem := a.parse(); problem != "" {
			mistakes.Add(a.place, a.path, "%s", problem)
			continue
		}
		assignments = append(assignments, a)
	}
	return assignments, mistakes
}

// CheckPath says what is wrong with a path by itself. One is spec.FIELD, in which items of
// lists stand in brackets, by index or by name, or level[NAME].FIELD, a field of a priority
// level.
func CheckPath(path string) error {
	if isLevelPath(path) {
		_, _, err := levelField(path)
		return err
	}
	if !strings.HasPrefix(path, "spec.") {
		suggestion := ""
		if head := path[:strings.IndexAny(path+".", ".[")]; head != "spec" && head != "level" {
			suggestion = document.Suggest(head, []string{"spec", "level"})
		}
		return fmt.Errorf("%q: want spec.FIELD, spec.workload[NAME].FIELD or level[NAME].FIELD%s", document.Abridge(path), suggestion)
	}
	return nil
}

// Path returns a path in the one spelling that all others of it come to. The error says why
// the scenario has none such.
func (s *Scenario) Path(path string) (string, error) {
	if isLevelPath(path) {
		level, field, err := levelField(path)
		if err == nil {
			_, _, err = s.levelPath(level, field)
		}
		return document.Join("level", level) + "." + field, err
	}
	return s.document.Resolve(path)
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

// parse returns a new tree of the value; nothing at all stands for null.
func (a *assignment) parse() (value *document.Node, problem string) {
	switch strings.TrimSpace(a.value) {
	case "", "~", "null":
		return &document.Node{Kind: document.Null}, ""
	}
	docs, mistakes := yaml.Parse("", []byte(a.value))
	if len(mistakes) > 0 {
		return nil, mistakes[0].Message
	}
	if len(docs) != 1 {
		return nil, "is several YAML documents; want one value"
	}
	return docs[0].Root, ""
}

// apply puts the value into a document at path.
func (a *assignment) apply(doc *document.Document, path string) error {
	value, _ := a.parse()
	old := map[*document.Node]bool{}
	visit(doc.Root, func(n *document.Node) { old[n] = true })
	if err := doc.Set(path, value); err != nil {
		return err
	}
	// What has been added on the way to the value, the names of fields included, comes
	// from here, too.
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

// positionOf returns a place in the scenario file as it is, and one in an assignment by its
// text.
func positionOf(p document.Position, assignments []assignment) document.Position {
	for i := range assignments {
		if assignments[i].line == p.Line {
			return assignments[i].place
		}
	}
	return p
}
