package trace

import (
	"bufio"
	"errors"
	"io"
	"io/fs"

	"apfsim/document"
)

// longestLine is the number of bytes of a line; a longer one is an error.
const longestLine = 1 << 20

// Reader reads a trace, one record after the other, in the order of their arrival. It holds one
// line at a time, and a bounded number of kinds.
type Reader struct {
	// Changed, if it is not nil, returns an error if the source is no longer the one that the
	// reader was meant for. It is called at the end of the trace and when a line has an error,
	// which may be a consequence of the change.
	Changed func() error

	// Stored says that the requests are for servers with a store, so that lines need not say how long the
	// execution takes.
	Stored bool

	// Decided says that what a log says of the requests is read as well, see Arrival.Logged.
	Decided bool

	file   string
	source io.Reader
	lines  *bufio.Scanner
	number int // of the line
	line   *line
	done   bool
	record Record
	lastNs int64 // arrival of the record before
}

// NewReader returns a reader of the trace in r, which positions call file.
func NewReader(r io.Reader, file string) *Reader {
	t := &Reader{file: file, source: r, lines: bufio.NewScanner(r), line: newLine()}
	// The buffer holds the line feed as well.
	t.lines.Buffer(make([]byte, 0, 256<<10), longestLine+1)
	return t
}

// Check returns an error if the source has changed, as Changed says.
func (t *Reader) Check() error {
	if t.Changed == nil {
		return nil
	}
	if err := t.Changed(); err != nil {
		return t.fail(0, 0, "", err.Error())
	}
	return nil
}

// Close closes the source if it can be closed.
func (t *Reader) Close() error {
	if c, ok := t.source.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Line returns the number of the last line that was read, from 1.
func (t *Reader) Line() int { return t.number }

// Next returns the next record; ok is false at the end of the trace. The record is valid
// until the next call; a copy of it stays valid. An error is a document.Error; after one
// in a line, the next call goes on with the line after it.
func (t *Reader) Next() (record *Record, ok bool, err error) {
	var a Arrival
	if ok, err := t.next(&a); !ok {
		return nil, false, err
	}
	asked := &a.Kind.Attributes
	t.record = Record{ID: a.ID, ArrivalNs: a.ArrivalNs, User: asked.User, Groups: asked.Groups, Verb: asked.Verb,
		APIGroup: asked.APIGroup, Resource: asked.Resource, Subresource: asked.Subresource, Namespace: asked.Namespace, Name: asked.Name,
		Path: a.Kind.path, Query: a.Kind.Query, ExecutionNs: a.ExecutionNs, WatchNs: a.WatchNs}
	return &t.record, true, nil
}

// Arrival is one request of a trace, as a run reads it. Times are as in Record.
type Arrival struct {
	Kind                            *Kind
	ID                              int64
	ArrivalNs, ExecutionNs, WatchNs int64
	Execution                       bool    // the line has an ExecutionNs
	Asked                           *Asked  // nil if the line asks for nothing beyond its Kind
	Server                          int64   // index of the server that it was sent to; -1 if the trace does not say
	Logged                          *Logged // nil unless Reader.Decided; it stays valid
}

// next is Next, and reads into a.
func (t *Reader) next(a *Arrival) (ok bool, err error) {
	for !t.done {
		if !t.lines.Scan() {
			return false, t.end()
		}
		t.number++
		l := t.line
		l.decided = t.Decided
		if l.begin(t.lines.Bytes()); l.blank() {
			continue
		}
		if l.parse(); l.ok() {
			a.Kind = l.kinds.find(l)
		}
		if l.ok() {
			l.check(a.Kind, t.lastNs, t.Stored)
		}
		a.Asked, a.Logged = nil, nil
		if l.ok() && l.seen&askedFields != 0 {
			a.Asked = l.parseAsked()
		}
		if l.ok() && t.Decided {
			a.Logged = l.parseLogged()
		}
		if !l.ok() {
			if err := t.Check(); err != nil {
				t.done = true
				return false, err // which is why the line is wrong
			}
			return false, t.fail(t.number, l.column(), l.field, l.problem)
		}
		n := &l.numbers
		t.lastNs = n[fieldArrivalNs]
		a.ID, a.ArrivalNs, a.ExecutionNs, a.WatchNs = n[fieldID], n[fieldArrivalNs], n[fieldExecutionNs], n[fieldWatchNs]
		a.Execution = l.has(fieldExecutionNs)
		if !l.has(fieldID) {
			a.ID = int64(t.number)
		}
		if a.Server = -1; l.has(fieldServer) {
			a.Server = n[fieldServer]
		}
		return true, nil
	}
	return false, nil
}

// end ends the reading after the last line that could be read, and returns what is wrong there.
func (t *Reader) end() error {
	t.done = true
	if err := t.Check(); err != nil {
		return err
	}
	switch err := t.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return t.fail(t.number+1, 1, "", "the line is longer than 1 MiB")
	case err != nil:
		return t.fail(t.number+1, 1, "", "cannot be read: "+reason(err))
	}
	return nil
}

func (t *Reader) fail(line, column int, name, message string) error {
	return document.Error{
		Position: document.Position{File: t.file, Line: line, Column: column},
		Path:     name,
		Message:  message,
	}
}

// reason returns why a file cannot be read, without its name.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
