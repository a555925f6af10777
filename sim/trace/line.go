package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"apfsim/document"
	"apfsim/sim/random"
)

// line parses one line of a trace, which is one JSON object. The first problem ends it.
type line struct {
	text   []byte
	at     int
	record Record
	last   *Record // the record before: its strings are used again
	seen   uint32  // bit f for field f of a trace

	problem string // "" while there is none
	field   string // the name of the field that has it, if one does
}

// column returns where the line has its problem, in characters from 1.
func (l *line) column() int { return utf8.RuneCount(l.text[:min(l.at, len(l.text))]) + 1 }

func (l *line) blank() bool { return len(bytes.TrimSpace(l.text)) == 0 }

func (l *line) fail(format string, args ...any) {
	if l.problem == "" {
		l.problem = fmt.Sprintf(format, args...)
	}
}

func (l *line) ok() bool { return l.problem == "" }

// peek skips white space and returns the next byte, 0 at the end.
func (l *line) peek() byte {
	for ; l.at < len(l.text); l.at++ {
		switch l.text[l.at] {
		case ' ', '\t', '\r', '\n':
		default:
			return l.text[l.at]
		}
	}
	return 0
}

// expect consumes one of the bytes in want and returns it.
func (l *line) expect(want string) byte {
	c := l.peek()
	switch {
	case c == 0 && l.at == len(l.text):
		l.fail("the line is cut off; want %s", oneOfBytes(want))
	case strings.IndexByte(want, c) < 0:
		r, _ := utf8.DecodeRune(l.text[l.at:])
		l.fail("is not valid JSON: %q; want %s", r, oneOfBytes(want))
	default:
		l.at++
		return c
	}
	return 0
}

func oneOfBytes(want string) string {
	s := ""
	for i := range want {
		if i > 0 {
			s += " or "
		}
		s += want[i : i+1]
	}
	return s
}

func (l *line) parse() {
	l.expect("{")
	if l.ok() && l.peek() == '}' {
		l.at++
	} else {
		for next := field(0); l.ok(); next++ {
			next = l.parseField(next)
			if !l.ok() || l.expect(",}") == '}' {
				break
			}
		}
	}
	if l.peek(); l.ok() && l.at < len(l.text) {
		l.fail("is not valid JSON: something follows the object")
	}
}

// parseField parses a field, which is probably the one given, and returns which one it was.
func (l *line) parseField(probably field) field {
	l.peek()
	start := l.at
	name := l.parseBytes()
	if l.expect(":"); !l.ok() {
		return allFields
	}
	f := find(name, probably)
	switch {
	case f == allFields:
		l.at, l.field = start, string(name)
		l.fail("unknown field%s", document.Suggest(string(name), names[:traceFields]))
		return f
	case f >= traceFields:
		l.skipValue()
		return f
	case l.has(f):
		l.at, l.field = start, names[f]
		l.fail("duplicate field")
		return f
	}
	l.seen |= 1 << f
	l.field = names[f]
	r, last := &l.record, l.last
	switch f {
	case fieldID:
		l.parseInteger(&r.ID)
	case fieldArrivalNs:
		l.parseTime(&r.ArrivalNs)
	case fieldUser:
		l.parseString(&r.User, last.User)
	case fieldGroups:
		l.parseGroups()
	case fieldVerb:
		l.parseString(&r.Verb, last.Verb)
	case fieldAPIGroup:
		l.parseString(&r.APIGroup, last.APIGroup)
	case fieldResource:
		l.parseString(&r.Resource, last.Resource)
	case fieldSubresource:
		l.parseString(&r.Subresource, last.Subresource)
	case fieldNamespace:
		l.parseString(&r.Namespace, last.Namespace)
	case fieldName:
		l.parseString(&r.Name, last.Name)
	case fieldPath:
		l.parseString(&r.Path, last.Path)
	case fieldQuery:
		l.parseString(&r.Query, last.Query)
	case fieldExecutionNs:
		l.parseTime(&r.ExecutionNs)
	case fieldWatchNs:
		l.parseTime(&r.WatchNs)
	}
	if l.ok() {
		l.field = ""
	}
	return f
}

// has reports whether the line has a field of a trace.
func (l *line) has(f field) bool { return l.seen&(1<<f) != 0 }

// quoted returns the string at the cursor, with its quotes, and moves behind it. Plain says that
// there is no escape in it.
func (l *line) quoted() (text []byte, plain bool) {
	start, plain := l.at, true
	if l.expect(`"`); !l.ok() {
		return nil, false
	}
	for ; l.at < len(l.text); l.at++ {
		switch c := l.text[l.at]; {
		case c == '"':
			l.at++
			text = l.text[start:l.at]
			if !utf8.Valid(text) {
				l.at = start
				l.fail("is not UTF-8")
			}
			return text, plain
		case c == '\\':
			plain = false
			l.at++
		case c < ' ':
			l.fail("is not valid JSON: a control character in a string")
			return nil, false
		}
	}
	l.at = len(l.text)
	l.fail("the line is cut off; want \"")
	return nil, false
}

