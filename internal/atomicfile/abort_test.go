package atomicfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A process that aborts leaves the files that are complete, and nothing of those that are not. As nothing can
// be written afterwards, it is a process of its own.
func TestAbort(t *testing.T) {
	if dir := os.Getenv("ATOMICFILE_ABORT"); dir != "" {
		abortIn(dir)
		return
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAbort$")
	cmd.Env = append(os.Environ(), "ATOMICFILE_ABORT="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := tree(t, dir)
	if len(got) != 3 || got["done"] != "a folder" || got["done/a"] != "whole" || got["alone"] != "whole" {
		t.Errorf("left behind: %q", got)
	}
}

// abortIn aborts after some files have been written to dir, and while others are being written.
func abortIn(dir string) {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	var done, begun, discarded Set
	check(done.MakeFolder(filepath.Join(dir, "done")))
	check(done.Write(filepath.Join(dir, "done", "a"), []byte("whole")))
	check(done.Commit())
	check(WriteFile(filepath.Join(dir, "alone"), []byte("whole")))
	check(discarded.MakeFolder(filepath.Join(dir, "discarded")))
	check(discarded.Write(filepath.Join(dir, "discarded", "b"), []byte("part")))
	check(discarded.Discard())
	check(begun.MakeFolder(filepath.Join(dir, "begun", "within")))
	check(begun.Write(filepath.Join(dir, "begun", "within", "c"), []byte("part")))
	check(begun.Write(filepath.Join(dir, "done", "d"), []byte("part")))
	Abort()
}
