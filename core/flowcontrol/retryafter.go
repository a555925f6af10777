package flowcontrol

// RetryAfter tells rejected clients of one priority level when to come back: sooner or
// later as fewer or more requests are dropped
// (k8s.io/apiserver, util/flowcontrol/dropped_requests_tracker.go).
// The zero value is ready for use.
type RetryAfter struct {
	seconds  int   // the advice; 0 stands for 1, the initial one
	second   int64 // the second of the latest drop
	dropped  int   // in that second
	history  [maxRetryAfter]drops
	raisedAt int64 // the second in which the advice was last raised
}

// drops are the requests dropped in one second.
type drops struct {
	second int64
	count  int
}

const maxRetryAfter = 32

// Drop counts one dropped request and returns after how many seconds its client may come back.
func (t *RetryAfter) Drop(nowNs int64) int {
	now := nowNs / 1_000_000_000
	if now != t.second {
		t.history[t.second%maxRetryAfter] = drops{t.second, t.dropped}
		t.second, t.dropped = now, 0
		t.revise(now)
	}
	t.dropped++
	return t.Seconds()
}

// Seconds returns the present advice.
func (t *RetryAfter) Seconds() int { return max(1, t.seconds) }

// revise looks back on as many seconds as the advice has been sending clients away for.
func (t *RetryAfter) revise(now int64) {
	advice := t.Seconds()
	dropped := 0
	for _, d := range t.history {
		if d.second < now && now-d.second <= int64(advice) {
			dropped += d.count
		}
	}
	switch {
	case now-t.raisedAt >= int64(advice) && dropped >= 3*advice:
		t.seconds = min(2*advice, maxRetryAfter)
		t.raisedAt = now
	case dropped < advice && advice > 1:
		t.seconds = advice - 1
	}
}
