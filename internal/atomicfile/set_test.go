package atomicfile

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree returns the contents of the files below a folder, and its folders, by path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.IsDir() {
			all[filepath.ToSlash(name)] = "a folder"
			return nil
		}
		text, err := os.ReadFile(path)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// staged returns a set that replaces a, adds b/c and b/d, removes old, and replaces z as the last file.
func staged(t *testing.T, dir string) *Set {
	t.Helper()
	s := &Set{}
	if err := s.MakeFolder(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b/c", "b/d", "z"} {
		if err := s.Write(filepath.Join(dir, name), []byte("new "+name)); err != nil {
			t.Fatal(err)
		}
	}
	s.Remove(filepath.Join(dir, "old"))
	s.Remove(filepath.Join(dir, "none"))
	return s
}

// earlier returns a folder with the files of an earlier run and a file of the user.
func earlier(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a", "z", "old", "users"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("earlier "+name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCommitOfASet(t *testing.T) {
	dir := earlier(t)
	s := staged(t, dir)
	if got := tree(t, dir); got["a"] != "earlier a" || got["b/c"] != "" || got["old"] == "" {
		t.Errorf("before Commit: %v", got)
	}
	if err := s.Commit(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "new a", "b": "a folder", "b/c": "new b/c", "b/d": "new b/d", "z": "new z", "users": "earlier users"}
	if got := tree(t, dir); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if err := s.Discard(); err != nil || !maps.Equal(tree(t, dir), want) {
		t.Errorf("after Commit and Discard: %v, %v", err, tree(t, dir))
	}
}

func TestDiscardOfASet(t *testing.T) {
	dir := earlier(t)
	before := tree(t, dir)
	if err := staged(t, dir).Discard(); err != nil || !maps.Equal(tree(t, dir), before) {
		t.Errorf("%v: %v", err, tree(t, dir))
	}
	var s Set
	if err := errors.Join(s.MakeFolder(filepath.Join(dir, "x", "y")), s.Write(filepath.Join(dir, "x", "y", "file"), nil)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x", "users"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := s.Discard(); err != nil {
		t.Fatal(err)
	}
	before["x"], before["x/users"] = "a folder", ""
	if got := tree(t, dir); !maps.Equal(got, before) {
		t.Errorf("with another file in the new folder: %v", got)
	}
}

// If a step of Commit fails, the folder is as before.
func TestFailedCommitChangesNothing(t *testing.T) {
	for name, spoil := range map[string]func(dir string, s *Set) error{
		"a folder in place of the last file": func(dir string, _ *Set) error {
			return errors.Join(os.Remove(filepath.Join(dir, "z")), os.Mkdir(filepath.Join(dir, "z"), 0o777))
		},
		"a folder in place of two": func(dir string, _ *Set) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "b", "c"), 0o777), os.Mkdir(filepath.Join(dir, "b", "d"), 0o777))
		},
		"a closed file":         func(_ string, s *Set) error { return s.files[2].file.Close() },
		"a removed file":        func(_ string, s *Set) error { return os.Remove(s.files[2].file.Name()) },
		"the last file removed": func(_ string, s *Set) error { return os.Remove(s.files[3].file.Name()) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := earlier(t)
			s := staged(t, dir)
			if err := spoil(dir, s); err != nil {
				t.Fatal(err)
			}
			before := tree(t, dir)
			err := s.Commit()
			if err == nil || strings.Count(err.Error(), "\n") != strings.Count(name, "two") {
				t.Errorf("error %v", err)
			}
			if got := tree(t, dir); !maps.Equal(got, before) {
				t.Errorf("%v, want %v", got, before)
			}
			s.Discard()
			for name := range tree(t, dir) {
				if strings.Contains(name, "apfsim") {
					t.Errorf("temporary file %s remains", name)
				}
			}
		})
	}
}

// If two processes write to one folder at the same time, each file is that of one of them.
func TestConcurrentSets(t *testing.T) {
	dir := earlier(t)
	one, other := staged(t, dir), staged(t, dir)
	if err := errors.Join(one.Commit(), other.Commit()); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, dir); len(got) != 6 || got["old"] != "" || got["z"] != "new z" {
		t.Error(got)
	}
}

// Unfinished returns the temporary files of one file only, and no files with similar names.
func TestUnfinished(t *testing.T) {
	dir := earlier(t)
	s := staged(t, dir)
	old := temporaryName(filepath.Join(dir, "a"), "old")
	for _, path := range []string{old, filepath.Join(dir, ".a-0123456789abcdef"), filepath.Join(dir, ".a.apfsim-tmp.x"), filepath.Join(dir, ".ab.0.apfsim-tmp")} {
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]bool{old: true, s.files[0].file.Name(): true}
	for _, path := range Unfinished(dir, "a") {
		if !want[path] {
			t.Errorf("unexpected: %s", path)
		}
		delete(want, path)
	}
	if len(want) > 0 {
		t.Error(fmt.Sprint("missing: ", want))
	}
}

// A file does not replace a folder of its name.
func TestAFileDoesNotReplaceAFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	s := &Set{}
	f, err := s.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(); err == nil {
		t.Error("a file has replaced a folder")
	}
	if err := s.Discard(); err != nil {
		t.Error(err)
	}
	if got := tree(t, dir); len(got) != 1 || got["a"] != "a folder" {
		t.Errorf("the folder has %v", got)
	}
}

// Of two runs into one folder, one fails while the other is about to make its own folder there: that one finds its way.
func TestAFailedSetLeavesTheFolderOfAnother(t *testing.T) {
	for range 100 {
		out := filepath.Join(t.TempDir(), "out")
		var failed, other Set
		if err := failed.MakeFolder(out); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- other.MakeFolder(filepath.Join(out, "a", "b", "c")) }()
		err := errors.Join(failed.Discard(), <-done)
		if _, missing := os.Stat(filepath.Join(out, "a", "b", "c")); err != nil || missing != nil {
			t.Fatal(err, missing)
		}
		if err := other.Discard(); err != nil {
			t.Fatal(err)
		}
	}
}

// Of two runs that write into one folder, one fails before the other has a file there: that one writes its file. If it
// fails too, the folder that neither found is removed.
func TestTheLastSetRemovesTheFolder(t *testing.T) {
	for _, succeeds := range []bool{true, false} {
		out := filepath.Join(t.TempDir(), "out")
		var failed, other Set
		if err := errors.Join(failed.MakeFolder(out), other.MakeFolder(out), failed.Discard(), other.Write(filepath.Join(out, "a"), []byte("1"))); err != nil {
			t.Fatal(err)
		}
		if succeeds {
			if err := other.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		if err := other.Discard(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(out); (err == nil) != succeeds {
			t.Errorf("succeeds %v: %v", succeeds, err)
		}
	}
}
