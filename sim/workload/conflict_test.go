package workload

import (
	"testing"
	"time"

	"apfsim/sim/api"
	"apfsim/sim/quantity"
)

// The waits of RetryOnConflict with DefaultBackoff are 10, 50 and 250 ms.
func TestBackoffTries(t *testing.T) {
	next := newTries(&Conflict{Steps: 4, Duration: quantity.Duration(10 * time.Millisecond), Factor: 5})
	for _, want := range []int64{10, 50, 250} {
		if waitNs, again := next.next(nil); !again || waitNs != want*millisecond {
			t.Errorf("wait %v, %v, want %d ms", time.Duration(waitNs), again, want)
		}
	}
	if _, again := next.next(nil); again {
		t.Error("there is a fifth try")
	}
	if none := newTries(nil); none.left != 1 {
		t.Error("without RetryOnConflict there is more than one try")
	}
}

// Statuses from 200 to 299 say that a request has succeeded.
func TestStatusesOfSuccess(t *testing.T) {
	for status, want := range map[int]bool{0: false, 101: false, 199: false, 200: true, 201: true, 299: true, 300: false, 409: false, 500: false} {
		if got := succeeded(&api.Answer{Status: status}); got != want {
			t.Errorf("%d succeeds: %v, want %v", status, got, want)
		}
	}
}
