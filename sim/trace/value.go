package trace

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

	"apfsim/document"
	"apfsim/sim/random"
)

// quoted is where a JSON string is in a line, with its quotes, or a list of them. It is plain if there
// is no escape in it.
type quoted struct {
	from, to int32
	plain    bool
}

// The bytes of a word, each of them the lowest bit or the highest one.
const (
	lowest  = 0x0101010101010101
	highest = 0x8080808080808080
)

// special returns a word whose lowest bit that is set is in the first byte of word that is a quote, a
// backslash, a control character or not ASCII; 0 if there is none. (x-lowest) &^ x & highest finds
// the bytes of x that are 0: "Determine if a word has a zero byte" in Anderson's Bit Twiddling Hacks.
func special(word uint64) uint64 {
	quote, backslash := word^lowest*'"', word^lowest*'\\'
	return ((quote-lowest)&^quote | (backslash-lowest)&^backslash | (word - lowest*' ') | word) & highest
}

// parsePlain parses a string of ASCII without escapes, as most are. If something else is at the
// cursor, it returns false and the cursor stays. The last bytes of a line are something else, too.
func (l *line) parsePlain(into *quoted) bool {
	text, from := l.text, l.at
	if from >= len(text) || text[from] != '"' {
		return false
	}
	for at := from + 1; at+8 <= len(text); at += 8 {
		if found := special(binary.LittleEndian.Uint64(text[at:])); found != 0 {
			at += bits.TrailingZeros64(found) / 8
			if text[at] != '"' {
				return false
			}
			l.at = at + 1
			*into = quoted{int32(from), int32(at + 1), true}
			return true
		}
	}
	return false
}

// parseAny parses a string. Whether its escapes are valid is not checked.
func (l *line) parseAny() (q quoted) {
	l.peek()
	if l.parsePlain(&q) {
		return q
	}
	start, plain := l.at, true
	if l.expect(`"`); !l.ok() {
		return q
	}
	for ; l.at < len(l.text); l.at++ {
		switch c := l.text[l.at]; {
		case c == '"':
			l.at++
			if !utf8.Valid(l.text[start:l.at]) {
				l.at = start
				l.fail("is not UTF-8")
			}
			return quoted{int32(start), int32(l.at), plain}
		case c == '\\':
			plain = false
			l.at++
		case c < ' ':
			l.fail("is not valid JSON: a control character in a string")
			return q
		}
	}
	l.at = len(l.text)
	l.fail("the line is cut off; want \"")
	return q
}

// unquote returns a string without quotes and escapes.
func (l *line) unquote(q quoted) ([]byte, error) {
	text := l.text[q.from:q.to]
	if q.plain {
		return text[1 : len(text)-1], nil
	}
	var s string
	err := json.Unmarshal(text, &s)
	return []byte(s), err
}

// parseBytes returns the string at the cursor without quotes and escapes.
func (l *line) parseBytes() []byte {
	q := l.parseAny()
	if !l.ok() {
		return nil
	}
	b, err := l.unquote(q)
	if err != nil {
		l.failAtEscape(q)
	}
	return b
}

// failAtEscape notes the mistake of a string that is otherwise valid. It does not quote encoding/json, whose errors differ
// between releases of Go.
func (l *line) failAtEscape(q quoted) {
	l.at = int(q.from)
	l.fail(`is not valid JSON: a wrong escape in a string; want one of \" \\ \/ \b \f \n \r \t, or \u with four hexadecimal digits`)
}

// parseQuoted parses a string, whose escapes are checked.
func (l *line) parseQuoted() quoted {
	if l.peek() != '"' {
		l.wrong("a string")
		return quoted{}
	}
	q := l.parseAny()
	if l.ok() && !q.plain && !json.Valid(l.text[q.from:q.to]) {
		l.failAtEscape(q)
	}
	return q
}

