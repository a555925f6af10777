package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Set is a set of files of which either all or none get their final names. The zero Set is empty.
// Either Commit or Discard must be called at the end; both may be called.
//
// Commit has four steps:
//
//  1. ensure that the content of all files is on the disk, under temporary names;
//  2. rename the existing files that will be replaced or removed to names that end in
//     .apfsim-old, beginning with the one that the last file of the set replaces;
//  3. give the files of the set their final names, in order;
//  4. remove the files that step 2 renamed.
//
// Invariant: the last file exists under its name only if all others do, with content of the same
// set. It therefore marks the set as complete. If the process is killed or the machine fails
// during steps 2 and 3, the last file does not exist, and the earlier files still exist under
// their .apfsim-old names.
type Set struct {
	files []*File
	stale []string // files that Commit removes
	used  []string // the folders of MakeFolder
}

// Create creates a file of the set.
func (s *Set) Create(path string) (*File, error) {
	f, err := Create(path)
	if err != nil {
		return nil, err
	}
	s.files = append(s.files, f)
	return f, nil
}

// Write creates a file of the set with this content.
func (s *Set) Write(path string, data []byte) error {
	f, err := s.Create(path)
	if err == nil {
		_, err = f.Write(data)
	}
	return err
}

// Remove makes Commit remove a file. It is not an error if the file does not exist.
func (s *Set) Remove(path string) { s.stale = append(s.stale, path) }

// Files returns the files of the set, in the order of their creation.
func (s *Set) Files() []*File { return s.files }

// MakeFolder creates a folder for files of the set, and the folders around it.
func (s *Set) MakeFolder(dir string) error {
	changing.RLock()
	defer changing.RUnlock()
	dir = filepath.Clean(dir)
	s.used = append(s.used, dir)
	return makeFolder(dir)
}

// Commit gives all files their final names. If it fails, it undoes what it has done, the error
// names the file that caused it, and the caller must call Discard.
func (s *Set) Commit() (err error) {
	var failures []error
	for _, f := range s.files {
		err := f.finish()
		if err == nil {
			err = Replaceable(f.path)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s could not be written and is left as it was: %w", f.path, err))
		}
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	changing.RLock()
	defer changing.RUnlock()
	var undo []func() error // one for each rename, in the order of the renames
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
	var replaced []string // the names that step 2 has given
	putAside := func(path string) error {
		old := temporaryName(path, "old")
		switch err := rename(path, old); {
		case err == nil:
			replaced = append(replaced, old)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		return nil
	}
	if len(s.files)+len(s.stale) > 1 { // one rename, which is atomic, is enough for a single file
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
		ended(f.file.Name())
	}
	endedFolders(s.used, true)
	for _, old := range replaced {
		if failure := os.Remove(old); failure != nil && err == nil {
			// The set is complete, so that nothing is to be undone.
			err, undo = fmt.Errorf("a file of an earlier run cannot be removed: %w", failure), nil
		}
	}
	s.files, s.stale, s.used = nil, nil, nil
	return err
}

// Discard removes the temporary files, and the folders that MakeFolder created unless other files
// are in them, or another set uses them. After a successful Commit it does nothing.
func (s *Set) Discard() error {
	var failures []error
	for _, f := range s.files {
		failures = append(failures, f.Discard())
	}
	endedFolders(s.used, false)
	s.files, s.stale, s.used = nil, nil, nil
	return errors.Join(failures...)
}
