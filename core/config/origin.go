package config

import (
	"fmt"
	"strings"

	"apfsim/document"
)

// Origin says where an object was read and what its metadata says. Objects that were not
// read, as those of the built-in sets, have none.
type Origin struct {
	Document    document.Document // the file, and the object's own node as root
	APIVersion  string            // as written, e.g. flowcontrol.apiserver.k8s.io/v1beta3
	Annotations map[string]string // nil when there are none
	Generation  int64             // of the object's spec, as a server counts it; 0 when absent
}

// Position returns the position of the value at a path within the object, as
// spec.rules[0].subjects, or of the nearest thing around it when the text leaves it out. The
// path "" is the object itself. A nil Origin has no position.
func (o *Origin) Position(path string) document.Position {
	if o == nil {
		return document.Position{}
	}
	return o.Document.Position(path)
}

// Version is a version of the API group of both kinds.
type Version struct {
	Name string // flowcontrol.apiserver.k8s.io/v1
	// ServedFrom and RemovedIn are minor releases of Kubernetes 1.x: the first that serves the
	// version by default, and the first that no longer does (0 for none).
	ServedFrom, RemovedIn int
	// Shares is the field of a Limited level that has its shares.
	Shares string
}

const (
	nominalShares = "nominalConcurrencyShares"
	assuredShares = "assuredConcurrencyShares"
)

// Versions returns the versions of the API group, the newest first
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

// versionOf returns what is known of a version by its name.
func versionOf(name string) Version {
	for _, v := range Versions() {
		if v.Name == name {
			return v
		}
	}
	return Version{}
}

// RemovedVersions returns a note for each file and version of the API group of which there
// are objects, but which Kubernetes 1.37 no longer serves. They are decoded all the same.
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

// KindCount says how many objects of a kind there are.
type KindCount struct {
	Kind  string `json:"kind"` // "" for objects that name none
	Count int    `json:"count"`
}

// Kinds counts objects by their kind: the most frequent kind first, then by name.
type Kinds []KindCount

// Total returns the number of objects.
func (k Kinds) Total() (total int) {
	for _, c := range k {
		total += c.Count
	}
	return total
}

// String returns the kinds as "Deployment 12, Service 2".
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
