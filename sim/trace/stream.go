package trace

import (
	"context"
	"sync/atomic"

	"apfsim/document"
)

// Summary is the result of reading a trace to its end.
type Summary struct {
	Requests int64
	LastNs   int64 // arrival of the last request
}

// mostErrors is how many errors of a trace are listed.
const mostErrors = 20

// The batches of arrivals between the goroutine that reads and the run. Between two of them, the
// reader looks whether it is to end.
const (
	batchSize = 512
	batches   = 4
)

// Stream is the arrivals of a trace, which a goroutine of its own reads and checks ahead of a run.
// All lines are checked, also those of requests that the run does not want. When one has an error,
// no more requests are passed on, and the rest is read for its errors. Close must be called in the
// end.
type Stream struct {
	reader       *Reader
	fromNs, toNs int64
	cancel       context.CancelFunc

	filled, emptied chan []Arrival
	batch           []Arrival // the rest of the batch that is being passed on
	whole           []Arrival // the whole of it
	failed          atomic.Bool

	read     chan struct{} // is closed when the reading has ended: then the rest is valid
	summary  Summary
	errors   document.Errors
	panicked any // what the goroutine panicked with; the panic goes on where the arrivals are read
}

// Stream starts to read the arrivals between two times, the latter exclusive, until the context is
// cancelled. It takes over the reader.
func (t *Reader) Stream(ctx context.Context, fromNs, toNs int64) *Stream {
	s := &Stream{reader: t, fromNs: fromNs, toNs: toNs,
		filled: make(chan []Arrival, batches), emptied: make(chan []Arrival, batches), read: make(chan struct{})}
	ctx, s.cancel = context.WithCancel(ctx)
	for range batches {
		s.emptied <- nil
	}
	go func() {
		defer close(s.read)
		defer func() { s.panicked = recover() }()
		s.pass(ctx)
		for s.failed.Load() && ctx.Err() == nil && s.skip() {
		}
	}()
	return s
}

// pass reads the trace to its end or its first error, and passes on what the run wants.
func (s *Stream) pass(ctx context.Context) {
	defer close(s.filled)
	for more := true; more; {
		var batch []Arrival
		select {
		case batch = <-s.emptied:
		case <-ctx.Done():
			return
		}
		if batch == nil {
			batch = make([]Arrival, 0, batchSize)
		}
		if batch, more = s.fill(ctx, batch); len(batch) > 0 && !s.failed.Load() {
			s.filled <- batch // there is room for all batches
		}
	}
}

// fill fills a batch with the next arrivals that the run wants. After the end of the trace or an
// error, more is false.
func (s *Stream) fill(ctx context.Context, batch []Arrival) (_ []Arrival, more bool) {
	var a Arrival
	for len(batch) < batchSize {
		ok, err := s.reader.next(&a)
		if !ok {
			s.fail(err)
			return batch, false
		}
		s.summary.Requests++
		s.summary.LastNs = a.ArrivalNs
		if s.fromNs <= a.ArrivalNs && a.ArrivalNs < s.toNs {
			batch = append(batch, a)
		} else if s.summary.Requests%batchSize == 0 && ctx.Err() != nil {
			return batch, false
		}
	}
	return batch, true
}

// fail adds an error, if it is one.
func (s *Stream) fail(err error) {
	if err != nil {
		s.errors = append(s.errors, err.(document.Error))
		s.failed.Store(true)
	}
}

// skip reads the next line for its error. At the end of the trace, and when there are too many
// errors, more is false.
func (s *Stream) skip() (more bool) {
	var a Arrival
	ok, err := s.reader.next(&a)
	switch {
	case err != nil && len(s.errors) == mostErrors:
		s.errors.Add(err.(document.Error).Position, "", "has an error as well; the rest has not been read")
		return false
	case err != nil:
		s.fail(err)
		return true
	}
	return ok
}

// Next returns the next arrival, which is valid until the next call. There is none at the end of the
// trace, after an error, and when the context is cancelled.
func (s *Stream) Next() (*Arrival, bool) {
	if len(s.batch) == 0 && !s.nextBatch() {
		return nil, false
	}
	a := &s.batch[0]
	s.batch = s.batch[1:]
	return a, true
}

// nextBatch waits for the next batch.
func (s *Stream) nextBatch() bool {
	if s.whole != nil {
		s.emptied <- s.whole[:0] // there is room for all batches
		s.whole = nil
	}
	s.whole = <-s.filled // which is closed also when the context is cancelled
	s.batch = s.whole
	return len(s.batch) > 0 && !s.failed.Load()
}

// Failed says whether an error has been found so far.
func (s *Stream) Failed() bool { return s.failed.Load() }

// Drain waits until the whole trace has been read, without passing on what is left of it, or until the
// context is cancelled. It returns what was found, and the errors.
func (s *Stream) Drain() (Summary, document.Errors) {
	for s.nextBatch() {
	}
	<-s.read
	return s.summary, s.errors
}

// Close ends the reading and closes the source of the trace.
func (s *Stream) Close() error {
	s.cancel()
	<-s.read
	if s.panicked != nil {
		panic(s.panicked)
	}
	if s.reader == nil { // the requests were in memory
		return nil
	}
	return s.reader.Close()
}
