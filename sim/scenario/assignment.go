package scenario

import (
	"strings"

	"apfsim/core/document"
	"apfsim/sim/yaml"
)

// assignment is a --set option: spec.path=value.
type assignment struct {
	file        string // how places name it
	path, value string
	line        int // of the nodes that come from it: -1, -2, ... tells them from those of the file
}

// parseAssignments takes the texts of assignments apart.
func parseAssignments(texts []string) ([]assignment, document.Mistakes) {
	var assignments []assignment
	var mistakes document.Mistakes
	for i, text := range texts {
		a := assignment{file: "--set " + abridge(text), line: -1 - i}
		at := assignmentSign(text)
		if at < 0 || !strings.HasPrefix(text, "spec.") {
			mistakes.Add(document.Place{File: a.file}, "", "want spec.path=value, as spec.workload[0].clients=8")
			continue
		}
		a.path, a.value = strings.TrimSpace(text[:at]), text[at+1:]
		if _, problem := a.parse(); problem != "" {
			mistakes.Add(document.Place{File: a.file}, a.path, "%s", problem)
			continue
		}
		assignments = append(assignments, a)
	}
	return assignments, mistakes
}

// assignmentSign returns where the first equals sign outside of quotes is, -1 for nowhere.
func assignmentSign(text string) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == '=' && !quoted:
			return i
		}
	}
	return -1
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

// apply puts the value into a document.
func (a *assignment) apply(doc *document.Document, mistakes *document.Mistakes) {
	value, _ := a.parse()
	old := map[*document.Node]bool{}
	visit(doc.Root, func(n *document.Node) { old[n] = true })
	if err := doc.Set(a.path, value); err != nil {
		mistakes.Add(document.Place{File: a.file}, "", "%v", err)
		return
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

// placeOf returns a place in the scenario file as it is, and one in an assignment by its
// text.
func placeOf(p document.Place, assignments []assignment) document.Place {
	for i := range assignments {
		if assignments[i].line == p.Line {
			return document.Place{File: assignments[i].file}
		}
	}
	return p
}
