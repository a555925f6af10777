// Package atomicfile writes files atomically, one file or several together: after a failure or a
// crash, a file either has its new content or is as it was before. There is no module for this
// that supports all systems of Go and several files: google/renameio does not support Windows.
//
// A file is written under a temporary name in its folder, .NAME.HEX-MACHINE-PROCESS.apfsim-tmp, where HEX is
// random. Therefore several processes can write to one folder without a lock, also on a network
// file system. If a process is killed, its temporary files remain until a process of the same machine creates a file in that
// folder.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// File is a file that is being written under a temporary name. Either Commit or Discard must be
// called at the end; both may be called.
type File struct {
	file     *os.File
	path     string // the final name
	unsynced bool
	closed   bool
	done     bool // the file has its final name, or is removed
}

// Create creates a temporary file that Commit will rename to path.
func Create(path string) (*File, error) {
	changing.RLock()
	defer changing.RUnlock()
	removeAbandoned(filepath.Dir(path))
	// os.CreateTemp would create a file that only its owner can read.
	f, err := os.OpenFile(temporaryName(path, "tmp"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	began(f.Name())
	return &File{file: f, path: path}, nil
}

// temporaryName returns a name that no other file has, in the folder of path.
func temporaryName(path, ending string) string {
	dir, name := filepath.Split(path)
	return fmt.Sprintf("%s.%s.%016x-%s-%d.apfsim-%s", dir, name, rand.Uint64(), machine(), os.Getpid(), ending)
}

// Write implements io.Writer.
func (f *File) Write(data []byte) (int, error) {
	return f.file.Write(data)
}

// Open opens what has been written so far for reading. The caller closes it, before Commit on Windows.
func (f *File) Open() (*os.File, error) { return os.Open(f.file.Name()) }

// Path returns the final name of the file.
func (f *File) Path() string { return f.path }

// Unsynced makes Commit not wait until the content is on the disk, which takes seconds for
// gigabytes. If the machine fails soon after Commit, the file may be incomplete.
func (f *File) Unsynced() { f.unsynced = true }

// Replaceable returns an error if path is something that must not be replaced by a file. One
// example is a link such as /dev/stdout: a rename would replace the link, not its target.
func Replaceable(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s exists and is not a regular file", path)
	}
	return nil
}

// finish closes the file and ensures that its content is on the disk, unless Unsynced was called.
// It may be called several times.
func (f *File) finish() error {
	if f.closed {
		return nil
	}
	if !f.unsynced {
		if err := f.file.Sync(); err != nil {
			return err
		}
	}
	if err := f.file.Close(); err != nil {
		return err
	}
	f.closed = true
	return nil
}

// Commit renames the file to its final name and replaces a file that has this name. If it fails,
// that file is unchanged, and the caller must call Discard.
func (f *File) Commit() error {
	if err := f.finish(); err != nil {
		return err
	}
	changing.RLock()
	defer changing.RUnlock()
	if err := os.Rename(f.file.Name(), f.path); err != nil {
		return err
	}
	f.done = true
	ended(f.file.Name())
	return nil
}

// Discard removes the temporary file. After a successful Commit it does nothing.
func (f *File) Discard() error {
	if f.done {
		return nil
	}
	f.done = true
	defer ended(f.file.Name())
	if err := f.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		os.Remove(f.file.Name())
		return err
	}
	return os.Remove(f.file.Name())
}

// WriteFile writes a file with this content and replaces a file that has the name.
func WriteFile(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Commit()
	}
	return errors.Join(err, f.Discard())
}

// Unfinished returns the temporary files for the file with this name in a folder: those that are
// being written, those that a Set has renamed to replace them, and those that remain after a
// process was killed. It looks at names only. The caller must check the content of a file before
// it assumes who wrote it.
func Unfinished(dir, name string) (paths []string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		suffix, ok := strings.CutPrefix(entry.Name(), "."+name+".")
		if !ok || !entry.Type().IsRegular() {
			continue
		}
		if _, ending, _ := strings.Cut(suffix, "."); ending == "apfsim-tmp" || ending == "apfsim-old" {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths
}
