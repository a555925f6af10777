package reports_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"apfsim/reports"
	"apfsim/sim"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// repairShop is a closed loop: n machines run for a mean time, break, and are repaired by c
// repairmen. While many are broken few are left to break, so the requests that are sent meet
// shorter queues than there are at a random moment.
func repairShop(machines, repairmen int, thinkMs float64) string {
	spec := strings.ReplaceAll(twoSeats, "duration: 6100ms", "duration: 21s")
	spec = strings.ReplaceAll(spec, "warmup: 100ms", "warmup: 1s")
	spec = strings.ReplaceAll(spec, "maxRequestsInflight: 2,", fmt.Sprintf("maxRequestsInflight: %d,", repairmen))
	spec = strings.ReplaceAll(spec, "as: {user: u}", fmt.Sprintf("clients: %d\n    as: {user: u}", machines))
	return strings.ReplaceAll(spec, "{poisson: {rate: 1000/s}}", fmt.Sprintf("{closed: {think: {exponential: {mean: %vms}}}}", thinkMs))
}

// meanWaits returns the mean waits, in ms, of the requests sent and of the probes, by run.
func meanWaits(t *testing.T, spec string, runs int) (sent, probed []float64) {
	t.Helper()
	sc := load(t, spec)
	for i := range runs {
		sc.Spec.Seed = uint64(i + 1)
		r := sim.New(sc)
		measurement := reports.Measure(sc, r.Server, reports.Interval(int64(sc.Spec.Duration)))
		if err := r.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		w := measurement.Result().Summary.Workloads[0]
		if w.VirtualWait == nil || w.VirtualWait.Probes != 1000 || w.VirtualWait.Rejected != 0 || w.VirtualWait.Wait.Count != 1000 {
			t.Fatalf("the probes of a run: %+v, want 1000, all of them dispatched", w.VirtualWait)
		}
		sent = append(sent, float64(w.Wait.MeanNs)/1e6)
		probed = append(probed, float64(w.VirtualWait.Wait.MeanNs)/1e6)
	}
	return sent, probed
}

// agree wants the interval of 99 % about the mean to contain a value, and to be narrow.
func agree(t *testing.T, what string, x []float64, want, width float64) {
	t.Helper()
	mean, deviation := stat.MeanStdDev(x, nil)
	half := distuv.StudentsT{Sigma: 1, Nu: float64(len(x) - 1)}.Quantile(0.995) * stat.StdErr(deviation, float64(len(x)))
	t.Logf("%s: %.5f ± %.5f ms, theory %.5f", what, mean, half, want)
	if math.Abs(mean-want) > half || half > width*want {
		t.Errorf("%s: %.5f ± %.5f ms, want an interval that contains %.5f and reaches at most %.0f %% of it to either side", what, mean, half, want, 100*width)
	}
}

// The states of the repair shop, k machines broken, are as n!/(n−k)!·aᵏ/k! up to c repairmen, and
// beyond them as n!/(n−k)!·aᵏ/(c!·c^(k−c)), where a is the repair time over the running time
// (L. Kleinrock, Queueing Systems, volume 1, 1975, section 3.8). A request at a random moment waits
// for the k−c+1 repairs before it, 1/c ms each. One that a machine sends sees the states of a
// shop with a machine less (the arrival theorem).
func TestVirtualWaitOfAClosedLoop(t *testing.T) {
	for _, c := range []struct {
		machines, repairmen int
		thinkMs             float64
	}{{6, 1, 2}, {30, 4, 5}} {
		meanWait := func(machines int) float64 {
			p, sum, wait := 1.0, 1.0, 0.0
			for k := 1; k <= machines; k++ {
				p *= float64(machines-k+1) / c.thinkMs / float64(min(k, c.repairmen))
				sum += p
				if k >= c.repairmen {
					wait += p * float64(k-c.repairmen+1) / float64(c.repairmen)
				}
			}
			return wait / sum
		}
		sent, probed := meanWaits(t, repairShop(c.machines, c.repairmen, c.thinkMs), 20)
		agree(t, "requests sent", sent, meanWait(c.machines-1), 0.03)
		agree(t, "random moment", probed, meanWait(c.machines), 0.03)
	}
}

// Poisson arrivals see time averages (R. W. Wolff, Operations Research 30, 1982): in an open loop the
// requests that are sent wait as long as those of a random moment, 1/3 ms here.
func TestVirtualWaitOfPoissonArrivals(t *testing.T) {
	sent, probed := meanWaits(t, twoSeats, 40)
	agree(t, "requests sent", sent, 1/3., 0.05)
	agree(t, "random moment", probed, 1/3., 0.07)
}
