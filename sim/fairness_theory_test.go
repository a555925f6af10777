package sim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/sim/server"
)

// ownQueues lets flows share a level by its 64 queues, one each: hands of one.
const ownQueues = `{type: Queue, queuing: {queues: 64, handSize: 1, queueLengthLimit: 50}}`

// services measures what each flow gets of the seats in periods of equal length.
type services struct {
	periodNs int64
	seatsMs  map[string][]float64 // by flow and period: milliseconds of a seat
	hands    map[string][]int
	startNs  map[string]int64 // of its last request
	idleNs   map[string]int64 // the longest time between two starts, or the first start
}

// serve runs a scenario on a level of so many seats and measures its flows' services.
func serve(t *testing.T, seats int, spec string, period time.Duration) *services {
	t.Helper()
	run := New(load(t, soleLevel(seats, ownQueues, spec)))
	s := &services{periodNs: int64(period), seatsMs: map[string][]float64{}, hands: map[string][]int{},
		startNs: map[string]int64{}, idleNs: map[string]int64{}}
	run.Observe((&measurement{t: t, run: run, limit: seats, mayRejectFull: true}).observer())
	run.Observe(server.Observer{Dispatched: s.dispatched, Released: s.released})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	var taken []int
	for flow, hand := range s.hands {
		if len(hand) != 1 || slices.Contains(taken, hand[0]) {
			t.Fatalf("%s has the hand %v, and %v are others'", flow, hand, taken)
		}
		taken = append(taken, hand...)
	}
	return s
}

func (s *services) dispatched(nowNs int64, r *server.Request) {
	flow := r.Flow.Distinguisher
	s.hands[flow] = r.Flow.Hand
	s.idleNs[flow] = max(s.idleNs[flow], nowNs-s.startNs[flow])
	s.startNs[flow] = nowNs
}

func (s *services) released(nowNs int64, r *server.Request) {
	flow := r.Flow.Distinguisher
	for from := r.DispatchNs; from < nowNs; {
		period := int(from / s.periodNs)
		to := min(nowNs, int64(period+1)*s.periodNs)
		for len(s.seatsMs[flow]) <= period {
			s.seatsMs[flow] = append(s.seatsMs[flow], 0)
		}
		s.seatsMs[flow][period] += float64(to-from) / 1e6
		from = to
	}
}

// seatSeconds returns the service of a flow in a period.
func (s *services) seatSeconds(flow string, period int) float64 {
	return s.seatsMs[flow][period] / 1000
}

