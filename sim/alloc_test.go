package sim_test

import (
	"runtime"
	"strings"
	"testing"
)

// No request allocates, counted exactly over a hundred thousand of them in the steady state. What
// does allocate then is something else, and rare; the profile of all allocations tells it
// apart by the functions that lead to it. The window has no tick of the sampling interval
// in it, which would add to the series.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	const requests = 100_000
	for _, test := range []struct {
		name   string
		load   oneLevel
		warmUp int
	}{{"A", regimeA, 2 * requests}, {"B", regimeB, 2 * requests}, {"C", regimeC, 1_000_000}, {"capacity", sharing, 2 * requests}, {"ending", ending, 2 * requests}} {
		t.Run(test.name, func(t *testing.T) {
			l := test.load
			defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
			runtime.MemProfileRate = 0 // no allocation is profiled
			var before, after map[string]int64
			var m0, m1 runtime.MemStats
			_, err := l.steady(test.warmUp, requests, l.lasting(requests),
				func() {
					before = allocations()
					runtime.MemProfileRate = 1 // each is
					runtime.ReadMemStats(&m0)
				},
				func() {
					runtime.ReadMemStats(&m1)
					runtime.MemProfileRate = 0
					after = allocations()
				})
			if err != nil {
				t.Fatal(err)
			}

			adjustments := int64(l.lasting(requests).Seconds()/10) + 1
			occasions := []struct {
				what     string
				function string // on the way to the allocation
				most, n  int64
			}{
				// A histogram has a page for each power of 2 nanoseconds, and a flow four histograms.
				{"room for pages of a histogram, when a duration first falls into one", "measure.(*Histogram).allocate", 4 * int64(l.flows), 0},
				{"the list of the buckets of a histogram that have reached 65 536 values, when it grows", "measure.(*Histogram).carry", 20, 0},
				{"counts of the waits of an interval, when more intervals than ever before have requests that wait", "collect.(*workloadSeries).waitCounts", 2, 0},
				{"how the seats of a level spend the time of an interval, when there are more intervals than room", "collect.(*level).step", 20, 0},
				{"an adjustment of limits, every 10 s", "flowcontrol.(*Controller).Adjust", 2 * adjustments, 0},
				{"an adjustment of limits, told to observers", "collect.(*Collector).adjusted", 2 * adjustments, 0},
				{"more requests in flight than ever before", "server.(*RunState).NewRequest", 20, 0},
				{"fewer requests in flight than ever before: the list of the others", "server.(*RunState).recycle", 10, 0},
				// It stops the world, and waits for whoever does so already: a collection, mostly.
				{"the measurement itself", "runtime.ReadMemStats", 10, 0},
			}
			seen := uint64(0)
		stacks:
			for stack, n := range after {
				n -= before[stack]
				if n == 0 {
					continue
				}
				seen += uint64(n)
				for i := range occasions {
					if strings.Contains(stack, occasions[i].function) {
						occasions[i].n += n
						continue stacks
					}
				}
				if strings.Contains(stack, "apfsim/") { // else it is of the runtime's own goroutines
					t.Errorf("%d allocations in %s", n, stack)
				}
			}
			for _, o := range occasions {
				t.Logf("%d: %s", o.n, o.what)
				if o.n > o.most {
					t.Errorf("%d allocations at %s; want at most %d", o.n, o.what, o.most)
				}
			}
			if all := m1.Mallocs - m0.Mallocs; seen < all {
				t.Errorf("of %d allocations, the profile has only %d", all, seen)
			}
		})
	}
}

// allocations returns how many objects were allocated so far, by stack, innermost first.
func allocations() map[string]int64 {
	runtime.GC() // the profile is that of the last collection but one
	runtime.GC()
	n, _ := runtime.MemProfile(nil, true)
	records := make([]runtime.MemProfileRecord, n+100)
	n, _ = runtime.MemProfile(records, true)
	by := map[string]int64{}
	for i := range records[:n] {
		var stack strings.Builder
		frames := runtime.CallersFrames(records[i].Stack())
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			stack.WriteString(f.Function + " < ")
		}
		by[stack.String()] += records[i].AllocObjects
	}
	return by
}
