package requests

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"apfsim/document"
	"apfsim/internal/input"
	"apfsim/sim/trace/httplog"
	"apfsim/sim/trace/logfile"
	"apfsim/sim/trace/serverlog"
)

// Source is a file of a log.
type Source struct {
	Name   string // in messages
	Server string // whose log it is; empty if the user has not said it
	Bytes  int64  // the size of the file; 0 if it is not known
	// Stream means that the file can be read only once.
	Stream bool
	// Open returns a reader of the file. When the context is cancelled, the reader returns its error. If the reader is an io.Closer, it is closed at the end.
	// Reference is a time in an audit log that has been read, or zero. Adjusted is called for each
	// adjustment of the limits in the log.
	Open func(ctx context.Context, reference time.Time, adjusted func(httplog.Adjustment)) (serverlog.Reader, error)
}

// stdin is the argument that stands for standard input.
const stdin = "-"

// Sources returns the files that arguments name: FILE, SERVER=FILE, or - for standard input.
func Sources(args []string, in io.Reader, o logfile.Options) ([]Source, error) {
	var all []Source
	var wrong []string
	for _, arg := range args {
		s := Source{Name: arg}
		if server, name, ok := strings.Cut(arg, "="); ok && server != "" && name != "" && !exists(arg) {
			s.Name, s.Server = name, server
		}
		same := slices.IndexFunc(all, func(other Source) bool { return other.Name == s.Name })
		switch {
		case same >= 0:
			wrong = append(wrong, s.Name+": is named twice")
		case s.Name == stdin:
			s.Name, s.Stream = "stdin", true
			s.Open = func(ctx context.Context, reference time.Time, adjusted func(httplog.Adjustment)) (serverlog.Reader, error) {
				return open(input.Reader(ctx, in), nil, "stdin", o, reference, adjusted)
			}
		default:
			if info, err := os.Stat(s.Name); err != nil {
				wrong = append(wrong, s.Name+": cannot be read: "+reasonOf(err))
			} else if info.IsDir() {
				wrong = append(wrong, s.Name+": is a folder; name its files, as in "+s.Name+"/*.log")
			} else {
				s.Bytes = info.Size()
			}
			name := s.Name
			s.Open = func(ctx context.Context, reference time.Time, adjusted func(httplog.Adjustment)) (serverlog.Reader, error) {
				f, err := os.Open(name)
				if err != nil {
					return nil, err
				}
				if info, err := f.Stat(); err == nil && reference.IsZero() {
					reference = info.ModTime()
				}
				return open(input.Reader(ctx, f), f, name, o, reference, adjusted)
			}
		}
		all = append(all, s)
	}
	if len(wrong) > 0 {
		return nil, errors.New(strings.Join(wrong, "\n"))
	}
	return all, nil
}

// ParseZone returns a time zone by its name or its offset from UTC; nil for none.
func ParseZone(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	if t, err := time.Parse("-07:00", name); err == nil {
		_, offset := t.Zone()
		return time.FixedZone(name, offset), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q: want the name of a time zone such as Europe/Berlin, or an offset from UTC such as +02:00", document.Abridge(name))
	}
	return zone, nil
}

