package sim

import (
	"context"
	"fmt"
	"math"
	"testing"

	"apfsim/sim/machine"
	"apfsim/sim/server"
)

// The tests below compare runs with a capacity with closed formulas. Sources: L. Kleinrock, Queueing
// Systems, volume 2, 1976, section 4.4 (processor sharing); F. Kelly, Reversibility and Stochastic
// Networks, 1979, section 3.3 (queues whose speed depends on their state, and their insensitivity);
// N. Gunther, Guerrilla Capacity Planning, 2007 (the Universal Scalability Law). The names of tests with a
// C and a number are rows of a table of cases with figures of a real cluster.

// executions is what is seen of the executions of one run after a warm-up.
type executions struct {
	run    *Run
	fromNs int64

	arrived, foundIdle, rejected, executed int64
	timeNs                                 float64 // sum over the executed ones
	ratios                                 [2]struct {
		sum float64
		n   int64
	} // of time and demand, by whether the demand is above its mean
	meanNs float64
}

func (e *executions) observer() server.Observer {
	return server.Observer{
		Arrived: func(nowNs int64, r *server.Request) {
			if nowNs < e.fromNs {
				return
			}
			e.arrived++
			if e.run.Server.Gauges(nowNs).InService == 0 {
				e.foundIdle++
			}
		},
		Rejected: func(nowNs int64, r *server.Request) {
			if nowNs >= e.fromNs {
				e.rejected++
			}
		},
		Executed: func(nowNs int64, r *server.Request) {
			if nowNs < e.fromNs {
				return
			}
			e.executed++
			timeNs := float64(nowNs - r.DispatchNs)
			e.timeNs += timeNs
			if r.ExecutionNs > 0 {
				part := &e.ratios[0]
				if float64(r.ExecutionNs) > e.meanNs {
					part = &e.ratios[1]
				}
				part.sum += timeNs / float64(r.ExecutionNs)
				part.n++
			}
		},
	}
}

// The quantities are by second and in ms.
func (e *executions) throughput() float64 {
	return float64(e.executed) / (float64(int64(e.run.Scenario.Spec.Duration)-e.fromNs) / 1e9)
}
func (e *executions) meanMs() float64       { return e.timeNs / float64(e.executed) / 1e6 }
func (e *executions) idlePart() float64     { return float64(e.foundIdle) / float64(e.arrived) }
func (e *executions) rejectedPart() float64 { return float64(e.rejected) / float64(e.arrived) }

// ratio returns the mean time of an execution in units of its own demand.
func (e *executions) ratio(long int) float64 { return e.ratios[long].sum / float64(e.ratios[long].n) }

