package calibrate

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"go.yaml.in/yaml/v3"

	"apfsim/core/classify"
	"apfsim/experiment/fit/sharing"
	"apfsim/live/load"
	"apfsim/reports/result"
	"apfsim/sim/scenario/loader"
)

// shared is a server of which the requests share the processors by a law. It finds out whose request is done next from
// what each has received since the last arrival or departure.
type shared struct {
	sharing.Law
	mu      sync.Mutex
	running map[chan struct{}]float64 // demands that remain, in seconds
	since   time.Time
	timer   *time.Timer
	counted Counters
}

func newShared(l sharing.Law) *shared { return &shared{Law: l, running: map[chan struct{}]float64{}} }

// advance serves until now, and sets the timer for the next departure.
func (s *shared) advance() {
	n, now := len(s.running), time.Now()
	speed := s.Speed(n)
	next := math.Inf(1)
	for done := range s.running {
		s.running[done] -= now.Sub(s.since).Seconds() * speed
		if s.running[done] < 1e-9 {
			close(done)
			delete(s.running, done)
		}
	}
	s.since = now
	if n = len(s.running); n == 0 {
		return
	}
	for _, remaining := range s.running {
		next = min(next, remaining/s.Speed(n))
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timer = time.AfterFunc(time.Duration(math.Ceil(1e9*next)), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.advance()
	})
}

// execute returns when a demand has been served.
func (s *shared) execute(seconds float64) {
	done := make(chan struct{})
	began := time.Now()
	s.mu.Lock()
	s.advance()
	s.running[done] = seconds
	s.advance()
	s.mu.Unlock()
	<-done
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted.Requests++
	s.counted.ExecutionSeconds += time.Since(began).Seconds()
}

// options measure a server whose requests have exponential demands, and an answer of which takes a delay.
func (s *shared) options(seed uint64, mean, delay time.Duration) Options {
	r := rand.New(rand.NewPCG(seed, 1))
	return Options{
		Step: 10 * time.Second, MaxLatency: time.Minute, MaxClients: 32, MaxRequests: 1e6,
		Send: func(context.Context, int, int) load.Answer {
			s.mu.Lock()
			x, y := r.ExpFloat64(), r.Float64()
			s.mu.Unlock()
			s.execute(mean.Seconds() * x)
			time.Sleep(time.Duration(2 * y * float64(delay)))
			return load.Answer{Status: 200}
		},
		Observe: func(context.Context) (Counters, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.counted, nil
		},
	}
}

// The parameters of servers are found again, within the intervals that are stated, and most of the intervals contain them.
func TestParametersAreRecovered(t *testing.T) {
	none := math.Inf(1)
	inside, of := 0, 0
	for _, c := range []struct {
		name  string
		law   sharing.Law
		delay time.Duration
	}{
		{"cores", sharing.Law{Cores: 1.75}, 2 * time.Millisecond},
		{"cores", sharing.Law{Cores: 6}, time.Millisecond},
		{"contention", sharing.Law{Cores: none, Contention: 0.2}, 0},
		{"cores and coherency", sharing.Law{Cores: 2, Coherency: 0.002}, time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				curve, err := Run(t.Context(), newShared(c.law).options(7, 10*time.Millisecond, c.delay))
				if err != nil {
					t.Fatal(err)
				}
				got, err := Fit(curve)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%v; %s; %d steps, scatter %.2f", got, curve.Stopped, len(curve.Steps), got.Scatter)
				if !got.Identifiable {
					t.Fatal("it is not identifiable")
				}
				got.Request = &classify.Attributes{}
				got.Request.Verb, got.Request.APIGroup, got.Request.Resource, got.Request.Namespace = "list", "apps", "deployments", "big"
				text := "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec:\n  duration: 1s\n  servers: {capacity: " + got.Fields() + "}\n" +
					"  workload: [{name: a, as: {user: a}, request: {verb: get, path: /version}, execution: 1ms, arrivals: {poisson: {rate: 1/s}}}]\n"
				all, wrong := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{})
				if len(wrong) > 0 || all[0].Spec.Servers.Capacity.Interval == nil {
					t.Fatalf("a scenario does not take %s: %v", got.Fields(), wrong)
				}
				if x, cores := all[0].Spec.Servers.Capacity.Calibrated, !math.IsInf(got.Law.Cores, 1); (x != nil) != cores || cores && (x.Verb != "list" || x.Group != "apps" || x.Resource != "deployments" || x.Namespace != "big" || x.Demand == 0) {
					t.Errorf("measured with %+v", x)
				}
				if d := got.Demand.Seconds() / 0.010; d < 0.95 || d > 1.05 {
					t.Errorf("demand %v, want 10ms", got.Demand)
				}
				for n := 1; n <= got.Measured; n++ {
					if x := got.Law.Throughput(n) / c.law.Throughput(n); x < 0.93 || x > 1.07 {
						t.Errorf("the throughput of %d requests is %.3f times the true one", n, x)
					}
				}
				truth := c.law.Throughput(got.Measured) / 0.010
				perSecond := got.Law.Throughput(got.Measured) / got.Demand.Seconds()
				if got.Throughput.Low > 1 || got.Throughput.High < 1 || got.Throughput.Low < 0.85 || got.Throughput.High > 1.15 {
					t.Errorf("the throughput is in %.3f", got.Throughput)
				}
				for _, p := range []struct {
					truth float64
					in    sharing.Interval
				}{{truth / perSecond, got.Throughput}, {c.law.Cores, got.Cores}, {c.law.Contention, got.Contention}, {c.law.Coherency, got.Coherency}} {
					of++
					if p.truth >= p.in.Low && p.truth <= p.in.High {
						inside++
					}
				}
			})
		})
	}
	if inside < of-1 {
		t.Errorf("%d of %d intervals contain the truth", inside, of)
	}
}

