package logfile

import (
	"bytes"
	"errors"
	"io"
	"time"

	"apfsim/internal/intern"
	"apfsim/sim/trace/auditlog"
	"apfsim/sim/trace/httplog"
	"apfsim/sim/trace/serverlog"
)

// Reader reads the entries of one file. It is a serverlog.Reader.
//
// A line, or a record of a list, that is longer than 1 MiB is a problem.
type Reader struct {
	file      string
	options   Options
	lines     lines
	list      document
	inList    bool
	columns   []string // of a file of CSV
	inMessage bool     // the file is the log of a server, whose messages can have several lines that look like JSON
	line      int64
	skipped   int64
	failed    error

	audit   *auditlog.Decoder
	http    *httplog.Decoder
	texts   *intern.Table
	latest  [maxWraps + 1]kind // of the latest object at each level of wrappers: the next probably is the same
	wraps   [maxWraps]wrap
	partial [streams][]byte // the beginnings of lines that a container runtime has split
}

// source is what a wrapper says about the line in it.
type source struct {
	server   string
	recorded time.Time // when the line was written, according to who received it from the server, or zero
	near     time.Time // when it was collected, or zero
}

// kind is what an object is.
type kind uint8

const (
	auditEvent kind = iota
	httpLine
	cloudEntry
	wrapper
	kinds
)

// Line implements serverlog.Reader. In a list it is the line in which the record begins.
func (r *Reader) Line() int64 { return r.line }

// Skipped returns how many lines and records were not about requests, or not of the wanted format.
func (r *Reader) Skipped() int64 { return r.skipped }

// Next implements serverlog.Reader.
func (r *Reader) Next(e *serverlog.Entry) error {
	for r.failed == nil {
		var text []byte
		var err error
		if r.inList {
			text, err = r.list.next()
			r.line = r.list.line
			if err == errDone {
				r.inList = false
				continue
			}
		} else if r.columns != nil {
			text, err = r.row()
		} else {
			if text, err = r.lines.next(); err == nil || err == errLong {
				r.line = r.lines.number
			}
			if r.line == 1 && err == nil {
				if r.columns = csvColumns(text); r.columns != nil {
					continue
				}
			}
			if r.startsList(text, err) {
				r.enterList(text, err == nil)
				continue
			}
			if err == errLong {
				r.lines.skip()
			}
		}
		var wrong structureError
		switch {
		case err == errLong:
			return r.problem(errors.New("more than 1 MiB long, which is too long for a request"))
		case errors.As(err, &wrong):
			r.inList = false
			if r.inMessage {
				r.skipped++
				continue
			}
			return r.problem(wrong)
		case errors.Is(err, errRow):
			return r.problem(err)
		case err != nil:
			r.failed = err
			continue
		}
		ok, err := r.text(text, source{}, 0, e)
		switch {
		case err == errList && !r.inList && r.columns == nil:
			r.enterList(text, true)
		case err != nil && !r.inList && r.columns == nil && isCutList(text):
			r.enterList(text, true)
		case err == errPartial:
		case err != nil:
			return r.problem(err)
		case ok && r.wanted(e):
			r.inMessage = r.inMessage && e.Log == serverlog.HTTP
			return nil
		default:
			r.skipped++
		}
	}
	if r.failed != io.EOF {
		err := r.failed
		r.failed = io.EOF
		return r.problem(err)
	}
	for i := range r.partial {
		if len(r.partial[i]) > 0 {
			r.partial[i] = nil
			return r.problem(errors.New("the file ends within a line that a container runtime has split"))
		}
	}
	return io.EOF
}

// problem returns the error for the latest line.
func (r *Reader) problem(err error) error {
	return &serverlog.Problem{File: r.file, Line: r.line, Message: err.Error()}
}

// wanted reports whether the entry is of the format that was asked for.
func (r *Reader) wanted(e *serverlog.Entry) bool {
	return r.options.Format == Auto || (r.options.Format == HTTP) == (e.Log == serverlog.HTTP)
}

// startsList reports whether the line begins a JSON value that does not end on it, or a JSON array.
func (r *Reader) startsList(line []byte, err error) bool {
	line = bytes.TrimSpace(line)
	if err != nil && err != errLong || len(line) == 0 {
		return false
	}
	switch last := line[len(line)-1]; {
	case line[0] == '[':
		next := bytes.TrimLeft(line, "[ \t")
		return len(next) == 0 || next[0] == '{'
	case line[0] == '{':
		return err == errLong || last == '{' || last == '[' || last == ','
	}
	return false
}

// isCutList reports whether the line, which is not valid JSON, begins as a list of records: these can be read
// up to the error.
func isCutList(line []byte) bool {
	if line = bytes.TrimSpace(line); line[0] != '{' {
		return false
	}
	head := line[:min(len(line), longestPrefix)]
	for _, key := range listKeys {
		_, value, ok := bytes.Cut(head, []byte(`"`+key+`"`))
		if value = bytes.TrimLeft(value, ": "); ok && len(value) > 0 && value[0] == '[' {
			return true
		}
	}
	return false
}

// enterList reads the line again as a document.
func (r *Reader) enterList(line []byte, ended bool) {
	r.lines.giveBack(line, ended)
	r.list.lines, r.list.path, r.list.row, r.list.line = &r.lines, r.list.path[:0], r.list.row[:0], r.lines.number+1
	r.inList = true
}

