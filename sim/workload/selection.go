package workload

import (
	"errors"
	"strings"

	"apfsim/core/request"
	"apfsim/document"
)

// Selection is which objects are listed and watched.
type Selection struct {
	Group         string `json:"group,omitempty" also:"apiGroup" jsonschema_description:"API group; empty for the core group."`
	Resource      string `json:"resource" also:"kind" document:"required"`
	Namespace     string `json:"namespace,omitempty" also:"ns" jsonschema_description:"Empty for all."`
	LabelSelector string `json:"labelSelector,omitempty"`
	FieldSelector string `json:"fieldSelector,omitempty"`
	Matches       *int64 `json:"matches,omitempty" jsonschema:"minimum=0" jsonschema_description:"How many of the objects that are only counted in spec.resources match the selectors and the namespace; without selectors and namespace all do, otherwise none."`
}

// The ways in which an informer gets its first objects.
const (
	List      = "List"
	WatchList = "WatchList"
)

func (c *checker) selection(path string, s *Selection) {
	c.resource(path+".resource", s.Group, s.Resource)
	c.templates(path, field{"namespace", s.Namespace}, field{"labelSelector", s.LabelSelector}, field{"fieldSelector", s.FieldSelector})
	for _, f := range []struct{ name, labels, fields string }{
		{"labelSelector", strings.ReplaceAll(s.LabelSelector, "{i}", "0"), ""},
		{"fieldSelector", "", strings.ReplaceAll(s.FieldSelector, "{i}", "0")},
	} {
		if _, err := request.ParseSelector(f.labels, f.fields); err != nil {
			c.Fail(path+"."+f.name, "%q: %v; a server answers 400", document.Abridge(f.labels+f.fields), errors.Unwrap(err))
		}
	}
}

// selected returns the settings of a reflector of what a scenario selects, with the client's index in the
// place of {i}. A selection of one object by its name has this name, as its requests do (k8s.io/apiserver,
// endpoints/request/requestinfo.go).
func selected(c Client, s *Selection) ReflectorSettings {
	settings := ReflectorSettings{
		Group:         s.Group,
		Resource:      s.Resource,
		Namespace:     expand(s.Namespace, c.Index()),
		LabelSelector: expand(s.LabelSelector, c.Index()),
		FieldSelector: expand(s.FieldSelector, c.Index()),
	}
	selection := request.Options{FieldSelector: settings.FieldSelector, LabelSelector: settings.LabelSelector}
	settings.Name = selection.ObjectName()
	if s.Matches != nil {
		settings.Matches = *s.Matches
	}
	return settings
}
