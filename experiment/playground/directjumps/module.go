package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The format is that of https://webassembly.github.io/spec/core/binary.

// magic is how a module begins.
const magic = "\x00asm\x01\x00\x00\x00"

// codeSection is the section with the bodies of the functions.
const codeSection = 10

// converted is how many jumps a program has, and how many of them are direct now.
type converted struct{ jumps, direct int }

// convert returns a module with direct jumps. The error says at which byte the module is not as Go writes it.
func convert(module []byte) ([]byte, converted, error) {
	var n converted
	if len(module) < len(magic) || string(module[:len(magic)]) != magic {
		return nil, n, errors.New("is not a WebAssembly module of version 1")
	}
	out := append(make([]byte, 0, len(module)), magic...)
	r := &reader{bytes: module, at: len(magic)}
	for r.at < len(module) && r.err == nil {
		id := r.byte()
		content := r.sized()
		if id == codeSection && r.err == nil {
			content = code(content, &n)
		}
		out = append(out, id)
		out = appendSized(out, content.bytes[content.at:])
		if r.err == nil {
			r.err = content.err
		}
	}
	if r.err == nil && n.jumps == 0 {
		r.err = errors.New("has no function with jumps as Go writes them")
	}
	return out, n, r.err
}

// code returns the content of the code section with direct jumps.
func code(section *reader, n *converted) *reader {
	functions := section.unsigned()
	out := binary.AppendUvarint(nil, functions)
	for ; functions > 0 && section.err == nil; functions-- {
		body := section.sized()
		f := function{reader: *body}
		out = appendSized(out, f.convert(n))
		if section.err == nil {
			section.err = f.err
		}
	}
	return &reader{bytes: out, err: section.err}
}

// appendSized appends the number of some bytes and the bytes.
func appendSized(to, bytes []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(bytes))), bytes...)
}

// reader reads bytes. After an error, which has the place of the first mistake, it stays where it is and returns zeros.
type reader struct {
	bytes  []byte
	at     int
	offset int // of the first byte, in the module
	err    error
}

// fail notes a mistake at the present place.
func (r *reader) fail(format string, arguments ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("byte %d: %w", r.offset+r.at, fmt.Errorf(format, arguments...))
	}
}

// skip passes over n bytes.
func (r *reader) skip(n uint64) {
	switch {
	case r.err != nil:
	case n > uint64(len(r.bytes)-r.at):
		r.fail("ends too early")
	default:
		r.at += int(n)
	}
}

// byte reads a byte.
func (r *reader) byte() byte {
	r.skip(1)
	if r.err != nil {
		return 0
	}
	return r.bytes[r.at-1]
}

// unsigned reads an unsigned number of at most 32 bits.
func (r *reader) unsigned() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.bytes[r.at:])
	if n <= 0 || v > math.MaxUint32 {
		r.fail("is no unsigned number of 32 bits")
		return 0
	}
	r.at += n
	return v
}

// signed reads a signed number of at most 64 bits.
func (r *reader) signed() (v int64) {
	for shift := 0; shift < 70; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if shift += 7; shift < 64 && b&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
	r.fail("is no signed number of 64 bits")
	return 0
}

// sized reads a size and returns a reader of so many bytes, which it passes over.
func (r *reader) sized() *reader {
	size := r.unsigned()
	from := r.at
	r.skip(size)
	if r.err != nil {
		return &reader{err: r.err}
	}
	return &reader{bytes: r.bytes[from:r.at], offset: r.offset + from}
}
