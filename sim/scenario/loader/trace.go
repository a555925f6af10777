package loader

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"

	"apfsim/document"
	"apfsim/sim/scenario"
	"apfsim/sim/trace"
	"apfsim/sim/workload"
)

// traceState is a trace as it is when the scenario is read. Its lines are not read then, but by each
// run.
type traceState struct {
	fileState
	err error // why it cannot be opened
}

func (c *Cache) trace(fsys fs.FS, name string) *traceState {
	c.mu.Lock()
	defer c.mu.Unlock()
	file := cachedFile{fsys == host, name}
	if known := c.traces[file]; known != nil {
		return known
	}
	state := &traceState{}
	c.traces[file] = state
	f, err := openFile(fsys, name)
	if err != nil {
		state.err = err
		return state
	}
	defer f.Close()
	state.fileState, state.err = stateOf(f)
	return state
}

// traces opens the traces of the workloads, to see that they are there.
func (r *reading) traces() {
	for i := range r.scenario.Spec.Workload {
		t := r.scenario.Spec.Workload[i].Arrivals.Trace
		at := document.Index("spec.workload", i) + ".arrivals.trace.file"
		if t != nil && t.File != "" && !r.check.Failed(at) {
			r.trace(at, t)
		}
	}
}

func (r *reading) trace(at string, t *workload.TraceArrivals) {
	name := r.resolve(t.File)
	state := r.cache.trace(r.fsys, name)
	file := traceFile{r.fsys, name, state.fileState}
	r.addInput(scenario.Input{Name: t.File, Path: file.name, Host: r.fsys == host, SHA256: file.sha256})
	t.Path, t.Field, t.Position, t.Open = name, at, r.check.Document.Position(at), file.open
	if state.err != nil {
		r.check.Fail(at, "%s: %s", file.name, unreadable(file.files, file.name, state.err))
	}
}

// traceFile is a trace that a scenario mentions. It is too long to be kept in memory, so that each run
// reads it: if it has changed since the scenario was read, even while it is read, there is an error.
type traceFile struct {
	files fs.FS
	name  string
	state fileState
}

func (f traceFile) open() (*trace.Reader, error) {
	file, err := openFile(f.files, f.name)
	if err != nil {
		return nil, document.Error{Position: document.Position{File: f.name}, Message: unreadable(f.files, f.name, err)}
	}
	t := trace.NewReader(file, f.name)
	t.Changed = func() error { return f.state.check(file) }
	if err := t.Check(); err != nil {
		file.Close()
		return nil, err
	}
	return t, nil
}

// sha256 reads the trace again for its sum.
func (f traceFile) sha256() (string, error) {
	file, err := f.files.Open(f.name)
	if err != nil {
		return "", errors.New(unreadable(f.files, f.name, err))
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", errors.New("cannot be read: " + reason(err))
	}
	if err := f.state.check(file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
