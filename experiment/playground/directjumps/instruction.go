package main

// instruction is an instruction of WebAssembly.
type instruction struct {
	op      byte
	operand int64 // the first one, if it is a number
	from    int   // where it begins
}

// The instructions that matter for jumps.
const (
	opBlock     = 0x02
	opLoop      = 0x03
	opIf        = 0x04
	opEnd       = 0x0b
	opBranch    = 0x0c
	opBranchIf  = 0x0d
	opTable     = 0x0e
	opLocalGet  = 0x20
	opLocalSet  = 0x21
	opLocalTee  = 0x22
	opGlobalGet = 0x23
	opI32Const  = 0x41
)

// noResult is the type of a block without a result, which is a byte that reads as -64.
const noResult = -64

func (i *instruction) is(op byte, operand int64) bool { return i.op == op && i.operand == operand }

// next reads an instruction. It knows those that Go uses, and fails at others.
func (r *reader) next() (i instruction) {
	i.from = r.at
	i.op = r.byte()
	switch op := i.op; {
	case op == opBlock || op == opLoop || op == opIf:
		i.operand = r.signed()
	case op == opBranch || op == opBranchIf || op == 0x10 || op >= opLocalGet && op <= 0x24: // call; locals and globals
		i.operand = int64(r.unsigned())
	case op == opTable:
		for n := r.unsigned() + 1; n > 0 && r.err == nil; n-- {
			r.unsigned()
		}
	case op == 0x11 || op >= 0x28 && op <= 0x3e: // call_indirect; loads and stores
		r.unsigned()
		r.unsigned()
	case op == 0x3f || op == 0x40: // memory.size, memory.grow
		r.byte()
	case op == opI32Const || op == 0x42: // i64.const
		i.operand = r.signed()
	case op == 0x43: // f32.const
		r.skip(4)
	case op == 0x44: // f64.const
		r.skip(8)
	case op == 0xfc:
		switch more := r.unsigned(); {
		case more == 10: // memory.copy
			r.skip(2)
		case more == 11: // memory.fill
			r.skip(1)
		case more > 7: // up to there, conversions of numbers
			i.unknown(r)
		}
	// unreachable, nop, else, end, return, drop, select; comparisons, arithmetic, conversions
	case op == 0x00 || op == 0x01 || op == 0x05 || op == opEnd || op == 0x0f || op == 0x1a || op == 0x1b || op >= 0x45 && op <= 0xc4:
	default:
		i.unknown(r)
	}
	return i
}

func (i *instruction) unknown(r *reader) {
	r.at = i.from
	r.fail("has the instruction 0x%02x, which is not known here", i.op)
}
