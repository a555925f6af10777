// Package extsort sorts more records than fit into memory. Records are collected up to a number of
// bytes, sorted, and written to a temporary file; at the end, these sorted runs are merged.
//
// The order depends only on the records, not on the order in which they were added. Equal records
// remain, one after the other. Only the import of logs sorts so much; the package knows nothing of logs.
package extsort

import (
	"bufio"
	"bytes"
	"cmp"
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
//
// While records are added to one batch, the batch before it is sorted and written by another goroutine, to which the fields
// below it belong until wait returns.
type Sorter struct {
	dir    string
	memory int // bytes of a batch
	batch  batch
	busy   chan error // gives the error of writing a batch when it has been written; nil if none is

	written batch
	levels  [][]*run // merging makes a run of level i+1 from the runs of level i
	err     error    // the first error of writing a run
}

// batch is records in memory.
type batch struct {
	arena []byte
	refs  []ref
}

// ref is where a record is in the arena. Start is the first eight bytes of the key, by which most records differ, so that
// sorting seldom reads the arena.
type ref struct {
	start          uint64
	at, value, end int
}

const refSize = 32 // bytes

// New returns a sorter that holds about this many bytes of records in memory, half of them while they are written, and
// writes the others to temporary files in the folder dir.
func New(dir string, memory int) *Sorter {
	return &Sorter{dir: dir, memory: memory / 2}
}

// Add adds a record. The sorter copies it.
func (s *Sorter) Add(key, value []byte) error {
	b := &s.batch
	if len(b.refs) > 0 && len(b.arena)+len(key)+len(value)+refSize*(len(b.refs)+1) > s.memory {
		if err := s.spill(); err != nil {
			return err
		}
	}
	at := len(b.arena)
	b.arena = append(append(b.arena, key...), value...)
	b.refs = append(b.refs, ref{startOf(key), at, at + len(key), len(b.arena)})
	return nil
}

// startOf returns the first eight bytes of a key as a number, so that numbers are ordered as keys are.
func startOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var padded [8]byte
	copy(padded[:], key)
	return binary.BigEndian.Uint64(padded[:])
}

// Each calls f for all records in order, until f returns an error. The slices are valid until f
// returns. Each may be called several times.
func (s *Sorter) Each(f func(key, value []byte) error) error {
	if err := s.wait(); err != nil {
		return err
	}
	if len(s.levels) == 0 {
		s.batch.sort()
		return s.batch.each(f)
	}
	if len(s.batch.refs) > 0 {
		s.spill()
		if err := s.wait(); err != nil {
			return err
		}
	}
	s.batch, s.written = batch{}, batch{}
	return merge(slices.Concat(s.levels...), s.memory, f)
}

// Close removes the temporary files.
func (s *Sorter) Close() error {
	s.wait()
	var failures []error
	for _, level := range s.levels {
		for _, r := range level {
			failures = append(failures, r.close())
		}
	}
	s.levels, s.batch, s.written = nil, batch{}, batch{}
	return errors.Join(failures...)
}

// wait waits until the latest batch is written. It returns the first error of all.
func (s *Sorter) wait() error {
	if s.busy != nil {
		s.err = errors.Join(s.err, <-s.busy)
		s.busy = nil
	}
	return s.err
}

func (b *batch) sort() {
	slices.SortFunc(b.refs, func(x, y ref) int {
		if x.start != y.start {
			return cmp.Compare(x.start, y.start)
		}
		if c := bytes.Compare(b.arena[x.at:x.value], b.arena[y.at:y.value]); c != 0 {
			return c
		}
		return bytes.Compare(b.arena[x.value:x.end], b.arena[y.value:y.end])
	})
}

func (b *batch) each(f func(key, value []byte) error) error {
	for _, r := range b.refs {
		if err := f(b.arena[r.at:r.value], b.arena[r.value:r.end]); err != nil {
			return err
		}
	}
	return nil
}

// spill begins to write the batch as a run, after the one before it has been written.
func (s *Sorter) spill() error {
	if err := s.wait(); err != nil {
		return err
	}
	s.batch, s.written = s.written, s.batch
	s.batch.arena, s.batch.refs = s.batch.arena[:0], s.batch.refs[:0]
	busy := make(chan error, 1)
	s.busy = busy
	go func() {
		s.written.sort()
		busy <- s.addRun(0, s.written.each)
	}()
	return nil
}

// addRun writes the records that each yields as a run of a level.
func (s *Sorter) addRun(level int, each func(func(key, value []byte) error) error) error {
	r, err := newRun(s.dir, each)
	if err != nil {
		return err
	}
	if level == len(s.levels) {
		s.levels = append(s.levels, nil)
	}
	s.levels[level] = append(s.levels[level], r)
	full := s.levels[level]
	if len(full) < mostRuns {
		return nil
	}
	if err := s.addRun(level+1, func(f func(key, value []byte) error) error { return merge(full, s.memory, f) }); err != nil {
		return err
	}
	for _, r := range full {
		err = errors.Join(err, r.close())
	}
	s.levels[level] = nil
	return err
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
	start    uint64 // see ref
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
	c.start = startOf(c.key)
	return true, nil
}

// cursors is a heap of cursors, by their current records.
type cursors []*cursor

func (h cursors) Len() int { return len(h) }
func (h cursors) Less(i, j int) bool {
	if h[i].start != h[j].start {
		return h[i].start < h[j].start
	}
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
