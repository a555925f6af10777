package request

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Selector is the labelSelector and the fieldSelector of a request, all of whose requirements must hold of
// an object. A nil Selector selects everything.
type Selector struct {
	Labels []Requirement // in the order of the text
	Fields []Requirement // in alphabetical order
}

// Requirement is one condition of a selector, on the value of a label or a field.
type Requirement struct {
	Key      string // of the label, or the name of the field
	Operator Operator
	Values   []string // of In and NotIn, each of which may be ""; of Greater and Less the bound
	bound    int64    // of Greater and Less
}

// Operator is how a requirement compares.
type Operator uint8

// The operators. =, == and in are In; != and notin are NotIn.
const (
	In Operator = iota
	NotIn
	Exists
	Absent
	Greater
	Less
)

// ParseSelector reads a labelSelector and a fieldSelector, each "" for none. It returns nil if they select
// everything. The error says which of the two cannot be read and why; a server answers it with status 400.
func ParseSelector(labels, fields string) (*Selector, error) {
	var s Selector
	var err error
	if s.Labels, err = parseLabels(labels); err != nil {
		return nil, fmt.Errorf("labelSelector %q: %w", labels, err)
	}
	if s.Fields, err = parseFields(fields); err != nil {
		return nil, fmt.Errorf("fieldSelector %q: %w", fields, err)
	}
	if len(s.Labels)+len(s.Fields) == 0 {
		return nil, nil
	}
	return &s, nil
}

// FieldValue returns the only value that a field may have under the selector; ok is false if there may be others.
func (s *Selector) FieldValue(field string) (value string, ok bool) {
	if s == nil {
		return "", false
	}
	for i := range s.Fields {
		if r := &s.Fields[i]; r.Key == field && r.Operator == In {
			return r.Values[0], true
		}
	}
	return "", false
}

// Matches reports whether an object satisfies the requirement that has this value, or none, of the label. NotIn
// is also satisfied by an object without the label. Every object has every field; one without content is "".
func (r *Requirement) Matches(value string, has bool) bool {
	switch r.Operator {
	case Exists:
		return has
	case Absent:
		return !has
	case NotIn:
		return !has || !slices.Contains(r.Values, value)
	case In:
		return has && slices.Contains(r.Values, value)
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if !has || err != nil {
		return false
	}
	if r.Operator == Greater {
		return n > r.bound
	}
	return n < r.bound
}

// Selector reads the selectors of a list or a watch.
func (o *Options) Selector() (*Selector, error) {
	return ParseSelector(o.LabelSelector, o.FieldSelector)
}

// Selects reports whether there is a selector, also one that selects everything or cannot be read.
func (o *Options) Selects() bool { return o.FieldSelector != "" || o.LabelSelector != "" }

// ObjectName returns the name of the only object that a list or a watch selects, which counts as the name of the
// request; "" if it selects none by its name, or by one that no object can have. A server that cannot decode one of
// the options ignores the selectors too.
func (o *Options) ObjectName() string {
	name, _ := o.fieldValue("metadata.name")
	if name == "." || name == ".." || strings.ContainsAny(name, "/%") {
		return ""
	}
	return name
}

// NodeName returns the name of the node to which a list or a watch is restricted; "" for none, as ObjectName.
func (o *Options) NodeName() string {
	name, _ := o.fieldValue("spec.nodeName")
	return name
}

func (o *Options) fieldValue(field string) (string, bool) {
	if o.Malformed != "" || o.FieldSelector == "" {
		return "", false
	}
	s, err := o.Selector()
	if err != nil {
		return "", false
	}
	return s.FieldValue(field)
}
