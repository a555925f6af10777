package atomicfile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A run was killed while it wrote. The next one in that folder removes its file, and no file of another machine, of a process that
// runs, or that a commit had put aside.
func TestFilesOfAKilledProcess(t *testing.T) {
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := func(machine string, process int, ending string) string {
		return filepath.Join(dir, fmt.Sprintf(".summary.json.%016x-%s-%d.apfsim-%s", 7, machine, process, ending))
	}
	abandoned := name(machine(), ended.Process.Pid, "tmp")
	kept := []string{name("ffffffff", ended.Process.Pid, "tmp"), name(machine(), os.Getppid(), "tmp"), name(machine(), ended.Process.Pid, "old"),
		filepath.Join(dir, ".summary.json.0123456789abcdef.apfsim-tmp")}
	for _, path := range append(kept, abandoned) {
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteFile(filepath.Join(dir, "summary.json"), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(abandoned); err == nil {
		t.Error("the file of the process that has ended is there")
	}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}