var (
	errList    = errors.New("the line is a list")
	errNested  = errors.New("a list within a wrapper, or with a text before it, is not read; unpack it first")
	errPartial = errors.New("the line goes on in the next one")
)

// text reads a line that a server or a wrapper contains. It returns false if the line is not about a request.
func (r *Reader) text(line []byte, from source, depth int, e *serverlog.Entry) (bool, error) {
	// Space at the end may be within a line that a container runtime has split. A log that was cut while its server wrote to it
	// begins with zeros.
	line = bytes.TrimLeft(bytes.TrimRight(line, "\r\n"), " \t\r\n\x00")
	if len(line) == 0 {
		return false, nil
	}
	if line[0] == '{' {
		return r.value(line, from, depth, e)
	}
	if created, ok := bytes.CutPrefix(line, []byte("Log file created at: ")); ok && r.http.Clock.Reference.IsZero() {
		r.http.Clock.Reference, _ = time.Parse("2006/01/02 15:04:05", string(created)) // the header of a file of klog
		return false, nil
	}
	if ok, is, err := r.klog(line, from, e); is {
		return ok, err
	}
	if c, ok := cutCRI(line); ok {
		part := &r.partial[c.stream]
		if len(*part)+len(c.text) > maxRecord {
			*part = (*part)[:0]
			return false, errors.New("the parts of the line have more than 1 MiB, which is too long for a request")
		}
		if !c.last {
			*part = append(*part, c.text...)
			return false, errPartial
		}
		if len(*part) > 0 {
			c.text = append(*part, c.text...)
			*part = c.text[:0]
		}
		from.recorded = c.recorded
		if depth >= maxWraps {
			return false, nil
		}
		return r.text(c.text, from, depth+1, e)
	}
	prefix, remaining := cutPrefix(line)
	if remaining == nil {
		return false, headless(line)
	}
	readPrefix(prefix, &from, r.texts)
	if remaining[0] != '{' {
		ok, _, err := r.klog(remaining, from, e)
		return ok, err
	}
	ok, err := r.value(remaining, from, depth, e)
	switch {
	case err == nil:
		return ok, nil
	case err == errList:
		return false, errNested
	case !bytes.Contains(remaining, []byte("audit")):
		return false, headless(line) // a text with a bracket in it
	case bytes.HasPrefix(remaining, []byte(`{""`)):
		return false, errors.New("CSV is read only with its first line, which names the columns, one of them @message; or export the log as JSON")
	}
	return ok, err
}

// headless returns an error if the line is the end of an event, as it may be the first one of a file.
func headless(line []byte) error {
	if bytes.Contains(line, []byte(`"requestReceivedTimestamp":`)) {
		return errors.New("the beginning of the audit event is missing")
	}
	return nil
}

// klog reads a line that begins with a klog header, or with a message of the httplog without one. Is says
// whether it does.
func (r *Reader) klog(line []byte, from source, e *serverlog.Entry) (ok, is bool, err error) {
	var kind httplog.Kind
	switch {
	case httplog.IndexHeader(line[:min(len(line), httplog.HeaderLength)]) == 0:
		r.inMessage = true
		reference := r.http.Clock.Reference
		if !from.near.IsZero() {
			r.http.Clock.Reference = from.near
		}
		kind, err = r.http.Text(line, from.recorded, e)
		r.http.Clock.Reference = reference
	case bytes.HasPrefix(line, []byte(bareMessage)):
		if from.recorded.IsZero() {
			from.recorded = from.near
		}
		kind, err = r.http.Message(line, from.recorded, e)
	default:
		return false, false, nil
	}
	return r.logged(kind, from, e), true, err
}

// logged completes what a line of the server's log says.
func (r *Reader) logged(kind httplog.Kind, from source, e *serverlog.Entry) bool {
	switch kind {
	case httplog.Adjusted:
		if r.options.Adjusted != nil && r.options.Format != Audit {
			r.http.Adjustment.Server = from.server
			r.options.Adjusted(r.http.Adjustment)
		}
	case httplog.Request:
		e.Server = from.server
		return true
	}
	return false
}

// value reads a JSON object. It tries the kind of the latest object first.
func (r *Reader) value(value []byte, from source, depth int, e *serverlog.Entry) (bool, error) {
	latest := &r.latest[depth]
	for i, first := kind(0), *latest; i < kinds; i++ {
		k := (first + i) % kinds
		ok, err := r.valueOf(k, value, from, depth, e)
		if errors.Is(err, auditlog.ErrList) {
			if depth > 0 || r.inList {
				return false, errNested
			}
			return false, errList
		}
		if ok || err != nil {
			*latest = k
			return ok, err
		}
	}
	return false, nil
}

// valueOf reads an object of a kind. It returns false if the object is of another kind.
func (r *Reader) valueOf(k kind, value []byte, from source, depth int, e *serverlog.Entry) (ok bool, err error) {
	switch k {
	case auditEvent:
		ok, err = r.audit.Decode(value, e)
	case cloudEntry:
		ok, err = r.audit.DecodeCloud(value, e)
	case httpLine:
		kind, err := r.http.JSON(value, e)
		return r.logged(kind, from, e), err
	case wrapper:
		if depth < maxWraps {
			return r.unwrap(value, from, depth, e)
		}
	}
	if ok && e.Server == "" {
		e.Server = from.server
	}
	return ok, err
}
