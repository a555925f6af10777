package experiment

import (
	"context"
	"sync"
)

// ahead is how many jobs a worker may be ahead of the oldest whose result has not been taken.
const ahead = 8

// inOrder works at jobs in parallel, and hands over their results in the order of the jobs,
// as if they had been done one after the other. Jobs are begun in order. No more are alive
// than there are workers, and no more results are kept than the workers may be ahead.
type inOrder[T any] struct {
	results chan chan ordered[T] // of the jobs that have been begun, or will be next
	cancel  context.CancelFunc   // ends the jobs that are alive
	close   func()               // begins no more jobs
	alive   sync.WaitGroup
}

type ordered[T any] struct {
	value T
	err   error
}

// newInOrder begins to do job(0) to job(n-1). Their context ends with ctx. When one fails,
// no more are begun; those before it in order go on, since one of them may fail as well and
// would then be the first. stop must be called in the end.
func newInOrder[T any](ctx context.Context, workers, n int, job func(ctx context.Context, i int) (T, error)) *inOrder[T] {
	ctx, cancel := context.WithCancel(ctx)
	closed := make(chan struct{})
	o := &inOrder[T]{
		results: make(chan chan ordered[T], ahead*workers),
		cancel:  cancel,
		close:   sync.OnceFunc(func() { close(closed) }),
	}
	begin := make(chan func())
	for range min(workers, n) {
		o.alive.Go(func() {
			for do := range begin {
				do()
			}
		})
	}
	o.alive.Go(func() {
		defer close(begin)
		for i := range n {
			to := make(chan ordered[T], 1)
			do := func() {
				value, err := job(ctx, i)
				if err != nil {
					o.close()
				}
				to <- ordered[T]{value, err}
			}
			select {
			case o.results <- to:
			case <-closed:
				return
			}
			select {
			case begin <- do:
			case <-closed:
				return
			}
		}
	})
	return o
}

// next waits for the result of the next job. It may be called once for each job, and not
// after an error.
func (o *inOrder[T]) next() (T, error) {
	r := <-<-o.results
	return r.value, r.err
}

// stop ends what is alive, and returns when it has ended.
func (o *inOrder[T]) stop() {
	o.cancel()
	o.close()
	o.alive.Wait()
}
