package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Parts of the bodies of functions below.
const (
	noLocals  = "\x00"
	begin     = "\x23\x00\x21\x01" // global.get 0; local.set 1
	block     = "\x02\x40"
	loop      = "\x03\x40"
	condition = "\x20\x02\x04\x40" // local.get 2; if
	end       = "\x0b"
	nop       = "\x01"
	zero      = "\x41\x00\x0f" // i32.const 0; return
)

// table is the table of a function of three parts with five places.
const table = "\x20\x00\x0e\x04\x00\x01\x01\x02\x02" + end

// jump is a jump to a place, from as many blocks within the loop.
func jump(place, open byte) string { return string([]byte{0x41, place, 0x21, 0, opBranch, open}) }

func branch(to byte) string { return string([]byte{opBranch, to}) }

// body returns a function of three parts.
func body(part0, part1, part2 string) string {
	return noLocals + begin + block + loop + block + block + block + table + part0 + end + part1 + end + part2 + end + end + zero + end
}

func TestJumpsOfAFunction(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                converted
	}{
		{"to the next part", body(jump(1, 2), nop, nop), body(branch(0), nop, nop), converted{1, 1}},
		{"two places of a part", body(jump(1, 2)+jump(2, 2), nop, nop), body(branch(0)+branch(0), nop, nop), converted{2, 2}},
		{"over a part", body(jump(4, 2), nop, nop), body(branch(1), nop, nop), converted{1, 1}},
		{"out of a condition", body(nop, condition+jump(3, 2)+end, nop), body(nop, condition+branch(1)+end, nop), converted{1, 1}},
		{"after a condition", body(nop, condition+end+jump(3, 1), nop), body(nop, condition+end+branch(0), nop), converted{1, 1}},
		{"back", body(nop, nop, jump(1, 0)), body(nop, nop, jump(1, 0)), converted{1, 0}},
		{"to its own part", body(nop, jump(1, 1), nop), body(nop, jump(1, 1), nop), converted{1, 0}},
		{"a branch to something else", body("\x41\x01\x21\x00"+branch(0), nop, nop), body("\x41\x01\x21\x00"+branch(0), nop, nop), converted{}},
		{"a call through a pointer", body("\x21\x00\x41\x00\x20\x00\x11\x00\x00"+jump(1, 2), nop, nop),
			body("\x21\x00\x41\x00\x20\x00\x11\x00\x00"+branch(0), nop, nop), converted{1, 1}},
		{"local 0 has a use of its own", body("\x20\x00\x1a"+jump(1, 2), nop, nop), body("\x20\x00\x1a"+jump(1, 2), nop, nop), converted{}},
		{"local 0 is kept on the stack", body(jump(1, 2), "\x41\x00\x22\x00\x1a", nop), body(jump(1, 2), "\x41\x00\x22\x00\x1a", nop), converted{}},
		{"a branch to the loop without a number", body(jump(1, 2)+branch(2), nop, nop), body(jump(1, 2)+branch(2), nop, nop), converted{}},
		{"a condition of a jump", body(jump(1, 2)+"\x20\x02\x0d\x02", nop, nop), body(jump(1, 2)+"\x20\x02\x0d\x02", nop, nop), converted{}},
		{"another table", body(jump(1, 2)+"\x20\x02\x0e\x01\x00\x00", nop, nop), body(jump(1, 2)+"\x20\x02\x0e\x01\x00\x00", nop, nop), converted{}},
		{"no loop", noLocals + block + nop + end + end, noLocals + block + nop + end + end, converted{}},
		{"a loop without parts", noLocals + loop + branch(0) + end + end, noLocals + loop + branch(0) + end + end, converted{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, n := function{reader: reader{bytes: []byte(c.before)}}, converted{}
			got := f.convert(&n)
			if f.err != nil || string(got) != c.after || n != c.want {
				t.Errorf("got %x, %+v, %v\nwant %x, %+v", got, n, f.err, c.after, c.want)
			}
		})
	}
}

// module returns a module with one section.
func module(id byte, content string) []byte {
	return appendSized(append([]byte(magic), id), []byte(content))
}

// one returns the content of the code section with one function.
func one(body string) string { return "\x01" + string(appendSized(nil, []byte(body))) }

func TestWhatIsNoProgramOfGo(t *testing.T) {
	for _, c := range []struct {
		name   string
		module []byte
		want   string
	}{
		{"nothing", nil, "is not a WebAssembly module"},
		{"text", []byte("(module)"), "is not a WebAssembly module"},
		{"without functions", []byte(magic), "has no function with jumps"},
		{"without jumps", module(codeSection, one(body(nop, nop, nop))), "has no function with jumps"},
		{"cut short", module(codeSection, one(body(jump(1, 2), nop, nop)))[:30], "byte 10: ends too early"},
		{"a section without its size", []byte(magic + "\x0a"), "byte 9: is no unsigned number"},
		{"an unknown instruction", module(codeSection, one(body(jump(1, 2)+"\xfd\x0c", nop, nop))), "byte 43: has the instruction 0xfd, which is not known here"},
		{"a place beyond the table", module(codeSection, one(body(jump(9, 2), nop, nop))), "jumps to place 9 of 5"},
		{"blocks that do not end", module(codeSection, one(strings.TrimSuffix(body(jump(1, 2), nop, nop), end))), "has 1 blocks without end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "program.wasm")
			if err := os.WriteFile(file, c.module, 0o600); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			if status := run(&stdout, &stderr, []string{file}); status != 1 || !strings.Contains(stderr.String(), c.want) {
				t.Errorf("status %d, %q, want 1, %q", status, stderr.String(), c.want)
			}
			if left, err := os.ReadFile(file); err != nil || !bytes.Equal(left, c.module) {
				t.Errorf("the file is not as it was: %x, %v", left, err)
			}
		})
	}
}

