package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// content returns the files in a folder with what is in them.
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

func TestFileIsWholeOrNotThere(t *testing.T) {
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
		t.Errorf("while it is written: %q", got)
	}
	if err := f.Discard(); err != nil {
		t.Error(err)
	}
	if got := content(t, dir); got["a"] != "old" || len(got) != 1 {
		t.Errorf("abandoned: %q", got)
	}
	if err := WriteFile(path, []byte("new")); err != nil {
		t.Error(err)
	}
	if got := content(t, dir); got["a"] != "new" || len(got) != 1 {
		t.Errorf("written: %q", got)
	}
}

// The permissions are those of any new file.
func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are none")
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
		t.Errorf("%v, and those of others are %v", modes[0], modes[1])
	}
}

// What cannot be written leaves nothing, and says so.
func TestFailure(t *testing.T) {
	dir := t.TempDir()
	if err := WriteFile(filepath.Join(dir, "nowhere", "a"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "folder"), nil); err == nil {
		t.Error("in place of a folder: no error")
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
