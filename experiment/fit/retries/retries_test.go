package retries

import "testing"

// learn makes the rule of a log: the times of all arrivals, in milliseconds and in order, and which of them were
// rejected at once.
func learn(retryAfterNs int64, rejected map[int64]bool, arrivals []int64) (Followed, Rule, bool) {
	var m Matcher
	var f Followed
	for _, ms := range arrivals {
		at := ms * 1e6
		m.Follow([]byte("due"), at, &f.Due)
		m.Follow([]byte("control"), at, &f.Control)
		m.Follow([]byte("periodic"), at, &f.Periodic)
		if rejected[ms] {
			f.Rejected++
			m.Reject("due", at, retryAfterNs, at)
			m.Reject("control", at+ControlNs, retryAfterNs, at)
		} else if f.Executed < f.Rejected {
			f.Executed++
			m.Reject("periodic", at, retryAfterNs, at)
		}
	}
	rule, ok := f.Rule()
	return f, rule, ok
}

// Ten requests within a second are rejected. They come again a second later, 3 ms late; one more request comes at
// 5 s.
func TestRetriesOfTenRequests(t *testing.T) {
	rejected := map[int64]bool{}
	var first, again []int64
	for i := range int64(10) {
		ms := i*90 + i*i%7
		rejected[ms] = true
		first, again = append(first, ms), append(again, ms+1003)
	}
	arrivals := append(append(first, again...), 5000)
	for name, after := range map[string]int64{"known": Second, "unknown": 0} {
		f, rule, ok := learn(after, rejected, arrivals)
		if !ok || rule.toleranceNs != 5_000_000 {
			t.Fatalf("Retry-After %s: %v %+v %+v", name, ok, rule, f)
		}
		var m Matcher
		retries := 0
		for _, ms := range arrivals {
			if m.Match([]byte("k"), ms*1e6, rule) {
				retries++
			}
			if rejected[ms] {
				m.Reject("k", ms*1e6, after, ms*1e6)
			}
		}
		if retries != 10 {
			t.Errorf("Retry-After %s: %d retries", name, retries)
		}
	}
}

// A client that sends a request every 50 ms, whatever the responses are, sends one exactly a second after each
// that is rejected. It does not retry.
func TestCoincidences(t *testing.T) {
	for name, jitter := range map[string]int64{"periodic": 1, "nearly periodic": 31} {
		rejected := map[int64]bool{}
		var arrivals []int64
		for ms := int64(7); ms < 60_000; ms += 50 {
			at := ms + ms*ms%jitter
			arrivals = append(arrivals, at)
			rejected[at] = ms%3 == 0
		}
		for _, after := range []int64{Second, 0} {
			if f, rule, ok := learn(after, rejected, arrivals); ok {
				t.Errorf("%s, Retry-After %d: %+v %+v", name, after, f, rule)
			}
		}
	}
}

// What can no longer be retried is forgotten.
func TestForgets(t *testing.T) {
	var m Matcher
	for i := range int64(100_000) {
		m.Reject(string(rune(0x10000+i)), i*Second, Second, i*Second)
	}
	if n := len(m.rejected); n > 3*sweepMargin {
		t.Errorf("%d of 100000 are left", n)
	}
}
