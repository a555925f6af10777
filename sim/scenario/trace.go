package scenario

import (
	"bufio"
	"errors"
	"io"
	"io/fs"

	"apfsim/core/classify"
	"apfsim/document"
)

// TraceRecord is one request of a trace. Times are nanoseconds since the start of the run.
type TraceRecord struct {
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

// Attributes returns what the server sees of the request, but for its query.
func (r *TraceRecord) Attributes() classify.Attributes {
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
		a.Path = resourcePath(&a)
	}
	return a
}

// longestLine is how many bytes of a line of a trace are read before it is refused.
const longestLine = 1 << 20

// TraceReader reads a trace, one record after the other, in the order of their arrival.
// It holds one line at a time.
type TraceReader struct {
	file    string
	lines   *bufio.Scanner
	closer  io.Closer
	state   fileState    // when it was opened, of a file
	changed func() error // says that the file is not the one that was checked; nil if nobody wants to know
	line    int
	done    bool
	record  TraceRecord
	lastNs  int64 // arrival of the record before
}

// NewTraceReader returns a reader of the trace in r, which places call file.
func NewTraceReader(r io.Reader, file string) *TraceReader {
	t := &TraceReader{file: file, lines: bufio.NewScanner(r)}
	// The buffer holds the line feed as well.
	t.lines.Buffer(make([]byte, 0, 64<<10), longestLine+1)
	return t
}

// OpenTrace opens the trace of the given name. The caller closes it.
func OpenTrace(files fs.FS, name string) (*TraceReader, error) {
	f, err := openFile(files, name)
	if err != nil {
		return nil, err
	}
	t := NewTraceReader(f, name)
	t.closer = f
	if t.state, err = stateOf(f); err != nil {
		f.Close()
		return nil, err
	}
	return t, nil
}

// OpenTrace opens the trace of a workload whose arrivals are one. The caller closes it. It has
// been checked when the scenario was read: if it has changed since, even while it is read,
// there is an error.
func (s *Scenario) OpenTrace(w *Workload) (*TraceReader, error) {
	name := s.resolve(w.Arrivals.Trace.File)
	f, err := openFile(s.files, name)
	if err != nil {
		return nil, document.Error{Position: document.Position{File: name}, Message: unreadable(s.files, name, err)}
	}
	t := NewTraceReader(f, name)
	t.closer = f
	for _, in := range s.Inputs {
		if in.files != nil && in.Path == name {
			t.changed = func() error { return in.state.check(f) }
		}
	}
	if err := t.check(); err != nil {
		f.Close()
		return nil, err
	}
	return t, nil
}

// check says that the file has changed, if anybody wants to know.
func (t *TraceReader) check() error {
	if t.changed == nil {
		return nil
	}
	if err := t.changed(); err != nil {
		return t.mistake(0, 0, "", err.Error())
	}
	return nil
}

// Close closes the trace's file.
func (t *TraceReader) Close() error {
	if t.closer == nil {
		return nil
	}
	return t.closer.Close()
}

// Next returns the next record; ok is false at the end of the trace. The record is valid
// until the next call, a copy of it for good. An error is a document.Error; after one
// in a line, the next call goes on with the line after it.
func (t *TraceReader) Next() (record *TraceRecord, ok bool, err error) {
	for !t.done {
		if !t.lines.Scan() {
			t.done = true
			if err := t.check(); err != nil {
				return nil, false, err
			}
			switch err := t.lines.Err(); {
			case errors.Is(err, bufio.ErrTooLong):
				return nil, false, t.mistake(t.line+1, 1, "", "the line is longer than 1 MiB")
			case err != nil:
				return nil, false, t.mistake(t.line+1, 1, "", "cannot be read: "+reason(err))
			}
			break
		}
		t.line++
		line := traceLine{text: t.lines.Bytes(), last: &t.record}
		if line.blank() {
			continue
		}
		line.parse()
		if line.problem == "" {
			line.check(t.lastNs)
		}
		if line.problem != "" {
			if err := t.check(); err != nil {
				t.done = true
				return nil, false, err // which is why the line is wrong
			}
			return nil, false, t.mistake(t.line, line.column(), line.field, line.problem)
		}
		t.record = line.record
		t.lastNs = t.record.ArrivalNs
		if !line.hasID {
			t.record.ID = int64(t.line)
		}
		return &t.record, true, nil
	}
	return nil, false, nil
}

func (t *TraceReader) mistake(line, column int, field, message string) error {
	return document.Error{
		Position: document.Position{File: t.file, Line: line, Column: column},
		Path:     field,
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
