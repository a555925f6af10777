package logfile

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"apfsim/internal/jsonobject"
)

// document reads JSON values that are not one on each line: lists of records, and values of several lines.
// It only looks for the brackets, so that a list of any length is read with the memory of one record.
type document struct {
	lines  *lines
	path   []byte // the open brackets of the lists in which the next record is
	record []byte
	row    []byte // the cells of a result of CloudWatch Logs Insights, as the members of an object
	line   int64  // where the latest record begins
	key    []byte
	cell   jsonobject.Scanner
}

// listKeys are the members of an object that contain the records if they are arrays: of an EventList, of
// the exports of Azure and Amazon, of OpenTelemetry.
var listKeys = []string{"items", "records", "events", "logEvents", "results", "entries", "resourceLogs", "scopeLogs", "logRecords"}

const longestKey = 16 // bytes of a name that are kept, more than of any in listKeys

// errDone means that the next text is at the beginning of a line and outside of any value.
var errDone = errors.New("the document has ended")

// structureError is the error of text that is not JSON.
type structureError string

func (e structureError) Error() string { return string(e) }

// next returns the next record, which is an object and valid until the next call. A structureError ends the
// document; the line after the error is then the next line. errLong means that the record was skipped.
func (d *document) next() ([]byte, error) {
	for {
		c, err := d.lines.readByte()
		if err != nil {
			if len(d.path) > 0 && err == io.EOF {
				d.path = d.path[:0]
				return nil, structureError("the file ends within a list")
			}
			return nil, errDone
		}
		switch c {
		case '\n':
			if d.lines.number++; len(d.path) == 0 {
				return nil, errDone
			}
		case ' ', '\t', '\r', ',':
		case '{':
			line := d.line
			if d.line = d.lines.number + 1; len(d.row) > 0 {
				d.line = line
			}
			list, err := d.object(true)
			switch {
			case err != nil:
				return nil, err
			case list:
			case !d.addCell():
				return d.record, nil
			case len(d.row) > maxRecord:
				d.row = d.row[:0]
				return nil, errLong
			}
		case '[':
			d.path = append(d.path, '[')
		case ']':
			if len(d.path) == 0 {
				return nil, d.abandon("] without [")
			}
			d.path = d.path[:len(d.path)-1]
			if n := len(d.path); n > 0 && d.path[n-1] == '{' { // the rest of the object that has the list
				d.path = d.path[:n-1]
				d.line = d.lines.number + 1
				if _, err := d.object(false); err != nil && err != errLong {
					return nil, err
				}
			}
			if len(d.row) > 0 {
				d.record, d.row = append(append(d.record[:0], d.row...), '}'), d.row[:0]
				return d.record, nil
			}
		case '"':
			d.line = d.lines.number + 1
			if err := d.text(false); err != nil {
				return nil, err
			}
		default:
			if len(d.path) == 0 {
				return nil, d.abandon("the text is not JSON")
			}
		}
	}
}

// addCell adds the record to the row if it is a cell of CloudWatch Logs Insights, which has a field and a value and nothing
// else: the results of get-query-results are arrays of such cells.
func (d *document) addCell() bool {
	if len(d.path) == 0 || !bytes.Contains(d.record[:min(len(d.record), longestPrefix)], []byte(`"field"`)) {
		return false
	}
	s := &d.cell
	s.Reset(d.record)
	var field, value []byte
	for open := s.Object(); open && s.Key(); {
		switch string(s.Name) {
		case "field":
			field = s.Raw()
		case "value":
			value = s.Raw()
		default:
			return false
		}
	}
	if s.End() != nil || len(field) == 0 || field[0] != '"' || len(value) == 0 {
		return false
	}
	separator := byte(',')
	if len(d.row) == 0 {
		separator = '{'
	}
	d.row = append(append(append(append(d.row, separator), field...), ':'), value...)
	return true
}

// abandon ends the document after the line of the error.
func (d *document) abandon(message string) error {
	d.path = d.path[:0]
	d.lines.skip()
	d.lines.number++
	return structureError(message)
}

// maxDepth bounds how deep brackets may be nested.
const maxDepth = 512

// object reads an object, whose opening bracket has been read, into record. It returns true as soon as a
// member is a list of records, of which the next value is then the first. Without keep, it skips the
// object, whose first members have been read.
func (d *document) object(keep bool) (list bool, err error) {
	var (
		open    [maxDepth]byte // the brackets within the object, with its own
		depth   = 1
		name    = keep  // the name of a member must follow
		first   = false // only white space precedes on the line
		begun   = false // nothing precedes on the line: a { there begins the next record, since what is within one is indented
		tooLong = false
		last    byte
	)
	open[0] = '{'
	d.record = append(d.record[:0], '{')
	for {
		c, err := d.lines.readByte()
		if err != nil {
			d.path = d.path[:0]
			return false, structureError("the file ends within a JSON object")
		}
		if tooLong = tooLong || len(d.record) >= maxRecord; keep && !tooLong {
			d.record = append(d.record, c)
		}
		switch c {
		case '\n':
			d.lines.number++
			first, begun = true, true
			continue
		case ' ', '\t', '\r':
			begun = false
			continue
		}
		if name && c != '"' && !(c == '}' && last != ',') || begun && c == '{' {
			if first { // the line may be a whole value
				d.path = d.path[:0]
				d.lines.back = slices.Insert(d.lines.back, 0, c)
				return false, structureError("the JSON object is cut off at the end of the line")
			}
			return false, d.abandon("the name of a member must follow { and , in a JSON object")
		}
		first, begun = false, false
		switch c {
		case '"':
			if err := d.text(keep && !tooLong); err != nil {
				return false, err
			}
			if !name { // a value
				d.key = d.key[:0]
			}
			name = false
		case '{', '[':
			if c == '[' && depth == 1 && keep && slices.Contains(listKeys, string(d.key)) {
				d.path = append(d.path, '{', '[')
				return true, nil
			}
			if depth == maxDepth {
				return false, d.abandon("brackets are nested too deep")
			}
			open[depth] = c
			depth++
			name = c == '{'
		case '}', ']':
			if open[depth-1] != c-2 { // the codes of brackets differ by two
				return false, d.abandon("a closing bracket does not match")
			}
			name = false
			if depth--; depth == 0 {
				if tooLong {
					return false, errLong
				}
				return false, nil
			}
		case ',':
			name = open[depth-1] == '{'
		}
		last = c
	}
}

// text reads a string, whose first quote has been read. It keeps the beginning of it in key, and with keep
// appends it to the record.
func (d *document) text(keep bool) error {
	d.key = d.key[:0]
	for escaped := false; ; {
		ahead := d.lines.ahead()
		n := 0
		for !escaped && n < len(ahead) && ahead[n] != '"' && ahead[n] != '\\' && ahead[n] != '\n' {
			n++
		}
		if n == 0 { // a byte with a meaning, or the end
			c, err := d.lines.readByte()
			if err != nil {
				d.path = d.path[:0]
				return structureError("the file ends within a JSON string")
			}
			if c == '\n' {
				d.path = d.path[:0]
				d.lines.number++
				return structureError("a JSON string is cut off at the end of the line")
			}
			if keep && len(d.record) <= maxRecord {
				d.record = append(d.record, c)
			}
			if c == '"' && !escaped {
				return nil
			}
			escaped = c == '\\' && !escaped
			continue
		}
		if keep && len(d.record) <= maxRecord {
			d.record = append(d.record, ahead[:n]...)
		}
		if k := min(n, longestKey-len(d.key)); k > 0 {
			d.key = append(d.key, ahead[:k]...)
		}
		d.lines.discard(n)
	}
}
