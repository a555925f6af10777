package workload

import (
	"testing"

	"apfsim/sim/random"
)

// The recorder remembers 4096 objects: the bucket of one that has been forgotten is full again.
func TestForgottenObjects(t *testing.T) {
	var l lru[int, string]
	for i := range eventCache {
		l.put(i, "")
	}
	l.get(0)
	l.put(eventCache, "")
	if _, ok := l.get(0); !ok {
		t.Error("0 was used last and is forgotten")
	}
	if _, ok := l.get(1); ok {
		t.Error("1 was not used and is kept")
	}
}

// Ten messages of an object are combined if no more than 600 s are between one and the next; a nanosecond more, and the
// last one is the first of others.
func TestMessagesAreCombinedWithin600Seconds(t *testing.T) {
	for gapNs, want := range map[int64]bool{0: true, 600 * second: true, 600*second + 1: false} {
		var c eventCorrelator[string]
		c.Chance = &random.Stream{}
		c.Chance.Open(1, "w", 0, "event recorder")
		for i := range 9 {
			c.combine(int64(i), "o", i)
		}
		if got := c.combine(8+gapNs, "o", 9).message == combined; got != want {
			t.Errorf("after %d ns, the tenth message is combined: %v, want %v", gapNs, got, want)
		}
	}
}
