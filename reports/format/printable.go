package format

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Printable replaces what cannot be printed as it is by escapes, such as \u001b: control characters, which would
// move a terminal's cursor or change its state, separators of lines, marks that reverse the direction of the text
// around them, and bytes that are not UTF-8. Within a string of JSON, and within double quotes of YAML, the escapes
// of characters stand for the same characters.
func Printable(s string) string {
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unprintable(r) && r != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// unprintable reports whether a character is escaped, or may be a byte that is not UTF-8.
func unprintable(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0: // C0, delete, C1
		return true
	case r == 0x2028, r == 0x2029: // separators
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // direction
		return true
	}
	return r == utf8.RuneError
}

// PrintableLines is Printable for text of several lines, which may have tabs.
func PrintableLines(s string) string {
	var b strings.Builder
	w := PrintableWriter{Next: &b}
	w.Write([]byte(s))
	w.Flush()
	return b.String()
}

// PrintableWriter writes text of several lines to Next as [Printable] does, with its tabs. It is for the
// places where text leaves the program, so that no name or message on the way there can be forgotten.
//
// A character of several bytes, or a style, may come in several writes. Flush writes what is left over.
type PrintableWriter struct {
	Next   io.Writer
	Styles bool // whether the styles of a terminal that this program uses are left as they are

	kept []byte // the beginning of a character or a style
}

// longestStyle is the number of bytes of the longest style.
const longestStyle = len("\x1b[33m")

// Write implements io.Writer. It has written all of b if there is no error.
func (p *PrintableWriter) Write(b []byte) (int, error) {
	text := b
	if len(p.kept) > 0 {
		text = append(p.kept, b...)
		p.kept = nil
	}
	return len(b), p.write(text, false)
}

// Flush writes the beginning of a character that has no end.
func (p *PrintableWriter) Flush() error {
	text := p.kept
	p.kept = nil
	return p.write(text, true)
}

func (p *PrintableWriter) write(text []byte, atEnd bool) error {
	from := 0
	var escaped []byte // nil as long as nothing is escaped
	for i := plain(text, 0); i < len(text); i = plain(text, i) {
		remaining := text[i:]
		size := 1
		replacement := ""
		switch r, n := utf8.DecodeRune(remaining); {
		case remaining[0] == '\n' || remaining[0] == '\t':
		case !atEnd && (!utf8.FullRune(remaining) || p.Styles && remaining[0] == 0x1b && len(remaining) < longestStyle && styleOf(remaining) == 0):
			p.kept = append([]byte(nil), remaining...)
			text = text[:i]
			continue
		case p.Styles && remaining[0] == 0x1b && styleOf(remaining) > 0:
			size = styleOf(remaining)
		case unprintable(r):
			size = n
			replacement = Printable(string(remaining[:n]))
		default:
			size = n
		}
		if replacement != "" && replacement != string(remaining[:size]) {
			escaped = append(append(escaped, text[from:i]...), replacement...)
			from = i + size
		}
		i += size
	}
	if escaped == nil {
		_, err := p.Next.Write(text)
		return err
	}
	_, err := p.Next.Write(append(escaped, text[from:]...))
	return err
}

// plain returns the index of the first byte of text, from i, that is not printable ASCII.
func plain(text []byte, i int) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(text); i += 8 {
		x := binary.LittleEndian.Uint64(text[i:])
		del := x ^ 0x7f*each
		if (x|(x-0x20*each)|(del-each))&high != 0 {
			break
		}
	}
	for i < len(text) && text[i] >= ' ' && text[i] < 0x7f {
		i++
	}
	return i
}

// styleOf returns the length of the style of a terminal at the beginning of a text, 0 if there is none.
func styleOf(text []byte) int {
	for _, style := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[22m", "\x1b[31m", "\x1b[32m", "\x1b[33m"} {
		if len(text) >= len(style) && string(text[:len(style)]) == style {
			return len(style)
		}
	}
	return 0
}
