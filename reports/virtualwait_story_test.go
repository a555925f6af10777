package reports_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"apfsim/reports/collect"
	"apfsim/reports/result"
	"apfsim/sim"
)

// probesOf runs one seat for 21 s, of which 20 s are measured, with a request of 10 s that arrives after 500 ms, and
// returns the probes of its workload.
func probesOf(t *testing.T, events string) result.Group {
	t.Helper()
	spec := strings.ReplaceAll(twoSeats, "duration: 6100ms", "duration: 21s\n"+events)
	spec = strings.ReplaceAll(spec, "warmup: 100ms", "warmup: 1s")
	spec = strings.ReplaceAll(spec, "maxRequestsInflight: 2,", "maxRequestsInflight: 1,")
	spec = strings.ReplaceAll(spec, "{poisson: {rate: 1000/s}}", "{burst: {at: 500ms, requests: 1}}")
	spec = strings.ReplaceAll(spec, "execution: {exponential: {mean: 1ms}}", "execution: 10s")
	sc := load(t, spec)
	r := sim.New(sc)
	measurement := collect.Measure(r, result.Interval(int64(sc.Spec.Duration)))
	if err := r.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	w := measurement.Result().Summary.Workloads[0]
	if w.VirtualWait == nil {
		t.Fatal("there are no probes")
	}
	return w
}

// The seat is taken until 10.5 s. A request at a moment before that would wait until then, and any later one not at all:
// 9.5 of 20 s have a wait, of 4.75 s on average.
func TestVirtualWaitBehindOneRequest(t *testing.T) {
	v := probesOf(t, "").VirtualWait
	if v.Probes != 1000 || v.Rejected != 0 || v.Wait.Count != 1000 {
		t.Errorf("%d probes, %d rejected, %d waits; want 1000, none, 1000", v.Probes, v.Rejected, v.Wait.Count)
	}
	if mean := float64(v.Wait.MeanNs) / 1e9; math.Abs(mean-9.5/20*4.75) > 0.4 { // four standard errors
		t.Errorf("the mean wait is %v s, want %v", mean, 9.5/20*4.75)
	}
	if most := float64(v.Wait.MaxNs) / 1e9; most > 9.5 || most < 9.3 {
		t.Errorf("the longest wait is %v s, want that of the first moments, 9.5 s", most)
	}
}

// The server crashes at 6 s. The probes that wait then, which began in the 5 s before, are as if they had not been made.
// The request is lost with the server, so that no other probe waits.
func TestVirtualWaitWhenAServerCrashes(t *testing.T) {
	v := probesOf(t, "  events: [{at: 6s, crash: {server: 0}}, {at: 8s, start: {server: 0}}]").VirtualWait
	if v.Probes < 745 || v.Probes > 755 {
		t.Errorf("%d probes, want 1000 but for those of the 5 s before the crash", v.Probes)
	}
	if v.Refused < 90 || v.Refused > 110 {
		t.Errorf("%d probes are refused, want those of the 2 s without a server", v.Refused)
	}
	if v.Wait.Count != v.Probes-v.Rejected-v.Refused || v.Wait.MaxNs != 0 {
		t.Errorf("%d waits of %d probes, %d rejected, %d refused, at most %d ns; want no wait of those that are left", v.Wait.Count, v.Probes, v.Rejected, v.Refused, v.Wait.MaxNs)
	}
}
