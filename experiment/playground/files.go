package playground

import (
	"bytes"
	"io/fs"
	"strings"
	"time"

	"apfsim/scenarios"
)

// Names in the file system of a call.
const (
	scenarioFile = "scenario.yaml"
	configFile   = "your-cluster.yaml"
	metricsFile  = "metrics.txt"
)

// files are the texts of a call, by their names, and below them the files of the library. There are no other files: what
// a scenario names is one of these or does not exist, whichever machine the engine is on.
type files map[string]string

// Open implements fs.FS.
func (f files) Open(name string) (fs.File, error) {
	text, ok := f[name]
	if !ok {
		return scenarios.Files.Open(strings.TrimPrefix(name, "../")) // an incident is in a folder of the library
	}
	return &file{bytes.NewReader([]byte(text)), name}, nil
}

// file is a text as an open file, and its own information.
type file struct {
	*bytes.Reader
	name string
}

func (f *file) Close() error               { return nil }
func (f *file) Stat() (fs.FileInfo, error) { return f, nil }
func (f *file) Name() string               { return f.name }
func (f *file) Mode() fs.FileMode          { return 0o444 }
func (f *file) ModTime() time.Time         { return time.Time{} }
func (f *file) IsDir() bool                { return false }
func (f *file) Sys() any                   { return nil }