// Flows with demands of their own at one level: whoever demands less than the others gets
// what it demands, and those that want more get equal parts of what is left (max-min). The
// flows' requests take one seat for a constant time and come at a constant rate, so that
// the demand is the product of the two.
//
// How far from it may a flow be? A queue's next dispatch R counts what its finished requests
// took, and G for each that executes. Of two queues in which something waits all the time
// the one with the lesser is dispatched from, and so one can get ahead of the other by no
// more than the requests that it has started in the meantime: by limit × service time. What
// executes is not yet counted, and is as much again. With a request more or less at either
// end of the period the services of two such flows differ by no more than
//
//	(2·limit + 2) × service time
//
// whatever the length of the period. The same holds for what one that demands less is owed.
func TestMaxMinFairness(t *testing.T) {
	const period = 60 * time.Second
	type flow struct {
		rate        int // per second
		executionMs int
		want        float64 // seats
	}
	for _, c := range []struct {
		name  string
		limit int
		flows []flow
	}{
		// 1 and 2 are less than a quarter of 10; 7 are left for two.
		{"demands of 1, 2, 6 and 12 for 10 seats", 10, []flow{{10, 100, 1}, {20, 100, 2}, {60, 100, 3.5}, {120, 100, 3.5}}},
		// 2.9 is more than a quarter, but less than the third of 9 that 1 leaves over.
		{"demands of 1, 2.9, 20 and 20 for 10 seats", 10, []flow{{10, 100, 1}, {29, 100, 2.9}, {200, 100, 3.05}, {200, 100, 3.05}}},
		{"demands of 0.5 and 30 for 10 seats", 10, []flow{{5, 100, 0.5}, {300, 100, 9.5}}},
		// All want more than 2.
		{"demands of 3, 4, 5, 6 and 7 for 10 seats", 10, []flow{{30, 100, 2}, {40, 100, 2}, {50, 100, 2}, {60, 100, 2}, {70, 100, 2}}},
		// What counts is seats × time, not requests: 6/s of a second and 600/s of 10 ms.
		{"demands of 6 and 6 for 4 seats, in requests of 1 s and 10 ms", 4, []flow{{6, 1000, 2}, {600, 10, 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var spec strings.Builder
			// The first minute lets queues fill, and is left out.
			fmt.Fprintf(&spec, "  duration: %v\n  workload:\n", 2*period+10*time.Second)
			longest := 0
			for i, f := range c.flows {
				longest = max(longest, f.executionMs)
				fmt.Fprintf(&spec, "  - {name: w%d, as: {user: u%d}, request: {verb: get, resource: pods, name: x}, execution: %dms, arrivals: {constant: {rate: %d/s}}}\n",
					i, i, f.executionMs, f.rate)
			}
			got := serve(t, c.limit, spec.String(), period)
			bound := float64(2*c.limit+2) * float64(longest) / 1000
			total := 0.0
			for i, f := range c.flows {
				user := fmt.Sprintf("u%d", i)
				service, want := got.seatSeconds(user, 1), f.want*period.Seconds()
				t.Logf("%s: %.3f seat-seconds, fair %.1f, bound %.1f", user, service, want, bound)
				if math.Abs(service-want) > bound {
					t.Errorf("%s gets %.3f seat-seconds, want %.1f to %.1f", user, service, want, bound)
				}
				total += service
			}
			// Nothing is idle: the first demand more than there is.
			if want := float64(c.limit) * period.Seconds(); math.Abs(total-want) > 1e-6 {
				t.Errorf("all get %.3f seat-seconds, want %.1f", total, want)
			}
		})
	}
}

// Where the queue set is known to differ from max-min fairness: R grows as if each active
// queue got an equal part of the seats, also one that cannot use it (the anti-windup
// measure, boundNextDispatchLocked in k8s.io/apiserver's queueset.go, makes up for one side
// of this). A flow that takes what the other leaves gets ahead of R by it, and pays it back
// when the other can use its part.
//
// There are 10 seats. The first flow always has enough to use them. The second has a
// single client for 20 s. That has a request of 100 ms executing, then waits for a seat: the
// first of the 10 that the other flow's exponential requests of 100 ms leave, 10 ms on
// average. So it gets 20 s × 100/110 = 18.2 seat-seconds, all that it can use, and the other
// 200 - 18.2 = 181.8. That is fair. R has meanwhile grown by 20 s × 10/2 = 100. Counting
// the 10 requests that execute, with on average 100 ms yet to go, 10 × 0.1 = 1, the first
// flow is ahead by 181.8 + 1 - 100 = 82.8.
//
// Then the second has clients enough as well. For the next 20 s fair would be 100 each. But
// it gets all 10 seats, once the others have finished (1 seat-second), until it has as much
// to its account, to which its requests count when they finish (100 ms later: 10 × 0.1 = 1):
// the other flow starts nothing for 0.1 + 82.8/10 + 0.1 = 8.5 s, and then each gets a half.
// The second has 10 × 8.5 - 1 + 5 × 11.5 = 141.5 seat-seconds, the first 58.5.
//
// After that there is no debt left: 100 each in the next 20 s.
func TestDebtOfAFlowAheadOfItsAllocation(t *testing.T) {
	const period = 20 * time.Second
	got := serve(t, 10, `  duration: 70s
  workload:
  - {name: first, clients: 40, as: {user: first}, request: {verb: get, resource: pods, name: x}, execution: {exponential: {mean: 100ms}}, arrivals: {closed: {}}}
  - {name: second, clients: 1, as: {user: second}, request: {verb: get, resource: pods, name: x}, execution: 100ms, arrivals: {closed: {}}}
  - {name: more, clients: 39, as: {user: second}, request: {verb: get, resource: pods, name: x}, execution: {exponential: {mean: 100ms}}, arrivals: {closed: {}}, start: 20s}
`, period)
	// The requests that come about in place of the expected ones make a difference of some
	// seat-seconds, as does the bound above: 22 × 0.1.
	const bound = 4.0
	for i, want := range []struct{ first, second float64 }{{181.8, 18.2}, {58.5, 141.5}, {100, 100}} {
		first, second := got.seatSeconds("first", i), got.seatSeconds("second", i)
		t.Logf("period %d: %.2f and %.2f seat-seconds", i, first, second)
		if math.Abs(first-want.first) > bound || math.Abs(second-want.second) > bound {
			t.Errorf("in period %d the flows get %.2f and %.2f seat-seconds, want %.1f and %.1f to %.1f", i, first, second, want.first, want.second, bound)
		}
	}
	if idle := float64(got.idleNs["first"]) / 1e9; math.Abs(idle-8.5) > 0.5 {
		t.Errorf("the first flow starts nothing for %.2f s, want 8.5 s to 0.5", idle)
	}
	t.Logf("the first flow starts nothing for %v", time.Duration(got.idleNs["first"]))
}
