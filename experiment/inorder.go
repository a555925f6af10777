package experiment

import (
	"context"
	"sync"
)

// ahead is how many jobs per worker may have been started after the oldest job whose result has not been
// taken. It bounds the number of results that are kept.
const ahead = 8

// inOrder runs jobs in parallel and returns their results in the order of the jobs, as if they had been run
// one after the other. Jobs are started in order. At most as many run at once as there are workers.
type inOrder[T any] struct {
	results chan chan ordered[T] // of the jobs that have been started or are next
	cancel  context.CancelFunc   // cancels the running jobs
	close   func()               // starts no more jobs
	running sync.WaitGroup
}

type ordered[T any] struct {
	value T
	err   error
}

// newInOrder starts to run job(0) to job(n-1). Their context is derived from ctx. If a job fails, no more jobs
// are started. The jobs before it continue, because the first error in the order of the jobs is the one that
// is returned. stop must be called at the end.
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
		o.running.Go(func() {
			for do := range begin {
				do()
			}
		})
	}
	o.running.Go(func() {
		defer close(begin)
		for i := range n {
			to := make(chan ordered[T], 1)
			do := func() {
				value, err := attempt(ctx, i, job)
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

// attempt runs a job. The error is a Panic if the job panics.
func attempt[T any](ctx context.Context, i int, job func(ctx context.Context, i int) (T, error)) (value T, err error) {
	defer Recover(&err)
	return job(ctx, i)
}

// next waits for the result of the next job and returns it. It may be called once for each job, and not after
// an error.
func (o *inOrder[T]) next() (T, error) {
	r := <-<-o.results
	return r.value, r.err
}

// stop cancels the running jobs and waits for their end.
func (o *inOrder[T]) stop() {
	o.cancel()
	o.close()
	o.running.Wait()
}
