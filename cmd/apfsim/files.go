package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/reports/files"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// paths are all files and folders that a command reads and writes. Every command that writes a file declares
// it here, and calls prepare before it writes anything.
type paths struct {
	files.Paths
	outputs []struct{ flag, name string }
	folders []struct{ prefix, dir string }
}

// readScenarios adds the files that scenarios were read from.
func (p *paths) readScenarios(loaded ...*scenario.Scenario) {
	for _, sc := range loaded {
		for _, in := range sc.Inputs {
			if in.Host {
				p.read(in.Path)
			}
		}
	}
}

// read adds files that are read. The name - is standard input.
func (p *paths) read(names ...string) {
	for _, name := range names {
		if name == loader.Stdin {
			p.ReadOpen("standard input", os.Stdin)
		} else {
			p.Read(name)
		}
	}
}

// readResults adds the files of folders of results that are read. Names of other things are ignored.
func (p *paths) readResults(dirs ...string) {
	for _, dir := range dirs {
		p.read(filepath.Join(dir, output.SummaryFile), filepath.Join(dir, output.ReplicationsFile))
	}
}

// file adds the file of a flag, if the flag is given.
func (p *paths) file(flag, name string) {
	if name != "" {
		p.outputs = append(p.outputs, struct{ flag, name string }{flag, name})
		p.Write("--"+flag, name)
	}
}

// folder adds a folder, if there is one. The names are those of the files in it; in folders within it, see
// files.Paths.WriteFolder. Messages begin with the prefix, such as "--out: ".
func (p *paths) folder(prefix, dir string, names ...string) {
	if dir != "" {
		p.folders = append(p.folders, struct{ prefix, dir string }{prefix, dir})
		p.WriteFolder(strings.TrimSuffix(prefix, ": "), dir, names...)
	}
}

// prepare checks that nothing that is read is overwritten and that all files can be written, and then
// creates the folders. When the set is discarded, it removes those that are empty.
func (p *paths) prepare(cmd *cobra.Command, made *atomicfile.Set) error {
	if out, ok := cmd.OutOrStdout().(*checkedWriter); ok {
		if file, ok := out.Writer.(*os.File); ok {
			p.WriteOpen("standard output", file)
		}
	}
	if err := p.Check(); err != nil {
		return invalid(err)
	}
	for _, o := range p.outputs {
		inFolder := slices.ContainsFunc(p.folders, func(f struct{ prefix, dir string }) bool {
			return files.Canonical(filepath.Dir(o.name)) == files.Canonical(f.dir)
		})
		if err := checkFile(o.flag, o.name, inFolder); err != nil {
			return err
		}
	}
	for _, f := range p.folders {
		if err := makeFolder(made, f.prefix, f.dir); err != nil {
			return err
		}
	}
	return nil
}

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

// checkFile checks before a run that the file of a flag can be written. The file may be in a folder that
// makeFolder will create and check.
func checkFile(flag, name string, inFolder bool) error {
	if err := atomicfile.Replaceable(name); err != nil {
		return invalid(fmt.Errorf("--%s: %w; use another name", flag, err))
	}
	dir := filepath.Dir(name)
	if inFolder {
		return nil
	}
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
		return invalid(fmt.Errorf("--%s: %s: the folder %s does not exist", flag, name, dir))
	}
	if err := writable(dir); err != nil {
		return fmt.Errorf("--%s: %s: %w", flag, name, err)
	}
	return nil
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
