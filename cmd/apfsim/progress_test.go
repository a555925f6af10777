package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"apfsim/sim/quantity"
	"apfsim/sim/scenario"
)

// screen is what is written to a terminal.
type screen struct{ bytes.Buffer }

// expect looks at what has been written since the last look.
func (s *screen) expect(t *testing.T, what, want string) {
	t.Helper()
	if got := s.String(); got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
	s.Reset()
}

// shows looks at what stands there now.
func (s *screen) shows(t *testing.T, what, want string) {
	t.Helper()
	got := s.String()
	if last := got[strings.LastIndex(got, "\r")+1:]; last != want {
		t.Errorf("%s: the last line of %q is not %q", what, got, want)
	}
	s.Reset()
}

func progressOn(s *screen, durations ...time.Duration) *progress {
	var loaded []*scenario.Scenario
	for _, d := range durations {
		loaded = append(loaded, &scenario.Scenario{Spec: scenario.Spec{Duration: quantity.Duration(d), Replications: 1}})
	}
	p := newProgress(s, loaded, false)
	p.bar = newBar(s)
	return p
}

// The story of three runs, of which two go in parallel.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s screen
		p := progressOn(&s, 100*time.Second, 200*time.Second, 100*time.Second)
		first := p.Begin(100 * time.Second)
		second := p.Begin(200 * time.Second)
		first.Update(int64(10*time.Second), 100_000)
		s.expect(t, "in the first second", "")
		time.Sleep(2 * time.Second)
		second.Update(int64(30*time.Second), 500_000)
		s.shows(t, "a tenth is done in 2 s", "0 of 3 runs, 0.3 M events/s, 18s left  10% |█         |  ")
		second.Update(int64(50*time.Second), 600_000)
		s.expect(t, "at the same moment", "")

		first.Update(int64(99*time.Second), 900_000)
		first.Finish()
		p.pause()
		s.shows(t, "while something is printed", "")
		time.Sleep(time.Second)
		second.Update(int64(60*time.Second), 700_000)
		s.expect(t, "in the meantime", "")
		p.resume()
		second.Update(int64(100*time.Second), 2_100_000)
		s.shows(t, "after it", "1 of 3 runs, 1.0 M events/s, 3s left  50% |█████     |  ")
		p.pause()
		p.pause()
		s.shows(t, "in the end", "")
	})
}

// A single run shows its own time.
func TestProgressOfOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s screen
		p := progressOn(&s, time.Minute)
		r := p.Begin(time.Minute)
		time.Sleep(time.Second)
		r.Update(0, 1<<14)
		s.expect(t, "before virtual time goes on", "")
		r.Update(int64(15*time.Second), 1<<20)
		if want := "15s of 1m0s, 1.0 M events/s, 3s left  25% |"; !bytes.Contains(s.Bytes(), []byte(want)) {
			t.Errorf("%q, want %q", &s.Buffer, want)
		}
	})
}

// So many hours of virtual time are more than an int64 has nanoseconds for.
func TestProgressOfVeryMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s screen
		const hours = 2_000_000
		p := progressOn(&s, hours*time.Hour, hours*time.Hour)
		r := p.Begin(hours * time.Hour)
		time.Sleep(time.Second)
		r.Update(int64(hours/2*time.Hour), 1<<20)
		if want := "0 of 2 runs, 1.0 M events/s, 3s left  25% |"; !bytes.Contains(s.Bytes(), []byte(want)) {
			t.Errorf("%q, want %q", &s.Buffer, want)
		}
	})
}

// Two parts, of which the first is over within a second.
func TestProgressOfSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s screen
		steps := &steps{bar: newBar(&s)}
		part := steps.next("runs checked")
		part(0, 40)
		time.Sleep(900 * time.Millisecond)
		part(39, 40)
		s.expect(t, "over within a second", "")

		part = steps.next("runs merged")
		time.Sleep(2 * time.Second)
		part(10, 40)
		s.shows(t, "a quarter is done in 2 s", "10 of 40 runs merged, 6s left  25% |██        |  ")
		part(11, 40)
		s.expect(t, "at the same moment", "")
		steps.clear()
		if got := s.String(); !strings.HasPrefix(got, "\r") || strings.Trim(got, " \r") != "" {
			t.Errorf("in the end %q is written", got)
		}
	})
}
