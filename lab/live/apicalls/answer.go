package apicalls

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Answer is what a call was answered, in the fields of a request log.
type Answer struct {
	ID                int64   `json:"id"`
	Status            int     `json:"status"`
	StatusReason      string  `json:"statusReason,omitempty"`
	ResourceVersion   *number `json:"resourceVersion,omitempty"` // of the object or list
	Items             *int64  `json:"items,omitempty"`           // of a list or deletecollection
	Continue          token   `json:"continue,omitempty"`
	RetryAfterSeconds int64   `json:"retryAfterSeconds,omitempty"`
	Wrote             bool    `json:"wrote,omitempty"`
	UID               token   `json:"uid,omitempty"` // of the object

	// Of a live server only, which answers do not tell:
	Revisions []int64 `json:"revisions,omitempty"` // that the call has made
	Events    []Event `json:"events,omitempty"`    // of a watch
	Message   string  `json:"message,omitempty"`   // of the Status
}

// Event is an event of a watch.
type Event struct {
	Type    string `json:"type"`
	Name    string `json:"name,omitempty"`    // of the object
	Version int64  `json:"version,omitempty"` // its resourceVersion
	Status  int    `json:"status,omitempty"`  // of an ERROR
}

// String returns the event on a line.
func (e Event) String() string {
	if e.Type == "ERROR" {
		return fmt.Sprintf("ERROR %d", e.Status)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", e.Type, e.Name)) + fmt.Sprintf(" %d", e.Version)
}

// number is an integer that may be written as a string of digits, as resourceVersions are.
type number int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	i, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
	*n = number(i)
	return err
}

// token is a string, or another value as its text. Of false it is empty.
type token string

// UnmarshalJSON implements json.Unmarshaler.
func (t *token) UnmarshalJSON(text []byte) error {
	if string(text) == "false" || string(text) == "null" {
		*t = ""
		return nil
	}
	var s string
	if json.Unmarshal(text, &s) == nil {
		*t = token(s)
		return nil
	}
	*t = token(text)
	return nil
}

// ReadAnswers reads a request log from a file.
func ReadAnswers(file string) ([]Answer, error) { return readLines[Answer](file) }

// WriteAnswers writes answers as JSON lines.
func WriteAnswers(w io.Writer, answers []Answer) error { return writeLines(w, answers) }

// String returns the answer on one line.
func (a *Answer) String() string {
	text := fmt.Sprintf("%d %s", a.Status, a.StatusReason)
	if a.ResourceVersion != nil {
		text += fmt.Sprintf(" version %d", *a.ResourceVersion)
	}
	if a.Items != nil {
		text += fmt.Sprintf(" items %d", *a.Items)
	}
	if a.Continue != "" {
		text += " continue"
	}
	if a.RetryAfterSeconds != 0 {
		text += fmt.Sprintf(" retry after %d s", a.RetryAfterSeconds)
	}
	if a.Wrote {
		text += " wrote"
	}
	if a.UID != "" {
		text += fmt.Sprintf(" uid of call %s", a.UID)
	}
	for _, e := range a.Events {
		text += ", " + e.String()
	}
	return text
}
