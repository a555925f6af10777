package workload

import (
	"testing"

	"apfsim/sim/metric"
	"apfsim/sim/server"
)

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

// Of 20 requests at once, a bucket of 10 at 5 a second sends 10 at once, and the others after 0.2 s, 0.4 s and so on up to 2 s:
// 11 s together. Each is answered at once, so that the client waits as long for its answers.
func TestWaitsForTheRateLimitAreNoted(t *testing.T) {
	p := play(func(w *Workload) { w.RateLimit = &RateLimit{QPS: 5, Burst: 10} })
	notes := p.notes()
	p.begin = func(nowNs int64) {
		for i := range int32(20) {
			q := get("a")
			q.Token = i
			p.client.Send(nowNs, q)
		}
	}
	p.serve = func(nowNs int64, r *server.Request) { p.answer(server.Response{Status: 200})(nowNs, r) }
	p.run()
	for event, want := range map[metric.Event][2]int64{metric.Limited: {20, 11 * second}, metric.Answered: {20, 11 * second}, metric.GaveUp: {}, metric.NeverSent: {}} {
		if got := notes[event]; got != want {
			t.Errorf("event %d: %d times, %d ns together; want %d and %d", event, got[0], got[1], want[0], want[1])
		}
	}
}

// In a run of 60 s, a bucket of 1 that gains a token each 10 s sends at 0, 10, … and 50 s. Two of eight requests are never sent,
// and have waited for 60 s then; the others have waited for 150 s together.
func TestRequestsThatAreNeverSent(t *testing.T) {
	p := play(func(w *Workload) { w.RateLimit = &RateLimit{QPS: 0.1, Burst: 1} })
	notes := p.notes()
	p.begin = func(nowNs int64) {
		for i := range int32(8) {
			q := get("a")
			q.Token = i
			p.client.Send(nowNs, q)
		}
	}
	p.serve = func(nowNs int64, r *server.Request) { p.answer(server.Response{Status: 429})(nowNs, r) }
	p.run()
	if got := notes[metric.NeverSent]; got != [2]int64{2, 120 * second} {
		t.Errorf("never sent: %v", got)
	}
	if got := notes[metric.Limited]; got != [2]int64{8, 270 * second} {
		t.Errorf("waits: %v", got)
	}
	if got := notes[metric.GaveUp]; got[0] < 6 {
		t.Errorf("%d of the six that were rejected are given up", got[0])
	}
}

// notes counts and sums what is noted from now on, by the event.
func (p *played) notes() map[metric.Event][2]int64 {
	all := map[metric.Event][2]int64{}
	p.clients.OnNote(func(_ int64, _, _ int, n Note) {
		sum := all[n.Event]
		all[n.Event] = [2]int64{sum[0] + 1, sum[1] + n.Ns}
	})
	return all
}
