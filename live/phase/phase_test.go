package phase

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// server adjusts its limits once per period, and answers a look after a while.
type server struct {
	now    time.Duration // of the test
	phase  time.Duration
	answer time.Duration
	until  time.Duration // the end of the run
	looks  int
	cancel context.CancelFunc
}

func (s *server) look() (Look, error) {
	s.looks++
	l := Look{Began: s.now}
	s.now += s.answer / 2
	l.State = State{"1", uint64((s.now - s.phase + period) / period)}
	s.now += s.answer / 2
	l.Ended = s.now
	return l, nil
}

func (s *server) sleep(until time.Duration) error {
	if s.now = max(s.now, until); s.now >= s.until {
		s.cancel()
		return context.Canceled
	}
	return nil
}

func (s *server) find() (Range, error) {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	return Find(ctx, s.look, s.sleep)
}

// Whatever the phase, and however long the answers take, the range contains the phase, and it is narrow if the run is long
// enough.
func TestRangeContainsThePhase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &server{
			phase:  time.Duration(rapid.Int64Range(1, int64(period)-1).Draw(t, "phase")),
			answer: time.Duration(rapid.Int64Range(0, int64(200*time.Millisecond)).Draw(t, "answer")),
			until:  time.Duration(rapid.Int64Range(int64(21*time.Second), int64(2*time.Minute)).Draw(t, "until")),
		}
		found, err := s.find()
		if err != nil {
			t.Fatal(err)
		}
		contains := func(at time.Duration) bool { return found.FromNs <= int64(at) && int64(at) <= found.ToNs }
		if !contains(s.phase) && !contains(s.phase+period) {
			t.Fatalf("found %v to %v, and the phase is %v", time.Duration(found.FromNs), time.Duration(found.ToNs), s.phase)
		}
		if width := time.Duration(found.ToNs - found.FromNs); s.until > 50*time.Second && width > Narrow+3*s.answer {
			t.Fatalf("the range is %v wide after %v, with answers after %v", width, s.until, s.answer)
		}
		if s.looks > 30 {
			t.Fatalf("%d looks", s.looks)
		}
	})
}

// A run of 30 s: four looks at the first period, and then at the quarter in which the adjustment was.
func TestQuarters(t *testing.T) {
	s := &server{phase: 3120 * time.Millisecond, until: 30 * time.Second}
	found, err := s.find()
	if want := (Range{2968750000, 3125000000}); err != nil || found != want {
		t.Errorf("found %v (%v), want %v", found, err, want)
	}
	if m := found.Middle(); m != 3050*time.Millisecond {
		t.Errorf("the middle is %v, want 3.05s", m)
	}
}

func TestNothingIsFound(t *testing.T) {
	failure := errors.New("forbidden")
	for _, c := range []struct {
		name string
		look func(n uint64) (State, error)
		want error
	}{
		{"no change", func(uint64) (State, error) { return State{"1", 1}, nil }, ErrNoChange},
		{"two servers", func(n uint64) (State, error) { return State{fmt.Sprint(n % 2), 1}, nil }, ErrServers},
		{"no metrics", func(uint64) (State, error) { return State{}, failure }, failure},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		n := uint64(0)
		_, err := Find(ctx, func() (Look, error) {
			n++
			s, err := c.look(n)
			return Look{State: s}, err
		}, func(until time.Duration) error {
			if until > time.Minute {
				cancel()
			}
			return ctx.Err()
		})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: the error is %v, want %v", c.name, err, c.want)
		}
		cancel()
	}
}

// Only what an adjustment sets is a part of the state.
func TestStateOf(t *testing.T) {
	text := func(limit, dispatched int) []byte {
		return fmt.Appendf(nil, `# HELP apiserver_flowcontrol_current_limit_seats limit
process_start_time_seconds 1.79e+09
apiserver_flowcontrol_current_limit_seats{priority_level="a"} %d
apiserver_flowcontrol_dispatched_requests_total{flow_schema="a",priority_level="a"} %d
`, limit, dispatched)
	}
	first, err := StateOf(text(5, 1))
	if err != nil || first.Server != "1.79e+09" {
		t.Fatalf("%+v (%v), want the start of the server", first, err)
	}
	if same, _ := StateOf(text(5, 2)); same != first {
		t.Error("a dispatched request changes the state")
	}
	if other, _ := StateOf(text(6, 1)); other == first {
		t.Error("another limit does not change the state")
	}
	if _, err := StateOf([]byte("up 1\n")); err == nil {
		t.Error("metrics without flow control are no error")
	}
}
