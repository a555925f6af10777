package loader

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"

	"apfsim/document"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/traffic"
	"apfsim/sim/trace"
)

// traceSummary is what one pass over a trace has found.
type traceSummary struct {
	err      error // why it cannot be opened
	errors   document.Errors
	requests int64
	lastNs   int64
	state    fileState // of the file that was read
}

// mostTraceErrors is the number of the errors of a trace are listed.
const mostTraceErrors = 20

func (c *Cache) trace(fsys fs.FS, name string) *traceSummary {
	c.mu.Lock()
	defer c.mu.Unlock()
	file := cachedFile{fsys == host, name}
	if known := c.traces[file]; known != nil {
		return known
	}
	sum := &traceSummary{}
	c.traces[file] = sum
	f, err := openFile(fsys, name)
	if err == nil {
		sum.state, err = stateOf(f)
	}
	if err != nil {
		sum.err = err
		return sum
	}
	t := trace.NewReader(f, name)
	defer t.Close()
	for {
		record, ok, err := t.Next()
		switch {
		case err != nil && len(sum.errors) == mostTraceErrors:
			sum.errors.Add(err.(document.Error).Position, "", "has an error as well; the rest has not been read")
			return sum
		case err != nil:
			sum.errors = append(sum.errors, err.(document.Error))
		case !ok:
			return sum
		default:
			sum.requests++
			sum.lastNs = record.ArrivalNs
		}
	}
}

// traces reads the traces of the workloads, to their ends.
func (r *reading) traces() {
	for i := range r.scenario.Spec.Workload {
		t := r.scenario.Spec.Workload[i].Arrivals.Trace
		at := document.Index("spec.workload", i) + ".arrivals.trace.file"
		if t != nil && t.File != "" && !r.check.Failed(at) {
			r.trace(at, t)
		}
	}
}

// trace reads a trace once, to the end.
func (r *reading) trace(at string, t *traffic.TraceArrivals) {
	file := traceFile{r.fsys, r.resolve(t.File), fileState{}}
	sum := r.cache.trace(file.files, file.name)
	file.state = sum.state
	r.addInput(scenario.Input{Name: t.File, Path: file.name, SHA256: file.sha256})
	t.Open = file.open
	switch {
	case sum.err != nil:
		r.check.Fail(at, "%s: %s", file.name, unreadable(file.files, file.name, sum.err))
	case len(sum.errors) > 0:
		r.outside = append(r.outside, sum.errors...)
	default:
		t.Read = &traffic.TraceSummary{Path: file.name, Requests: sum.requests, LastNs: sum.lastNs}
	}
}

// traceFile is a trace that has been checked. It is too long to be kept in memory, so that it is
// read again for each run: if it has changed since it was checked, even while it is read, there
// is an error.
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
