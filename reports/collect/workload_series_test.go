package collect

import (
	"math"
	"testing"
)

// Every duration is counted in a bucket whose greatest value exceeds it by less than 1/32.
func TestBucketsOfWaits(t *testing.T) {
	check := func(ns int64) {
		w := &waitCounts{}
		w.record(ns)
		w.mostNs = math.MaxInt64 // else it bounds the percentile
		if got := w.percentileBehind(0, 50); got < ns || float64(got-ns) > float64(ns)/32 {
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
