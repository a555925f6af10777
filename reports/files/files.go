// Package files collects the files of a result until they are written together.
package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"apfsim/internal/atomicfile"
)

// Name keeps a level's name from leaving the folder of the charts.
func Name(name string) string {
	out := []rune{}
	for _, r := range name {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' && len(out) > 0 {
			out = append(out, r)
		} else {
			out = append(out, '_')
		}
	}
	return string(out)
}

// File is a file that is about to be written.
type File struct {
	Name string // below the scenario's folder
	Data []byte
}

// WriteFiles writes the files, none if making or writing one of them fails.
func WriteFiles(folder string, files List) error {
	var set atomicfile.Set
	err := files.AddTo(&set, folder)
	if err == nil {
		err = set.Commit()
	}
	return errors.Join(err, set.Discard())
}

// AddTo adds the files to a set.
func (l *List) AddTo(set *atomicfile.Set, folder string) error {
	if l.err != nil {
		return l.err
	}
	for _, f := range l.Files {
		path := filepath.Join(folder, f.Name)
		if err := set.MakeFolder(filepath.Dir(path)); err != nil {
			return fmt.Errorf("making the folder for the results: %w", err)
		}
		if err := set.Write(path, f.Data); err != nil {
			return fmt.Errorf("%s could not be written and is left as it was: %w", path, err)
		}
	}
	return nil
}

// List is files about to be written, the one that goes with all others last.
type List struct {
	Files []File
	err   error // the first in making one
}

// Add makes a file, unless making one before has failed.
func (l *List) Add(name string, write func(io.Writer) error) {
	if l.err != nil {
		return
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		l.err = fmt.Errorf("making %s: %w", name, err)
		return
	}
	l.Files = append(l.Files, File{Name: name, Data: b.Bytes()})
}
