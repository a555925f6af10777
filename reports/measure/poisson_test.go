package measure

import (
	"math"
	"testing"
)

// With equal rates, 3 or fewer of 10 events in half of the time have the probability of 176/1024.
func TestFewerP(t *testing.T) {
	for _, c := range []struct {
		n, other        int64
		time, otherTime float64
		want            float64
	}{{3, 7, 1, 1, 176. / 1024}, {0, 2, 1, 3, 9. / 16}, {0, 0, 1, 1, 1}, {5, 0, 1, 1, 1}, {5, 5, 1, 1, 638. / 1024}} {
		if got := FewerP(c.n, c.time, c.other, c.otherTime); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%d in %v beside %d in %v: %v, want %v", c.n, c.time, c.other, c.otherTime, got, c.want)
		}
	}
}
