package config

import (
	"fmt"
	"strings"

	"apfsim/document"
)

// Origin says where an object was read, and holds what its text says besides the spec. Only
// objects that were decoded have one; the built-in objects do not.
type Origin struct {
	Document    document.Document // the file; Root is the object
	APIVersion  string            // as written, for example flowcontrol.apiserver.k8s.io/v1beta3
	Annotations map[string]string // nil if there are none
	Generation  int64             // metadata.generation: how often a server has seen the spec change; 0 if absent
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

// Version is a version of the API group of both kinds.
type Version struct {
	Name string // flowcontrol.apiserver.k8s.io/v1
	// ServedFrom and RemovedIn are minor releases of Kubernetes 1.x: the first release that
	// serves the version by default, and the first that no longer serves it, or 0.
	ServedFrom, RemovedIn int
	// Shares is the name of the field that has the shares of a Limited level.
	Shares string
}

const (
	nominalShares = "nominalConcurrencyShares"
	assuredShares = "assuredConcurrencyShares"
)

// Versions returns the versions of the API group, with the newest first
// (k8s.io/api/flowcontrol, APILifecycleRemoved).
func Versions() []Version {
	return []Version{
		{v1, 29, 0, nominalShares},
		{v1beta3, 26, 32, nominalShares},
		{v1beta2, 23, 29, assuredShares},
		{v1beta1, 20, 26, assuredShares},
		{v1alpha1, 18, 21, assuredShares},
	}
}

// versionOf returns the version with this name, or the zero Version if there is none.
func versionOf(name string) Version {
	for _, v := range Versions() {
		if v.Name == name {
			return v
		}
	}
	return Version{}
}

// RemovedVersions returns the API versions of the objects that Kubernetes 1.37 no longer
// serves, with one note for each file and version. Such objects are valid input, because
// files are often older than the cluster.
func RemovedVersions(o Objects) document.Errors {
	type key struct{ file, version string }
	var keys []key
	first, count := map[key]document.Position{}, map[key]int{}
	add := func(origin *Origin) {
		if origin == nil || versionOf(origin.APIVersion).RemovedIn == 0 {
			return
		}
		k := key{origin.Document.File, origin.APIVersion}
		if count[k]++; count[k] == 1 {
			keys = append(keys, k)
			first[k] = origin.Position("apiVersion")
		}
	}
	for _, s := range o.FlowSchemas {
		add(s.Origin)
	}
	for _, l := range o.PriorityLevels {
		add(l.Origin)
	}
	var notes document.Errors
	for _, k := range keys {
		objects, shares := "1 object", ""
		if count[k] > 1 {
			objects = fmt.Sprintf("%d objects", count[k])
		}
		v := versionOf(k.version)
		if v.Shares != nominalShares {
			shares = fmt.Sprintf(", and %s in place of %s", nominalShares, v.Shares)
		}
		notes.Add(first[k], "apiVersion", "%s (%s): Kubernetes 1.%d and later do not serve this version; use %s (served from 1.%d)%s",
			k.version, objects, v.RemovedIn, v1, versionOf(v1).ServedFrom, shares)
	}
	return notes
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
