package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Set is files that take their places together, or none of them does. The zero Set is empty.
// Either Commit or Discard must be called in the end; both may be.
//
// Commit first has all files on the disk, under temporary names. Then it puts aside what they take
// the place of, the last file's first, under names that end in .apfsim-old; gives the files their
// names, in their order; and removes what it put aside. So the last file is there only while all the
// others are: it is the one that says that the set is complete. If the process is killed between
// two of these steps, or the machine fails, the last file is not there, and whatever was put aside
// and is not replaced is still under its other name.
type Set struct {
	files []*File
	stale []string // files to be removed
	made  []string // folders, those that hold others first
}

// Create begins a file of the set.
func (s *Set) Create(path string) (*File, error) {
	f, err := Create(path)
	if err != nil {
		return nil, err
	}
	s.files = append(s.files, f)
	return f, nil
}

// Write adds a file with this content to the set.
func (s *Set) Write(path string, data []byte) error {
	f, err := s.Create(path)
	if err == nil {
		_, err = f.Write(data)
	}
	return err
}

// Remove removes a file when the set is committed.
func (s *Set) Remove(path string) { s.stale = append(s.stale, path) }

// Files returns the files of the set, in their order.
func (s *Set) Files() []*File { return s.files }

// MakeFolder makes a folder and those that it is in, for files of the set.
func (s *Set) MakeFolder(dir string) error {
	var missing []string
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		missing = append(missing, at)
	}
	slices.Reverse(missing)
	s.made = append(s.made, missing...)
	return os.MkdirAll(dir, 0o777)
}

// Commit lets all files take their places. If it fails everything is as it was before, and the
// error says which file was the reason; Discard is still to be called.
func (s *Set) Commit() (err error) {
	var wrong []error
	for _, f := range s.files {
		err := f.finish()
		if err == nil {
			err = Replaceable(f.path)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s could not be written and is left as it was: %w", f.path, err))
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	var undo []func() error // in order of what has been done
	defer func() {
		if err == nil {
			return
		}
		for _, back := range slices.Backward(undo) {
			err = errors.Join(err, back())
		}
	}()
	rename := func(from, to string) error {
		if err := os.Rename(from, to); err != nil {
			return err
		}
		undo = append(undo, func() error { return os.Rename(to, from) })
		return nil
	}
	var aside []string
	putAside := func(path string) error {
		old := beside(path, "old")
		switch err := rename(path, old); {
		case err == nil:
			aside = append(aside, old)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		return nil
	}
	if len(s.files)+len(s.stale) > 1 { // a single file takes its place in one step
		for _, f := range slices.Backward(s.files) {
			if err := putAside(f.path); err != nil {
				return fmt.Errorf("%s cannot be replaced and is left as it was: %w", f.path, err)
			}
		}
	}
	for _, path := range s.stale {
		if err := putAside(path); err != nil {
			return fmt.Errorf("%s is a file of an earlier run and cannot be removed: %w", path, err)
		}
	}
	for _, f := range s.files {
		if err := rename(f.file.Name(), f.path); err != nil {
			return fmt.Errorf("%s could not be written and is left as it was: %w", f.path, err)
		}
	}
	for _, f := range s.files {
		f.done = true
	}
	for _, old := range aside {
		if failure := os.Remove(old); failure != nil && err == nil {
			// Everything else is in its place.
			err, undo = fmt.Errorf("a file of an earlier run cannot be removed: %w", failure), nil
		}
	}
	s.files, s.stale, s.made = nil, nil, nil
	return err
}

// Discard takes away what has been written, and the folders that were made for it if nothing else
// is in them. After Commit it does nothing.
func (s *Set) Discard() error {
	var wrong []error
	for _, f := range s.files {
		wrong = append(wrong, f.Discard())
	}
	for _, dir := range slices.Backward(s.made) {
		os.Remove(dir)
	}
	s.files, s.stale, s.made = nil, nil, nil
	return errors.Join(wrong...)
}
