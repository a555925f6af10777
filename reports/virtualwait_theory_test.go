package reports_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"apfsim/reports/collect"
	"apfsim/reports/result"
	"apfsim/sim"
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

// measured returns the workload of each run of a scenario, under the seeds from 1 on.
func measured(t *testing.T, spec string, runs int) (all []result.Group) {
	t.Helper()
	sc := load(t, spec)
	for i := range runs {
		sc.Spec.Seed = uint64(i + 1)
		r := sim.New(sc)
		measurement := collect.Measure(r, result.Interval(int64(sc.Spec.Duration)))
		if err := r.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		w := measurement.Result().Summary.Workloads[0]
		if w.VirtualWait == nil || w.VirtualWait.Probes != 1000 || w.VirtualWait.Wait.Count != 1000-w.VirtualWait.Rejected {
			t.Fatalf("the probes of a run: %+v, want 1000", w.VirtualWait)
		}
		all = append(all, w)
	}
	return all
}

// meanWaits returns the mean waits, in ms, of the requests sent and of the probes, by run. None is
// rejected.
func meanWaits(t *testing.T, spec string, runs int) (sent, probed []float64) {
	t.Helper()
	for _, w := range measured(t, spec, runs) {
		if w.VirtualWait.Rejected != 0 {
			t.Fatalf("%d probes are rejected, want none", w.VirtualWait.Rejected)
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
	t.Logf("%s: %.5f ± %.5f, theory %.5f", what, mean, half, want)
	if math.Abs(mean-want) > half || half > width*want {
		t.Errorf("%s: %.5f ± %.5f, want an interval that contains %.5f and reaches at most %.0f %% of it to either side", what, mean, half, want, 100*width)
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

// A level gets 2500 requests a second and serves 2000, so that the wait grows by a = 1/4 s per second. In the fluid limit a
// probe at t waits for a·t; those after T/(1+a), a fifth of all, still wait when the run ends at T. The product-limit estimate
// of the mean is aT/(2+a), 0.678 s; it would be 0.61 s if these counted as served, and the truth is aT/2, 0.763 s (see
// measure.Survival).
func TestVirtualWaitOfGrowingBacklog(t *testing.T) {
	const a, end = 0.25, 6.1
	spec := strings.NewReplacer("warmup: 100ms", "warmup: 0s", "{poisson: {rate: 1000/s}}", "{constant: {rate: 2500/s}}").Replace(twoSeats)
	var means, censored []float64
	for _, w := range measured(t, spec, 12) {
		v := w.VirtualWait
		means, censored = append(means, float64(v.Wait.MeanNs)/1e9), append(censored, float64(v.Censored)/1000)
		if !v.IsLowerBound("p99_9Ns") && v.Wait.P999Ns > v.Wait.MaxNs || v.Wait.MaxNs > int64(end*1e9) {
			t.Errorf("waits of %+v", v.Wait)
		}
	}
	agree(t, "mean wait at a random moment", means, a*end/(2+a), 0.05)
	agree(t, "share of probes that wait at the end", censored, a/(1+a), 0.1)
}

// A level that rejects turns away a Poisson arrival with the probability that it is full at a random
// moment, (a²/2)/(1+a+a²/2) with two seats and a load of a: 1/5 here (Erlang's B).
func TestVirtualRejectionsOfPoissonArrivals(t *testing.T) {
	spec := strings.ReplaceAll(twoSeats, "{type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 1000000}}", "{type: Reject}")
	var sent, probed []float64
	for _, w := range measured(t, spec, 30) {
		sent = append(sent, float64(w.Rejected)/float64(w.Arrived))
		probed = append(probed, float64(w.VirtualWait.Rejected)/float64(w.VirtualWait.Probes))
		if w.VirtualWait.Wait.MaxNs != 0 {
			t.Error("a probe waits at a level that does not queue")
		}
	}
	agree(t, "requests sent", sent, 0.2, 0.03)
	agree(t, "random moment", probed, 0.2, 0.05)
}

// With many queues a request that waits keeps its queue active, and slows the progress of all
// others. A probe does not, so its waits are a little shorter than those of requests, the more so
// the fewer queues are active; here, of ten seats at a load of 90 %, by some percent.
func TestVirtualWaitOfManyQueues(t *testing.T) {
	spec := strings.NewReplacer("duration: 6100ms", "duration: 301s", "warmup: 100ms", "warmup: 1s", "maxRequestsInflight: 2,", "maxRequestsInflight: 10,",
		"queues: 1, handSize: 1", "queues: 64, handSize: 8", "as: {user: u}", "clients: 50\n    as: {user: \"u{i}\"}",
		"mean: 1ms", "mean: 10ms", "rate: 1000/s", "rate: 18/s",
		"matchingPrecedence: 100", "matchingPrecedence: 100\n        distinguisherMethod: {type: ByUser}").Replace(twoSeats)
	sent, probed := meanWaits(t, spec, some(3, 8))
	ratio := stat.Mean(probed, nil) / stat.Mean(sent, nil)
	t.Logf("mean wait: requests sent %.3f ms, random moment %.3f ms, ratio %.3f", stat.Mean(sent, nil), stat.Mean(probed, nil), ratio)
	if ratio < 0.85 || ratio > 1.05 {
		t.Errorf("the mean wait at a random moment is %.3f times that of the requests sent, want 0.85 to 1.05", ratio)
	}
}
