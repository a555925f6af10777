package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Paths are all files that a command reads and writes. Check must be called when they are known and
// before any of them is written. The zero value has none.
//
// Files are compared by what they are and not by how they are spelt, so that links and other
// spellings of a name make no difference.
type Paths struct {
	inputs  []input
	outputs []output
	folders []folder
}

type input struct {
	name string
	info fs.FileInfo
}

type output struct {
	place string // what the user has written, such as a flag
	name  string
	info  fs.FileInfo // nil if it does not exist yet
}

type folder struct {
	place, dir string
	names      []string
}

// Read adds files that are read. Names that are empty and files that do not exist are ignored.
func (p *Paths) Read(names ...string) {
	for _, name := range names {
		if name == "" {
			continue
		}
		if info, err := os.Stat(name); err == nil {
			p.inputs = append(p.inputs, input{name, info})
		}
	}
}

// ReadOpen adds a file that is open already, such as standard input.
func (p *Paths) ReadOpen(name string, file *os.File) {
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		p.inputs = append(p.inputs, input{name, info})
	}
}

// Write adds a file that is written. Messages begin with the place.
func (p *Paths) Write(place, name string) {
	o := output{place: place, name: name}
	o.info, _ = os.Stat(name)
	p.outputs = append(p.outputs, o)
}

// WriteOpen adds a file that is open for writing already, such as standard output.
func (p *Paths) WriteOpen(place string, file *os.File) {
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		p.outputs = append(p.outputs, output{place, place, info})
	}
}

// WriteFolder adds a folder in which the files with these names are written. A name that ends with a
// slash stands for all files in that folder.
func (p *Paths) WriteFolder(place, dir string, names ...string) {
	p.folders = append(p.folders, folder{place, dir, names})
}

// Check returns an error that names every file that would be written although it is read, and every
// file that would be written twice. It changes nothing.
func (p *Paths) Check() error {
	var wrong []error
	for i, o := range p.outputs {
		if in := p.sameInput(o.info); in != "" {
			wrong = append(wrong, fmt.Errorf("%s would overwrite %s, which this command reads; use another name", o.label(), in))
			continue
		}
		for _, other := range p.outputs[:i] {
			if o.same(other) {
				wrong = append(wrong, fmt.Errorf("%s is also the file of %s; use another name", o.label(), other.place))
			}
		}
		for _, f := range p.folders {
			if f.writes(o.name) {
				wrong = append(wrong, fmt.Errorf("%s is also a file that %s writes; use another name", o.label(), f.place))
			}
		}
	}
	for _, f := range p.folders {
		wrong = append(wrong, p.checkFolder(f))
	}
	return errors.Join(wrong...)
}

// label returns the place and the name of the file.
func (o *output) label() string {
	if o.place == o.name {
		return o.place + ":"
	}
	return o.place + ": " + o.name
}

// sameInput returns the name of the input that is the same file; "" if there is none.
func (p *Paths) sameInput(info fs.FileInfo) string {
	if info == nil {
		return ""
	}
	for _, in := range p.inputs {
		if os.SameFile(info, in.info) {
			return in.name
		}
	}
	return ""
}

// same reports whether two outputs are one file. Of files that do not exist yet, some file systems
// take names for the same that differ only in case.
func (o *output) same(other output) bool {
	if o.info != nil || other.info != nil {
		return o.info != nil && other.info != nil && os.SameFile(o.info, other.info)
	}
	return strings.EqualFold(Canonical(o.name), Canonical(other.name))
}

// writes reports whether a path is one of the folder's files.
func (f *folder) writes(path string) bool {
	within, err := filepath.Rel(Canonical(f.dir), Canonical(path))
	if err != nil {
		return false
	}
	within = filepath.ToSlash(within)
	for _, name := range f.names {
		if strings.EqualFold(within, name) || strings.HasSuffix(name, "/") && len(within) > len(name) && strings.EqualFold(within[:len(name)], name) {
			return true
		}
	}
	return false
}

// checkFolder returns an error for each file of the folder that would be overwritten although it is
// read.
func (p *Paths) checkFolder(f folder) error {
	if _, err := os.Stat(f.dir); err != nil {
		return nil
	}
	var wrong []error
	check := func(path string) {
		info, err := os.Stat(path)
		if err != nil || info.IsDir() {
			return
		}
		if in := p.sameInput(info); in != "" {
			wrong = append(wrong, fmt.Errorf("%s: %s would be overwritten, and this command reads %s; use another folder", f.place, path, in))
		}
	}
	for _, name := range f.names {
		path := filepath.Join(f.dir, filepath.FromSlash(name))
		if !strings.HasSuffix(name, "/") {
			check(path)
			continue
		}
		filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error { // nothing if there is no such folder
			if err == nil && !entry.IsDir() {
				check(path)
			}
			return nil
		})
	}
	return errors.Join(wrong...)
}

// Canonical returns the absolute path without symbolic links, so that the paths of one file are equal.
// The last elements may be missing.
func Canonical(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(Canonical(dir), filepath.Base(path))
	}
	return path
}
