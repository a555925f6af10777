// Package files writes the files of a result together, all or none. A [List] holds the content of
// small files until they are written; an [OutputFile] is written while a run goes on. Both belong to
// a set of package atomicfile. The package is apart from atomicfile because several packages below
// experiment need it, and because its errors are messages for users, which name the file.
package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
)

// Name returns the file name for a priority level or another name from a configuration. Characters
// that file systems treat specially become underscores, so that the file stays in its folder.
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

// File is a file to be written.
type File struct {
	Name string // relative to the folder of the results
	Data []byte
}

// Write writes the files of a list to a folder. If one of them cannot be made or written, no file is
// written.
func Write(folder string, files List) error {
	var set atomicfile.Set
	err := files.AddTo(&set, folder)
	if err == nil {
		err = set.Commit()
	}
	return errors.Join(err, set.Discard())
}

// Append adds the files of another list, and its error.
func (l *List) Append(other *List) {
	l.Files = append(l.Files, other.Files...)
	l.err = errors.Join(l.err, other.err)
}

// All returns the files, or why one of them could not be made.
func (l *List) All() ([]File, error) { return l.Files, l.err }

// AddTo adds the files to a set, which writes them when it is committed.
func (l *List) AddTo(set *atomicfile.Set, folder string) error {
	if l.err != nil {
		return l.err
	}
	for _, f := range l.Files {
		path := filepath.Join(folder, f.Name)
		if err := set.MakeFolder(filepath.Dir(path)); err != nil {
			return fmt.Errorf("creating the folder for the results: %w", err)
		}
		if err := set.Write(path, f.Data); err != nil {
			return fmt.Errorf("%s could not be written and is left as it was: %w", path, err)
		}
	}
	return nil
}

// List is a list of files to be written, in the order in which they are written. The file that
// announces the others, if there is one, comes last.
type List struct {
	Files []File
	err   error // the first error of a write function
}

// Add adds a file with the content that write writes; in text, which is all but PNG, with escapes for what
// is not printable (see [format.Printable]). After the first error of such a function, Add does nothing, and
// writing the list returns the error.
func (l *List) Add(name string, write func(io.Writer) error) {
	if l.err != nil {
		return
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		l.err = fmt.Errorf("creating %s: %w", name, err)
		return
	}
	data := b.Bytes()
	if filepath.Ext(name) != ".png" {
		data = []byte(format.PrintableLines(b.String()))
	}
	l.Files = append(l.Files, File{Name: name, Data: data})
}
