package workload

import "testing"

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
