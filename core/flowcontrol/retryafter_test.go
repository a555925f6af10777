package flowcontrol

import (
	"testing"

	"apfsim/core/rules"

	"pgregory.net/rapid"
)

const second = 1_000_000_000

// Many drops double the advice, few lower it by one second.
func TestRetryAfterStory(t *testing.T) {
	tracker := NewRetryAfter(rules.Latest())
	for _, step := range []struct {
		second int64
		drops  int
		advice int
		story  string
	}{
		{0, 3, 1, "the first second is not over"},
		{1, 1, 2, "3 drops in the last second, 3·1 are enough"},
		{2, 9, 2, "4 drops in the last two seconds are neither below 2 nor 3·2"},
		{3, 1, 4, "10 drops in the last two seconds, and two since the last rise"},
		{9, 1, 3, "none in the last four seconds"},
		{10, 1, 2, "one in the last three"},
		{11, 1, 2, "two in the last two"},
	} {
		got := 0
		for range step.drops {
			got = tracker.Drop(step.second * second)
		}
		if got != step.advice {
			t.Errorf("second %d: advice %d, want %d (%s)", step.second, got, step.advice, step.story)
		}
	}
}

// The ring of the last 32 seconds tells the same as the whole history.
func TestRetryAfterIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tracker := NewRetryAfter(rules.Latest())
		drops := map[int64]int{}
		advice, raisedAt, last := 1, int64(0), int64(0)
		now := int64(0)
		for range rapid.IntRange(1, 300).Draw(t, "drops") {
			now += int64(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1, 1, 2, 40}).Draw(t, "seconds"))
			if now != last {
				dropped := 0
				for s := now - int64(advice); s < now; s++ {
					dropped += drops[s]
				}
				switch {
				case dropped >= 3*advice && now-raisedAt >= int64(advice):
					advice, raisedAt = min(32, 2*advice), now
				case dropped < advice:
					advice = max(1, advice-1)
				}
				last = now
			}
			drops[now]++
			if got := tracker.Drop(now*second + second/2); got != advice {
				t.Fatalf("second %d: advice %d, want %d", now, got, advice)
			}
		}
	})
}

func TestMaxInFlight(t *testing.T) {
	m := MaxInFlight{ReadOnlyLimit: 2}
	for range 2 {
		if !m.Arrive(true) {
			t.Error("two reads are within the limit of 2")
		}
	}
	if m.Arrive(true) {
		t.Error("the third read is not")
	}
	for range 100 {
		if !m.Arrive(false) {
			t.Fatal("a limit of 0 is none")
		}
	}
	m.Finish(true)
	if !m.Arrive(true) {
		t.Error("a finished read makes room for another")
	}
	if r, w := m.InFlight(); r != 2 || w != 100 {
		t.Errorf("in flight %d and %d, want 2 and 100", r, w)
	}
}

// Where the rules allow one second at most, many drops do not raise the advice.
func TestRetryAfterIsBoundedByTheRules(t *testing.T) {
	tracker := NewRetryAfter(&rules.Rules{MaxRetryAfterSeconds: 1})
	for i := range int64(1000) {
		if got := tracker.Drop(i * second / 10); got != 1 {
			t.Fatalf("drop %d: advice %d, want 1", i, got)
		}
	}
}

// Rules whose advice is not within 1 to 32 s, for which the history would be too short, do not exist.
func TestRetryAfterWantsItsRange(t *testing.T) {
	for seconds, ok := range map[int]bool{0: false, 1: true, 32: true, 33: false} {
		func() {
			defer func() {
				if panicked := recover() != nil; panicked == ok {
					t.Errorf("at most %d s: panics %v, want %v", seconds, panicked, !ok)
				}
			}()
			NewRetryAfter(&rules.Rules{MaxRetryAfterSeconds: seconds})
		}()
	}
}
