// Package extsort sorts more records than fit into memory. Records are collected up to a number of
// bytes, sorted, and written to a temporary file; at the end, these sorted runs are merged.
//
// The order depends only on the records, not on the order in which they were added. Equal records
// remain, one after the other. Only the import of logs sorts so much; the package knows nothing of logs.
package extsort

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
)

// mostRuns is the number of runs of one level that are merged to a run of the next level, so that
// the number of open files stays small.
const mostRuns = 256

// The size of the buffer through which a run is read, in bytes.
const (
	leastBuffer = 4 << 10
	mostBuffer  = 64 << 10
)

// Sorter sorts records by their keys, and records of one key by their values. Either Close must be
// called at the end, or temporary files can remain.
type Sorter struct {
	dir    string
	memory int
	arena  []byte
	refs   []ref
	levels [][]*run // merging makes a run of level i+1 from the runs of level i
	err    error    // the first error of writing a run
}

// ref is where a record is in the arena.
type ref struct{ at, value, end int }

// New returns a sorter that holds about this many bytes of records in memory and writes the others
// to temporary files in the folder dir.
func New(dir string, memory int) *Sorter {
	return &Sorter{dir: dir, memory: memory}
}

// Add adds a record. The sorter copies it.
func (s *Sorter) Add(key, value []byte) error {
	const refSize = 24
	if len(s.refs) > 0 && len(s.arena)+len(key)+len(value)+refSize*(len(s.refs)+1) > s.memory {
		s.spill()
	}
	at := len(s.arena)
	s.arena = append(append(s.arena, key...), value...)
	s.refs = append(s.refs, ref{at, at + len(key), len(s.arena)})
	return s.err
}

// Each calls f for all records in order, until f returns an error. The slices are valid until f
// returns. Each may be called several times.
func (s *Sorter) Each(f func(key, value []byte) error) error {
	if s.err != nil {
		return s.err
	}
	if len(s.levels) == 0 {
		s.sort()
		for _, r := range s.refs {
			if err := f(s.arena[r.at:r.value], s.arena[r.value:r.end]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(s.refs) > 0 {
		if s.spill(); s.err != nil {
			return s.err
		}
	}
	s.arena, s.refs = nil, nil
	return merge(slices.Concat(s.levels...), s.memory, f)
}

// Close removes the temporary files.
func (s *Sorter) Close() error {
	var failures []error
	for _, level := range s.levels {
		for _, r := range level {
			failures = append(failures, r.close())
		}
	}
	s.levels, s.arena, s.refs = nil, nil, nil
	return errors.Join(failures...)
}

func (s *Sorter) sort() {
	slices.SortFunc(s.refs, func(a, b ref) int {
		if c := bytes.Compare(s.arena[a.at:a.value], s.arena[b.at:b.value]); c != 0 {
			return c
		}
		return bytes.Compare(s.arena[a.value:a.end], s.arena[b.value:b.end])
	})
}

// spill writes the records in memory as a run.
func (s *Sorter) spill() {
	if s.err != nil {
		return
	}
	s.sort()
	s.addRun(0, func(f func(key, value []byte) error) error {
		for _, r := range s.refs {
			if err := f(s.arena[r.at:r.value], s.arena[r.value:r.end]); err != nil {
				return err
			}
		}
		return nil
	})
	s.arena, s.refs = s.arena[:0], s.refs[:0]
}

// addRun writes the records that each yields as a run of a level.
func (s *Sorter) addRun(level int, each func(func(key, value []byte) error) error) {
	r, err := newRun(s.dir, each)
	if err != nil {
		s.err = err
		return
	}
	if level == len(s.levels) {
		s.levels = append(s.levels, nil)
	}
	s.levels[level] = append(s.levels[level], r)
	if full := s.levels[level]; len(full) == mostRuns {
		s.addRun(level+1, func(f func(key, value []byte) error) error { return merge(full, s.memory, f) })
		if s.err != nil {
			return
		}
		for _, r := range full {
			if err := r.close(); err != nil && s.err == nil {
				s.err = err
			}
		}
		s.levels[level] = nil
	}
}

// run is a temporary file of records in order: the lengths of key and value as varints, the key, and
// the value.
type run struct {
	file    *os.File
	size    int64
	removed bool // the file has no name any more, and vanishes when it is closed
}

func newRun(dir string, each func(func(key, value []byte) error) error) (_ *run, err error) {
	file, err := os.CreateTemp(dir, ".sort-*.apfsim-tmp")
	if err != nil {
		return nil, err
	}
	// Where the system allows it, the file vanishes even if the process is killed.
	r := &run{file: file, removed: os.Remove(file.Name()) == nil}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	w := bufio.NewWriterSize(file, 1<<18)
	var lengths [2 * binary.MaxVarintLen64]byte
	err = each(func(key, value []byte) error {
		n := binary.PutUvarint(lengths[:], uint64(len(key)))
		n += binary.PutUvarint(lengths[n:], uint64(len(value)))
		r.size += int64(n + len(key) + len(value))
		w.Write(lengths[:n])
		w.Write(key)
		_, err := w.Write(value)
		return err
	})
	if err == nil {
		err = w.Flush()
	}
	return r, err
}

func (r *run) close() error {
	err := r.file.Close()
	if !r.removed {
		err = errors.Join(err, os.Remove(r.file.Name()))
	}
	return err
}

// cursor reads a run.
type cursor struct {
	r        *bufio.Reader
	data     []byte // the current record: key and value
	key, val []byte
	position int // of the run among all runs, which orders equal records
}

// next reads the next record; ok is false at the end.
func (c *cursor) next() (ok bool, err error) {
	key, err := binary.ReadUvarint(c.r)
	if err == io.EOF {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	value, err := binary.ReadUvarint(c.r)
	if err != nil {
		return false, err
	}
	c.data = slices.Grow(c.data[:0], int(key+value))[:key+value]
	if _, err := io.ReadFull(c.r, c.data); err != nil {
		return false, err
	}
	c.key, c.val = c.data[:key], c.data[key:]
	return true, nil
}

// cursors is a heap of cursors, by their current records.
type cursors []*cursor

func (h cursors) Len() int { return len(h) }
func (h cursors) Less(i, j int) bool {
	if c := bytes.Compare(h[i].key, h[j].key); c != 0 {
		return c < 0
	}
	if c := bytes.Compare(h[i].val, h[j].val); c != 0 {
		return c < 0
	}
	return h[i].position < h[j].position
}
func (h cursors) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *cursors) Push(x any)   { *h = append(*h, x.(*cursor)) }
func (h *cursors) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}

// merge calls f for the records of all runs in order. The buffers of the runs together take about the given number of bytes,
// unless there are very many runs.
func merge(runs []*run, memory int, f func(key, value []byte) error) error {
	var h cursors
	buffer := min(max(memory/max(len(runs), 1), leastBuffer), mostBuffer)
	for i, r := range runs {
		c := &cursor{r: bufio.NewReaderSize(io.NewSectionReader(r.file, 0, r.size), buffer), position: i}
		ok, err := c.next()
		if err != nil {
			return err
		}
		if ok {
			h = append(h, c)
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		c := h[0]
		if err := f(c.key, c.val); err != nil {
			return err
		}
		ok, err := c.next()
		switch {
		case err != nil:
			return err
		case ok:
			heap.Fix(&h, 0)
		default:
			heap.Pop(&h)
		}
	}
	return nil
}
