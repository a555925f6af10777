package files

import (
	"bufio"
	"fmt"

	"apfsim/internal/atomicfile"
)

// OutputFile is a file of a set that is written piece by piece.
type OutputFile struct {
	*bufio.Writer
	File *atomicfile.File
}

func CreateOutput(set *atomicfile.Set, path string) (*OutputFile, error) {
	if err := atomicfile.Replaceable(path); err != nil {
		return nil, err
	}
	file, err := set.Create(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written: %w", path, err)
	}
	return &OutputFile{bufio.NewWriterSize(file, 1<<16), file}, nil
}

// Complete ends the file unless making it has failed.
func (f *OutputFile) Complete(err error) error {
	if err == nil {
		err = f.Flush()
	}
	if err != nil {
		return fmt.Errorf("%s could not be written and is left as it was: %w", f.File.Path(), err)
	}
	return nil
}