// The interval of the throughput is that of another period: it contains those of the saturated steps of another measurement, and it is the interval of
// the parameter that a scenario has.
func TestThroughputOfAnotherPeriod(t *testing.T) {
	for _, law := range []sharing.Law{{Cores: 2}, {Cores: math.Inf(1), Contention: 0.2}} {
		var curves []*Curve
		for seed := range uint64(4) {
			synctest.Test(t, func(t *testing.T) {
				o := newShared(law).options(seed, 10*time.Millisecond, time.Millisecond)
				o.Step = 3 * time.Second
				curve, err := Run(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				curves = append(curves, curve)
			})
		}
		inside, all := 0, 0
		for i, curve := range curves {
			c, err := Fit(curve)
			if err != nil {
				t.Fatal(err)
			}
			if c.Throughput.Low < 0.8 || c.Throughput.High > 1.2 {
				t.Errorf("%v: the throughput is in %.3f", law, c.Throughput)
			}
			perSecond := c.Law.Throughput(c.Measured) / c.Demand.Seconds()
			for _, s := range curves[(i+1)%len(curves)].Steps {
				if s.Clients < c.Measured {
					continue
				}
				part := s.PerSecond / perSecond
				all++
				if part >= c.Throughput.Low && part <= c.Throughput.High {
					inside++
				}
			}
			var fields struct {
				Interval struct{ Cores, Contention struct{ Low, High float64 } }
			}
			if err := yaml.Unmarshal([]byte(c.Fields()), &fields); err != nil {
				t.Fatal(err)
			}
			low, high := c.Law, c.Law
			if math.IsInf(law.Cores, 1) {
				low.Contention, high.Contention = fields.Interval.Contention.High, fields.Interval.Contention.Low
			} else {
				low.Cores, high.Cores = fields.Interval.Cores.Low, fields.Interval.Cores.High
			}
			for part, l := range map[float64]sharing.Law{c.Throughput.Low: low, c.Throughput.High: high} {
				if x := l.Throughput(c.Measured) / c.Law.Throughput(c.Measured); math.Abs(x-part) > 0.002 {
					t.Errorf("%s: an end has %.3f of the throughput, want %.3f", c.Fields(), x, part)
				}
			}
		}
		if all < 8 || float64(inside) < 0.9*float64(all) {
			t.Errorf("%v: %d of %d steps are inside", law, inside, all)
		}
	}
}

// If more clients make requests wait before and after their executions rather than in them, these do not say what the server can do.
func TestExecutionsThatAreNotWhatIsBusy(t *testing.T) {
	for _, c := range []struct {
		execution float64 // of four clients
		known     bool
	}{{24e6, true}, {18e6, false}} {
		curve := &Curve{}
		for _, s := range []struct {
			clients                       int
			perSecond, latency, execution float64
		}{{1, 90, 11e6, 10e6}, {2, 120, 16.5e6, 14e6}, {4, 120, 33e6, c.execution}, {4, 120, 33e6, c.execution}, {2, 120, 16.5e6, 14e6}, {1, 90, 11e6, 10e6}} {
			curve.Steps = append(curve.Steps, Step{Clients: s.clients, PerSecond: s.perSecond, Error: 1, Execution: &s.execution, Latency: result.Distribution{MeanNs: int64(s.latency)}})
		}
		got, err := Fit(curve)
		if err != nil {
			t.Fatal(err)
		}
		if got.Identifiable != c.known || !c.known && !strings.Contains(got.String(), "unknown, because 63.6 % of what more clients add to the latency is before and after the executions") {
			t.Errorf("executions of %v ns: %v", c.execution, got)
		}
	}
}

// A server that is not busy with all clients gives a lower bound.
func TestNotIdentifiable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newShared(sharing.Law{Cores: 64}).options(3, 10*time.Millisecond, time.Millisecond)
		curve, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Fit(curve)
		if err != nil {
			t.Fatal(err)
		}
		if got.Identifiable || got.Cores.Low < 10 || !math.IsInf(got.Cores.High, 1) || got.Fields() != "{measured: 29}" {
			t.Errorf("%v, %s; want at least 10 cores, and nothing else", got, got.Fields())
		}
		if curve.Stopped != "32 clients are the most that are allowed" {
			t.Errorf("stopped: %s", curve.Stopped)
		}
	})
}

