package flowcontrol

import "apfsim/core/rules"

// RetryAfter is the advice to rejected clients of one priority level, in seconds: the more
// requests are dropped, the later may they come back
// (k8s.io/apiserver, util/flowcontrol/dropped_requests_tracker.go).
type RetryAfter struct {
	maxSeconds int   // seconds that the advice does not exceed, from 1 to longestRetryAfter
	seconds    int   // the advice; 0 means 1, the initial one
	second     int64 // the second of the latest drop
	dropped    int   // in that second
	history    [longestRetryAfter]dropsInSecond
	raisedAt   int64 // the second in which the advice was last raised
}

// dropsInSecond are the requests dropped in one second.
type dropsInSecond struct {
	second int64
	count  int
}

// longestRetryAfter is the longest advice of any release, in seconds, and so for how many seconds
// drops have to be remembered.
const longestRetryAfter = 32

// NewRetryAfter returns the advice of a level that has dropped nothing.
func NewRetryAfter(r *rules.Rules) *RetryAfter {
	if r.MaxRetryAfterSeconds < 1 || r.MaxRetryAfterSeconds > longestRetryAfter {
		panic("flowcontrol: MaxRetryAfterSeconds is not within 1 to 32")
	}
	return &RetryAfter{maxSeconds: r.MaxRetryAfterSeconds}
}

// Drop counts one dropped request and returns after how many seconds its client may come back.
func (t *RetryAfter) Drop(nowNs int64) int {
	now := nowNs / 1_000_000_000
	if now != t.second {
		t.history[t.second%longestRetryAfter] = dropsInSecond{t.second, t.dropped}
		t.second, t.dropped = now, 0
		t.revise(now)
	}
	t.dropped++
	return t.Seconds()
}

// Seconds returns the current advice.
func (t *RetryAfter) Seconds() int { return max(1, t.seconds) }

// revise sets the advice by the drops of as many past seconds as the advice is long.
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
		t.seconds = min(2*advice, t.maxSeconds)
		t.raisedAt = now
	case dropped < advice && advice > 1:
		t.seconds = advice - 1
	}
}
