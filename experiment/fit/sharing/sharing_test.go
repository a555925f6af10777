package sharing

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

var (
	logs  = flag.Int("logs", 1, "logs of each system whose capacity is estimated")
	table = flag.Bool("table", false, "print a row for each system")
)

// system is a server of known capacity that executes requests of several kinds. It shares no code with the simulator.
type system struct {
	name    string
	law     Law
	perS    []float64                  // arrivals of each kind
	demand  []func(*rand.Rand) float64 // in seconds
	limit   int                        // requests that execute at a time; the others wait
	changes func(s float64) float64    // factor of the arrivals over time
	slow    *spells                    // nil if it has none
	delay   []float64                  // of each kind, in seconds after it was served
	servers int                        // 1 if it is 0; each has a log of its own
	most    int                        // requests that a log has, 4000 if it is 0
	known   bool                       // whether the log shows the capacity
	proof   bool                       // only with the flag table, because the tests take long enough
}

// spells are times at which the server is slow, as one that collects garbage or has a noisy neighbour.
type spells struct {
	everyS, lastS float64 // means of exponential times
	factor        float64 // of the speed
}

func lognormal(mean, sigma float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return mean * math.Exp(sigma*r.NormFloat64()-sigma*sigma/2) }
}

func exponential(mean float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return mean * r.ExpFloat64() }
}

func constant(x float64) func(*rand.Rand) float64 { return func(*rand.Rand) float64 { return x } }

// pareto has infinite variance if the exponent is 2 or less.
func pareto(mean, exponent float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		return mean * (exponent - 1) / exponent * math.Pow(1-r.Float64(), -1/exponent)
	}
}

func either(share float64, a, b func(*rand.Rand) float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		if r.Float64() < share {
			return a(r)
		}
		return b(r)
	}
}

var inf = math.Inf(1)

var systems = []system{
	{name: "one core, half busy", proof: true, law: Law{Cores: 1}, perS: []float64{40, 40}, demand: []func(*rand.Rand) float64{lognormal(0.01, 0.5), exponential(0.003)}, limit: 60, known: true},
	{name: "1.75 cores, lists and mice", law: Law{Cores: 1.75}, perS: []float64{60, 40}, demand: []func(*rand.Rand) float64{lognormal(0.0122, 0.3), lognormal(0.001, 0.4)}, limit: 20, known: true},
	{name: "2 cores, heavy tails", law: Law{Cores: 2}, perS: []float64{60, 40}, demand: []func(*rand.Rand) float64{pareto(0.015, 1.8), lognormal(0.005, 1.5)}, limit: 30, known: true},
	{name: "4 cores, small and large in one kind", proof: true, law: Law{Cores: 4}, perS: []float64{80}, demand: []func(*rand.Rand) float64{either(0.9, lognormal(0.01, 0.3), lognormal(0.3, 0.3))}, limit: 40, known: true},
	{name: "8 cores, diurnal load", proof: true, law: Law{Cores: 8}, perS: []float64{150, 100}, demand: []func(*rand.Rand) float64{lognormal(0.025, 0.6), exponential(0.01)}, limit: 60,
		changes: func(s float64) float64 { return 1 + 0.8*math.Sin(s*2*math.Pi/10) }, known: true},
	{name: "two servers of 2 cores", law: Law{Cores: 2}, perS: []float64{100, 60}, demand: []func(*rand.Rand) float64{lognormal(0.012, 0.4), exponential(0.004)}, limit: 40, servers: 2, known: true},
	{name: "2 cores, updates wait for etcd", proof: true, law: Law{Cores: 2}, perS: []float64{100, 100}, demand: []func(*rand.Rand) float64{lognormal(0.01, 0.4), lognormal(0.004, 0.5)}, limit: 200,
		delay: []float64{0, 0.008}, known: true},
	{name: "64 cores", proof: true, law: Law{Cores: 64}, perS: []float64{1000, 350}, demand: []func(*rand.Rand) float64{exponential(0.05), lognormal(0.03, 0.8)}, limit: 200, most: 15_000, known: true},
	{name: "16 cores", proof: true, law: Law{Cores: 16}, perS: []float64{300, 300}, demand: []func(*rand.Rand) float64{exponential(0.03), lognormal(0.015, 1)}, limit: 100, most: 10_000, known: true},
	{name: "constant demands, 2 cores", proof: true, law: Law{Cores: 2}, perS: []float64{100}, demand: []func(*rand.Rand) float64{constant(0.015)}, limit: 60, known: true},
	{name: "contention", proof: true, law: Law{Cores: inf, Contention: 0.05}, perS: []float64{300, 100}, demand: []func(*rand.Rand) float64{lognormal(0.03, 0.6), exponential(0.02)}, limit: 60, most: 10_000, known: true},
	{name: "cores and contention", law: Law{Cores: 4, Contention: 0.03}, perS: []float64{100, 30}, demand: []func(*rand.Rand) float64{lognormal(0.02, 0.6), exponential(0.02)}, limit: 60, known: true},
	{name: "2 cores, slow at times", proof: true, law: Law{Cores: 2}, perS: []float64{57, 40}, demand: []func(*rand.Rand) float64{lognormal(0.013, 0.25), lognormal(0.001, 0.4)}, limit: 20,
		slow: &spells{0.3, 0.03, 0.4}, known: true},
	{name: "webhooks that sleep", law: none(), perS: []float64{200, 100}, demand: []func(*rand.Rand) float64{lognormal(0.05, 0.5), exponential(0.02)}, limit: 60},
	{name: "an idle server", law: Law{Cores: 8}, perS: []float64{30}, demand: []func(*rand.Rand) float64{lognormal(0.02, 0.5)}, limit: 60},
}

