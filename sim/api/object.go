// Package api defines what API requests ask for beyond their attributes, and what they are answered: objects and
// their versions, options, bodies, statuses and events of watches. Stores, registries, servers, clients and traces
// share these types.
package api

import "apfsim/core/estimate"

// Resource is a kind of object, by its API group and name.
type Resource = estimate.Resource

// Object is one version of an object. It does not change: a write makes another.
type Object struct {
	Namespace, Name string
	UID             int64 // of all objects of a run, from 1
	Version         int64 // its resourceVersion: the revision that has written it
	Bytes           int64 // its size

	// Fields are the content that a scenario or trace has given names, nil if none. The names
	// "spec.nodeName", "status.phase" and "metadata.labels.NAME" are those that selectors look at. An object
	// has a label only by such a field.
	Fields map[string]string
	// Stamp stands for the content that nobody has given a name: objects with different stamps are
	// different, such as a lease before and after it has been renewed.
	Stamp int64

	Owners     []Owner // of Fields, in the order in which they appeared
	Finalizers []string

	// DeletionNs is when an object that is being deleted goes at the latest (metadata.deletionTimestamp);
	// -1 of one that is not being deleted.
	DeletionNs   int64
	GraceSeconds int64 // given with the deletion

	key string // of an object in a store
}

// Owner is a field manager and the fields that it has set (an entry of metadata.managedFields).
type Owner struct {
	Manager string
	Applies bool // by apply; otherwise by update
	Fields  []string
	AtNs    int64 // when it has last set one
}

// Deleting says whether the object is being deleted.
func (o *Object) Deleting() bool { return o.DeletionNs >= 0 }

// Key returns what objects of a resource are ordered by, as the store has it: the namespace, a slash if there
// is one, and the name.
func (o *Object) Key() string {
	if o.key != "" {
		return o.key
	}
	return Key(o.Namespace, o.Name)
}

// Keep makes Key return a key that the caller has, which must be that of the object: otherwise each call makes
// another copy of it.
func (o *Object) Keep(key string) { o.key = key }

// Key returns the key of an object among those of its resource.
func Key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// EventType is the type of an event of a watch.
type EventType uint8

// The types of events, as a watch writes them.
const (
	Added EventType = iota
	Modified
	Deleted
	Bookmark
	Error
)

// String returns the type as a watch writes it.
func (t EventType) String() string {
	return [...]string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"}[t]
}

// Event is one event of a watch, or of the history of a store.
type Event struct {
	Type     EventType
	Version  int64   // of the event: the object's, or for Deleted that of the deletion
	Object   *Object // its new state; for Deleted the last one; nil for Bookmark and Error
	Previous *Object // its state before, nil for Added; of the store's events only
	AtNs     int64   // when the store committed it; of a Bookmark or Error when it was made

	InitialEnd bool    // of a Bookmark: it ends the initial events (k8s.io/initial-events-end)
	Counted    int64   // with InitialEnd: how many more objects there are, which are only counted and had no event
	Failure    *Answer // of an Error: its Status
}
