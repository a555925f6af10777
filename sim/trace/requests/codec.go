package requests

import (
	"encoding/binary"
	"slices"
	"strings"
)

// codec writes the fields of a value to b, or reads them from it, in the order of its calls. One
// function names the fields for both directions, so that they cannot differ.
type codec struct {
	b       []byte // the record that is written
	reading bool
	text    string // the record that is read
	at      int    // what of it has been read

	// Strings that have been read, so that those that occur often are not kept with each record: all of them, and the
	// latest of each call of word for a record, which the next record often has too.
	known  map[string]string
	latest []string
	called int
}

// read begins to read a record. The strings of the codec's method name are parts of the copy that is made of it.
func (c *codec) read(record []byte) { c.text, c.at, c.called = string(record), 0, 0 }

// mostKnown bounds the memory of codec.known.
const mostKnown = 1 << 16

// integers are the types of numbers that a codec knows.
type integers interface{ ~int | ~int64 | ~uint8 }

// number writes or reads a number.
func number[T integers](c *codec, v *T) {
	if c.reading {
		*v = T(c.varint())
	} else {
		c.b = binary.AppendVarint(c.b, int64(*v))
	}
}

// varint reads what binary.AppendVarint has written.
func (c *codec) varint() int64 {
	var n uint64
	for shift := 0; ; shift += 7 {
		digit := c.text[c.at]
		c.at++
		if n |= uint64(digit&0x7f) << shift; digit < 0x80 {
			return int64(n>>1) ^ -int64(n&1)
		}
	}
}

// piece reads so many bytes.
func (c *codec) piece(n int) string {
	c.at += n
	return c.text[c.at-n : c.at]
}

func (c *codec) flag(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	number(c, &n)
	*v = n == 1
}

// name writes or reads a string that few records have in common. What is read is a part of the record.
func (c *codec) name(v *string) {
	n := len(*v)
	number(c, &n)
	if c.reading {
		*v = c.piece(n)
	} else {
		c.b = append(c.b, *v...)
	}
}

// word writes or reads a string that many records have in common. What is read is apart from the record.
func (c *codec) word(v *string) {
	n := len(*v)
	number(c, &n)
	if !c.reading {
		c.b = append(c.b, *v...)
		return
	}
	s := c.piece(n)
	if n == 0 {
		*v = ""
		return
	}
	if c.called == len(c.latest) {
		c.latest = append(c.latest, "")
	}
	latest := &c.latest[c.called]
	c.called++
	if s != *latest {
		known, ok := c.known[s]
		if !ok {
			if c.known == nil || len(c.known) == mostKnown {
				c.known = map[string]string{}
			}
			known = strings.Clone(s)
			c.known[known] = known
		}
		*latest = known
	}
	*v = *latest
}

func (c *codec) words(v *[]string) {
	n := len(*v)
	number(c, &n)
	if c.reading {
		*v = slices.Grow((*v)[:0], n)[:n]
	}
	for i := range *v {
		c.word(&(*v)[i])
	}
}
