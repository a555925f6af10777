package api

import (
	"slices"

	"apfsim/core/request"
)

// Patch is how a patch changes an object.
type Patch uint8

// The kinds of patches.
const (
	MergePatch Patch = iota // also a strategic one
	JSONPatch
	ApplyPatch
)

// Body is the body of a request. It does not change, and several requests may share it.
type Body struct {
	Name         string // of a create; "" with GenerateName
	GenerateName string
	Version      request.Version // metadata.resourceVersion
	UID          int64           // metadata.uid; 0 without one
	OtherUID     bool            // it has one that no object has

	Fields          map[string]string // see Object.Fields
	Stamp           int64             // see Object.Stamp; 0: as it is
	Bytes           int64             // of the object afterwards; 0: as it is, or the resource's average
	Finalizers      []string
	FinalizersGiven bool // of a patch: it sets them

	Patch       Patch
	TestsFail   bool // of a JSON patch: one of its tests fails
	OwnsNothing bool // managedFields [] or [{}]: forgets all owners
	OwnersGiven bool // managedFields with content, which an apply must not have
}

// Call holds the options and the body of a request, which its attributes do not contain. It does
// not change once it has been sent.
type Call struct {
	Options request.Options
	Body    *Body // nil without one

	// Matches is how many of the objects that the scenario only counts match the selectors of a list or
	// watch.
	Matches int64
}

// Clone returns a copy of the call with a copy of its body, nil for nil. It shares what these refer to.
func (c *Call) Clone() *Call {
	if c == nil {
		return nil
	}
	clone := *c
	if c.Body != nil {
		body := *c.Body
		clone.Body = &body
	}
	return &clone
}

// Source is where a read was served from.
type Source uint8

// The sources.
const (
	FromNowhere Source = iota // nothing was read
	FromEtcd
	FromCache
	FromSnapshot
)

// String returns the source as the request log writes it.
func (s Source) String() string { return [...]string{"", "etcd", "cache", "snapshot"}[s] }

// Cause is one of the causes in a Status.
type Cause struct{ Reason, Field, Message string }

// Failure is why a client has received no answer.
type Failure uint8

// The failures.
const (
	NoFailure        Failure = iota
	FailedToConnect          // the server refused the connection, or there is none
	BrokenConnection         // the connection was reset
	ClientTimedOut           // the client has given up
)

// Answer is the answer to a request.
type Answer struct {
	Status            int // of HTTP; 0 without an answer, see Failure
	Failure           Failure
	Reason            string // of the Status; "" without one
	RetryAfterSeconds int64  // 0 without one
	Causes            []Cause

	Version  int64 // of the object or list; 0 on a Status
	UID      int64 // of the object; 0 without one
	Items    int64 // of a list or a deletecollection; -1 of everything else
	Bytes    int64 // of the body
	Continue string
	Source   Source
	Rounds   int  // transactions tried
	Wrote    bool // a revision was made

	// Replaced is the version of the object that an update, patch or apply has replaced; 0 if there was none,
	// or nothing was written. Servers do not tell it; it is for the statistics of lost updates.
	Replaced int64

	Object  *Object
	Objects []*Object // of a list, those that are not only counted; nobody may change the slice
}

// upgraded are the subresources whose requests upgrade the connection to a stream, so that they are long-running.
var upgraded = []string{"attach", "exec", "portforward"}

// SuccessOf returns the status of HTTP of the answer to a request for a resource, or one of its subresources, that
// succeeds, unless what is stored decides it (k8s.io/apiserver, endpoints/handlers/create.go; k8s.io/kubernetes,
// pkg/registry/core/pod/rest/subresources.go).
func SuccessOf(verb, subresource string) int {
	switch {
	case slices.Contains(upgraded, subresource):
		return 101
	case verb == "create" && subresource != "proxy":
		return 201
	}
	return 200
}
