package files

import (
	"bufio"
	"fmt"

	"apfsim/internal/atomicfile"
)

// OutputFile is a file of a set that is written in pieces through a buffer. Complete must be called
// before the set is committed.
type OutputFile struct {
	*bufio.Writer
	File *atomicfile.File
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
	return &OutputFile{bufio.NewWriterSize(file, 1<<16), file}, nil
}

// Complete writes the rest of the buffer. If err is not nil, the content of the file could not be
// made; Complete then returns err with the name of the file.
func (f *OutputFile) Complete(err error) error {
	if err == nil {
		err = f.Flush()
	}
	if err != nil {
		return fmt.Errorf("%s could not be written and is left as it was: %w", f.File.Path(), err)
	}
	return nil
}
