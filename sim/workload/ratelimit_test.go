package workload

import "testing"

// A bucket of 10 tokens at 5 a second, as client-go's: of 30 requests at once ten go out
// now and one every 0.2 s after; a pause of a second is worth 5 tokens.
func TestBucket(t *testing.T) {
	b := newBucket(5, 10)
	for i := range 30 {
		want := int64(max(0, i-9)) * 200_000_000
		if got := b.Take(0); got != want {
			t.Errorf("request %d goes out at %d, want %d", i, got, want)
		}
	}
	now := int64(5 * second) // 20 tokens were promised, 25 have come
	for i := range 6 {
		want := now
		if i == 5 {
			want += 200_000_000
		}
		if got := b.Take(now); got != want {
			t.Errorf("after the pause request %d goes out at %d, want %d", i, got, want)
		}
	}
}

// A token that takes longer than any run comes after the run.
func TestBucketOfNextToNothing(t *testing.T) {
	b := newBucket(1e-12, 1)
	for i := range 3 {
		if got := b.Take(5); (got > 5) != (i > 0) || got < 5 {
			t.Errorf("request %d goes out at %d", i, got)
		}
	}
}

// A rate limiter of client-go that is not set allows 5 requests per second and 10 at once; a negative rate is none.
func TestLimitOfClientGo(t *testing.T) {
	for qps, want := range map[float64]*RateLimit{0: {QPS: 5, Burst: 10}, 20: {QPS: 20, Burst: 30}, -1: nil} {
		if got := clientGoLimit(qps, 30); (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("at %v/s: %+v, want %+v", qps, got, want)
		}
	}
}
