package collect

import (
	"testing"

	"pgregory.net/rapid"
)

// The integral of a number that changes at some times is the sum of its values, each times how long it lasted. Late in
// a run, the products that it is computed from overflow.
func TestIntegralIsTheSumOverItsSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := rapid.Int64Range(0, 1<<62).Draw(t, "begin")
		var i integral
		i.add(now, rapid.IntRange(0, 1000).Draw(t, "first"))
		want := int64(0)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			lasts := rapid.Int64Range(0, 1e12).Draw(t, "lasts")
			want += int64(i.value) * lasts
			now += lasts
			switch rapid.IntRange(0, 2).Draw(t, "then") {
			case 0:
				i.add(now, rapid.IntRange(-i.value, 1000).Draw(t, "change"))
			case 1:
				if got := i.restart(now); got != want {
					t.Fatalf("restart: %d, want %d", got, want)
				}
				want = 0
			}
			if got := i.valueAt(now); got != want {
				t.Fatalf("at %d: %d, want %d", now, got, want)
			}
		}
	})
}
