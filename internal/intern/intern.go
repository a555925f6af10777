// Package intern returns equal strings as the same string, so that texts that repeat in a long input are
// kept in memory once.
package intern

import "strings"

// Table remembers strings. Its memory is bounded: strings that have not been used for a while are
// forgotten, which only means that they are allocated again. The zero value is an empty table.
type Table struct {
	young, old map[string]string
}

const (
	generation = 1 << 13 // strings in young; old has as many
	longest    = 1 << 10 // bytes of a string that is remembered
)

// String returns the text as a string, with U+FFFD for bytes that are not valid UTF-8.
func (t *Table) String(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	if s, ok := t.young[string(text)]; ok {
		return s
	}
	s, ok := t.old[string(text)]
	if !ok {
		s = strings.ToValidUTF8(string(text), "\uFFFD")
	}
	if len(text) > longest || len(s) != len(text) {
		return s
	}
	if t.young == nil || len(t.young) == generation {
		// A string that is in use moves to the new generation with its next use. The others are forgotten
		// when that generation is full.
		t.old, t.young = t.young, make(map[string]string, generation)
	}
	t.young[s] = s
	return s
}

// Of returns the string itself or an equal one, and remembers it apart from any longer string of which it is
// a part.
func (t *Table) Of(s string) string {
	if known, ok := t.young[s]; ok || s == "" {
		return known
	}
	return t.String([]byte(s))
}
