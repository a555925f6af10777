package api

import "apfsim/core/request"

// Selector is the labelSelector and the fieldSelector of a list or watch, parsed once for all objects that
// they are compared with. A nil selector matches everything.
type Selector struct {
	*request.Selector
	labels []string // the names of Object.Fields of Selector.Labels
}

// labelPrefix begins the names of Object.Fields that are labels.
const labelPrefix = "metadata.labels."

// ParseSelector reads a labelSelector and a fieldSelector, see request.ParseSelector. It returns nil if both are
// empty. Fields other than metadata.name and metadata.namespace are looked up in Object.Fields; one that an object
// does not have is "". Which fields a resource supports is not known here.
func ParseSelector(labels, fields string) (*Selector, error) {
	parsed, err := request.ParseSelector(labels, fields)
	if parsed == nil {
		return nil, err
	}
	s := &Selector{Selector: parsed}
	for i := range parsed.Labels {
		s.labels = append(s.labels, labelPrefix+parsed.Labels[i].Key)
	}
	return s, nil
}

// Matches says whether an object satisfies all requirements.
func (s *Selector) Matches(o *Object) bool {
	v := View{Object: o}
	return s.Sees(&v)
}

// View is an object that is compared with many selectors. Most of them look for the same field, which is looked up once.
type View struct {
	Object       *Object
	field, value string // the last one that was looked up
	has, known   bool
}

// get returns the field of Object.Fields, and whether the object has it.
func (v *View) get(field string) (value string, has bool) {
	if !v.known || v.field != field {
		v.field, v.known = field, true
		v.value, v.has = v.Object.Fields[field]
	}
	return v.value, v.has
}

// Sees says whether the object of a view satisfies all requirements.
func (s *Selector) Sees(v *View) bool {
	if s == nil {
		return true
	}
	for i := range s.Labels {
		if value, has := v.get(s.labels[i]); !s.Labels[i].Matches(value, has) {
			return false
		}
	}
	for i := range s.Fields {
		var value string
		switch field := s.Fields[i].Key; field {
		case "metadata.name":
			value = v.Object.Name
		case "metadata.namespace":
			value = v.Object.Namespace
		default:
			value, _ = v.get(field)
		}
		if !s.Fields[i].Matches(value, true) {
			return false
		}
	}
	return true
}

// Value returns the only value that a field may have under the selector; ok is false if there may be others.
func (s *Selector) Value(field string) (value string, ok bool) {
	if s == nil {
		return "", false
	}
	return s.FieldValue(field)
}