// seconds returns how long a log is.
func (s *system) seconds() float64 {
	total := 0.0
	for _, x := range s.perS {
		total += x
	}
	return float64(cmp.Or(s.most, 4000)) / total
}

// run returns the log of so many seconds. Every step, it looks at all requests.
func (s *system) run(seconds float64, seed uint64) (log []Execution) {
	r := rand.New(rand.NewPCG(seed, 1))
	type request struct {
		kind        int
		left, begun float64
	}
	var executing, waiting []request
	total := 0.0
	for _, x := range s.perS {
		total += x
	}
	const peak = 2 // of changes
	now, next := 0.0, r.ExpFloat64()/total/peak
	slow, change := false, inf
	if s.slow != nil {
		change = r.ExpFloat64() * s.slow.everyS
	}
	for now < seconds || len(executing) > 0 {
		first, left := -1, inf
		for i := range executing {
			if executing[i].left < left {
				first, left = i, executing[i].left
			}
		}
		speed := s.law.Speed(len(executing))
		if slow {
			speed *= s.slow.factor
		}
		end := now + left/speed
		at := min(end, next, change)
		for i := range executing {
			executing[i].left -= (at - now) * speed
		}
		now = at
		if at == change {
			if slow = !slow; slow {
				change = now + r.ExpFloat64()*s.slow.lastS
			} else {
				change = now + r.ExpFloat64()*s.slow.everyS
			}
			continue
		}
		if end <= next {
			e := executing[first]
			endS := now
			if s.delay != nil {
				endS += s.delay[e.kind]
			}
			log = append(log, Execution{int64(e.begun * 1e9), int64(endS * 1e9), e.kind})
			executing = append(executing[:first], executing[first+1:]...)
		} else {
			if next += r.ExpFloat64() / total / peak; now > seconds {
				next = inf
			}
			factor := 1.0
			if s.changes != nil {
				factor = s.changes(now)
			}
			if r.Float64()*peak < factor {
				kind, x := 0, r.Float64()*total
				for kind < len(s.perS)-1 && x >= s.perS[kind] {
					x -= s.perS[kind]
					kind++
				}
				waiting = append(waiting, request{kind, s.demand[kind](r), 0})
			}
		}
		for len(waiting) > 0 && len(executing) < s.limit {
			waiting[0].begun = now
			executing, waiting = append(executing, waiting[0]), waiting[1:]
		}
	}
	return log
}

// estimate estimates the capacity from the logs of a seed, one of each server.
func (s *system) estimate(seed uint64) *Estimate {
	var all [][]Execution
	for i := range uint64(max(1, s.servers)) {
		all = append(all, s.run(s.seconds()/float64(max(1, s.servers)), seed+i*1000))
	}
	return New(all...)
}