// observeExecutions measures a scenario under some seeds. It has a warm-up, and one workload.
func observeExecutions(t *testing.T, seed, replications int, spec string) (all []*executions) {
	t.Helper()
	for i := range replications {
		run := New(load(t, fmt.Sprintf("  seed: %d", seed+i)+spec))
		e := &executions{run: run, fromNs: int64(run.Scenario.Spec.Warmup.Duration), meanNs: run.Scenario.Spec.Workload[0].Requests[0].Execution.MeanNs()}
		run.Observe(e.observer())
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// equal wants the interval of a quantity over replications to contain a value.
func equal(t *testing.T, what string, runs []*executions, quantity func(*executions) float64, want float64) {
	t.Helper()
	var x []float64
	for _, e := range runs {
		x = append(x, quantity(e))
	}
	within(t, what, x, want)
}

// served is the servers of a scenario that have a capacity and no flow control.
func served(law string) string {
	return fmt.Sprintf("\n  servers: {flowControl: None, capacity: %s}\n", law)
}

// lasting gives a run a length and a warm-up, in seconds.
func lasting(warmup, measured float64) string {
	return fmt.Sprintf("\n  duration: %vs\n  warmup: %vs\n", warmup+measured, warmup)
}

// A closed loop of N clients that do not think has the throughput N·v(N)/E[d], whatever the distribution
// of d.
func TestClosedLoopThroughput(t *testing.T) {
	for i, c := range []struct {
		law       machine.Capacity
		execution string
	}{
		{machine.Capacity{Contention: 0.035741}, "{exponential: {mean: 8ms}}"},
		{machine.Capacity{Contention: 0.02, Coherency: 4e-5}, "{lognormal: {mean: 8ms, sigma: 1}}"},
		{machine.Capacity{Cores: 24, Contention: 0.001, Coherency: 1e-6}, "{uniform: {min: 0s, max: 16ms}}"},
	} {
		law := fmt.Sprintf("{cores: %v, contention: %v, coherency: %v}", c.law.Cores, c.law.Contention, c.law.Coherency)
		for j, n := range []int{1, 50, 100, 200, 400, 600} {
			x := machine.New(&c.law).Throughput(n) / 0.008
			// The throughput is that of the steady state when every client has sent some ten requests.
			spec := lasting(10*float64(n)/x, 30_000/x) + served(law) + clients(n, c.execution, "{closed: {}}")
			got := observeExecutions(t, 5000+100*i+10*j, 10, spec)
			equal(t, fmt.Sprintf("throughput of %d, %s", n, law), got, (*executions).throughput, x)
		}
	}
}

// A machine of one core that is shared (M/G/1-PS): the mean time is E[d]/(1-ρ), and that of a request with
// demand d is d/(1-ρ), whatever the distribution. First come, first served would give 7.5 ms and 15 ms
// for a constant execution of 5 ms at these loads.
func TestProcessorSharing(t *testing.T) {
	onlyLong(t)
	for i, execution := range []string{"{exponential: {mean: 5ms}}", "{lognormal: {mean: 5ms, sigma: 1}}", "{uniform: {min: 0s, max: 10ms}}", "5ms"} {
		for j, perSecond := range []float64{100, 160} {
			spec := lasting(20, 60_000/(200-perSecond)) + served("{cores: 1}") + clients(1, execution, fmt.Sprintf("{poisson: {rate: %v/s}}", perSecond))
			got := observeExecutions(t, 6000+100*i+20*j, repeated(), spec)
			slow := 1 / (1 - perSecond*0.005)
			what := fmt.Sprintf("%s at %v/s: ", execution, perSecond)
			equal(t, what+"mean time, ms", got, (*executions).meanMs, 5*slow)
			if execution == "5ms" {
				continue
			}
			equal(t, what+"time in units of short demands", got, func(e *executions) float64 { return e.ratio(0) }, slow)
			equal(t, what+"time in units of long demands", got, func(e *executions) float64 { return e.ratio(1) }, slow)
		}
	}
}

// lost is the part of the arrivals that a level of N seats turns away, offered load a in mean demands:
// p(n) ~ a^n / Π k·v(k), which is Erlang's formula if v is 1.
func lost(law *machine.Capacity, seats int, a float64) float64 {
	term, sum := 1.0, 1.0
	for k := 1; k <= seats; k++ {
		term *= a / machine.New(law).Throughput(k)
		sum += term
	}
	return term / sum
}

// By hand: with one seat, a/(1 + a). With v = 1, Erlang's formula.
func TestLost(t *testing.T) {
	if got, want := lost(&machine.Capacity{Contention: 1}, 1, 0.5), 1./3; math.Abs(got-want) > 1e-15 {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := lost(&machine.Capacity{}, 10, 8), erlangB(10, 8); math.Abs(got-want) > 1e-15 {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A level that rejects on a machine with a capacity is a loss system.
func TestLossSystemWithCapacity(t *testing.T) {
	onlyLong(t)
	for i, c := range []struct {
		law       machine.Capacity
		rate      float64 // per ms, with a mean demand of 1 ms
		execution string
	}{
		{machine.Capacity{}, 8, "{exponential: {mean: 1ms}}"},
		{machine.Capacity{Cores: 4}, 4, "{lognormal: {mean: 1ms, sigma: 1}}"},
		{machine.Capacity{Contention: 0.1, Coherency: 0.01}, 3, "{exponential: {mean: 1ms}}"},
		{machine.Capacity{Contention: 0.1, Coherency: 0.01}, 3, "1ms"},
	} {
		law := fmt.Sprintf("capacity: {cores: %v, contention: %v, coherency: %v}", c.law.Cores, c.law.Contention, c.law.Coherency)
		spec := withServers(soleLevel(10, reject, lasting(1, 40)), law) + clients(1, c.execution, poisson(c.rate))
		got := observeExecutions(t, 7000+100*i, repeated(), spec+"    retry: {maxRetries: 0}\n")
		equal(t, fmt.Sprintf("rejected at %v, %s", c.rate, law), got, (*executions).rejectedPart, lost(&c.law, 10, c.rate))
	}
}

// A closed loop of N clients whose requests have a delay e besides their demand d:
//
//	p(n) ~ e^(N-n) / (N-n)! · d^n / Π k·v(k)
//
// is the probability that the demands of n are being served.
func TestClosedLoopWithDelay(t *testing.T) {
	const demandMs, delayMs = 2, 10.
	for i, c := range []struct {
		n     int
		law   machine.Capacity
		delay string
	}{
		{8, machine.Capacity{Cores: 1}, "{exponential: {mean: 10ms}}"},
		{30, machine.Capacity{Cores: 4, Contention: 0.05, Coherency: 0.001}, "10ms"},
	} {
		p, sum := []float64{1}, 1.0
		for n := 1; n <= c.n; n++ {
			p = append(p, p[n-1]*demandMs/machine.New(&c.law).Throughput(n)*float64(c.n-n+1)/delayMs)
			sum += p[n]
		}
		throughput := 0.0
		for n := 1; n <= c.n; n++ {
			throughput += p[n] / sum * machine.New(&c.law).Throughput(n) / (demandMs * 1e-3)
		}
		law := fmt.Sprintf("{cores: %v, contention: %v, coherency: %v}", c.law.Cores, c.law.Contention, c.law.Coherency)
		spec := lasting(5, 60) + served(law) + clients(c.n, "{exponential: {mean: 2ms}}", "{closed: {}}") + "    delay: " + c.delay + "\n"
		got := observeExecutions(t, 8000+100*i, repeated(), spec)
		equal(t, fmt.Sprintf("throughput of %d, %s", c.n, law), got, (*executions).throughput, throughput)
		equal(t, "mean time, ms", got, (*executions).meanMs, float64(c.n)/throughput*1e3) // Little's law
	}
}

// C1 and C2: the healthy and the collapsed phase of a run with 5000 nodes, of which the speed is the only
// difference.
func TestC1HealthyAndC2Slow(t *testing.T) {
	for i, c := range []struct {
		factor     string
		clients    int
		throughput float64
		meanMs     float64
	}{
		{"1", 482, 3312, 145.5}, {"0.4009", 446, 1322, 337.4},
	} {
		spec := lasting(5, 30) + served("{contention: 0.035741, speed: [{at: 0s, factor: "+c.factor+"}]}") +
			clients(c.clients, "{exponential: {mean: 8ms}}", "{closed: {}}")
		got := observeExecutions(t, 9000+100*i, 10, spec)
		equal(t, "throughput", got, (*executions).throughput, c.throughput)
		equal(t, "seat time, ms", got, (*executions).meanMs, c.meanMs)
	}
}

// C3: the slow machine of C2 gets 1 900 requests a second, for 460 seats and 3 200 places in the queue. It
// executes 1 324 of them, so that the queue is full after 5.6 s; then 576 are rejected, and those in the
// queue wait for 2.4 s.
func TestC3QueueFills(t *testing.T) {
	law := "capacity: {contention: 0.035741, speed: [{at: 0s, factor: 0.4009}]}"
	spec := withServers(soleLevel(462, "{type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 3200}}", "  duration: 60s"), law) +
		clients(1, "{exponential: {mean: 8ms}}", "{poisson: {rate: 1900/s}}") + "    retry: {maxRetries: 0}\n"
	const fromNs = 20_000_000_000
	var fills, throughput, rejections, waits []float64
	for seed := range repeated() {
		run := New(load(t, fmt.Sprintf("  seed: %d\n", 9300+seed)+spec))
		firstWaitNs, fullNs := int64(0), int64(0)
		executed, rejected, dispatched, waitNs := 0., 0., 0., 0.
		run.Observe(server.Observer{
			Queued: func(nowNs int64, r *server.Request) {
				if n := run.Server.Gauges(nowNs).InService; n != 460 {
					t.Fatalf("a request waits while %d execute", n)
				}
				if firstWaitNs == 0 {
					firstWaitNs = nowNs
				}
			},
			Rejected: func(nowNs int64, r *server.Request) {
				if fullNs == 0 {
					fullNs = nowNs
				}
				if nowNs >= fromNs {
					rejected++
				}
			},
			Dispatched: func(nowNs int64, r *server.Request) {
				if nowNs >= fromNs {
					dispatched++
					waitNs += float64(nowNs - r.ArrivalNs)
				}
			},
			Executed: func(nowNs int64, r *server.Request) {
				if nowNs >= fromNs {
					executed++
				}
			},
		})
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		fills = append(fills, float64(fullNs-firstWaitNs)/1e9)
		throughput, rejections, waits = append(throughput, executed/40), append(rejections, rejected/40), append(waits, waitNs/dispatched/1e9)
	}
	close := func(what string, x []float64, want, tolerance float64) {
		t.Helper()
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		if mean := sum / float64(len(x)); math.Abs(mean-want) > tolerance {
			t.Errorf("%s: %v, want %v ± %v", what, mean, want, tolerance)
		}
	}
	within(t, "throughput", throughput, 1324)
	within(t, "rejected a second", rejections, 576)
	close("s until the queue is full", fills, 5.6, 0.25)
	close("wait, s", waits, 2.4, 0.05)
}

// C4: one core, Poisson arrivals, a mean demand of 10 ms, load 0.5: the mean time is 20 ms, and the machine is
// idle half of the time. The distribution of the demand does not matter.
func TestC4OneCore(t *testing.T) {
	for i, execution := range []string{"{exponential: {mean: 10ms}}", "10ms"} {
		got := observeExecutions(t, 9500+100*i, repeated(), lasting(20, 800)+served("{cores: 1}")+clients(1, execution, "{poisson: {rate: 50/s}}"))
		equal(t, "mean time, ms, of "+execution, got, (*executions).meanMs, 20)
		equal(t, "idle at arrival", got, (*executions).idlePart, 0.5)
	}
}

// C5: with coherency, more seats are less throughput: 157 execute 3 848 requests a second, and 600 of the
// same requests 2 742.
func TestC5MoreSeatsLessThroughput(t *testing.T) {
	for i, c := range []struct {
		seats      int
		throughput float64
	}{{157, 3848}, {600, 2742}} {
		configured := c.seats // of which the catch-all takes five in a thousand, rounded down
		if c.seats == 600 {
			configured = 603
		}
		spec := withServers(soleLevel(configured, oneQueue, lasting(5, 20)), "capacity: {contention: 0.02, coherency: 0.00004}") +
			clients(800, "{exponential: {mean: 8ms}}", "{closed: {}}")
		got := observeExecutions(t, 9700+100*i, 10, spec)
		for _, e := range got {
			if n := e.run.Server.Gauges(0).InService; n != c.seats {
				t.Errorf("%d execute at the end, want %d", n, c.seats)
			}
		}
		equal(t, fmt.Sprintf("throughput of %d seats", c.seats), got, (*executions).throughput, c.throughput)
	}
}
