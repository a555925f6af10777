package trace

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"apfsim/document"
	"apfsim/internal/intern"
)

// line parses one line of a trace, which is one JSON object. The first problem ends it. The values
// of the kind are only located, and not converted to Go strings: most lines are of a kind that is
// known, which the text of these members shows. Where it has been parsed before, it is skipped.
type line struct {
	text []byte
	at   int
	seen uint32 // bit f for field f of a trace

	numbers  [traceFields]int64  // the values of the fields that are numbers
	kindText []byte              // the members that make up the kind, separated by commas
	scratch  []byte              // memory for kindText where they do not follow each other
	values   [traceFields]quoted // the values of the fields that make up the kind

	// decided says that what a log says of the requests is wanted as well: logged is where the line has it.
	decided bool
	logged  [allFields - traceFields]quoted
	texts   intern.Table // of the values of a log

	// follows is the field that followed a field in the lines before. allFields is followed by the
	// first field. A line usually has the same fields in the same order as the one before.
	follows [allFields + 1]field

	kinds      kinds
	known      *knownKind // whose members have been skipped
	lastOfKind field      // the last member of the kind so far
	afterKind  field      // what followed the members of the kind in the lines before; allFields if nothing did
	lengths    [4]int     // of the text of kinds, different ones that were found last
	oldest     int        // index of the oldest of lengths
	thorough   bool       // no members are skipped

	problem string // "" while there is none
	field   string // the name of the field that has it, if one does
}

// newLine returns a line that expects the fields in the order of their names.
func newLine() *line {
	l := &line{kinds: kinds{}, afterKind: allFields}
	for f := range allFields {
		l.follows[f] = (f + 1) % allFields
	}
	l.follows[allFields] = 0
	return l
}

// begin readies l for another line.
func (l *line) begin(text []byte) {
	l.text, l.at, l.seen, l.kindText = text, 0, 0, nil
	l.numbers[fieldID], l.numbers[fieldArrivalNs], l.numbers[fieldExecutionNs], l.numbers[fieldWatchNs] = 0, 0, 0, 0
	l.known, l.problem, l.field = nil, "", ""
	if l.decided {
		l.logged = [allFields - traceFields]quoted{}
	}
}

// column returns where the line has its problem, in characters from 1.
func (l *line) column() int { return utf8.RuneCount(l.text[:min(l.at, len(l.text))]) + 1 }

func (l *line) blank() bool {
	return (len(l.text) == 0 || l.text[0] != '{') && len(bytes.TrimSpace(l.text)) == 0
}

func (l *line) fail(format string, args ...any) {
	if l.problem == "" {
		l.problem = fmt.Sprintf(format, args...)
	}
}

func (l *line) ok() bool { return l.problem == "" }

