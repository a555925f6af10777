package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/lab/conformance/ours"
	"apfsim/lab/conformance/trial"
	"apfsim/lab/conformance/upstream"
	"apfsim/sim/quantity"
	simulated "apfsim/sim/server"
)

// A server is told to stop at 0 s, and clients see what becomes of it: a generic API server of kube-apiserver's code, and
// one that apfsim simulates. Both are to answer the same at the same instants.
func TestStopsLikeUpstream(t *testing.T) {
	const ms = time.Millisecond
	s := func(seconds float64) time.Duration { return time.Duration(seconds * 1e9) }
	d := func(seconds float64) quantity.Duration { return quantity.Duration(seconds * 1e9) }
	// Each 100 ms, but never at the instant of a step of the stop.
	often := func(name string, change func(*trial.Client)) trial.Client {
		c := trial.Client{Name: name, At: -995 * ms, Every: 100 * ms, Until: 11 * time.Second, Execution: ms}
		change(&c)
		return c
	}
	everybody := []trial.Client{
		often("kept h2", func(*trial.Client) {}),
		often("kept h1", func(c *trial.Client) { c.HTTP1 = true }),
		often("new conn", func(c *trial.Client) { c.PerRequest = true }),
		often("own", func(c *trial.Client) { c.Own, c.PerRequest = true, true }),
		often("readyz", func(c *trial.Client) { c.Path, c.PerRequest, c.Execution = "/readyz", true, 0 }),
		often("livez", func(c *trial.Client) { c.Path, c.PerRequest, c.Execution = "/livez", true, 0 }),
		often("metrics", func(c *trial.Client) { c.Path, c.PerRequest, c.Execution = "/metrics", true, 0 }),
	}
	gets := everybody[:3]
	slow := trial.Client{Name: "slow", At: -200 * ms, Execution: s(4)}
	watch := trial.Client{Name: "watch", Watch: true, At: s(-2)}
	lateWatch := trial.Client{Name: "late watch", Watch: true, At: s(1)}
	newWatch := trial.Client{Name: "new watch", Watch: true, At: s(2.5)}
	// At the end of the last request it is chance whether its client sees GOAWAY before the response, and closes its
	// connection at once, or after it. One that is idle is there for a second in any case.
	idle := trial.Client{Name: "idle", At: s(-8), Execution: ms}
	queued := []trial.Client{
		{Name: "first", At: s(-1), Execution: s(4)}, {Name: "second", At: s(-0.9), Execution: s(4.9)},
		{Name: "queued", At: -500 * ms, Execution: s(2)}, {Name: "new", At: ms},
	}
	for _, c := range []struct {
		name     string
		shutdown simulated.Shutdown
		clients  []trial.Client
		timeout  time.Duration // of requests, if not 6 s
		seats    int           // if not 600
		polled   bool          // the end of the process is at a random time, see alike
		want     string
	}{
		{name: "L2: a watch holds the server for the request timeout", shutdown: simulated.Shutdown{Delay: d(2)},
			clients: append([]trial.Client{slow, watch, lateWatch, newWatch}, everybody...), want: `
kept h1: 200 at -0.994; refused at 2.005
kept h2: 200 at -0.994; refused at 2.005
late watch: 200 at 1.000; broken at 8.000
livez: 200 at -0.995; refused at 2.005
metrics: 200 at -0.995; refused at 2.005
new conn: 200 at -0.994; refused at 2.005
new watch: refused at 2.500
own: 200 at -0.994; refused at 2.005
process: drained at 3.800; gone at 8.000
readyz: 200 at -0.995; 500 at 0.005; refused at 2.005
slow: 200 at 3.800
watch: 200 at -2.000; broken at 8.000`},
		{name: "L3: with Retry-After for 2 s", shutdown: simulated.Shutdown{Delay: d(2), SendRetryAfter: true},
			clients: append([]trial.Client{slow, watch, lateWatch, newWatch}, everybody...), want: `
kept h1: 200 at -0.994; 429 Retry-After 5 at 2.005; refused at 3.805
kept h2: 200 at -0.994; 429 Retry-After 5 at 2.005; refused at 3.805
late watch: 200 at 1.000; broken at 5.800
livez: 200 at -0.995; refused at 3.805
metrics: 200 at -0.995; refused at 3.805
new conn: 200 at -0.994; 429 Retry-After 5 at 2.005; refused at 3.805
new watch: 429 Retry-After 5 at 2.500
own: 200 at -0.994; refused at 3.805
process: drained at 3.800; gone at 5.800
readyz: 200 at -0.995; 500 at 0.005; refused at 3.805
slow: 200 at 3.800
watch: 200 at -2.000; broken at 5.800`},
		{name: "L4: L2 without watches", shutdown: simulated.Shutdown{Delay: d(2)},
			clients: []trial.Client{slow, idle}, polled: true, want: `
idle: 200 at -7.999
process: drained at 3.800; gone at 4.112
slow: 200 at 3.800`},
		{name: "L4: L3 without watches", shutdown: simulated.Shutdown{Delay: d(2), SendRetryAfter: true},
			clients: []trial.Client{slow, idle}, polled: true, want: `
idle: 200 at -7.999
process: drained at 3.800; gone at 4.862
slow: 200 at 3.800`},
		{name: "L5: hooks that take longer than no delay", shutdown: simulated.Shutdown{Hooks: d(5)},
			clients: gets, polled: true, want: `
kept h1: 200 at -0.994; refused at 5.005
kept h2: 200 at -0.994; refused at 5.005
new conn: 200 at -0.994; refused at 5.005
process: drained at 5.000; gone at 6.062`},
		{name: "L5: a delay that takes longer than hooks", shutdown: simulated.Shutdown{Hooks: d(5), Delay: d(10)},
			clients: gets, polled: true, want: `
kept h1: 200 at -0.994; refused at 10.005
kept h2: 200 at -0.994; refused at 10.005
new conn: 200 at -0.994; refused at 10.005
process: drained at 10.000; gone at 11.062`},
		{name: "L5: hooks that take longer than the delay, with Retry-After", shutdown: simulated.Shutdown{Hooks: d(5), Delay: d(2), SendRetryAfter: true},
			clients: append([]trial.Client{watch}, gets...), want: `
kept h1: 200 at -0.994; refused at 5.005
kept h2: 200 at -0.994; refused at 5.005
new conn: 200 at -0.994; refused at 5.005
process: drained at 5.000; gone at 7.000
watch: 200 at -2.000; broken at 7.000`},
		{name: "L6: a hook fails", shutdown: simulated.Shutdown{Delay: d(5), HookError: true},
			clients: append([]trial.Client{slow, watch}, gets...), want: `
kept h1: 200 at -0.994; refused at 0.005
kept h2: 200 at -0.994; refused at 0.005
new conn: 200 at -0.994; refused at 0.005
process: gone at 0.000
slow: broken at 0.000
watch: 200 at -2.000; broken at 0.000`},
		{name: "L6: a hook fails after 1 s", shutdown: simulated.Shutdown{Delay: d(5), Hooks: d(1), HookError: true},
			clients: append([]trial.Client{slow, watch}, gets...), want: `
kept h1: 200 at -0.994; refused at 1.005
kept h2: 200 at -0.994; refused at 1.005
new conn: 200 at -0.994; refused at 1.005
process: gone at 1.000
slow: broken at 1.000
watch: 200 at -2.000; broken at 1.000`},
		{name: "a request ends at its deadline", shutdown: simulated.Shutdown{Delay: d(2)},
			clients: []trial.Client{{Name: "endless", At: -200 * ms, Execution: s(20)}}, polled: true, want: `
endless: 504 at 5.800
process: drained at 5.800; gone at 6.212`},
		{name: "a request ends at its deadline, with Retry-After", shutdown: simulated.Shutdown{Delay: d(2), SendRetryAfter: true},
			clients: []trial.Client{{Name: "endless", At: -200 * ms, Execution: s(20)}, idle}, polled: true, want: `
endless: 504 at 5.800
idle: 200 at -7.999
process: drained at 5.800; gone at 6.862`},
		{name: "nobody waits for a log", shutdown: simulated.Shutdown{Delay: d(2), SendRetryAfter: true},
			clients: []trial.Client{{Name: "log", Log: true, At: -200 * ms, Execution: s(20)}}, want: `
log: broken at 4.000
process: drained at 2.000; gone at 4.000`},
		{name: "the server waits for own requests before, and not for those after", shutdown: simulated.Shutdown{Delay: d(2), SendRetryAfter: true},
			clients: []trial.Client{
				{Name: "before", Own: true, At: s(1.9), Execution: s(3)}, {Name: "after", Own: true, At: s(2.1), Execution: s(6)}}, want: `
after: broken at 6.900
before: 200 at 4.900
process: drained at 4.900; gone at 6.900`},
		{name: "L10: a request that is queued", shutdown: simulated.Shutdown{SendRetryAfter: true}, seats: 2, timeout: s(60),
			clients: queued, polled: true, want: `
first: 200 at 3.000
new: 429 Retry-After 5 at 0.001
process: drained at 5.000; gone at 6.062
queued: 200 at 5.000
second: 200 at 4.000`},
		{name: "L10: a request that is queued, without Retry-After", shutdown: simulated.Shutdown{}, seats: 2, timeout: s(60),
			clients: queued, polled: true, want: `
first: 200 at 3.000
new: refused at 0.001
process: drained at 5.000; gone at 5.262
queued: 200 at 5.000
second: 200 at 4.000`},
		{name: "a request that times out in its queue", shutdown: simulated.Shutdown{SendRetryAfter: true}, seats: 2,
			clients: queued, polled: true, want: `
first: 200 at 3.000
new: 429 Retry-After 5 at 0.001
process: drained at 4.000; gone at 5.062
queued: 429 Retry-After 1 at 1.000
second: 200 at 4.000`},
		{name: "watches with a grace period", shutdown: simulated.Shutdown{Delay: d(2), WatchTerminationGracePeriod: d(3)},
			clients: append([]trial.Client{slow, watch, newWatch}, gets...), polled: true, want: `
kept h1: 200 at -0.994; refused at 2.005
kept h2: 200 at -0.994; refused at 2.005
new conn: 200 at -0.994; refused at 2.005
new watch: refused at 2.500
process: drained at 3.800; gone at 4.112
slow: 200 at 3.800
watch: 200 at -2.000; ends at 2.000`},
		{name: "watches with a grace period, with Retry-After", shutdown: simulated.Shutdown{Delay: d(2), WatchTerminationGracePeriod: d(3), SendRetryAfter: true},
			clients: append([]trial.Client{slow, watch, newWatch}, gets...), polled: true, want: `
kept h1: 200 at -0.994; 429 Retry-After 5 at 2.005; refused at 3.805
kept h2: 200 at -0.994; 429 Retry-After 5 at 2.005; refused at 3.805
new conn: 200 at -0.994; 429 Retry-After 5 at 2.005; refused at 3.805
new watch: 429 Retry-After 5 at 2.500
process: drained at 3.800; gone at 4.862
slow: 200 at 3.800
watch: 200 at -2.000; ends at 2.000`},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := &trial.Stop{Shutdown: c.shutdown, RequestTimeout: cmp.Or(c.timeout, s(6)), Seats: cmp.Or(c.seats, 600), Clients: c.clients}
			st.Objects.Objects = oneLevel(queue)
			theirs := changes(upstream.Stop(t, st))
			all, err := ours.Stop(st)
			if err != nil {
				t.Fatal(err)
			}
			mine := changes(all)
			if got, want := sights(mine), strings.TrimSpace(c.want); got != want {
				t.Errorf("apfsim:\n%s\nwant\n%s", got, want)
			}
			if !slices.EqualFunc(theirs, mine, func(a, b trial.Seen) bool { return alike(a, b, c.polled) }) {
				t.Errorf("kube-apiserver:\n%s", sights(theirs))
			}
		})
	}
}