// The throughput of a closed network is that of a machine of its own for each client without others, and that of all cores
// with many; between, it is that of a direct solution for two clients.
func TestThroughput(t *testing.T) {
	l := sharing.Law{Cores: 1}
	// Two clients, one core, demand 1, delay 1: p(2) = 1, p(1) = 1, p(0) = 1/2, so that the core is busy 4/5 of the time.
	if x := throughput(l, 2, 1, 1); math.Abs(x-0.8) > 1e-12 {
		t.Errorf("%v, want 0.8", x)
	}
	if x := throughput(l, 200, 1, 1); math.Abs(x-1) > 1e-9 {
		t.Errorf("%v, want 1", x)
	}
	if x := throughput(sharing.Law{Cores: math.Inf(1)}, 7, 2, 3); math.Abs(x-7./5) > 1e-12 {
		t.Errorf("%v, want 7/5", x)
	}
	if x := throughput(sharing.Law{Cores: 1.75}, 16, 0.0122, 0); math.Abs(x-1.75/0.0122) > 1e-9 {
		t.Errorf("%v, want 143", x)
	}
}

// Steps in which flow control makes requests wait end the growth, and are not used: they show its limits, and not the server.
func TestWaitsInFlowControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared(sharing.Law{Cores: 64})
		o := s.options(5, 10*time.Millisecond, 0)
		seats := make(chan bool, 3)
		send := o.Send
		o.Send = func(ctx context.Context, client, number int) load.Answer {
			began := time.Now()
			seats <- true
			s.mu.Lock()
			s.counted.WaitSeconds += time.Since(began).Seconds()
			s.mu.Unlock()
			defer func() { <-seats }()
			return send(ctx, client, number)
		}
		curve, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Fit(curve)
		if err != nil {
			t.Fatal(err)
		}
		if got.Identifiable || got.Measured != 2 || len(curve.used()) != 4 || curve.Stopped != curve.Steps[2].Unused || curve.Stopped == "" {
			t.Errorf("%v, %d steps used, stopped: %s; want nothing known above 2 clients", got, len(curve.used()), curve.Stopped)
		}
	})
}

// A server that executes fewer requests than were sent, or more, counts others as well, and its times are not used.
func TestCountersOfOthers(t *testing.T) {
	s := &Step{Clients: 1}
	s.add(Counters{Requests: 150, ExecutionSeconds: 10}, Counters{Requests: 30}, 100)
	if s.Execution != nil {
		t.Errorf("%v, want nothing", *s.Execution)
	}
	s.add(Counters{Requests: 130, ExecutionSeconds: 10}, Counters{Requests: 30, ExecutionSeconds: 9}, 100)
	if s.Execution == nil || *s.Execution != 1e7 {
		t.Errorf("%v, want 10 ms", s.Execution)
	}
}
