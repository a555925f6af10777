package api

import (
	"fmt"
	"slices"
	"strings"
)

// Selector is the labelSelector and the fieldSelector of a list or watch, parsed once for all objects that
// they are compared with. A nil selector matches everything.
type Selector struct{ requirements []requirement }

// requirement is one of the conditions of a selector, all of which must hold.
type requirement struct {
	field  string // a name of Object.Fields, or metadata.name or metadata.namespace
	label  bool
	not    bool     // the rest must not hold
	exists bool     // the label exists; values mean nothing
	values []string // one of which the field must have
}

// labelPrefix begins the names of Object.Fields that are labels.
const labelPrefix = "metadata.labels."

// ParseSelector reads a labelSelector (a=b, a==b, a!=b, a in (b,c), a notin (b,c), a, !a) and a fieldSelector
// (a=b, a==b, a!=b), each "" for none. It returns nil if both are empty. Fields other than metadata.name and
// metadata.namespace are looked up in Object.Fields; one that an object does not have is "". Which fields a
// resource supports is not known here (k8s.io/apimachinery pkg/labels/selector.go and pkg/fields/selector.go).
func ParseSelector(labels, fields string) (*Selector, error) {
	s := &Selector{}
	for _, term := range terms(labels) {
		r, err := parseLabel(term)
		if err != nil {
			return nil, fmt.Errorf("labelSelector %q: %w", labels, err)
		}
		s.requirements = append(s.requirements, r)
	}
	for _, term := range terms(fields) {
		name, operator, value := cut(term)
		if operator == "" || name == "" {
			return nil, fmt.Errorf("fieldSelector %q: %q has neither = nor != after a name", fields, term)
		}
		s.requirements = append(s.requirements, requirement{field: name, not: operator == "!=", values: []string{value}})
	}
	if len(s.requirements) == 0 {
		return nil, nil
	}
	return s, nil
}

// terms splits a selector at the commas that are not in parentheses, and drops empty terms.
func terms(text string) []string {
	var all []string
	depth := 0
	begin := 0
	add := func(end int) {
		if term := strings.TrimSpace(text[begin:end]); term != "" {
			all = append(all, term)
		}
		begin = end + 1
	}
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				add(i)
			}
		}
	}
	add(len(text))
	return all
}

// cut splits a term at its operator, which is =, == (returned as =) or !=; "" if it has none.
func cut(term string) (name, operator, value string) {
	i := strings.IndexByte(term, '=')
	if i < 0 {
		return term, "", ""
	}
	name, operator, value = term[:i], "=", term[i+1:]
	if shorter, ok := strings.CutSuffix(name, "!"); ok {
		name, operator = shorter, "!="
	} else {
		value = strings.TrimPrefix(value, "=")
	}
	return strings.TrimSpace(name), operator, strings.TrimSpace(value)
}

// parseLabel reads one condition on a label.
func parseLabel(term string) (requirement, error) {
	name, operator, value := cut(term)
	if operator != "" {
		if name == "" || strings.ContainsAny(name+value, " ()!=") {
			return requirement{}, fmt.Errorf("%q is not a condition", term)
		}
		return requirement{field: labelPrefix + name, label: true, not: operator == "!=", values: []string{value}}, nil
	}
	words := strings.Fields(strings.Replace(term, "(", " (", 1))
	if len(words) >= 3 && (words[1] == "in" || words[1] == "notin") {
		set := strings.Join(words[2:], "")
		if !strings.HasPrefix(set, "(") || !strings.HasSuffix(set, ")") || strings.Count(set, "(")+strings.Count(set, ")") != 2 {
			return requirement{}, fmt.Errorf("%q: want a list in parentheses after %s", term, words[1])
		}
		values := strings.Split(set[1:len(set)-1], ",")
		return requirement{field: labelPrefix + words[0], label: true, not: words[1] == "notin", values: values}, nil
	}
	name, not := strings.CutPrefix(term, "!")
	name = strings.TrimSpace(name)
	if name == "" || strings.ContainsAny(name, " ()!") {
		return requirement{}, fmt.Errorf("%q is not a condition", term)
	}
	return requirement{field: labelPrefix + name, label: true, not: not, exists: true}, nil
}

// Matches says whether an object satisfies all conditions. A condition != or notin on a label is also
// satisfied by an object without the label.
func (s *Selector) Matches(o *Object) bool {
	if s == nil {
		return true
	}
	for i := range s.requirements {
		if !s.requirements[i].matches(o) {
			return false
		}
	}
	return true
}

func (r *requirement) matches(o *Object) bool {
	var value string
	has := true
	switch r.field {
	case "metadata.name":
		value = o.Name
	case "metadata.namespace":
		value = o.Namespace
	default:
		value, has = o.Fields[r.field]
	}
	switch {
	case r.exists:
		return has != r.not
	case r.label && !has:
		return r.not
	case len(r.values) == 1:
		return (value == r.values[0]) != r.not
	}
	return slices.Contains(r.values, value) != r.not
}

// Value returns the only value that a field may have under the selector; ok is false if there may be others.
func (s *Selector) Value(field string) (value string, ok bool) {
	if s == nil {
		return "", false
	}
	for _, r := range s.requirements {
		if r.field == field && !r.label && !r.not {
			return r.values[0], true
		}
	}
	return "", false
}
