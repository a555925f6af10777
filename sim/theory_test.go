package sim

import (
	"context"
	"flag"
	"fmt"
	"math"
	"testing"
	"time"

	"apfsim/core/queueset"
	"apfsim/sim/server"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// The tests below compare runs with closed formulas of queueing theory. Time is counted in
// mean service times, here of 1 ms. Sources: L. Kleinrock, Queueing Systems, volume 1,
// 1975, sections 3.5 (M/M/c), 3.6 (M/M/c/c), 3.8 (the finite population) and 5.6 (M/G/1).

var long = flag.Bool("long", false, "also run the comparisons with theory that take the longest")

// onlyLong skips a test that make nightly runs.
func onlyLong(t *testing.T) {
	if !*long {
		t.Skip("takes long: only with -long")
	}
}

// confidence is that of the intervals.
const confidence = 0.99

// width is how far the intervals may reach from the value wanted, relative to it.
func width() float64 {
	if *long {
		return 0.02
	}
	return 0.05
}

// soleLevel is a scenario in which everybody's requests, one seat each, go to a level with
// so many seats. It neither lends nor borrows, and the other levels have nothing to lend;
// so that its limit stays as it is. Of so few seats the catch-all's five shares in a
// thousand take none away: the level has ⌈0.995·seats⌉. Nothing times out (a quarter of
// requestTimeout, up to a minute) or finds the queue full.
func soleLevel(seats int, response, fields string) string {
	return fmt.Sprintf(`
  config:
    base: Mandatory
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: sole}
      spec: {type: Limited, limited: {nominalConcurrencyShares: 995, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: %s}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: all}
      spec:
        priorityLevelConfiguration: {name: sole}
        matchingPrecedence: 100
        distinguisherMethod: {type: ByUser}
        rules:
        - subjects: [{kind: Group, group: {name: "*"}}]
          resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
  servers: {maxRequestsInflight: %d, maxMutatingRequestsInflight: 0, requestTimeout: 240s}
%s`, response, seats, fields)
}

const (
	reject   = `{type: Reject}`
	oneQueue = `{type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 1000000}}`
)

// clients is the workload of the scenarios.
func clients(n int, execution, arrivals string) string {
	return fmt.Sprintf(`
  workload:
  - name: w
    clients: %d
    as: {user: "u{i}"}
    request: {verb: get, resource: pods, name: x}
    execution: %s
    arrivals: %s
`, n, execution, arrivals)
}

// measurement is what is seen in one run of the requests that arrive after the warm-up.
type measurement struct {
	t      *testing.T
	run    *Run
	limit  int
	fromNs int64

	mayRejectFull bool // the queues are short

	arrived, rejected, waited, dispatched int64
	waitNs                                int64
	busyNs                                int64 // seats × time, after the warm-up
}

func (m *measurement) observer() server.Observer {
	return server.Observer{Arrived: m.arrives, Dispatched: m.dispatches, Rejected: m.rejects, Released: m.releases, Adjusted: m.adjusts}
}

func (m *measurement) arrives(nowNs int64, r *server.Request) {
	if nowNs >= m.fromNs {
		m.arrived++
	}
}

func (m *measurement) dispatches(nowNs int64, r *server.Request) {
	if r.ArrivalNs < m.fromNs {
		return
	}
	m.dispatched++
	m.waitNs += nowNs - r.ArrivalNs
	if nowNs > r.ArrivalNs {
		m.waited++
	}
}

func (m *measurement) rejects(nowNs int64, r *server.Request) {
	if r.ArrivalNs >= m.fromNs {
		m.rejected++
	}
	if r.Rejection != queueset.ConcurrencyLimit && !(m.mayRejectFull && r.Rejection == queueset.QueueFull) {
		m.t.Fatalf("a request is rejected: %v", r.Rejection)
	}
}

func (m *measurement) releases(nowNs int64, r *server.Request) {
	if nowNs >= m.fromNs {
		m.busyNs += nowNs - max(m.fromNs, r.DispatchNs)
	}
}

// adjusts holds the level to its limit.
func (m *measurement) adjusts(_ int64, s *server.Server) {
	for _, l := range s.Levels() {
		if l.Name() == "sole" && (l.CurrentLimit() != m.limit || l.Queues().Limit() != m.limit) {
			m.t.Fatalf("the level's limit is %d, and %d in force, want %d", l.CurrentLimit(), l.Queues().Limit(), m.limit)
		}
	}
}

func (m *measurement) rejectedPart() float64  { return float64(m.rejected) / float64(m.arrived) }
func (m *measurement) waitingPart() float64   { return float64(m.waited) / float64(m.dispatched) }
func (m *measurement) meanWaitMs() float64    { return float64(m.waitNs) / float64(m.dispatched) / 1e6 }
func (m *measurement) meanBusySeats() float64 { return float64(m.busyNs) / float64(m.spanNs()) }
func (m *measurement) spanNs() int64          { return int64(m.run.Scenario.Spec.Duration) - m.fromNs }

// replicate measures a scenario under so many seeds, from a given one on. The seeds are
// fixed, so that the tests say the same each time. When the draws change for a good reason
// one quantity in a hundred will miss its interval by chance: more replications tell.
func replicate(t *testing.T, seed, replications, seats int, spec string) []*measurement {
	t.Helper()
	var all []*measurement
	for range replications {
		run := New(load(t, fmt.Sprintf("  seed: %d", seed)+spec))
		m := &measurement{t: t, run: run, limit: seats, fromNs: int64(run.Scenario.Spec.Warmup.Duration)}
		run.Observe(m.observer())
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
		seed++
	}
	return all
}

// agree wants the interval of a quantity over the replications to contain a value, and to
// reach no more than width of it to either side.
func agree(t *testing.T, what string, runs []*measurement, quantity func(*measurement) float64, want float64) {
	t.Helper()
	x := make([]float64, len(runs))
	for i, m := range runs {
		x[i] = quantity(m)
	}
	within(t, what, x, want)
}

// within is agree for the values of a quantity in each of the replications.
func within(t *testing.T, what string, x []float64, want float64) {
	t.Helper()
	mean, deviation := stat.MeanStdDev(x, nil)
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(x) - 1)}
	half := student.Quantile((1+confidence)/2) * stat.StdErr(deviation, float64(len(x)))
	t.Logf("%s: %.6f ± %.6f (%.2f %%), theory %.6f", what, mean, half, 100*half/want, want)
	if half > width()*want {
		t.Errorf("%s: the interval reaches %.6f to either side, want at most %.6f", what, half, width()*want)
	}
	if math.Abs(mean-want) > half {
		t.Errorf("%s: %.6f ± %.6f does not contain %.6f", what, mean, half, want)
	}
}