// Text returns a file whose content is in memory. Reference is a time near those of the log, or zero.
func Text(name string, content []byte, reference time.Time, o logfile.Options) Source {
	return Source{Name: name, Open: func(ctx context.Context, known time.Time, adjusted func(httplog.Adjustment)) (serverlog.Reader, error) {
		if known.IsZero() {
			known = reference
		}
		return open(input.Reader(ctx, bytes.NewReader(content)), nil, name, o, known, adjusted)
	}}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// openFile is a reader that closes its file.
type openFile struct {
	*logfile.Reader
	file *os.File
}

// Close implements io.Closer.
func (o *openFile) Close() error { return o.file.Close() }

// offset returns how much of the file has been read.
func (o *openFile) offset() int64 {
	n, _ := o.file.Seek(0, io.SeekCurrent)
	return n
}

func open(r io.Reader, c *os.File, name string, o logfile.Options, reference time.Time, adjusted func(httplog.Adjustment)) (serverlog.Reader, error) {
	if o.Reference.IsZero() {
		o.Reference = reference
	}
	o.Adjusted = adjusted
	reader, err := logfile.Open(r, name, o)
	switch {
	case c == nil:
		return reader, err
	case err != nil:
		return nil, errors.Join(err, c.Close())
	}
	return &openFile{reader, c}, nil
}

// read reads all entries of all files into next.
func (r *Log) read(ctx context.Context, sources []Source, progress func(read, all int64), next func() *located) error {
	var before, all int64 // bytes
	for i := range sources {
		all += sources[i].Bytes
	}
	r.Files = make([]File, len(sources))
	for _, i := range readingOrder(ctx, sources) {
		file := &r.Files[i]
		*file = File{Name: sources[i].Name, Server: sources[i].Server, Problems: []Problem{}}
		if err := r.readFile(ctx, i, sources[i], file, func(bytes int64) { progress(before+bytes, all) }, next); err != nil {
			return err
		}
		before += sources[i].Bytes
	}
	return nil
}

// readingOrder returns the order in which the files are read: first the audit logs, because httplogs
// have no year; last what can be read only once.
func readingOrder(ctx context.Context, sources []Source) []int {
	order := make([]int, len(sources))
	class := make([]int, len(sources))
	for i, s := range sources {
		order[i] = i
		switch {
		case s.Stream:
			class[i] = 2
		case !beginsAsAudit(ctx, s):
			class[i] = 1
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(class[a], class[b]) })
	return order
}

// beginsAsAudit reports whether the first entry of a file is of an audit log. An error is reported when
// the file is read.
func beginsAsAudit(ctx context.Context, s Source) bool {
	reader, err := s.Open(ctx, time.Time{}, nil)
	if err != nil {
		return false
	}
	if c, ok := reader.(io.Closer); ok {
		defer c.Close()
	}
	var e serverlog.Entry
	for range 100 {
		e.Reset()
		if err := reader.Next(&e); err == nil {
			return e.Log == serverlog.Audit
		} else if err == io.EOF {
			return false
		}
	}
	return false
}

func (r *Log) readFile(ctx context.Context, index int, source Source, file *File, progress func(bytes int64), next func() *located) error {
	reader, err := source.Open(ctx, r.reference, func(a httplog.Adjustment) {
		r.adjusted(cmp.Or(source.Server, a.Server), a.TimeNs)
	})
	if err != nil {
		return &FileError{source.Name, err}
	}
	if c, ok := reader.(io.Closer); ok {
		defer c.Close()
	}
	var e located
	audit, read := days{}, 0
	for {
		e.Reset()
		err := reader.Next(&e.Entry)
		file.Lines = max(file.Lines, reader.Line())
		var problem *serverlog.Problem
		switch {
		case err == io.EOF:
			if s, ok := reader.(interface{ Skipped() int64 }); ok {
				file.LeftOut = s.Skipped()
			}
			if len(audit) > 0 {
				r.reference = time.Unix(0, audit.median()*dayNs)
			}
			return nil
		case errors.As(err, &problem):
			file.bad(problem.Line, problem.Message)
			continue
		case err != nil:
			return &FileError{source.Name, err}
		}
		if source.Server != "" {
			e.Server = source.Server
		}
		if e.Log == serverlog.Audit {
			audit.add(e.StageNs)
		}
		if read++; read%4096 == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if f, ok := reader.(*openFile); ok {
				progress(f.offset())
			}
		}
		e.file, e.line = index, reader.Line()
		into := next()
		if into == nil {
			return errStopped
		}
		*into, e = e, *into // each keeps a memory for groups
	}
}

// mostAdjustments bounds the memory for adjustments: those of 11 days.
const mostAdjustments = 100_000

// adjusted takes an adjustment of a server's limits. There is a line for each level.
func (r *Log) adjusted(server string, timeNs int64) {
	all := r.adjustments[server]
	if n := len(all); (n == 0 || timeNs-all[n-1] > time.Second.Nanoseconds() || all[n-1] > timeNs) && n < mostAdjustments {
		r.adjustments[server] = append(all, timeNs)
	}
}
