package requests

import (
	"encoding/binary"
	"slices"
)

// codec writes the fields of a value to b, or reads them from it, in the order of its calls. One
// function names the fields for both directions, so that they cannot differ.
type codec struct {
	b       []byte
	reading bool
	// known are strings that have been read, so that those that occur often are not copied again.
	known map[string]string
}

// mostKnown bounds the memory of codec.known.
const mostKnown = 1 << 16

// integers are the types of numbers that a codec knows.
type integers interface{ ~int | ~int64 | ~uint8 }

// number writes or reads a number.
func number[T integers](c *codec, v *T) {
	if !c.reading {
		c.b = binary.AppendVarint(c.b, int64(*v))
		return
	}
	n, size := binary.Varint(c.b)
	*v, c.b = T(n), c.b[size:]
}

func (c *codec) flag(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	number(c, &n)
	*v = n == 1
}

// name writes or reads a string that few records have in common.
func (c *codec) name(v *string) {
	n := len(*v)
	number(c, &n)
	if !c.reading {
		c.b = append(c.b, *v...)
		return
	}
	*v, c.b = string(c.b[:n]), c.b[n:]
}

// word writes or reads a string that many records have in common.
func (c *codec) word(v *string) {
	n := len(*v)
	number(c, &n)
	if !c.reading {
		c.b = append(c.b, *v...)
		return
	}
	s, ok := c.known[string(c.b[:n])]
	if !ok {
		if c.known == nil || len(c.known) == mostKnown {
			c.known = map[string]string{}
		}
		s = string(c.b[:n])
		c.known[s] = s
	}
	*v, c.b = s, c.b[n:]
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
