package experiment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

// stage is a number of jobs that end when the test says so. It runs in a bubble of
// synctest, where everybody has come to a standstill before the test goes on.
type stage struct {
	*inOrder[int]
	begun int
	alive map[int]bool
	end   []chan error // of each job
}

func newStage(ctx context.Context, workers, n int) *stage {
	s := &stage{alive: map[int]bool{}, end: make([]chan error, n)}
	for i := range s.end {
		s.end[i] = make(chan error, 1)
	}
	var mu sync.Mutex
	change := func(by func()) {
		mu.Lock()
		defer mu.Unlock()
		by()
	}
	s.inOrder = newInOrder(ctx, workers, n, func(ctx context.Context, i int) (int, error) {
		change(func() { s.begun, s.alive[i] = s.begun+1, true })
		defer change(func() { delete(s.alive, i) })
		select {
		case err := <-s.end[i]:
			return 10 * i, err
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	synctest.Wait()
	return s
}

// ends ends jobs, and waits for what follows from it.
func (s *stage) ends(err error, jobs ...int) {
	for _, i := range jobs {
		s.end[i] <- err
	}
	synctest.Wait()
}

func (s *stage) expect(t *testing.T, begun int, alive ...int) {
	t.Helper()
	want := map[int]bool{}
	for _, i := range alive {
		want[i] = true
	}
	if s.begun != begun || fmt.Sprint(s.alive) != fmt.Sprint(want) {
		t.Errorf("%d jobs have been begun, alive are %v; want %d, %v", s.begun, s.alive, begun, want)
	}
}

func (s *stage) expectNext(t *testing.T, value int, err error) {
	t.Helper()
	if v, e := s.next(); e != err || e == nil && v != value {
		t.Errorf("the next result is %d, %v; want %d, %v", v, e, value, err)
	}
	synctest.Wait()
}

func TestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t.Context(), 2, 5)
		defer s.stop()
		s.expect(t, 2, 0, 1)
		s.ends(nil, 1)
		s.expect(t, 3, 0, 2)
		s.ends(nil, 2, 3, 4)
		s.expect(t, 5, 0)
		s.ends(nil, 0)
		for i := range 5 {
			s.expectNext(t, 10*i, nil)
		}
	})
}

// While the first job takes long, the others do not pile up their results.
func TestInOrderBoundsHowFarWorkersAreAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, n = 3, 1000
		s := newStage(t.Context(), workers, n)
		defer s.stop()
		for i := 1; i < n; i++ {
			s.end[i] <- nil
		}
		synctest.Wait()
		s.expect(t, ahead*workers, 0)
		s.ends(nil, 0)
		s.expect(t, ahead*workers)
		for i := range n {
			s.expectNext(t, 10*i, nil)
			s.expect(t, min(ahead*workers+i+1, n))
		}
	})
}

// The error of the first job in order is returned, as with one core, even if a later job fails earlier.
func TestInOrderFails(t *testing.T) {
	early, late := errors.New("early"), errors.New("late")
	for _, first := range []error{nil, early} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t.Context(), 3, 100)
			s.ends(nil, 0)
			s.expect(t, 4, 1, 2, 3)
			s.ends(late, 2)
			s.expect(t, 4, 1, 3) // and no other is begun
			s.ends(first, 1)
			s.expectNext(t, 0, nil)
			s.expectNext(t, 10, first)
			if first == nil {
				s.expectNext(t, 0, late)
			}
			s.expect(t, 4, 3)
			s.stop()
			s.expect(t, 4)
		})
	}
}

func TestInOrderIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newStage(ctx, 3, 100)
		s.ends(nil, 0, 2)
		s.expect(t, 5, 1, 3, 4)
		cancel()
		synctest.Wait()
		s.expectNext(t, 0, nil) // complete, if nobody has asked for it yet
		s.expectNext(t, 0, context.Canceled)
		s.stop()
		if len(s.alive) > 0 {
			t.Errorf("%v are alive", s.alive)
		}
	})
}