// parseBytes returns the string at the cursor without quotes and escapes.
func (l *line) parseBytes() []byte {
	start := l.at
	text, plain := l.quoted()
	if !l.ok() {
		return nil
	}
	if plain {
		return text[1 : len(text)-1]
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		l.at = start
		l.fail("is not valid JSON: %v", err)
	}
	return []byte(s)
}

// parseString parses a string into s; an equal one of the record before is used again,
// which spares a long trace most of its allocations.
func (l *line) parseString(s *string, last string) {
	if l.peek() != '"' {
		l.wrong("a string")
		return
	}
	text := l.parseBytes()
	if string(text) == last {
		*s = last
	} else {
		*s = string(text)
	}
}

func (l *line) parseGroups() {
	if l.peek() == 'n' && l.null() {
		return
	}
	if l.peek() != '[' {
		l.wrong("a list of strings")
		return
	}
	l.at++
	groups := make([]string, 0, 4)
	for l.ok() && l.peek() != ']' {
		var g, last string
		if len(groups) < len(l.last.Groups) {
			last = l.last.Groups[len(groups)]
		}
		l.parseString(&g, last)
		groups = append(groups, g)
		if !l.ok() || l.peek() == ']' {
			break
		}
		if l.expect(",]"); l.ok() && l.peek() == ']' {
			l.fail("is not valid JSON: ']' after a comma")
		}
	}
	if l.ok() {
		l.at++
	}
	if slices.Equal(groups, l.last.Groups) {
		groups = l.last.Groups
	}
	l.record.Groups = groups
}

// null consumes a null, the empty list as encoding/json writes it.
func (l *line) null() bool {
	if !bytes.HasPrefix(l.text[l.at:], []byte("null")) {
		return false
	}
	l.at += len("null")
	return true
}

// token returns the number or literal at the cursor and moves behind it.
func (l *line) token() []byte {
	l.peek()
	start := l.at
	for l.at < len(l.text) && strings.IndexByte(" \t\r\n,]}[{\":", l.text[l.at]) < 0 {
		l.at++
	}
	return l.text[start:l.at]
}

func (l *line) parseInteger(into *int64) {
	c := l.peek()
	start := l.at
	if text := l.token(); c == '-' || '0' <= c && c <= '9' {
		i, err := strconv.ParseInt(string(text), 10, 64)
		digits := bytes.TrimPrefix(text, []byte("-"))
		if err == nil && (digits[0] != '0' || len(digits) == 1) { // JSON has no leading zeros
			*into = i
			return
		}
		l.at = start
		l.fail("%s is not a whole number of 64 bits", document.Abridge(string(text)))
		return
	}
	l.at = start
	l.wrong("a whole number")
}

// parseTime parses nanoseconds, up to the longest that a distribution can have.
func (l *line) parseTime(into *int64) {
	l.peek()
	start := l.at
	l.parseInteger(into)
	switch {
	case !l.ok():
	case *into < 0:
		l.at = start
		l.fail("%d is negative; want nanoseconds, 0 or more", *into)
	case *into > random.LongestNs:
		l.at = start
		l.fail("%d is more than %d", *into, int64(random.LongestNs))
	}
}

// wrong reports that the value at the cursor is not of the kind wanted.
func (l *line) wrong(want string) {
	if l.peek() == 0 && l.at == len(l.text) {
		l.fail("the line is cut off; want %s", want)
		return
	}
	start := l.at
	l.skipValue()
	value := l.text[start:min(l.at, len(l.text))]
	l.at = start
	if l.problem = ""; json.Valid(value) {
		l.fail("%s: want %s", document.Abridge(string(value)), want)
	} else {
		l.fail("is not valid JSON; want %s", want)
	}
}

// skipValue moves behind the value at the cursor.
func (l *line) skipValue() {
	l.peek()
	start := l.at
	depth := 0
	for l.ok() {
		switch c := l.peek(); {
		case l.at == len(l.text):
			l.fail("the line is cut off")
			return
		case c == '"':
			l.quoted()
		case c == '[' || c == '{':
			depth++
			l.at++
		case c == ']' || c == '}':
			depth--
			l.at++
		case c == ',' || c == ':':
			l.at++
		default:
			l.token()
		}
		if depth <= 0 {
			break
		}
	}
	if value := l.text[start:l.at]; l.ok() && !json.Valid(value) {
		l.at = start
		l.fail("is not valid JSON")
	}
}

// check looks at the record as a whole.
func (l *line) check(lastNs int64) {
	r := &l.record
	l.at = 0
	switch {
	case !l.has(fieldArrivalNs):
		l.field = names[fieldArrivalNs]
		l.fail("is missing")
	case r.Verb == "":
		l.field = names[fieldVerb]
		l.fail("is missing")
	case !l.has(fieldExecutionNs):
		l.field = names[fieldExecutionNs]
		l.fail("is missing")
	case r.Resource == "" && r.Path == "":
		l.fail("has neither resource nor path; want one of them")
	case r.ArrivalNs < lastNs:
		l.field = names[fieldArrivalNs]
		l.fail("%d is before the line above, %d: want the requests in order of arrival", r.ArrivalNs, lastNs)
	case r.ExecutionNs > math.MaxInt64-r.ArrivalNs-r.WatchNs:
		l.field = names[fieldExecutionNs]
		l.fail("%d is too long", r.ExecutionNs)
	}
}