// changes returns what is seen without what has been seen already, by who has seen it.
func changes(seen []trial.Seen) (all []trial.Seen) {
	seen = slices.Clone(seen)
	slices.SortStableFunc(seen, func(a, b trial.Seen) int { return strings.Compare(a.Who, b.Who) })
	for i, s := range seen {
		if i == 0 || seen[i-1].Who != s.Who || seen[i-1].What != s.What {
			all = append(all, s)
		}
	}
	return all
}

// alike says whether the same is seen at the same time. If the process ends because all connections are closed, net/http
// notices that when it looks the next time, which is after a random time of at most 0.55 s.
func alike(a, b trial.Seen, polled bool) bool {
	tolerance := time.Duration(0)
	if polled && a.What == trial.Gone {
		tolerance = 550 * time.Millisecond
	}
	return a.Who == b.Who && a.What == b.What && (a.At-b.At).Abs() <= tolerance
}

// sights writes down what is seen, a line for each who has seen something.
func sights(seen []trial.Seen) string {
	var text strings.Builder
	for i, s := range seen {
		separator := ";"
		if i == 0 || seen[i-1].Who != s.Who {
			separator = "\n" + s.Who + ":"
		}
		fmt.Fprintf(&text, "%s %s at %.3f", separator, s.What, s.At.Seconds())
	}
	return strings.TrimSpace(text.String())
}

