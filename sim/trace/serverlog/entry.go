// Package serverlog defines what a line of a kube-apiserver's log says of a request. The packages
// auditlog and httplog read the formats of these logs, and package requests joins the entries of a
// request.
package serverlog

import (
	"fmt"
	"time"
)

// Entry holds the values of one line of a log about one request. Times are nanoseconds since 1970, and
// durations are nanoseconds. A duration that the line does not say is Unknown; other fields are then
// zero.
type Entry struct {
	Log     Log
	Stage   Stage
	AuditID string // identifies the request in all logs of a server
	Server  string // which server wrote the line, if the line says so

	ArrivalNs int64 // when the server received the request
	StageNs   int64 // when the stage was reached

	User      string   // empty in an httplog
	Groups    []string // with Impersonated, those of the impersonated user
	UserAgent string
	SourceIP  string // without the port

	Verb        string // as flow control knows it: an apply is patch
	APIGroup    string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	Path        string // of the URL
	Query       string // of the URL, without the question mark

	Status       int    // of the response; 0 if the line does not say it
	StatusReason string // such as TooManyRequests

	WaitNs      int64 // in a queue
	TotalNs     int64 // from arrival to the end, as the server measured it
	ExecutionNs int64 // from the start of the handler to its end
	InitNs      int64 // of a watch: from the start of the handler until it was initialized
	WebhookNs   int64 // in admission webhooks, as parts of the execution; these three are known of slow requests only
	EtcdNs      int64 // in etcd
	SendingNs   int64 // writing the response

	// What flow control decided.
	FlowSchema    string
	PriorityLevel string
	Seats         int // -1 if the line does not say it
	FinalSeats    int
	AdditionalNs  int64

	// StageUnknown means that the line has one time, that of the arrival, which StageNs then is too. How
	// long the request took is unknown.
	StageUnknown bool

	// GroupsUnknown means that the log does not contain groups at all, so that the FlowSchema of the
	// request cannot be determined for certain.
	GroupsUnknown bool
}

// Unknown is a duration that a line does not say.
const Unknown = -1

// Log is a kind of log.
type Log uint8

// The kinds.
const (
	Audit Log = iota
	HTTP
)

// Stage is how far the request had come.
type Stage uint8

// The stages of an audit event. A line of an httplog is Complete.
const (
	Received Stage = iota
	Started        // a long-running request began to respond
	Complete
	Panicked
)

// Reset makes the entry one that says nothing. It keeps the memory of its slices.
func (e *Entry) Reset() {
	*e = Entry{Groups: e.Groups[:0], WaitNs: Unknown, TotalNs: Unknown, ExecutionNs: Unknown, InitNs: Unknown,
		WebhookNs: Unknown, EtcdNs: Unknown, SendingNs: Unknown,
		Seats: -1, FinalSeats: -1, AdditionalNs: Unknown}
}

// Nanoseconds returns a time in nanoseconds since 1970. No log has times before then, and an int64 none after 2261.
func Nanoseconds(t time.Time, field string) (int64, error) {
	if y := t.UTC().Year(); y < 1970 || y > 2261 {
		return 0, fmt.Errorf("%s: the year %d is not that of a log", field, y)
	}
	return t.UnixNano(), nil
}

// Problem is a line that cannot be read.
type Problem struct {
	File    string
	Line    int64
	Message string // what is wrong, what is wanted
}

// Reader reads the entries of one log.
type Reader interface {
	// Next reads the next entry into e. It returns io.EOF at the end. A *Problem as the error means that
	// the line cannot be read; the next call goes on with the line after it. Lines that are not about
	// requests are left out and counted.
	Next(e *Entry) error
	// Line returns the number of the line of the latest entry, from 1.
	Line() int64
}

// Error implements error.
func (p *Problem) Error() string { return p.Message }
