// Package atomicfile writes files that are whole or not there, one at a time or several together, on
// every system that Go knows; google/renameio leaves Windows out.
//
// A file is written under a temporary name in the folder that it is to be in, .NAME.HEX.apfsim-tmp,
// where HEX is random: several processes may write to one folder, on a network file system too,
// without a lock. What a process that was killed has left there stays until the user removes it.
// Neither a name nor an age tells whose a file is or whether somebody still writes to it.
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

// File is written under a temporary name, beside the file it is to become.
type File struct {
	file     *os.File
	path     string
	unsynced bool
	closed   bool
	done     bool // it has its name, or is gone
}

// Create begins a file that is to be called path.
func Create(path string) (*File, error) {
	// os.CreateTemp would let only its owner read it.
	f, err := os.OpenFile(beside(path, "tmp"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	return &File{file: f, path: path}, nil
}

// beside returns a temporary name in the folder of path.
func beside(path, ending string) string {
	dir, name := filepath.Split(path)
	return fmt.Sprintf("%s.%s.%016x.apfsim-%s", dir, name, rand.Uint64(), ending)
}

// Write implements io.Writer.
func (f *File) Write(data []byte) (int, error) {
	return f.file.Write(data)
}

// Path returns the name that the file is to have.
func (f *File) Path() string { return f.path }

// Unsynced lets the file take its place before the disk has all of it, which for gigabytes takes
// seconds. Should the machine itself fail then, the file may not be whole.
func (f *File) Unsynced() { f.unsynced = true }

// Replaceable says what is at path that a file should not take the place of: a link would be
// replaced, not what it leads to, and /dev/stdout is one.
func Replaceable(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is there, and no regular file", path)
	}
	return nil
}

// finish ends the writing: the disk has all of the file. It may be called again.
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

// Commit gives the file its name, in place of the one that is called so. If it fails, that
// one stays, and Discard is still to be called.
func (f *File) Commit() error {
	if err := f.finish(); err != nil {
		return err
	}
	if err := os.Rename(f.file.Name(), f.path); err != nil {
		return err
	}
	f.done = true
	return nil
}

// Discard takes away what has been written. After Commit it does nothing.
func (f *File) Discard() error {
	if f.done {
		return nil
	}
	f.done = true
	if err := f.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		os.Remove(f.file.Name())
		return err
	}
	return os.Remove(f.file.Name())
}

// WriteFile writes a file with this content.
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

// Unfinished returns the files in a folder that processes have begun to write as name, or have put
// aside for one that is called so: those that still do, and those that were killed. It goes by names
// alone, so whose they are is for their content to say.
func Unfinished(dir, name string) (paths []string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		rest, ok := strings.CutPrefix(entry.Name(), "."+name+".")
		if !ok || !entry.Type().IsRegular() {
			continue
		}
		if _, ending, _ := strings.Cut(rest, "."); ending == "apfsim-tmp" || ending == "apfsim-old" {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths
}