// The capacity of a server is that from which its logs were made, in 95 % of them; and where a log does not show it,
// the estimate says so. With the flag logs, there are more of them than the test has time for.
func TestCapacityOfKnownSystems(t *testing.T) {
	inside, all := make([]int, len(systems)), make([]int, len(systems))
	t.Run("systems", func(t *testing.T) {
		for i := range systems {
			s := &systems[i]
			if s.proof && !*table {
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				var within [2]int
				right := 0
				for seed := range uint64(*logs) {
					e := s.estimate(seed + 1)
					if !*table {
						t.Logf("%d executions, %d at a time, busy %d: %+v", e.Executions, e.Most, e.Busy, *e)
					}
					if e.Identifiable == s.known {
						right++
					} else if !*table {
						t.Errorf("seed %d: identifiable %v, want %v: %s", seed, e.Identifiable, s.known, e.Reason)
					}
					if !e.Identifiable && (e.Law != none() || e.Cores.Low > s.law.Cores || e.Cores.Low < 1) {
						t.Errorf("seed %d: %+v", seed, *e)
					}
					for k, p := range []struct {
						Interval
						truth float64
					}{{e.Cores, s.law.Cores}, {e.Contention, s.law.Contention}} {
						if p.Low <= p.truth && p.truth <= p.High {
							within[k]++
							inside[i]++
						} else if !*table {
							t.Logf("seed %d: parameter %d: %v is not in %v", seed, k, p.truth, p.Interval)
						}
						all[i]++
					}
				}
				known := "known"
				if !s.known {
					known = "unknown"
				}
				if *table {
					fmt.Printf("| %s | %d | %d | %d %s | %d |\n", s.name, within[0], within[1], right, known, *logs)
				}
			})
		}
	})
	sum, total := 0, 0
	for i := range systems {
		sum += inside[i]
		total += all[i]
	}
	t.Logf("%d of %d parameters are in their 95 %% intervals", sum, total)
	if float64(sum) < 0.9*float64(total) {
		t.Errorf("only %d of %d parameters are in their 95 %% intervals", sum, total)
	}
}

// Creations wait for a webhook while lists share two cores. A law for all of them would be wrong for both.
func TestKindsThatDoNotShare(t *testing.T) {
	lists := system{law: Law{Cores: 2}, perS: []float64{120}, demand: []func(*rand.Rand) float64{lognormal(0.013, 0.3)}, limit: 60}
	creations := system{law: none(), perS: []float64{100}, demand: []func(*rand.Rand) float64{lognormal(0.05, 0.3)}, limit: 60}
	log := lists.run(20, 1)
	for _, e := range creations.run(20, 2) {
		e.Kind = 1
		log = append(log, e)
	}
	e := New(log)
	if !e.Identifiable || !math.IsInf(e.Delays[1], 1) || len(e.Delays) != 1 || e.Cores.Low > 2 || e.Cores.High < 2 {
		t.Errorf("%+v", *e)
	}
	if d := e.DelayNs(1, 77); d != 77 {
		t.Errorf("%d of 77 ns are a delay", d)
	}
}

// Each update waits 8 ms for etcd when it has been served.
func TestDelayOfAKind(t *testing.T) {
	e := New(named(t, "2 cores, updates wait for etcd").run(20, 1))
	if !e.Identifiable || len(e.Delays) != 1 || math.Abs(e.Delays[1]-8e6) > 1.5e6 || e.Cores.Low > 2 || e.Cores.High < 2 {
		t.Errorf("%+v", *e)
	}
	if d := e.DelayNs(1, 77); d != 76 {
		t.Errorf("%d of 77 ns are a delay", d)
	}
}

// If a server is slow at times, requests pile up because they are slow, and the likelihood alone takes it for fewer cores. The instrument does not.
func TestServerThatIsSlowAtTimes(t *testing.T) {
	s := named(t, "2 cores, slow at times")
	off, likely := 0.0, 0.0
	for seed := range uint64(2) {
		log := s.run(s.seconds(), seed+1)
		e := New(log)
		if !e.Identifiable || e.Contention.Low > 0 || e.Cores.Low > 2 || e.Cores.High < 2 {
			t.Errorf("seed %d: %+v", seed, *e)
		}
		search := newSearch(newModel(log))
		search.best(coarse)
		alone := search.cores(search.climb(search.alone[0], fine, 0)[0])
		t.Logf("cores %g, %g by the likelihood alone", e.Law.Cores, alone)
		off += math.Abs(e.Law.Cores - 2)
		likely += math.Abs(alone - 2)
	}
	if off > likely {
		t.Errorf("the cores are off by %g, and those of the likelihood by %g", off/2, likely/2)
	}
}

// Two requests of 10 ms share one core from the beginning of the second on, 4 ms after the first: the first ends after
// 4 + 2·6 ms, and the second 4 ms later.
func TestPrediction(t *testing.T) {
	const ms = 1_000_000
	m := newModel([]Execution{{0, 5 * ms, 0}, {4 * ms, 90 * ms, 0}, {95 * ms, 96 * ms, 0}})
	got := m.predict(Law{Cores: 1}, []float64{10 * ms, 10 * ms, 10 * ms})
	for i, want := range []float64{16 * ms, 16 * ms, 10 * ms} {
		if math.Abs(got[i]-want) > 1 {
			t.Errorf("request %d takes %g, want %g", i, got[i], want)
		}
	}
}

// named returns a system by its name.
func named(t *testing.T, name string) *system {
	t.Helper()
	for i := range systems {
		if systems[i].name == name {
			return &systems[i]
		}
	}
	t.Fatalf("no system %q", name)
	return nil
}