// peek skips white space and returns the next byte, 0 at the end.
func (l *line) peek() byte {
	for ; l.at < len(l.text); l.at++ {
		switch c := l.text[l.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
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
		l.parseMembers()
	}
	if l.peek(); l.ok() && l.at < len(l.text) {
		l.fail("is not valid JSON: something follows the object")
	}
}

// parseMembers parses the members of the object and its closing brace.
func (l *line) parseMembers() {
	from, to := -1, 0 // the members of the kind that have followed each other up to here
	log := 0          // where the fields of a request log begin
	for f := allFields; l.ok(); {
		l.peek()
		start := l.at
		if l.follows[f].ofKind() && l.skipKind() {
			f = l.known.last
		} else if f < traceFields && l.follows[f] >= traceFields && l.skipDecision() {
			f = fieldFlow
		} else if f = l.parseMember(f); !l.ok() {
			return
		} else if f.ofKind() && l.known != nil { // what has been skipped is not the whole kind
			l.parseThoroughly()
			return
		}
		switch {
		case f.ofKind():
			l.lastOfKind = f
			if from < 0 {
				from = start
			}
		case from >= 0:
			l.afterKind = f
			l.addToKind(from, to)
			from = -1
		case f == fieldWorkload:
			log = start
		case f == fieldFlow && log > 0 && l.known != nil:
			l.known.decision = append(l.known.decision[:0], l.text[log:l.at]...)
		}
		to = l.at
		if l.at < len(l.text) && l.text[l.at] == ',' {
			l.at++
		} else if l.expect(",}") == '}' {
			break
		}
	}
	if from >= 0 {
		l.addToKind(from, to)
	}
}

// addToKind adds members of the kind to kindText. In many traces all follow each other, and nothing
// is copied.
func (l *line) addToKind(from, to int) {
	if l.kindText == nil {
		l.kindText = l.text[from:to]
		return
	}
	l.scratch = append(append(append(l.scratch[:0], l.kindText...), ','), l.text[from:to]...)
	l.kindText = l.scratch
}

// skipKind skips the members of the kind if these follow each other and are of a known kind. Their
// end is found by what followed them in the line before. The same text may occur within a value, where
// it is not their end. But if what is before it is the text of a known kind, it was parsed as whole
// members once, and would be here.
func (l *line) skipKind() bool {
	if l.afterKind == allFields || l.seen&kindFields != 0 || l.thorough {
		return false
	}
	remaining := l.text[l.at:]
	end := l.endOfKind(remaining, starts[l.afterKind])
	if end <= 0 {
		return false
	}
	known := l.kinds[string(remaining[:end])]
	if known == nil {
		return false
	}
	l.known = known
	l.seen |= known.seen
	l.at += end
	return true
}

// endOfKind returns where text has what follows the kind, at a length that other kinds have had if
// possible, because a search takes longer. It is below 0 if it is not there.
func (l *line) endOfKind(text []byte, follows string) int {
	for _, n := range l.lengths {
		if n > 0 && n+len(follows) <= len(text) && string(text[n:n+len(follows)]) == follows {
			return n
		}
	}
	n := bytes.Index(text, []byte(follows))
	l.lengths[l.oldest] = n
	l.oldest = (l.oldest + 1) % len(l.lengths)
	return n
}

// skipDecision skips the first members of a request log if they are those of an earlier line of the
// kind: its requests usually have one flow.
func (l *line) skipDecision() bool {
	if l.known == nil || l.thorough || l.decided {
		return false
	}
	remaining, known := l.text[l.at:], l.known.decision
	if len(known) == 0 || len(remaining) <= len(known) || remaining[len(known)] != ',' || !bytes.Equal(remaining[:len(known)], known) {
		return false
	}
	l.at += len(known)
	return true
}

// parseThoroughly parses the members once more, without skipping any.
func (l *line) parseThoroughly() {
	l.begin(l.text)
	l.expect("{")
	l.thorough = true
	l.parseMembers()
	l.thorough = false
}

// parseMember parses the member after that of the given field, allFields at the beginning of the
// line, and returns its field.
func (l *line) parseMember(last field) field {
	f := l.follows[last]
	if name := members[f]; len(l.text)-l.at >= len(name) && string(l.text[l.at:l.at+len(name)]) == name {
		if f < traceFields && l.has(f) {
			l.field = names[f]
			l.fail("duplicate field")
			return f
		}
		l.at += len(name)
	} else if f = l.parseName(); !l.ok() {
		return f
	}
	l.follows[last] = f
	if f >= traceFields {
		l.peek()
		from := l.at
		l.skipValue()
		if l.decided {
			l.logged[f-traceFields] = quoted{from: int32(from), to: int32(l.at)}
		}
		return f
	}
	l.seen |= 1 << f
	if f.ofAsked() {
		l.peek()
		from := l.at
		l.skipValue()
		l.values[f] = quoted{from: int32(from), to: int32(l.at)}
		return f
	}
	if f.ofKind() {
		if f != fieldGroups && l.parsePlain(&l.values[f]) {
			return f
		}
	} else if n, ok := l.parseDigits(); ok {
		l.numbers[f] = n
		return f
	}
	l.field = names[f]
	switch {
	case f == fieldGroups:
		l.parseGroups()
	case f.ofKind():
		l.values[f] = l.parseQuoted()
	case f == fieldID:
		l.parseInteger(&l.numbers[f])
	default:
		l.parseTime(&l.numbers[f])
	}
	if l.ok() {
		l.field = ""
	}
	return f
}

// parseName parses the name of a member and the colon after it, and returns the field.
func (l *line) parseName() field {
	start := l.at
	name := l.parseBytes()
	if l.expect(":"); !l.ok() {
		return allFields
	}
	f := find(name)
	switch {
	case f == allFields:
		l.at, l.field = start, string(name)
		l.fail("unknown field%s", document.Suggest(string(name), names[:traceFields]))
	case f < traceFields && l.has(f):
		l.at, l.field = start, names[f]
		l.fail("duplicate field")
	}
	return f
}

// has reports whether the line has a field of a trace.
func (l *line) has(f field) bool { return l.seen&(1<<f) != 0 }

// check looks at the line as a whole, which is of kind k and follows one of lastNs. With a store, an
// execution takes as long as it follows from the request, unless the line says otherwise.
func (l *line) check(k *Kind, lastNs int64, stored bool) {
	l.at = 0
	arrivalNs, executionNs := l.numbers[fieldArrivalNs], l.numbers[fieldExecutionNs]
	switch {
	case !l.has(fieldArrivalNs):
		l.field = names[fieldArrivalNs]
		l.fail("is missing")
	case k.Attributes.Verb == "":
		l.field = names[fieldVerb]
		l.fail("is missing")
	case !l.has(fieldExecutionNs) && !stored:
		l.field = names[fieldExecutionNs]
		l.fail("is missing")
	case k.Attributes.Resource == "" && k.path == "":
		l.fail("has neither resource nor path; want one of them")
	case arrivalNs < lastNs:
		l.field = names[fieldArrivalNs]
		l.fail("%d is before the line above, %d: want the requests in order of arrival", arrivalNs, lastNs)
	case executionNs > math.MaxInt64-arrivalNs-l.numbers[fieldWatchNs]:
		l.field = names[fieldExecutionNs]
		l.fail("%d is too long", executionNs)
	}
}
