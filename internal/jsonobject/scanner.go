// Package jsonobject reads the members of a JSON object that is in memory, one after another and without
// allocation, so that a program can take a few members out of large objects and skip the others. It
// accepts what RFC 8259 calls JSON text, except that strings may contain invalid UTF-8.
package jsonobject

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Scanner reads one JSON value. The first error ends the reading: Key and Element then return false, values
// are empty, and End returns the error.
//
//	s.Reset(value)
//	for open := s.Object(); open && s.Key(); {
//		switch string(s.Name) {
//		case "verb":
//			verb = string(s.Text())
//		default:
//			s.Skip()
//		}
//	}
//	err := s.End()
type Scanner struct {
	Name []byte // of the latest member; valid until the next call of Key

	data  []byte
	i     int  // the next byte
	first bool // an object or array has just begun
	depth int
	name  []byte // memory for a name and a text with escapes
	text  []byte
	err   error
}

// maxDepth bounds how deep values may be nested.
const maxDepth = 1000

// Reset begins with another value, which must not change until End.
func (s *Scanner) Reset(value []byte) {
	s.data, s.i, s.depth, s.err = value, 0, 0, nil
	s.space()
}

// fail keeps the first error.
func (s *Scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("invalid JSON at byte %d: %s", s.i+1, fmt.Sprintf(format, args...))
		s.i = len(s.data)
	}
}

// want fails because of the next byte.
func (s *Scanner) want(what string) {
	if s.i < len(s.data) {
		s.fail("%q where %s must follow", s.data[s.i], what)
	} else {
		s.fail("the text ends where %s must follow", what)
	}
}

