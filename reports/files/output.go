package files

import (
	"bufio"
	"errors"
	"fmt"

	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
)

// OutputFile is a text file of a set that is written in pieces through a buffer, with escapes for what is not
// printable (see [format.Printable]). Complete must be called before the set is committed.
type OutputFile struct {
	*bufio.Writer
	File *atomicfile.File

	printable *format.PrintableWriter
}

// Create creates a file of the set. It returns an error if path is not a regular file that can be
// replaced.
func Create(set *atomicfile.Set, path string) (*OutputFile, error) {
	if err := atomicfile.Replaceable(path); err != nil {
		return nil, err
	}
	file, err := set.Create(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written: %w", path, err)
	}
	printable := &format.PrintableWriter{Next: file}
	return &OutputFile{bufio.NewWriterSize(printable, 1<<16), file, printable}, nil
}

// Complete writes the rest of the buffer. If err is not nil, the content of the file could not be
// made; Complete then returns err with the name of the file.
func (f *OutputFile) Complete(err error) error {
	if err == nil {
		err = errors.Join(f.Flush(), f.printable.Flush())
	}
	if err != nil {
		return fmt.Errorf("%s could not be written and is left as it was: %w", f.File.Path(), err)
	}
	return nil
}
