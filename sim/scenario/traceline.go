package scenario

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

// traceFields are the fields of a trace, and outcomeFields those that a request log adds.
var (
	traceFields = []string{"id", "arrivalNs", "user", "groups", "verb", "apiGroup", "resource", "subresource",
		"namespace", "name", "path", "query", "executionNs", "watchNs"}
	outcomeFields = []string{"workload", "client", "flowSchema", "priorityLevel", "flow", "queue", "outcome", "reason",
		"attempt", "dispatchNs", "finishNs", "waitNs", "seats", "finalSeats", "additionalLatencyNs", "retryAfterSeconds"}
)

// traceLine parses one line of a trace, which is one JSON object. It is written out, since
// encoding/json does not say where an unknown field stands, takes fields in any case, and
// is slow for the length of a trace. The first problem ends it.
type traceLine struct {
	text   []byte
	at     int
	record TraceRecord
	last   *TraceRecord // the record before: its strings are used again
	hasID  bool
	seen   uint32 // bit i for field i of traceFields

	problem string // "" while there is none
	field   string // which has it, if one does
}

// column returns where the line has its problem, in characters from 1.
func (l *traceLine) column() int { return utf8.RuneCount(l.text[:min(l.at, len(l.text))]) + 1 }

func (l *traceLine) blank() bool { return len(bytes.TrimSpace(l.text)) == 0 }

func (l *traceLine) fail(format string, args ...any) {
	if l.problem == "" {
		l.problem = fmt.Sprintf(format, args...)
	}
}

func (l *traceLine) ok() bool { return l.problem == "" }

// peek skips white space and returns the next byte, 0 at the end.
func (l *traceLine) peek() byte {
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
func (l *traceLine) expect(want string) byte {
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

func (l *traceLine) parse() {
	l.expect("{")
	if l.ok() && l.peek() == '}' {
		l.at++
	} else {
		for l.ok() {
			l.parseField()
			if !l.ok() || l.expect(",}") == '}' {
				break
			}
		}
	}
	if l.peek(); l.ok() && l.at < len(l.text) {
		l.fail("is not valid JSON: something follows the object")
	}
}

func (l *traceLine) parseField() {
	l.peek()
	start := l.at
	name := l.parseName()
	if l.expect(":"); !l.ok() {
		return
	}
	i := slices.IndexFunc(traceFields, func(f string) bool { return f == string(name) })
	if i < 0 {
		if !slices.ContainsFunc(outcomeFields, func(f string) bool { return f == string(name) }) {
			l.at, l.field = start, string(name)
			l.fail("unknown field%s", document.Suggest(string(name), traceFields))
			return
		}
		l.skipValue()
		return
	}
	if l.seen&(1<<i) != 0 {
		l.at, l.field = start, traceFields[i]
		l.fail("stands twice")
		return
	}
	l.seen |= 1 << i
	l.field = traceFields[i]
	r, last := &l.record, l.last
	switch traceFields[i] {
	case "id":
		l.hasID = true
		l.parseInteger(&r.ID)
	case "arrivalNs":
		l.parseTime(&r.ArrivalNs)
	case "user":
		l.parseString(&r.User, last.User)
	case "groups":
		l.parseGroups()
	case "verb":
		l.parseString(&r.Verb, last.Verb)
	case "apiGroup":
		l.parseString(&r.APIGroup, last.APIGroup)
	case "resource":
		l.parseString(&r.Resource, last.Resource)
	case "subresource":
		l.parseString(&r.Subresource, last.Subresource)
	case "namespace":
		l.parseString(&r.Namespace, last.Namespace)
	case "name":
		l.parseString(&r.Name, last.Name)
	case "path":
		l.parseString(&r.Path, last.Path)
	case "query":
		l.parseString(&r.Query, last.Query)
	case "executionNs":
		l.parseTime(&r.ExecutionNs)
	case "watchNs":
		l.parseTime(&r.WatchNs)
	}
	if l.ok() {
		l.field = ""
	}
}

// quoted returns the string at the cursor, with its quotes, and moves behind it. Plain says that
// there is no escape in it.
func (l *traceLine) quoted() (text []byte, plain bool) {
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
func (l *traceLine) parseBytes() []byte {
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

// parseName parses the name of a field.
func (l *traceLine) parseName() []byte {
	l.peek()
	return l.parseBytes()
}

// parseString parses a string into s; an equal one of the record before is used again,
// which spares a long trace most of its allocations.
func (l *traceLine) parseString(s *string, last string) {
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

func (l *traceLine) parseGroups() {
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
func (l *traceLine) null() bool {
	if !bytes.HasPrefix(l.text[l.at:], []byte("null")) {
		return false
	}
	l.at += len("null")
	return true
}

// token returns the number or literal at the cursor and moves behind it.
func (l *traceLine) token() []byte {
	l.peek()
	start := l.at
	for l.at < len(l.text) && strings.IndexByte(" \t\r\n,]}[{\":", l.text[l.at]) < 0 {
		l.at++
	}
	return l.text[start:l.at]
}

func (l *traceLine) parseInteger(into *int64) {
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

// parseTime parses nanoseconds, of which there may be as many as a sample has.
func (l *traceLine) parseTime(into *int64) {
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
func (l *traceLine) wrong(want string) {
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
func (l *traceLine) skipValue() {
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
func (l *traceLine) check(lastNs int64) {
	r := &l.record
	has := func(field string) bool { return l.seen&(1<<slices.Index(traceFields, field)) != 0 }
	l.at = 0
	switch {
	case !has("arrivalNs"):
		l.field = "arrivalNs"
		l.fail("is missing")
	case r.Verb == "":
		l.field = "verb"
		l.fail("is missing")
	case !has("executionNs"):
		l.field = "executionNs"
		l.fail("is missing")
	case r.Resource == "" && r.Path == "":
		l.fail("has neither resource nor path; want one of them")
	case r.ArrivalNs < lastNs:
		l.field = "arrivalNs"
		l.fail("%d is before the line above, %d: want the requests in order of arrival", r.ArrivalNs, lastNs)
	case r.ExecutionNs > math.MaxInt64-r.ArrivalNs-r.WatchNs:
		l.field = "executionNs"
		l.fail("%d is too long", r.ExecutionNs)
	}
}
