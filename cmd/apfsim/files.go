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

// makeFolder makes a folder for results, if it is not there. Messages begin with the prefix. It is
// one of a set's, which takes it away again if nothing comes to be in it.
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

// checkFile finds out before a run whether the file that a flag names, if it does, can be written,
// or will be when there is the folder out.
func checkFile(flag, name, out string) error {
	if name == "" {
		return nil
	}
	if err := atomicfile.Replaceable(name); err != nil {
		return invalid(fmt.Errorf("--%s: %w; use another name", flag, err))
	}
	dir := filepath.Dir(name)
	if out != "" && absolute(dir) == absolute(out) {
		return nil // makeFolder finds out
	}
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
		return invalid(fmt.Errorf("--%s: %s: there is no folder %s", flag, name, dir))
	}
	if err := writable(dir); err != nil {
		return fmt.Errorf("--%s: %s: %w", flag, name, err)
	}
	return nil
}

// absolute returns a path of which files have but one, as far as can be known.
func absolute(path string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return filepath.Clean(path)
}

// writable finds out before a run, not after it, whether there can be files in dir.
func writable(dir string) error {
	probe, err := os.CreateTemp(dir, ".apfsim-")
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err // whose name nobody has given
		}
		return fmt.Errorf("no file can be written in %s: %w", dir, err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}
