package incident

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"path/filepath"

	"apfsim/internal/atomicfile"
	"apfsim/internal/input"
	"apfsim/reports/files"
	"apfsim/reports/format"
)

// folder is where the files of an import go: first the trace, which the replay reads, and then all others.
type folder interface {
	create() (io.Writer, error)                         // begins the trace, again if there was one
	complete(err error) error                           // ends it; the error is why it could not be made
	open() (fs.File, error)                             // reads the trace that is complete
	commit(ctx context.Context, list *files.List) error // adds the other files, and keeps all
}

// diskFolder is a folder of the host.
type diskFolder struct {
	dir   string
	set   *atomicfile.Set
	trace *files.OutputFile
}

func (f *diskFolder) create() (_ io.Writer, err error) {
	if f.trace, err = files.Create(f.set, filepath.Join(f.dir, TraceFile)); err != nil {
		return nil, err
	}
	f.trace.File.Unsynced()
	return f.trace, nil
}

func (f *diskFolder) complete(err error) error { return f.trace.Complete(err) }

func (f *diskFolder) open() (fs.File, error) { return f.trace.File.Open() }

func (f *diskFolder) commit(ctx context.Context, list *files.List) error {
	if err := list.AddTo(f.set, f.dir); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f.set.Commit()
}

// memoryFolder holds the files of an import, the trace up to so many bytes.
type memoryFolder struct {
	maxBytes  int64
	trace     bytes.Buffer
	printable *format.PrintableWriter
	files     map[string][]byte // once they are complete
}

func (f *memoryFolder) create() (io.Writer, error) {
	f.trace.Reset()
	f.printable = &format.PrintableWriter{Next: f}
	return f.printable, nil
}

// Write implements io.Writer for the trace.
func (f *memoryFolder) Write(p []byte) (int, error) {
	if int64(f.trace.Len()+len(p)) > f.maxBytes {
		return 0, &input.TooLong{Most: f.maxBytes}
	}
	return f.trace.Write(p)
}

func (f *memoryFolder) complete(err error) error {
	if err != nil {
		return err
	}
	return f.printable.Flush()
}

func (f *memoryFolder) open() (fs.File, error) {
	return &textFile{bytes.NewReader(f.trace.Bytes()), TraceFile}, nil
}

func (f *memoryFolder) commit(_ context.Context, list *files.List) error {
	all, err := list.All()
	if err != nil {
		return err
	}
	f.files = map[string][]byte{TraceFile: f.trace.Bytes()}
	for _, file := range all {
		f.files[file.Name] = file.Data
	}
	return nil
}