// erlangB is the part of the arrivals that c servers without a queue turn away, offered
// load a in mean service times: B(0) = 1, B(c) = a·B(c-1) / (c + a·B(c-1)).
func erlangB(c int, a float64) float64 {
	b := 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	return b
}

// erlangC is the part of the arrivals that have to wait for one of c servers:
// C = c·B / (c - a·(1 - B)).
func erlangC(c int, a float64) float64 {
	b := erlangB(c, a)
	return float64(c) * b / (float64(c) - a*(1-b))
}

// By hand: with one server B = a/(1+a) and C = a. With two and a = 1 the three states are
// as 1, 1 and 1/2, so B = 1/5; and C = 2·(1/5) / (2 - 4/5) = 1/3.
func TestErlang(t *testing.T) {
	for _, c := range []struct{ got, want float64 }{
		{erlangB(1, 0.25), 0.2}, {erlangB(2, 1), 0.2}, {erlangC(1, 0.25), 0.25}, {erlangC(2, 1), 1.0 / 3},
	} {
		if math.Abs(c.got-c.want) > 1e-15 {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
}

// repair is a closed loop: n machines that run for a mean time, break, and are repaired by c
// repairmen in a mean time 1/a of that. The probability that k are broken is as
//
//	p(k) ~ n!/(n-k)! · a^k / k!            k <= c
//	p(k) ~ n!/(n-k)! · a^k / (c!·c^(k-c))  k > c
func repair(n, c int, a float64) (p []float64) {
	p = []float64{1}
	sum := 1.0
	for k := 1; k <= n; k++ {
		p = append(p, p[k-1]*float64(n-k+1)*a/float64(min(k, c)))
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

// expected returns the expectation of a function of the number broken.
func expected(p []float64, value func(k int) float64) float64 {
	sum := 0.0
	for k := range p {
		sum += p[k] * value(k)
	}
	return sum
}

// By hand: with two machines, one repairman and a = 1 the states are as 1, 2 and 2.
func TestRepair(t *testing.T) {
	for k, want := range []float64{0.2, 0.4, 0.4} {
		if got := repair(2, 1, 1)[k]; math.Abs(got-want) > 1e-15 {
			t.Errorf("%d broken with probability %v, want %v", k, got, want)
		}
	}
}

const replications = 20

// repeated is how often what has a time of its own is run.
func repeated() int {
	if *long {
		return replications
	}
	return 8
}

// M/M/c/c: a level that rejects is a loss system. Its blocking probability does not depend
// on how service times are distributed, but by their mean. It is 0.5/1.5 with one seat,
// 0.1217 with ten at load 8 (Erlang's table).
func TestErlangB(t *testing.T) {
	for i, c := range []struct {
		seats     int
		rate      float64 // per ms
		execution string
		duration  time.Duration
	}{
		{1, 0.5, "{exponential: {mean: 1ms}}", 30 * time.Second},
		{10, 8, "{exponential: {mean: 1ms}}", 10 * time.Second},
		{10, 8, "1ms", 10 * time.Second},
		{10, 8, "{lognormal: {mean: 1ms, sigma: 1}}", 10 * time.Second},
		{50, 45, "{exponential: {mean: 1ms}}", 8 * time.Second},
	} {
		t.Run(fmt.Sprintf("%d seats, load %v, %s", c.seats, c.rate, c.execution), func(t *testing.T) {
			spec := soleLevel(c.seats, reject, timing(c.duration)) + clients(1, c.execution, poisson(c.rate))
			got := replicate(t, 100*i, replications, c.seats, spec)
			agree(t, "rejected", got, (*measurement).rejectedPart, erlangB(c.seats, c.rate))
		})
	}
}

// M/M/c: one queue of one flow. The mean wait is C/(c-a).
func TestErlangC(t *testing.T) {
	for i, c := range []struct {
		seats    int
		rate     float64
		duration time.Duration
	}{
		{1, 0.5, 120 * time.Second},
		{4, 3, 100 * time.Second},
		{20, 16, 60 * time.Second},
	} {
		t.Run(fmt.Sprintf("%d seats, load %v", c.seats, c.rate), func(t *testing.T) {
			spec := soleLevel(c.seats, oneQueue, timing(c.duration)) +
				clients(1, "{exponential: {mean: 1ms}}", poisson(c.rate))
			got := replicate(t, 1000+100*i, replications, c.seats, spec)
			p := erlangC(c.seats, c.rate)
			agree(t, "waiting", got, (*measurement).waitingPart, p)
			agree(t, "mean wait, ms", got, (*measurement).meanWaitMs, p/(float64(c.seats)-c.rate))
		})
	}
}

// M/D/1 and M/G/1: the mean wait is λ·E[S²] / 2(1-ρ) (Pollaczek and Khinchine). E[S²] is 1
// for a constant of 1, 1 + 1/shape for a gamma distribution, exp(sigma²) for a lognormal one.
func TestPollaczekKhinchine(t *testing.T) {
	for i, c := range []struct {
		execution    string
		secondMoment float64 // ms²
		rate         float64
		duration     time.Duration
	}{
		{"1ms", 1, 0.5, 80 * time.Second},
		{"1ms", 1, 0.8, 150 * time.Second},
		{"{gamma: {mean: 1ms, shape: 2}}", 1 + 1./2, 0.5, 100 * time.Second},
		{"{gamma: {mean: 1ms, shape: 0.5}}", 1 + 1/0.5, 0.5, 200 * time.Second},
		{"{lognormal: {mean: 1ms, sigma: 1}}", math.E, 0.5, 400 * time.Second},
	} {
		t.Run(fmt.Sprintf("%s, load %v", c.execution, c.rate), func(t *testing.T) {
			spec := soleLevel(1, oneQueue, timing(c.duration)) + clients(1, c.execution, poisson(c.rate))
			got := replicate(t, 2000+100*i, replications, 1, spec)
			agree(t, "mean wait, ms", got, (*measurement).meanWaitMs, c.rate*c.secondMoment/(2*(1-c.rate)))
		})
	}
}

// The machine-repairman model: clients that think for a while, ask, and wait for the
// answer. A request finds as many before it as there would be at any time without its
// client (the arrival theorem).
func TestMachineRepairman(t *testing.T) {
	for i, c := range []struct {
		clients, seats int
		thinkMs        int
		duration       time.Duration
	}{
		{10, 1, 10, 60 * time.Second},
		{30, 4, 8, 40 * time.Second},
	} {
		t.Run(fmt.Sprintf("%d clients, %d seats", c.clients, c.seats), func(t *testing.T) {
			spec := soleLevel(c.seats, oneQueue, timing(c.duration)) +
				clients(c.clients, "{exponential: {mean: 1ms}}", fmt.Sprintf("{closed: {think: {exponential: {mean: %dms}}}}", c.thinkMs))
			got := replicate(t, 3000+100*i, replications, c.seats, spec)
			p := repair(c.clients, c.seats, 1/float64(c.thinkMs))
			busy := expected(p, func(k int) float64 { return float64(min(k, c.seats)) })
			waiting := expected(p, func(k int) float64 { return float64(max(0, k-c.seats)) })
			agree(t, "seats in use", got, (*measurement).meanBusySeats, busy)
			agree(t, "mean wait, ms", got, (*measurement).meanWaitMs, waiting/busy) // Little's law
			others := repair(c.clients-1, c.seats, 1/float64(c.thinkMs))
			agree(t, "waiting", got, (*measurement).waitingPart, expected(others, func(k int) float64 {
				if k < c.seats {
					return 0
				}
				return 1
			}))
		})
	}
}

// timing leaves the first second out: a thousand service times from an empty system. Intervals that may be two and a half times
// as wide need a sixth of the time.
func timing(measured time.Duration) string {
	if !*long {
		measured /= 5
	}
	return fmt.Sprintf("  duration: %v\n  warmup: 1s\n", measured+time.Second)
}

// poisson arrives at a rate per ms.
func poisson(rate float64) string { return fmt.Sprintf("{poisson: {rate: %v/s}}", 1000*rate) }
