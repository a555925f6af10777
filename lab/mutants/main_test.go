package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A package with functions of several forms, because a branch for each mutant is put into them: with named results, with
// a receiver and parameters of a generic type, without results, and with a label.
const sample = `// Package sample is a queue.
package sample

const limit = 3

type Queue[T any] struct{ items []T }

// Push says where an item is, or that it is rejected.
func (q *Queue[T]) Push(item T) (index int, ok bool) {
	if len(q.items) >= limit {
		return 0, false
	}
	q.items = append(q.items, item)
	return len(q.items) - 1, true
}

func clear[T any](q *Queue[T]) { q.items = nil }

var double = func(n int) (result int, f func()) { return 2 * n, nil }

func index(words []string, word string) int {
search:
	for i, w := range words {
		if w != word {
			continue search
		}
		return i
	}
	return -1
}
`

const sampleTest = `package sample

import "testing"

func TestQueue(t *testing.T) {
	var q Queue[string]
	for i := range 3 {
		if index, ok := q.Push("a"); index != i || !ok {
			t.Fatal(index, ok)
		}
	}
	if _, ok := q.Push("b"); ok {
		t.Fatal("pushed more than the limit")
	}
	clear(&q)
	if len(q.items) != 0 {
		t.Fatal("not cleared")
	}
	if n, _ := double(2); n != 4 {
		t.Fatal(n)
	}
	if i := index([]string{"a", "b"}, "b"); i != 1 {
		t.Fatal(i)
	}
}
`

func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module sample\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The mutants that no test of the sample notices are all about -1, for a word that does not exist, and about the
// index of a rejected item. One of the former is declared equivalent. The source is not changed.
func TestSurvivors(t *testing.T) {
	dir := module(t, map[string]string{"sample.go": sample, "sample_test.go": sampleTest,
		"known.md": "| Package | Function | Change | Reason |\n|---|---|---|---|\n| `sample` | `index` | `1 → 0` | because |\n"})
	var out, errors strings.Builder
	if status := run(&out, &errors, []string{"-C", dir, "-n", "1000", "-equivalent", filepath.Join(dir, "known.md"), "."}); status != 0 {
		t.Fatalf("status %d: %s", status, &errors)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(lines[:len(lines)-1])
	want := []string{
		"SURVIVED\tsample.go:11: (*Queue[T]).Push: 0 → -1",
		"SURVIVED\tsample.go:11: (*Queue[T]).Push: 0 → 1",
		"SURVIVED\tsample.go:29: index: 1 → 2",
		"SURVIVED\tsample.go:29: index: return -1 → return *new(int)",
		"equivalent\tsample.go:29: index: 1 → 0",
		"sample: 17 of 21 mutants killed (81 %), 1 equivalent; seed 1",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "sample.go")); err != nil || string(text) != sample {
		t.Errorf("the source has changed: %v", err)
	}

	// A test more kills two of the four survivors. Only these are run again.
	earlier := filepath.Join(dir, "earlier.txt")
	more := strings.Replace(sampleTest, "clear(&q)", "if i, _ := q.Push(\"b\"); i != 0 {\n\t\tt.Fatal(i)\n\t}\n\tclear(&q)", 1)
	for path, text := range map[string]string{earlier: out.String(), filepath.Join(dir, "sample_test.go"): more} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out.Reset()
	if status := run(&out, &errors, []string{"-C", dir, "-n", "1000", "-again", earlier, "."}); status != 0 {
		t.Fatalf("status %d: %s", status, &errors)
	}
	left := want[3] + "\n" + want[2] + "\nsample: 2 of 4 mutants killed (50 %), 0 equivalent; seed 1\n"
	if diff := cmp.Diff(left, out.String()); diff != "" {
		t.Error(diff)
	}
}

// A test that fails without a mutant would kill each of them.
func TestFailingTestsAreAnError(t *testing.T) {
	dir := module(t, map[string]string{"sample.go": sample,
		"sample_test.go": "package sample\n\nimport \"testing\"\n\nfunc TestWrong(t *testing.T) { t.Fatal(\"a broken test\") }\n"})
	var out, errors strings.Builder
	if status := run(&out, &errors, []string{"-C", dir, "."}); status != 1 || !strings.Contains(errors.String(), "fail without a mutant") {
		t.Errorf("status %d: %s", status, &errors)
	}
}

// A mutant that never ends is killed by its time-out.
func TestEndlessLoop(t *testing.T) {
	dir := module(t, map[string]string{
		"sample.go":      "package sample\n\nfunc drain(n int) {\n\tfor n > 0 {\n\t\tn--\n\t}\n}\n",
		"sample_test.go": "package sample\n\nimport \"testing\"\n\nfunc TestDrain(t *testing.T) { drain(2) }\n"})
	var out, errors strings.Builder
	if status := run(&out, &errors, []string{"-C", dir, "-v", "-timeout", "1ms", "."}); status != 0 {
		t.Fatalf("status %d: %s", status, &errors)
	}
	if want := "killed by sample\tsample.go:5: drain: n-- → n++\n"; !strings.Contains(out.String(), want) {
		t.Errorf("got\n%swant a line %s", &out, want)
	}
}

func changes(t *testing.T, text string, n int, seed uint64) (all []string) {
	t.Helper()
	p, err := load(module(t, map[string]string{"sample.go": text}), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.draw(n, seed) {
		all = append(all, m.change())
	}
	return all
}

// The same seed draws the same mutants, another seed others.
func TestDraw(t *testing.T) {
	one := changes(t, sample, 5, 1)
	if len(one) != 5 || !slices.Equal(one, changes(t, sample, 5, 1)) {
		t.Errorf("seed 1 draws %q, and then others", one)
	}
	if slices.Equal(one, changes(t, sample, 5, 2)) {
		t.Errorf("seeds 1 and 2 draw the same: %q", one)
	}
}

// Each operator, on a statement where it compiles. What does not compile is not drawn, such as "a" - "b", and the
// message of a panic and the capacity of a slice are not changed.
func TestOperators(t *testing.T) {
	for body, want := range map[string][]string{
		"return a < b && ok":                        {"a < b && ok → a < b || ok", "a < b → a <= b", "return a < b && ok → return *new(bool)"},
		"if a > 1 {\n return ok\n}\nreturn ok":      {"a > 1 → !(a > 1)", "a > 1 → a >= 1", "1 → 0", "1 → 2", "return ok → return *new(bool)", "return ok → return *new(bool)"},
		"a += b % a\nreturn a == b":                 {"drop a += b % a", "a += b % a → a -= b % a", "b % a → b * a", "return a == b → return *new(bool)", "a == b → a != b"},
		"a++\nreturn true":                          {"drop a++", "a++ → a--", "true → false"},
		"println(a)\nreturn false":                  {"drop println(a)", "false → true"},
		"panic(\"a\" + \"b\")":                      nil,
		"return make([]int, b, 9) == nil":           {"return make([]int, b, 9) == nil → return *new(bool)", "make([]int, b, 9) == nil → make([]int, b, 9) != nil"},
		"_ = func() int { return a }\nreturn false": {"drop _ = func() int { return a }", "return a → return *new(int)", "false → true"},
	} {
		got := changes(t, "package sample\n\nfunc f(a, b int, ok bool) bool {\n"+body+"\n}\n", 100, 1)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", body, got, want)
		}
	}
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"-n", "0", "a"}, {"-seed", "x", "a"}} {
		if status := run(new(strings.Builder), new(strings.Builder), args); status != 2 {
			t.Errorf("%q: status %d, want 2", args, status)
		}
	}
}
