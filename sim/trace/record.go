// Package trace reads and writes requests as lines of JSON: traces, which say what was sent, and
// request logs, which also say what became of it. A request log is a trace.
//
// The reader is written by hand. It is strict where encoding/json is not: a field in another
// case, a duplicate or an unknown one is an error with its line and column. An error in a line
// does not end the trace, so that all errors of a file are reported together, while the streaming
// decoder of github.com/go-json-experiment/json/jsontext ends at its first syntax error. And it is
// fast, because a replay reads traces of millions of lines: most lines ask for what others have asked
// for, so that the text of these members, which is half of a line of a request log, is looked up and not
// parsed. A line of a request log takes a third of the time in which jsontext splits it into tokens
// (1.5 µs and 4.6 µs of processor time, on a busy machine), and the checks of names, types and
// ranges would still be needed there.
package trace

import "apfsim/core/classify"

// Record is one request of a trace. Times are nanoseconds since the start of the run.
type Record struct {
	ID          int64    `json:"id"`
	ArrivalNs   int64    `json:"arrivalNs"`
	User        string   `json:"user"`
	Groups      []string `json:"groups"`
	Verb        string   `json:"verb"`
	APIGroup    string   `json:"apiGroup"`
	Resource    string   `json:"resource"`
	Subresource string   `json:"subresource"`
	Namespace   string   `json:"namespace"`
	Name        string   `json:"name"`
	Path        string   `json:"path"`
	Query       string   `json:"query"`
	ExecutionNs int64    `json:"executionNs"` // of the handler; for a watch, of its initialisation
	WatchNs     int64    `json:"watchNs"`     // how long a watch lasts after that
}

// Attributes returns what the server sees of the request, except its query. A record without a
// path has the one of its resource.
func (r *Record) Attributes() classify.Attributes {
	a := classify.Attributes{
		User:        r.User,
		Groups:      r.Groups,
		Verb:        r.Verb,
		APIGroup:    r.APIGroup,
		Resource:    r.Resource,
		Subresource: r.Subresource,
		Namespace:   r.Namespace,
		Name:        r.Name,
		Path:        r.Path,
	}
	if a.Path == "" {
		a.Path = ResourcePath(&a)
	}
	return a
}

// ResourcePath returns the path under which Kubernetes serves a resource in version v1 of its
// API group.
func ResourcePath(a *classify.Attributes) string {
	info := a.Info()
	return info.ResourcePath()
}
