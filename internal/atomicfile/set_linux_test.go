package atomicfile

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// renames returns what becomes of the final names in a folder while commit runs, as the kernel has recorded it: "- a" for a
// name that a file loses, and "+ a" for one that a file gets.
func renames(t *testing.T, dir string, commit func() error) (all []string) {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Skip("inotify is not available: ", err)
	}
	defer syscall.Close(fd)
	if _, err := syscall.InotifyAddWatch(fd, dir, syscall.IN_MOVE|syscall.IN_DELETE|syscall.IN_CREATE); err != nil {
		t.Fatal(err)
	}
	if err := commit(); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 64<<10)
	n, err := syscall.Read(fd, buffer)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < n; {
		mask, length := binary.NativeEndian.Uint32(buffer[at+4:]), int(binary.NativeEndian.Uint32(buffer[at+12:]))
		name := string(bytes.TrimRight(buffer[at+syscall.SizeofInotifyEvent:at+syscall.SizeofInotifyEvent+length], "\x00"))
		at += syscall.SizeofInotifyEvent + length
		if strings.Contains(name, "apfsim") { // a temporary file
			continue
		}
		sign := "+ "
		if mask&(syscall.IN_MOVED_FROM|syscall.IN_DELETE) != 0 {
			sign = "- "
		}
		all = append(all, sign+name)
	}
	return all
}

// A single file is replaced by one rename, so that there is a file of its name at every moment. Of several files, the last
// one is the first to lose its name, and the last to get it: it exists only if all others do.
func TestRenamesOfASet(t *testing.T) {
	for _, c := range []struct {
		files []string
		want  []string
	}{
		{[]string{"a"}, []string{"+ a"}},
		{[]string{"a", "b", "z"}, []string{"- z", "- b", "- a", "+ a", "+ b", "+ z"}},
	} {
		dir := t.TempDir()
		var s Set
		for _, name := range c.files {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte("earlier"), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := s.Write(path, []byte("new")); err != nil {
				t.Fatal(err)
			}
		}
		if got := renames(t, dir, s.Commit); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.files, got, c.want)
		}
		if left := tree(t, dir); len(left) != len(c.files) || left["a"] != "new" {
			t.Errorf("%q: %v", c.files, left)
		}
	}
}
