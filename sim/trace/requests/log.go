// Package requests joins the lines of each request in the logs of servers.
//
// Lines are in the order in which requests ended, those of one request are in several files, and files
// can be in any order. The lines are therefore sorted by audit ID, and the requests that result by
// arrival, both in temporary files, so that memory does not grow with the logs.
package requests

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"apfsim/internal/extsort"
	"apfsim/sim/trace/serverlog"
)

// Options say which logs are read, and how.
type Options struct {
	Sources []Source
	Strict  bool   // bad lines are an error
	Dir     string // the folder for temporary files
	Memory  int    // the bytes of records that are sorted in memory; 0 for the default
	// Progress, if not nil, is called now and then with how many of the bytes of the files have been read.
	Progress func(read, all int64)
	Joined   func(*Request) // if not nil, it is called for each request, in the order of audit IDs; which is valid until it returns
}

// defaultMemory is a compromise: a log of 10 GB makes about a hundred temporary files.
const defaultMemory = 128 << 20

// Log is all requests of some logs.
type Log struct {
	Files   []File
	Entries Entries
	Logs    Logs
	Servers map[string]*Server // by name

	entries     *extsort.Sorter // all lines, by server, audit ID and arrival
	joined      *extsort.Sorter // all requests, by arrival
	joinedOne   func(*Request)
	requests    int64
	added       int64              // lines
	reference   time.Time          // a time in an audit log; zero if there is none
	adjustments map[string][]int64 // of the limits, by server
	farApart    int64              // requests with arrivals in both logs that differ by more than a minute
	apartNs     int64              // the latest of these differences

	out     codec
	buf     []byte
	group   []located  // the lines with one audit ID
	joining []*Request // the requests of the group
	made    []*Request // all that were made for a group, which are used for the next one
}

// Read reads logs. Close must be called at the end.
func Read(ctx context.Context, o Options) (_ *Log, err error) {
	memory := cmp.Or(o.Memory, defaultMemory)
	r := &Log{
		entries:     extsort.New(o.Dir, memory),
		joined:      extsort.New(o.Dir, memory),
		joinedOne:   o.Joined,
		Servers:     map[string]*Server{},
		adjustments: map[string][]int64{},
	}
	defer func() {
		if err = errors.Join(err, r.entries.Close()); err != nil {
			err = errors.Join(err, r.joined.Close())
		}
	}()
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	progress := o.Progress
	if progress == nil {
		progress = func(int64, int64) {}
	}
	err = ahead(func(next func() *located) error { return r.read(reading, o.Sources, progress, next) }, func(l *located) error {
		err := r.add(l)
		if err != nil {
			cancel() // a read that waits for more of a pipe
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r.judgeClocks()
	if err := r.join(ctx); err != nil {
		return nil, err
	}
	if o.Strict && slices.ContainsFunc(r.Files, func(f File) bool { return f.BadLines > 0 }) {
		return nil, &BadLines{r.Files}
	}
	for name, times := range r.adjustments {
		if s := r.Servers[name]; s != nil {
			slices.Sort(times)
			s.Adjustments = times
		}
	}
	return r, nil
}

// Close removes the temporary files.
func (r *Log) Close() error { return r.joined.Close() }

// Each calls f for all requests in the order of arrival. The request is valid until f returns.
func (r *Log) Each(ctx context.Context, f func(*Request) error) error {
	in := codec{reading: true}
	n := 0
	return ahead(func(next func() *Request) error {
		return r.joined.Each(func(_, value []byte) error {
			q := next()
			if q == nil {
				return errStopped
			}
			in.read(value)
			q.code(&in)
			return nil
		})
	}, func(q *Request) error {
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return f(q)
	})
}

// Apart returns by how much requests are later in the audit log than in the httplog, if that is more
// than a minute for most requests that both have: then the times of the httplog are of another zone.
func (r *Log) Apart() (apart time.Duration, wrong bool) {
	return time.Duration(r.apartNs).Round(15 * time.Minute), r.farApart > r.Logs.Both/2
}

// File counts the lines and requests that were read from a file.
type File struct {
	Name     string    `json:"name"`
	Server   string    `json:"server,omitempty"` // as given by the user
	Lines    int64     `json:"lines"`
	Entries  int64     `json:"entries"`  // what lines say of requests; a line can have several
	Audit    int64     `json:"audit"`    // of these, in the format of audit logs
	HTTP     int64     `json:"httplog"`  // of these, in the format of httplogs
	LeftOut  int64     `json:"leftOut"`  // lines that are not about requests
	BadLines int64     `json:"badLines"` // lines that cannot be read
	Problems []Problem `json:"problems"` // of the first bad lines

	FirstNs int64 `json:"-"` // the times of the earliest and of the latest entry
	LastNs  int64 `json:"-"`
}

func (f *File) add(e *serverlog.Entry) {
	if f.Entries == 0 {
		f.FirstNs, f.LastNs = e.StageNs, e.StageNs
	}
	f.FirstNs, f.LastNs = min(f.FirstNs, e.StageNs), max(f.LastNs, e.StageNs)
	f.Entries++
	if e.Log == serverlog.HTTP {
		f.HTTP++
	} else {
		f.Audit++
	}
}

// bad counts a line that cannot be read, and lists it if it is one of the first.
func (f *File) bad(line int64, message string) {
	f.BadLines++
	at, _ := slices.BinarySearchFunc(f.Problems, line, func(p Problem, line int64) int { return cmp.Compare(p.Line, line+1) })
	f.Problems = slices.Insert(f.Problems, at, Problem{line, message})
	f.Problems = f.Problems[:min(len(f.Problems), mostProblems)]
}

// Problem is a line that cannot be read.
type Problem struct {
	Line    int64  `json:"line"`
	Message string `json:"message"`
}

// Entries are numbers of entries. Total is the sum of Joined and Duplicates.
type Entries struct {
	Total      int64 `json:"total"`
	Joined     int64 `json:"joined"`     // to requests
	Duplicates int64 `json:"duplicates"` // of the same stage of the same request
}

// Logs are the numbers of requests by the logs that have them.
type Logs struct {
	Both       int64 `json:"both"`
	AuditAlone int64 `json:"auditAlone"`
	HTTPAlone  int64 `json:"httplogAlone"`
	// MostApartNs is the largest difference between the arrivals of a request in both logs.
	MostApartNs int64 `json:"mostApartNs"`
}

// FileError is a log that cannot be read.
type FileError struct {
	Name string
	Err  error
}

// Error implements error.
func (e *FileError) Error() string { return e.Name + ": cannot be read: " + reasonOf(e.Err) }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

// BadLines is the error of files with lines that cannot be read.
type BadLines struct{ Files []File }

// Error implements error: it has a line for each of the first bad lines.
func (e *BadLines) Error() string {
	var b strings.Builder
	for _, f := range e.Files {
		for _, p := range f.Problems {
			fmt.Fprintf(&b, "%s:%d: %s\n", f.Name, p.Line, p.Message)
		}
		if more := f.BadLines - int64(len(f.Problems)); more > 0 {
			fmt.Fprintf(&b, "%s: %d more bad lines\n", f.Name, more)
		}
	}
	return b.String() + "nothing was written; without --strict, bad lines are counted and left out"
}

// reasonOf returns why a file cannot be read, without its name.
func reasonOf(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
