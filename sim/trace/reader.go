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
// line at a time.
type Reader struct {
	// Changed, if it is not nil, returns an error if the source is no longer the one that was
	// checked before the run. It is called at the end of the trace and when a line has an error,
	// which may be a consequence of the change.
	Changed func() error

	file   string
	source io.Reader
	lines  *bufio.Scanner
	line   int
	done   bool
	record Record
	lastNs int64 // arrival of the record before
}

// NewReader returns a reader of the trace in r, which positions call file.
func NewReader(r io.Reader, file string) *Reader {
	t := &Reader{file: file, source: r, lines: bufio.NewScanner(r)}
	// The buffer holds the line feed as well.
	t.lines.Buffer(make([]byte, 0, 64<<10), longestLine+1)
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

// Next returns the next record; ok is false at the end of the trace. The record is valid
// until the next call; a copy of it stays valid. An error is a document.Error; after one
// in a line, the next call goes on with the line after it.
func (t *Reader) Next() (record *Record, ok bool, err error) {
	for !t.done {
		if !t.lines.Scan() {
			t.done = true
			if err := t.Check(); err != nil {
				return nil, false, err
			}
			switch err := t.lines.Err(); {
			case errors.Is(err, bufio.ErrTooLong):
				return nil, false, t.fail(t.line+1, 1, "", "the line is longer than 1 MiB")
			case err != nil:
				return nil, false, t.fail(t.line+1, 1, "", "cannot be read: "+reason(err))
			}
			break
		}
		t.line++
		l := line{text: t.lines.Bytes(), last: &t.record}
		if l.blank() {
			continue
		}
		l.parse()
		if l.problem == "" {
			l.check(t.lastNs)
		}
		if l.problem != "" {
			if err := t.Check(); err != nil {
				t.done = true
				return nil, false, err // which is why the line is wrong
			}
			return nil, false, t.fail(t.line, l.column(), l.field, l.problem)
		}
		t.record = l.record
		t.lastNs = t.record.ArrivalNs
		if !l.has(fieldID) {
			t.record.ID = int64(t.line)
		}
		return &t.record, true, nil
	}
	return nil, false, nil
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
