package maintain

import "fmt"

// Action is the effect of a write on an object.
type Action uint8

// The actions.
const (
	Create    Action = iota
	Restore          // puts the spec right, and sets the annotation if it is not the right one
	Annotate         // sets the annotation and keeps the spec
	Delete           // removes the object
	SetStatus        // sets the condition Dangling of a FlowSchema
	Edit             // is an operator's change of the spec or the annotation
)

// String returns the action as reports write it.
func (a Action) String() string {
	return [...]string{"create", "restore", "annotate", "delete", "status", "edit"}[a]
}

// Reason is why an object is written.
type Reason uint8

// The reasons.
const (
	Missing      Reason = iota // Create: the release has the object
	Mandatory                  // Restore, Annotate: servers always maintain the object
	Annotated                  // Restore: the annotation is true
	NeverEdited                // Restore, Annotate: no valid annotation, and generation 1
	Edited                     // Annotate: no valid annotation, and another generation
	Unwanted                   // Delete: the annotation is true, and the release does not have the object
	LevelFound                 // SetStatus
	LevelMissing               // SetStatus
	Operator                   // an operator has written the object
)

// String returns the reason as reports write it, to complete "because".
func (r Reason) String() string {
	return [...]string{
		"the release has this object and it is missing",
		"the object is mandatory",
		"its annotation is true",
		"it has no valid annotation and generation 1",
		"it has no valid annotation and its spec has been changed",
		"its annotation is true and the release does not have it",
		"its priority level exists",
		"its priority level is missing",
		"an operator wrote it",
	}[r]
}

// Write is a write to the store.
type Write struct {
	Action Action
	Reason Reason
	Before *Object // nil if the object is created
	After  *Object // nil if it is deleted
}

// Object returns the object that is written, as it is stored afterwards or, if it is deleted, before.
func (w *Write) Object() *Object {
	if w.After != nil {
		return w.After
	}
	return w.Before
}

// ChangesSpec reports whether flow control decides differently after the write: an object is created
// or deleted, or has another spec. Only a write that does, or that sets the status of a FlowSchema,
// makes servers read all objects anew.
func (w *Write) ChangesSpec() bool {
	return w.Before == nil || w.After == nil || !sameSpec(w.Before, w.After)
}

// String returns what is written, to what and why.
func (w *Write) String() string {
	o := w.Object()
	return fmt.Sprintf("%v %v %s: %v", w.Action, o.Kind(), o.Name(), w.Reason)
}