// parseGroups parses a list of strings, or null, the empty list as encoding/json writes it.
func (l *line) parseGroups() {
	l.values[fieldGroups] = quoted{plain: true}
	if l.peek() == 'n' && bytes.HasPrefix(l.text[l.at:], []byte("null")) {
		l.at += len("null")
		return
	}
	if l.peek() != '[' {
		l.wrong("a list of strings")
		return
	}
	start, plain := l.at, true
	l.at++
	for l.ok() && l.peek() != ']' {
		var q quoted
		if !l.parsePlain(&q) {
			q = l.parseQuoted()
		}
		plain = q.plain && plain
		if !l.ok() || l.peek() == ']' {
			break
		}
		if l.expect(",]"); l.ok() && l.peek() == ']' {
			l.fail("is not valid JSON: ']' after a comma")
		}
	}
	if l.ok() {
		l.at++
		l.values[fieldGroups] = quoted{int32(start), int32(l.at), plain}
	}
}

// string returns the value of a field that is a string, "" if the line does not have it.
func (l *line) string(f field) string {
	if !l.has(f) {
		return ""
	}
	b, _ := l.unquote(l.values[f]) // which parseQuoted has checked
	return string(b)
}

// groups returns the value of the field, nil if the line does not have it.
func (l *line) groups() (groups []string) {
	if !l.has(fieldGroups) {
		return nil
	}
	q := l.values[fieldGroups]
	remaining := l.text[q.from:q.to]
	if !q.plain {
		json.Unmarshal(remaining, &groups) // which parseGroups has checked
		return groups
	}
	for {
		_, group, more := bytes.Cut(remaining, []byte(`"`))
		if !more {
			return groups
		}
		group, remaining, _ = bytes.Cut(group, []byte(`"`))
		groups = append(groups, string(group))
	}
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

// digits returns how many of the bytes of a word, from the lowest on, are digits, and their value. A byte that is no
// digit is at least 10 after the exclusive or, so that its highest bit is set or the sum with 0x76 sets it. The value
// is that of Lemire's "Quickly parsing eight digits" (2018), with the digits moved to the upper end, and zeros
// below them.
func digits(word uint64) (n int, value int64) {
	word ^= lowest * '0'
	other := (word + lowest*0x76 | word) & highest
	n = bits.TrailingZeros64(other) / 8 // 8 if there is none
	word <<= 64 - 8*n                   // 0 if n is 0
	word = word*10 + word>>8
	const pairs = 0x000000ff_000000ff
	return n, int64((word&pairs*(100+1000000<<32) + word>>16&pairs*(1+10000<<32)) >> 32)
}

// powers are the powers of ten by the number of digits of a word.
var powers = [...]int64{1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000}

// parseDigits parses a whole number without a sign, which a comma or brace follows, as most numbers
// in traces are. If something else is at the cursor, ok is false and the cursor stays.
func (l *line) parseDigits() (n int64, ok bool) {
	at, most := l.at, l.at+18 // 18 digits do not overflow
	for at+8 <= len(l.text) && at+8 <= most {
		k, value := digits(binary.LittleEndian.Uint64(l.text[at:]))
		n = n*powers[k] + value
		if at += k; k < 8 {
			most = at
		}
	}
	for ; at < len(l.text) && at < most; at++ {
		digit := l.text[at] - '0'
		if digit > 9 {
			break
		}
		n = 10*n + int64(digit)
	}
	if at == l.at || at == len(l.text) || l.text[at] != ',' && l.text[at] != '}' || l.text[l.at] == '0' && at > l.at+1 {
		return 0, false
	}
	l.at = at
	return n, true
}

func (l *line) parseInteger(into *int64) {
	if n, ok := l.parseDigits(); ok {
		*into = n
		return
	}
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
	var q quoted
	if l.parsePlain(&q) {
		return
	}
	if _, ok := l.parseDigits(); ok {
		return
	}
	if l.at < len(l.text) && l.text[l.at] == '-' { // -1 is the queue of requests without one
		l.at++
		if _, ok := l.parseDigits(); ok {
			return
		}
		l.at--
	}
	if l.peek() == '"' {
		if q := l.parseAny(); l.ok() && !q.plain && !json.Valid(l.text[q.from:q.to]) {
			l.at = int(q.from)
			l.fail("is not valid JSON")
		}
		return
	}
	start := l.at
	depth := 0
	for l.ok() {
		switch c := l.peek(); {
		case l.at == len(l.text):
			l.fail("the line is cut off")
			return
		case c == '"':
			l.parseAny()
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
