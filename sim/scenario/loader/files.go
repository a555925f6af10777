package loader

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"apfsim/document"
	"apfsim/document/yaml"
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

// stdin reads standard input, once for all callers.
var stdin = sync.OnceValues(func() ([]byte, error) {
	return io.ReadAll(io.LimitReader(os.Stdin, yaml.MaxBytes+1))
})

// replaced is what ReplaceStdin was given; its name is "" before.
var replaced struct {
	name string
	text []byte
}

// ReplaceStdin makes text what the file [Stdin] contains, and name what positions in it call it: a program that has got a
// configuration from another program need not write it into a file. It must be called before anything is loaded.
func ReplaceStdin(name string, text []byte) {
	replaced.name, replaced.text = name, text
	stdin = func() ([]byte, error) { return text, nil }
}

// ReplacedStdin returns what [Stdin] contains if ReplaceStdin was called.
func ReplacedStdin() (text []byte, ok bool) { return replaced.text, replaced.name != "" }

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
		return cmp.Or(replaced.name, "stdin")
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

// fileState identifies a file that is read several times because it is too long to be kept, so
// that a change between two readings is noticed. Where a file system does not know its files' times,
// their sizes alone do.
type fileState struct {
	size     int64
	modified time.Time
}

func stateOf(file fs.File) (fileState, error) {
	info, err := file.Stat()
	if err != nil {
		return fileState{}, err
	}
	return fileState{info.Size(), info.ModTime()}, nil
}

// check returns an error if the file is not the one that it was.
func (s fileState) check(file fs.File) error {
	switch now, err := stateOf(file); {
	case err != nil:
		return errors.New("cannot be read: " + reason(err))
	case now.size != s.size:
		return fmt.Errorf("has changed since the scenario was read: it has %d bytes, and had %d; want it unchanged until the run is over", now.size, s.size)
	case !now.modified.Equal(s.modified):
		return fmt.Errorf("has changed since the scenario was read: it was written at %v, and before at %v; want it unchanged until the run is over",
			now.modified.Format(time.RFC3339Nano), s.modified.Format(time.RFC3339Nano))
	}
	return nil
}

// errFolder is why a folder cannot be read. Every operating system words this in another way.
var errFolder = errors.New("is a folder; want a file")

// openFile opens a file that is not a folder.
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

// Beside returns the names of the files in the folder of the file called name, which need not
// exist; none if the folder cannot be read. A nil fsys is the host's file system.
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

// readText reads a file that is to be parsed, up to the size that the parser accepts: a device
// has no end.
func readText(fsys fs.FS, name string) ([]byte, error) {
	f, err := openFile(fsys, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, yaml.MaxBytes+1))
}

// Cache remembers the contents of scenario files and of the files that they mention, so that each
// is read once and all its uses agree even if it changes meanwhile. It is safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	texts   map[cachedFile]*fileText
	traces  map[cachedFile]*traceState
	configs map[cachedFile]*Source
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{texts: map[cachedFile]*fileText{}, traces: map[cachedFile]*traceState{}, configs: map[cachedFile]*Source{}}
}

// fileText is the result of reading a file that is to be parsed.
type fileText struct {
	text []byte
	sum  string // SHA-256, in hexadecimal digits
	err  error  // why it cannot be read
}

// sha256 is the sum of the file, as scenario.Input has it.
func (f *fileText) sha256() (string, error) { return f.sum, nil }

// text reads a file that is to be parsed, once.
func (c *Cache) text(fsys fs.FS, name string) *fileText {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.textLocked(fsys, name)
}

// textLocked is text for callers that hold the lock.
func (c *Cache) textLocked(fsys fs.FS, name string) *fileText {
	file := cachedFile{fsys == host, name}
	known := c.texts[file]
	if known == nil {
		known = &fileText{}
		known.text, known.err = readText(fsys, name)
		sum := sha256.Sum256(known.text)
		known.sum = hex.EncodeToString(sum[:])
		c.texts[file] = known
	}
	return known
}

// cachedFile names a file of the host or of the scenarios' file system.
type cachedFile struct {
	onHost bool
	name   string
}

// reason returns why a file cannot be read, without its name.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