// The program of a few lines contains the runtime of Go, with thousands of functions. All of them must do the same as before.
func TestProgramOfGo(t *testing.T) {
	dir := t.TempDir()
	source, file := filepath.Join(dir, "main.go"), filepath.Join(dir, "program.wasm")
	if err := os.WriteFile(source, []byte("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", file, source)
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if status := run(&stdout, &stderr, []string{file}); status != 0 {
		t.Fatal(stderr.String())
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(stdout.String())
	old, now := functions(t, before), functions(t, after)
	if len(old) != len(now) {
		t.Fatalf("%d functions, want %d", len(now), len(old))
	}
	jumps, direct := 0, 0
	for i := range old {
		want, nWant := meaning(t, old[i])
		got, nGot := meaning(t, now[i])
		if !slices.Equal(got, want) {
			t.Fatalf("function %d is another one:\n%x\n%x", i, old[i], now[i])
		}
		jumps, direct = jumps+nWant, direct+nWant-nGot
	}
	if jumps < 1000 || direct < jumps*3/4 {
		t.Errorf("%d of %d jumps are direct, want three quarters of at least 1000", direct, jumps)
	}
	again, n, err := convert(after)
	if err != nil || n != (converted{jumps - direct, 0}) || !bytes.Equal(again, after) {
		t.Errorf("converted again: %+v, %v; want no change", n, err)
	}
}

// functions returns the bodies of the functions of a module.
func functions(t *testing.T, module []byte) (all [][]byte) {
	t.Helper()
	r := &reader{bytes: module, at: len(magic)}
	for r.at < len(module) && r.err == nil {
		id, content := r.byte(), r.sized()
		if id == codeSection {
			for n := content.unsigned(); n > 0; n-- {
				all = append(all, content.sized().bytes)
			}
			r.err = content.err
		}
	}
	if r.err != nil {
		t.Fatal(r.err)
	}
	return all
}

// meaning returns the instructions of a function, each jump and each branch as the block, counted from the beginning, whose end
// it leads to; and how many jumps begin the loop again.
func meaning(t *testing.T, body []byte) (all []string, jumps int) {
	t.Helper()
	r := &reader{bytes: body}
	for groups := r.unsigned(); groups > 0; groups-- {
		r.unsigned()
		r.byte()
	}
	var open []int // the blocks that are open
	loops := map[int]bool{}
	var table []int // the block whose end each place is at; only the first table of a function leads to its parts
	blocks := 0
	for r.at < len(body) && r.err == nil {
		i := r.next()
		text := fmt.Sprintf("%x", body[i.from:r.at])
		switch i.op {
		case opBlock, opLoop, opIf:
			loops[blocks] = i.op == opLoop
			open = append(open, blocks)
			blocks++
		case opEnd:
			open = open[:max(len(open)-1, 0)]
		case opTable:
			if table == nil {
				labels := body[i.from+1 : r.at]
				_, k := binary.Uvarint(labels)
				for labels = labels[k:]; len(labels) > 0; {
					label, k := binary.Uvarint(labels)
					table, labels = append(table, open[len(open)-1-int(label)]), labels[k:]
				}
			}
		case opBranch:
			if int(i.operand) == len(open) {
				break // out of the function
			}
			to := open[len(open)-1-int(i.operand)]
			n := len(all)
			if loops[to] && table != nil && n >= 2 && all[n-1] == "2100" && strings.HasPrefix(all[n-2], "41") {
				place := (&reader{bytes: unhex(t, all[n-2][2:])}).signed()
				to, all = table[place], all[:n-2]
				jumps++
			}
			text = fmt.Sprint("to the end of block ", to)
		}
		all = append(all, text)
	}
	if r.err != nil {
		t.Fatal(r.err)
	}
	return all, jumps
}

func unhex(t *testing.T, text string) (out []byte) {
	t.Helper()
	if _, err := fmt.Sscanf(text, "%x", &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUsage(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := run(&stdout, &stderr, nil); status != 2 || !strings.Contains(stderr.String(), "usage") {
		t.Errorf("status %d, %q", status, stderr.String())
	}
	if status := run(&stdout, &stderr, []string{filepath.Join(t.TempDir(), "missing.wasm")}); status != 1 {
		t.Errorf("status %d for a missing file, want 1", status)
	}
}

func FuzzConvert(f *testing.F) {
	f.Add(module(codeSection, one(body(jump(1, 2), nop, jump(1, 0)))))
	f.Add(module(codeSection, one(body(nop, condition+jump(3, 2)+end, nop))))
	f.Add([]byte(magic + "\x0a\x80"))
	f.Fuzz(func(t *testing.T, module []byte) {
		after, n, err := convert(module)
		if err != nil || n.jumps == n.direct {
			return
		}
		if again, n, err := convert(after); err != nil || n.direct != 0 || !bytes.Equal(again, after) {
			t.Errorf("converted again: %+v, %v", n, err)
		}
	})
}
