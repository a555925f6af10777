package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"apfsim/internal/atomicfile"
)

// makeFolder creates a folder for results, unless it exists. Error messages begin with the prefix.
// When the set is discarded, it removes the folder if it is empty.
func makeFolder(made *atomicfile.Set, prefix, dir string) error {
	err := made.MakeFolder(dir)
	var p *fs.PathError
	switch {
	case err == nil:
		err = writable(dir)
	case errors.Is(err, syscall.ENOTDIR) && errors.As(err, &p):
		return invalid(fmt.Errorf("%s%s is a file; want a folder", prefix, p.Path))
	}
	if err != nil {
		return fmt.Errorf("%s%w", prefix, err)
	}
	return nil
}

// checkFile checks before a run that the file of a flag can be written, if the flag is given. The
// file may be in the folder out, which does not exist yet.
func checkFile(flag, name, out string) error {
	if name == "" {
		return nil
	}
	if err := atomicfile.Replaceable(name); err != nil {
		return invalid(fmt.Errorf("--%s: %w; use another name", flag, err))
	}
	dir := filepath.Dir(name)
	if out != "" && absolute(dir) == absolute(out) {
		return nil // makeFolder checks it
	}
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
		return invalid(fmt.Errorf("--%s: %s: the folder %s does not exist", flag, name, dir))
	}
	if err := writable(dir); err != nil {
		return fmt.Errorf("--%s: %s: %w", flag, name, err)
	}
	return nil
}

// absolute returns an absolute path without symbolic links, so that the paths of one file are equal.
// If links cannot be resolved, they remain.
func absolute(path string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return filepath.Clean(path)
}

// writable checks, before a run and not after it, that files can be created in dir.
func writable(dir string) error {
	probe, err := os.CreateTemp(dir, ".apfsim-")
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err // without the random name of the file
		}
		return fmt.Errorf("cannot write to the folder %s: %w", dir, err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}
