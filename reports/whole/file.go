// Package whole writes files that are whole or not there, on every system that Go knows;
// google/renameio leaves Windows out.
package whole

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// File is written under a name of its own, beside the file it is to become.
type File struct {
	*os.File
	path string
	done bool
}

// Create begins a file that is to be called path.
func Create(path string) (*File, error) {
	dir, name := filepath.Split(path)
	// os.CreateTemp would let only its owner read it.
	f, err := os.OpenFile(fmt.Sprintf("%s.%s-%016x", dir, name, rand.Uint64()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	return &File{File: f, path: path}, nil
}

// Replaceable says what is at path that a file should not take the place of: a link would be
// replaced, not what it leads to, and /dev/stdout is one.
func Replaceable(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is there, and no regular file", path)
	}
	return nil
}

// forgotten is for how long nobody has written to a file that nobody is going to finish.
const forgotten = 10 * time.Minute

var unfinished = regexp.MustCompile(`^\..+-[0-9a-f]{16}$`)

// RemoveForgotten removes, as far as it can, files that processes have begun in a folder and,
// being killed, have not finished.
func RemoveForgotten(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // there is nothing, then
	}
	for _, entry := range entries {
		if !unfinished.MatchString(entry.Name()) {
			continue
		}
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > forgotten {
			os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// Commit gives the file its name, in place of the one that is called so. If it fails, that
// one stays, and Abandon is still to be called.
func (f *File) Commit() error {
	if err := f.Sync(); err != nil {
		return err
	}
	return f.CommitUnsynced()
}

// CommitUnsynced is Commit but for waiting until the disk has all of the file, which for
// gigabytes takes seconds. Should the machine itself fail then, the file may not be whole.
func (f *File) CommitUnsynced() error {
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), f.path); err != nil {
		return err
	}
	f.done = true
	return nil
}

// Abandon takes away what has been written. After Commit it does nothing.
func (f *File) Abandon() error {
	if f.done {
		return nil
	}
	f.done = true
	if err := f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		os.Remove(f.Name())
		return err
	}
	return os.Remove(f.Name())
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
	return errors.Join(err, f.Abandon())
}
