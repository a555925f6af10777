package scenario

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"apfsim/core/document"
	"apfsim/sim/yaml"
)

// Stdin is the name of standard input among the host's files.
const Stdin = "-"

// hostFiles is the host's file system. Unlike os.DirFS it opens any path, also one above
// the working directory.
type hostFiles struct{}

func (hostFiles) Open(name string) (fs.File, error) {
	if name != Stdin {
		return os.Open(name)
	}
	text, err := stdin()
	if err != nil {
		return nil, err
	}
	return &stdinFile{Reader: bytes.NewReader(text), size: int64(len(text))}, nil
}

// stdin reads standard input, once for all who open it.
var stdin = sync.OnceValues(func() ([]byte, error) {
	return io.ReadAll(io.LimitReader(os.Stdin, yaml.MaxBytes+1))
})

// stdinFile is standard input as a file, and its own information.
type stdinFile struct {
	*bytes.Reader
	size int64
}

func (f *stdinFile) Close() error               { return nil }
func (f *stdinFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *stdinFile) Name() string               { return Stdin }
func (f *stdinFile) Size() int64                { return f.size }
func (f *stdinFile) Mode() fs.FileMode          { return 0o444 }
func (f *stdinFile) ModTime() time.Time         { return time.Time{} }
func (f *stdinFile) IsDir() bool                { return false }
func (f *stdinFile) Sys() any                   { return nil }

// displayName returns a file's name as positions in it have it.
func displayName(fsys fs.FS, name string) string {
	if fsys == host && name == Stdin {
		return "stdin"
	}
	return name
}

var host fs.FS = hostFiles{}

// resolve returns the path of a file that the file called from mentions.
func resolve(fsys fs.FS, from, name string) string {
	if fsys != host {
		return path.Join(path.Dir(from), name)
	}
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(from), name)
}

// Input is a file that a scenario is read from.
type Input struct {
	Name  string // as the scenario or the option calls it, wherever they are
	Path  string
	files fs.FS
}

// Open opens the file.
func (in *Input) Open() (fs.File, error) { return in.files.Open(in.Path) }

func (s *Scenario) addInput(name string, files fs.FS, path string) {
	for _, known := range s.Inputs {
		if known.Path == path && known.Name == name {
			return
		}
	}
	s.Inputs = append(s.Inputs, Input{name, path, files})
}

// errFolder is why a folder cannot be read, for which every system has its own words.
var errFolder = errors.New("is a folder; want a file")

// openFile opens a file that is no folder.
func openFile(fsys fs.FS, name string) (fs.File, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: errFolder}
	}
	return f, nil
}

// Beside returns the names of the files in the folder where a file called name would be, as far
// as it can be read. A nil fsys is the host's file system.
func Beside(fsys fs.FS, name string) (names []string) {
	dir := path.Dir(name)
	if fsys == nil || fsys == host {
		fsys, dir = host, filepath.Dir(name)
	}
	entries, _ := fs.ReadDir(fsys, dir)
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// unreadable returns why a file cannot be read, after its name.
func unreadable(fsys fs.FS, name string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file" + document.Suggest(filepath.Base(name), Beside(fsys, name))
	case errors.Is(err, errFolder), errors.Is(err, errChart), errors.Is(err, errNoManifests):
		return reason(err)
	}
	return "cannot be read: " + reason(err)
}

// readText reads a file that is to be parsed, and no more of it than the parser takes: a
// device has no end.
func readText(fsys fs.FS, name string) ([]byte, error) {
	f, err := openFile(fsys, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, yaml.MaxBytes+1))
}

// Cache remembers what the files that scenarios mention hold, so that each is read once. It is
// safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	traces  map[cachedFile]*traceSummary
	configs map[cachedFile]*ConfigSource
}

// NewCache returns a cache that remembers nothing yet.
func NewCache() *Cache {
	return &Cache{traces: map[cachedFile]*traceSummary{}, configs: map[cachedFile]*ConfigSource{}}
}

// cachedFile names a file of the host or of the scenarios' file system.
type cachedFile struct {
	onHost bool
	name   string
}

// traceSummary is what one pass over a trace has found.
type traceSummary struct {
	err      error // why it cannot be opened
	mistakes document.Mistakes
	requests int64
	lastNs   int64
}

// mostTraceMistakes is how many of a trace's mistakes are listed.
const mostTraceMistakes = 20

func (c *Cache) trace(fsys fs.FS, name string) *traceSummary {
	c.mu.Lock()
	defer c.mu.Unlock()
	file := cachedFile{fsys == host, name}
	if known := c.traces[file]; known != nil {
		return known
	}
	sum := &traceSummary{}
	c.traces[file] = sum
	t, err := OpenTrace(fsys, name)
	if err != nil {
		sum.err = err
		return sum
	}
	defer t.Close()
	for {
		record, ok, err := t.Next()
		switch {
		case err != nil && len(sum.mistakes) == mostTraceMistakes:
			sum.mistakes.Add(err.(document.Mistake).Place, "", "has a mistake as well; what follows has not been read")
			return sum
		case err != nil:
			sum.mistakes = append(sum.mistakes, err.(document.Mistake))
		case !ok:
			return sum
		default:
			sum.requests++
			sum.lastNs = record.ArrivalNs
		}
	}
}

// trace reads a workload's trace once, to the end.
func (v *validator) trace(at, name string) {
	file := v.scenario.resolve(name)
	v.scenario.addInput(name, v.scenario.files, file)
	sum := v.files.trace(v.scenario.files, file)
	end := int64(v.scenario.Spec.Duration)
	switch {
	case sum.err != nil:
		v.fail(at, "%s: %s", file, unreadable(v.scenario.files, file, sum.err))
	case len(sum.mistakes) > 0:
		v.elsewhere = append(v.elsewhere, sum.mistakes...)
	case sum.requests == 0:
		v.warn(at, "%s has no requests", file)
	case end > 0 && sum.lastNs >= end:
		v.warn(at, "%s goes on until %v: what arrives after the end of the run, %v, is left out",
			file, Duration(sum.lastNs), v.scenario.Spec.Duration)
	}
}
