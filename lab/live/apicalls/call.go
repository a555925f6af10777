// Package apicalls compares the simulated store with a live kube-apiserver, call by call: it generates
// sequences of API calls, sends them to a server, replays them in a simulation, and compares the answers.
//
// A sequence is a trace, as docs/reference/logs.md describes it. Each call is sent when the one before it has
// been answered; calls with the same arrivalNs are sent together. Revisions of the two stores are different
// numbers, because a server writes objects of its own. Both are therefore counted in writes of the sequence:
// version 3 is what the third write of the sequence made, and any version up to the fourth.
package apicalls

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Call is a line of a trace. A resourceVersion, uid or continue token, also in the query, may be @ID for the one
// that was answered to the call ID, and @ID+N for N versions more.
type Call struct {
	ID          int64    `json:"id"`
	ArrivalNs   int64    `json:"arrivalNs"`
	User        string   `json:"user"`
	Groups      []string `json:"groups"`
	Verb        string   `json:"verb"`
	APIGroup    string   `json:"apiGroup"`
	Resource    string   `json:"resource"`
	Subresource string   `json:"subresource,omitempty"`
	Namespace   string   `json:"namespace"`
	Name        string   `json:"name"`
	Path        string   `json:"path"`
	Query       string   `json:"query"`
	WatchNs     int64    `json:"watchNs,omitempty"` // how long the events of a watch are read

	BodyResourceVersion string            `json:"bodyResourceVersion,omitempty"`
	BodyUID             string            `json:"bodyUID,omitempty"`
	Finalizers          []string          `json:"finalizers,omitzero"` // nil: the body has none; empty: a patch removes them
	DryRun              bool              `json:"dryRun,omitempty"`
	FieldManager        string            `json:"fieldManager,omitempty"`
	PatchType           string            `json:"patchType,omitempty"` // apply, or empty for a merge patch
	Fields              map[string]string `json:"fields,omitzero"`     // of a write without them a replay makes up content; empty: it has none
	Preconditions       *Preconditions    `json:"preconditions,omitempty"`
}

// Preconditions are what must hold of an object that is deleted.
type Preconditions struct {
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// ReadCalls reads a trace from a file.
func ReadCalls(file string) ([]Call, error) { return readLines[Call](file) }

// WriteCalls writes a trace.
func WriteCalls(w io.Writer, calls []Call) error { return writeLines(w, calls) }

// Groups divides calls into those that are sent together: consecutive ones with the same arrivalNs.
func Groups(calls []Call) [][]Call {
	var groups [][]Call
	for i := range calls {
		if i == 0 || calls[i].ArrivalNs != calls[i-1].ArrivalNs {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], calls[i])
	}
	return groups
}

// readLines reads a file of JSON lines.
func readLines[T any](file string) ([]T, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []T
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var line T
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, len(lines)+1, err)
		}
		lines = append(lines, line)
	}
	return lines, in.Err()
}

// writeLines writes values as JSON lines, in which & < > are not escaped.
func writeLines[T any](w io.Writer, lines []T) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for i := range lines {
		if err := out.Encode(&lines[i]); err != nil {
			return err
		}
	}
	return nil
}
