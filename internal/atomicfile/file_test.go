package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// content returns the contents of the files in a folder, by name.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

func TestFileIsReplacedOnlyByCommit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("ne"))
	if got := content(t, dir); got["a"] != "old" || len(got) != 2 {
		t.Errorf("before Commit: %q", got)
	}
	if err := f.Discard(); err != nil {
		t.Error(err)
	}
	if got := content(t, dir); got["a"] != "old" || len(got) != 1 {
		t.Errorf("after Discard: %q", got)
	}
	if err := WriteFile(path, []byte("new")); err != nil {
		t.Error(err)
	}
	if got := content(t, dir); got["a"] != "new" || len(got) != 1 {
		t.Errorf("after WriteFile: %q", got)
	}
}

// The permissions are those of a file that os.WriteFile creates.
func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	dir := t.TempDir()
	if err := WriteFile(filepath.Join(dir, "whole"), nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "any"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var modes [2]fs.FileMode
	for i, name := range []string{"whole", "any"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		modes[i] = info.Mode()
	}
	if modes[0] != modes[1] {
		t.Errorf("got %v, want %v", modes[0], modes[1])
	}
}

// A file that cannot be written is an error and leaves no temporary file.
func TestFailure(t *testing.T) {
	dir := t.TempDir()
	if err := WriteFile(filepath.Join(dir, "nowhere", "a"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that does not exist: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "folder"), nil); err == nil {
		t.Error("in place of a folder: no error")
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 {
		t.Errorf("the folder contains %v, want one entry", entries)
	}
}
