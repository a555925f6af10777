package collect

import (
	"math"
	"testing"

	"apfsim/sim/server"
)

// Every duration is counted in a bucket whose greatest value exceeds it by less than 1/32.
func TestBucketsOfWaits(t *testing.T) {
	check := func(ns int64) {
		w := &waitCounts{}
		w.record(ns)
		w.mostNs = math.MaxInt64 // so that it does not limit the percentile
		if got := w.percentile(0, 50); got < ns || float64(got-ns) > float64(ns)/32 {
			t.Errorf("%d is counted as %d", ns, got)
		}
	}
	for ns := range int64(5000) {
		check(ns)
	}
	for bit := range 63 {
		for _, ns := range []int64{1<<bit - 1, 1 << bit, 1<<bit + 1<<bit/3} {
			check(ns)
		}
	}
	check(math.MaxInt64)
}

// The wait counts of an interval are used again once none of its requests is queued.
func TestWaitCountsAreReused(t *testing.T) {
	const second = int64(1e9)
	c := newWorkloadSeries(1, second, 1000*second)
	for i := range int64(1000) {
		r := &server.Request{Sent: server.Sent{Template: &server.Template{}}, Decision: server.Decision{ArrivalNs: i * second}}
		c.Arrived(0)
		c.Dispatched(r.ArrivalNs+second/2, r)
		c.CloseInterval(r.ArrivalNs+second, i == 999)
	}
	if c.allocated > 1 {
		t.Errorf("%d wait counts were allocated; one is in use at a time", c.allocated)
	}
}