// L7: with a grace period g, open watches end at a rate of max(200, n/g) per second. All try to go at once, and some
// have gone before they are counted: how many is chance, as it depends on the order of goroutines. n is how many are left.
// apfsim, which is told how many go at once, lets the others end at the same instants.
func TestManyWatchesStopLikeUpstream(t *testing.T) {
	const watches = 1000
	for _, grace := range []time.Duration{time.Second, 3 * time.Second, 10 * time.Second} {
		t.Run(grace.String(), func(t *testing.T) {
			st := &trial.Stop{
				Shutdown:       simulated.Shutdown{Delay: quantity.Duration(time.Second), WatchTerminationGracePeriod: quantity.Duration(grace)},
				RequestTimeout: 60 * time.Second,
				Objects:        trial.Objects{Objects: oneLevel(queue)},
				Seats:          600,
				Clients:        []trial.Client{{Name: "watches", Watch: true, At: -2 * time.Second, Every: time.Millisecond, Until: -1001 * time.Millisecond}},
			}
			theirs, drained := ends(upstream.Stop(t, st))
			atOnce, _ := slices.BinarySearch(theirs, time.Second+1)
			if watches-atOnce < 50 {
				t.Skipf("%d watches end at once, so that there is no rate", atOnce)
			}
			st.Shutdown.WatchLeak = atOnce - 1 // the limiter lets the first one go
			all, err := ours.Stop(st)
			if err != nil {
				t.Fatal(err)
			}
			mine, drainedOurs := ends(all)
			if len(mine) != watches || len(theirs) != watches {
				t.Fatalf("%d watches end at kube-apiserver, and %d at apfsim; want %d", len(theirs), len(mine), watches)
			}
			for i := range theirs {
				if (theirs[i] - mine[i]).Abs() > time.Millisecond {
					t.Fatalf("watch %d ends at %v at kube-apiserver, and at %v at apfsim", i, theirs[i], mine[i])
				}
			}
			if (drained - drainedOurs).Abs() > time.Millisecond {
				t.Errorf("kube-apiserver is drained at %v, and apfsim at %v", drained, drainedOurs)
			}
			want := max(200, float64(watches-st.Shutdown.WatchLeak)/grace.Seconds())
			if got := float64(watches-atOnce) / (drained - time.Second).Seconds(); got < 0.99*want || got > 1.01*want {
				t.Errorf("%.1f watches end per second, want %.1f", got, want)
			}
			t.Logf("%d watches end at once, the others at %.1f/s", atOnce, want)
		})
	}
}

// ends returns when watches have ended in order, and when nothing has been in flight any more.
func ends(seen []trial.Seen) (all []time.Duration, drained time.Duration) {
	for _, s := range seen {
		switch s.What {
		case trial.Ends:
			all = append(all, s.At)
		case trial.Drained:
			drained = s.At
		}
	}
	slices.Sort(all)
	return all, drained
}