// space skips white space.
func (s *Scanner) space() {
	for s.i < len(s.data) {
		switch s.data[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

// Kind returns the first byte of the next value, or 0 if there is none.
func (s *Scanner) Kind() byte {
	if s.i < len(s.data) {
		return s.data[s.i]
	}
	return 0
}

// take skips the byte, and white space after it, if it is the next one.
func (s *Scanner) take(c byte) bool {
	if s.Kind() != c {
		return false
	}
	s.i++
	s.space()
	return true
}

// Object begins to read an object. It skips any other value and returns false.
func (s *Scanner) Object() bool { return s.enter('{') }

// Array begins to read an array. It skips any other value and returns false.
func (s *Scanner) Array() bool { return s.enter('[') }

func (s *Scanner) enter(bracket byte) bool {
	if s.Kind() != bracket {
		s.Skip()
		return false
	}
	s.take(bracket)
	s.first = true
	if s.depth++; s.depth > maxDepth {
		s.fail("more than %d levels of brackets", maxDepth)
	}
	return s.err == nil
}

// next reads up to the next member or element. It returns false at the end, and after an error.
func (s *Scanner) next(closing byte) bool {
	if s.err != nil {
		return false
	}
	switch {
	case s.take(closing):
		s.depth--
		s.first = false
		return false
	case s.first:
		s.first = false
	case !s.take(','):
		s.want(`"," or ` + strconv.Quote(string(closing)))
	}
	return s.err == nil
}

// Key reads the name of the next member of the object into Name. It returns false at the end of the object,
// which it leaves, and after an error.
func (s *Scanner) Key() bool {
	if !s.next('}') {
		return false
	}
	name, escaped := s.string("the name of a member")
	if s.Name = name; escaped && s.err == nil {
		s.name = unquote(s.name[:0], name)
		s.Name = s.name
	}
	if s.space(); s.err == nil && !s.take(':') {
		s.want(`":"`)
	}
	return s.err == nil
}

// Element reports whether the array has another element. It returns false at the end of the array, which it
// leaves, and after an error.
func (s *Scanner) Element() bool { return s.next(']') }

// plain are the bytes that stand for themselves within a string.
var plain = func() (table [256]bool) {
	for c := range table {
		table[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return table
}()

// string reads a string and returns what is between the quotes, and whether it contains escapes.
func (s *Scanner) string(what string) (text []byte, escaped bool) {
	if s.Kind() != '"' {
		s.want(what)
		return nil, false
	}
	for i := s.i + 1; ; i++ {
		for i < len(s.data) && plain[s.data[i]] {
			i++
		}
		if i >= len(s.data) {
			s.i = len(s.data)
			s.fail("the text ends within a string")
			return nil, false
		}
		switch s.data[i] {
		case '"':
			text = s.data[s.i+1 : i]
			s.i = i + 1
			return text, escaped
		case '\\':
			escaped = true
			n := escapeLength(s.data[i:])
			if n == 0 {
				s.i = i
				s.fail("an escape that is not valid in a string")
				return nil, false
			}
			i += n - 1
		default:
			s.i = i
			s.fail("the character %q in a string without an escape", s.data[i])
			return nil, false
		}
	}
}

// escapeLength returns the length of the escape at the beginning of the text, or 0 if it is not valid.
func escapeLength(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if hexadecimal(text[2:]) >= 0 {
			return 6
		}
	}
	return 0
}

// unquote appends the meaning of a valid string to the buffer.
func unquote(buffer, text []byte) []byte {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			buffer = append(buffer, text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case 'b':
			buffer = append(buffer, '\b')
		case 'f':
			buffer = append(buffer, '\f')
		case 'n':
			buffer = append(buffer, '\n')
		case 'r':
			buffer = append(buffer, '\r')
		case 't':
			buffer = append(buffer, '\t')
		case 'u':
			r := hexadecimal(text[i+1:])
			i += 4
			if utf16.IsSurrogate(r) {
				if remaining := text[i+1:]; len(remaining) >= 6 && remaining[0] == '\\' && remaining[1] == 'u' {
					if r = utf16.DecodeRune(r, hexadecimal(remaining[2:])); r != utf8.RuneError {
						i += 6
					}
				}
			}
			buffer = utf8.AppendRune(buffer, r) // U+FFFD for half a pair of surrogates
		default:
			buffer = append(buffer, c)
		}
	}
	return buffer
}

// hexadecimal returns the number of four digits, or -1.
func hexadecimal(text []byte) rune {
	if len(text) < 4 {
		return -1
	}
	var r rune
	for _, c := range text[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// Text reads a string. It is valid until the next call of Text. Any other value is skipped and gives nil.
func (s *Scanner) Text() []byte {
	if s.Kind() != '"' {
		s.Skip()
		return nil
	}
	text, escaped := s.string("")
	if escaped && s.err == nil {
		s.text = unquote(s.text[:0], text)
		text = s.text
	}
	s.space()
	return text
}

// Int reads an integer. Any other value is skipped and gives 0.
func (s *Scanner) Int() int64 {
	n, _ := strconv.ParseInt(string(s.Raw()), 10, 64)
	return n
}

// Raw reads any value as it stands.
func (s *Scanner) Raw() []byte {
	begin := s.i
	if s.Skip(); s.err != nil {
		return nil
	}
	return bytes.TrimRight(s.data[begin:s.i], " \t\r\n")
}

// Skip skips a value, and white space after it.
func (s *Scanner) Skip() {
	switch c := s.Kind(); {
	case s.err != nil:
	case c == '"':
		s.string("")
	case c == '{':
		for open := s.enter('{'); open && s.next('}'); s.Skip() {
			s.string("the name of a member")
			if s.space(); s.err == nil && !s.take(':') {
				s.want(`":"`)
			}
		}
	case c == '[':
		for open := s.enter('['); open && s.next(']'); {
			s.Skip()
		}
	case c == 't':
		s.literal("true")
	case c == 'f':
		s.literal("false")
	case c == 'n':
		s.literal("null")
	case c == '-' || c >= '0' && c <= '9':
		s.number()
	default:
		s.want("a value")
	}
	s.space()
}

func (s *Scanner) literal(word string) {
	if !bytes.HasPrefix(s.data[s.i:], []byte(word)) {
		s.want(word)
		return
	}
	s.i += len(word)
}

// number skips a number: an integer without leading zeros, a fraction, an exponent.
func (s *Scanner) number() {
	digits := func() {
		begin := s.i
		for s.Kind() >= '0' && s.Kind() <= '9' {
			s.i++
		}
		if s.i == begin {
			s.want("a digit")
		}
	}
	if s.Kind() == '-' {
		s.i++
	}
	if s.Kind() == '0' {
		s.i++
	} else {
		digits()
	}
	if s.Kind() == '.' {
		s.i++
		digits()
	}
	if c := s.Kind(); c == 'e' || c == 'E' {
		s.i++
		if c := s.Kind(); c == '+' || c == '-' {
			s.i++
		}
		digits()
	}
}

// End returns the first error, and an error if something follows the value.
func (s *Scanner) End() error {
	if s.err == nil && s.i < len(s.data) {
		s.fail("%q after the value", s.data[s.i])
	}
	return s.err
}
