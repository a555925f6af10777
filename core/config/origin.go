package config

import (
	"fmt"
	"strings"

	"apfsim/document"
)

// AutoupdateAnnotation is the annotation that says whether servers maintain the spec of an object: see
// package maintain.
const AutoupdateAnnotation = "apf.kubernetes.io/autoupdate-spec"

// Origin says where an object was read, and holds what its text says besides the spec. Only
// objects that were decoded have one; the built-in objects do not.
type Origin struct {
	Document    document.Document // the file; Root is the object
	APIVersion  string            // as written, for example flowcontrol.apiserver.k8s.io/v1beta3
	Annotations map[string]string // nil if there are none
	Generation  int64             // metadata.generation: how often a server has seen the spec change; 0 if absent
	path        string            // of the object in the file, as errors name it; "" for a document of its own
}

// Position returns the position of the value at a path within the object, such as
// spec.rules[0].subjects, or of the closest enclosing value if the text does not have it. The
// path "" is the object itself. The position of a nil Origin is empty.
func (o *Origin) Position(path string) document.Position {
	if o == nil {
		return document.Position{}
	}
	return o.Document.Position(path)
}

// KindCount is the number of objects of a kind.
type KindCount struct {
	Kind  string `json:"kind"` // "" for objects without a kind
	Count int    `json:"count"`
}

// Kinds counts objects by kind, in descending order of count, then by name.
type Kinds []KindCount

// Total returns the number of objects.
func (k Kinds) Total() (total int) {
	for _, c := range k {
		total += c.Count
	}
	return total
}

// String returns the counts as text, for example "Deployment 12, Service 2".
func (k Kinds) String() string {
	texts := make([]string, len(k))
	for i, c := range k {
		name := c.Kind
		if name == "" {
			name = "no kind"
		}
		texts[i] = fmt.Sprintf("%s %d", document.Abridge(name), c.Count)
	}
	return strings.Join(texts, ", ")
}
