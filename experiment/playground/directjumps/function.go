package main

import "encoding/binary"

// function is the body of a function. Go divides one that jumps into parts (cmd/internal/obj/wasm/wasmobj.go):
//
//	global.get; local.set   of the stack pointer
//	block                   if the function can be left in the middle, for another goroutine
//	  loop
//	    block ... block     one for each part
//	    local.get 0
//	    br_table            from the number of a place in the function to that of the part which begins there
//	    end
//	    part 0
//	    end
//	    part 1, and so on
//
// A jump to a place chooses its number and begins the loop again:
//
//	i32.const number; local.set 0; br to the loop
//
// In a part, the blocks that are still open are those that end before the later parts. A branch out of such a block leads to
// the part after its end, as the table does. Local 0 has another value then, which nothing reads: it is only read by the table,
// after it has been set, and by a call through a pointer, which sets it just before. A function in which that is not so is
// left as it is.
type function struct {
	reader
	loop  int   // how many blocks are open at the beginning of the loop, with it
	parts int   // how many there are
	table []int // the part of each place
}

// convert returns the body with direct jumps to later parts, or as it was.
func (f *function) convert(total *converted) []byte {
	if !f.head() {
		return f.bytes
	}
	out := append(make([]byte, 0, len(f.bytes)), f.bytes[:f.at]...)
	var n converted
	var before, latest instruction   // of which the latest is the last one
	open, part := f.loop+f.parts, -1 // the head is before part 0
	for f.at < len(f.bytes) && f.err == nil {
		now := f.next()
		text := f.bytes[now.from:f.at]
		switch now.op {
		case opBlock, opLoop, opIf:
			open++
		case opEnd:
			if open--; open == f.loop+f.parts-part-2 && open >= f.loop {
				part++
			}
		case opLocalTee, opLocalGet:
			called := now.op == opLocalGet && latest.op == opI32Const && before.is(opLocalSet, 0)
			if now.operand == 0 && !called {
				return f.bytes
			}
		case opTable:
			return f.bytes
		case opBranch, opBranchIf:
			if int(now.operand) != open-f.loop {
				break
			}
			if now.op == opBranchIf || before.op != opI32Const || !latest.is(opLocalSet, 0) {
				return f.bytes
			}
			if before.operand < 0 || before.operand >= int64(len(f.table)) {
				f.fail("jumps to place %d of %d", before.operand, len(f.table))
				break
			}
			n.jumps++
			if to := f.table[before.operand]; to > part {
				n.direct++
				out = out[:len(out)-(now.from-before.from)]
				text = binary.AppendUvarint([]byte{opBranch}, uint64(open-(f.loop+f.parts-to)))
			}
		}
		out = append(out, text...)
		before, latest = latest, now
	}
	if f.err == nil && open != -1 {
		f.fail("has %d blocks without end", open+1)
	}
	if f.err != nil {
		return f.bytes
	}
	total.jumps += n.jumps
	total.direct += n.direct
	return out
}

// head reads the body up to the table. It reports false for a function that is not divided into parts.
func (f *function) head() bool {
	for groups := f.unsigned(); groups > 0 && f.err == nil; groups-- { // the locals
		f.unsigned()
		f.byte()
	}
	now := f.next()
	if now.op == opGlobalGet {
		f.next()
		now = f.next()
	}
	for f.loop = 1; now.op == opBlock; f.loop++ {
		now = f.next()
	}
	if now.op != opLoop || f.err != nil {
		return false
	}
	for now = f.next(); now.is(opBlock, noResult); now = f.next() {
		f.parts++
	}
	if !now.is(opLocalGet, 0) || f.err != nil || f.byte() != opTable {
		return false
	}
	for places := f.unsigned() + 1; places > 0 && f.err == nil; places-- {
		to := f.unsigned()
		if to >= uint64(f.parts) {
			return false
		}
		f.table = append(f.table, int(to))
	}
	return f.err == nil
}
