package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/core/classify"
	"apfsim/core/rules"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// stage is servers without flow control, of which the test is the clients and the network, in virtual time.
type stage struct {
	t        *testing.T
	runState *RunState
	servers  []*Server
	lines    []string // what the clients learn
	open     int      // connections to each server
}

// newStage returns servers; change changes what they are made of.
func newStage(t *testing.T, change func(s *Settings, p *Process)) *stage {
	g := &stage{t: t, runState: NewRunState(Options{NeedsDetails: true})}
	settings := &Settings{Replicas: 1, KubernetesVersion: Versions{Version(rules.Latest().Version)}, RequestTimeout: quantity.Duration(time.Minute), FlowControl: NoFlowControl}
	process := &Process{}
	if change != nil {
		change(settings, process)
	}
	g.servers = New(Deps{Settings: settings, Process: process, ServersMayEnd: true, RunState: g.runState, Clients: g, Network: g})
	return g
}

// Responded implements Clients.
func (g *stage) Responded(nowNs int64, r *Request, response Response) {
	g.lines = append(g.lines, fmt.Sprintf("%v %s: %d %v", time.Duration(nowNs), r.Attributes.Verb, response.Status, response.Failure))
}

// Disconnect, Open and Silenced implement Network.
func (g *stage) Disconnect(int64, *Server, Disconnection) {}
func (g *stage) Open(int64, *Server) int                  { return g.open }
func (g *stage) Silenced(int64, *Request)                 {}

type alarm func(nowNs int64)

func (f alarm) Ring(nowNs int64) { f(nowNs) }

func (g *stage) at(atNs int64, act func(nowNs int64)) { g.runState.StoreAlarms().Set(atNs, alarm(act)) }

// send sends a request for pods to the first server, and returns it.
func (g *stage) send(nowNs int64, verb string, executionNs int64, change func(r *Request)) *Request {
	r := g.runState.NewRequest()
	r.Template = g.runState.NewTemplate(0, 0, classify.Attributes{Verb: verb, Resource: "pods"}, "")
	r.TemplateID, r.ExecutionNs, r.WatchNs, r.ID, r.Attempt = r.Template.TemplateID, executionNs, int64(time.Hour), Unnumbered, 1
	if change != nil {
		change(r)
	}
	g.servers[0].Arrive(nowNs, r)
	return r
}

// run lets everything happen up to a time, that time included. It returns whether more is to happen.
func (g *stage) run(untilNs int64) (more bool) {
	for {
		atNs, ok := g.runState.Events.NextNs()
		if !ok || atNs > untilNs {
			return ok
		}
		e, _ := g.runState.Events.Next()
		if nowNs := g.runState.Events.NowNs(); e.Kind == StoreAlarm {
			g.runState.Alarm(nowNs, e)
		} else {
			g.servers[e.Owner].Handle(nowNs, e)
		}
	}
}

func (g *stage) wants(want ...string) {
	g.t.Helper()
	if !slices.Equal(g.lines, want) {
		g.t.Errorf("the clients have learned\n%s\nwant\n%s", strings.Join(g.lines, "\n"), strings.Join(want, "\n"))
	}
}

// inFlight returns how many requests are at a server.
func (g *stage) inFlight() (n int) {
	g.servers[0].InFlight(func(*Request) { n++ })
	return n
}

// The client of a watch that was initialised at the start of the run leaves: the watch is over at once.
func TestWatchIsLeft(t *testing.T) {
	g := newStage(t, nil)
	r := g.send(0, "watch", 0, nil)
	g.run(time.Second.Nanoseconds())
	if g.inFlight() != 1 || !r.Opened {
		t.Fatalf("%d requests are in flight, the watch is open: %v", g.inFlight(), r.Opened)
	}
	g.servers[0].HangUp(time.Second.Nanoseconds(), r)
	if g.inFlight() != 0 {
		t.Error("the watch is still in flight")
	}
	if more := g.run(time.Hour.Nanoseconds() * 2); more || g.inFlight() != 0 {
		t.Errorf("%d requests are in flight; more is to happen: %v", g.inFlight(), more)
	}
	g.wants("1s watch: 0 3")
}

// A part of the execution that does not depend on the load is added to it, however short it is.
func TestShortDelay(t *testing.T) {
	g := newStage(t, nil)
	r := g.send(0, "get", 5, func(r *Request) { r.Details.DelayNs = 1 })
	if r.Details.RegistryOp != 0 {
		t.Errorf("the request is number %d of those that handlers execute, want none", r.Details.RegistryOp)
	}
	g.run(10)
	g.wants("6ns get: 200 0")
}

// A server without a memory to count needs none.
func TestNoMemoryIsCounted(t *testing.T) {
	g := newStage(t, nil)
	if used, peak, ok := g.servers[0].Memory(0); used != 0 || peak != 0 || ok {
		t.Errorf("%d bytes are used, %d at most", used, peak)
	}
}

// Each server draws its handovers from a stream of its own, which depends on the seed: three requests in a row execute for
// different times, and those of the other server for others.
func TestHandoversAreDrawn(t *testing.T) {
	exponential, err := random.NewExponential(1e6)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	for seed := range uint64(2) {
		for index := range int16(2) {
			s := &Server{index: index}
			s.setHandover(quantity.Distribution{Distribution: exponential}, seed)
			for range 3 {
				seen[s.handover.Sample(&s.handover.stream.Rand)] = true
			}
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d different handovers, want 12", len(seen))
	}
}

// A server that has ended has nothing more to do, however it has ended: no event of its stop is left.
func TestNothingHappensAfterTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		shutdown Shutdown
		end      func(s *Server) func(nowNs int64)
	}{
		"stop":                  {Shutdown{}, func(s *Server) func(int64) { return s.Stop }},
		"stop with Retry-After": {Shutdown{SendRetryAfter: true}, func(s *Server) func(int64) { return s.Stop }},
		"stop with everything": {Shutdown{Delay: quantity.Duration(3 * time.Second), Hooks: quantity.Duration(time.Second), KillAfter: quantity.Duration(20 * time.Second), Audit: quantity.Duration(time.Second)},
			func(s *Server) func(int64) { return s.Stop }},
		"crash": {Shutdown{}, func(s *Server) func(int64) { return s.Crash }},
		"lose":  {Shutdown{}, func(s *Server) func(int64) { return s.Lose }},
	} {
		for _, closed := range []time.Duration{0, 7 * time.Second, time.Hour} { // when the only connection is closed
			g := newStage(t, func(_ *Settings, p *Process) { p.Shutdown = c.shutdown })
			g.open = 1
			g.at(int64(closed), func(int64) { g.open = 0 })
			s, ends := g.servers[0], 0
			g.runState.Observe(Observer{Changed: func(_ int64, s *Server) {
				if s.Stage() == Off {
					ends++
				}
			}})
			g.at(time.Second.Nanoseconds(), c.end(s))
			more := g.run(2 * time.Hour.Nanoseconds())
			if more || s.Stage() != Off || ends != 1 {
				t.Errorf("%s with a connection until %v: the server is %v and has ended %d times, and more is to happen: %v", name, closed, s.Stage(), ends, more)
			}
		}
	}
}

// A server that is told to stop while it starts does not become ready, and a crash is the end of a restart that was to come.
func TestStartIsOvertaken(t *testing.T) {
	g := newStage(t, func(_ *Settings, p *Process) {
		p.Startup.Duration, p.Startup.RestartAfter = quantity.Duration(10*time.Second), quantity.Duration(4*time.Second)
		p.Shutdown.Delay = quantity.Duration(20 * time.Second)
	})
	s := g.servers[0]
	var stages []string
	g.runState.Observe(Observer{Changed: func(nowNs int64, s *Server) {
		stages = append(stages, fmt.Sprintf("%v %v", time.Duration(nowNs), s.Stage()))
	}})
	g.at(time.Second.Nanoseconds(), s.Crash)
	g.at(2*time.Second.Nanoseconds(), func(nowNs int64) { s.Start(nowNs, "") }) // before it would be started again
	g.at(7*time.Second.Nanoseconds(), s.Stop)
	g.run(time.Hour.Nanoseconds())
	if want := []string{"1s off", "2s starting", "7s stopping", "27s not accepting", "27s draining", "27s off"}; !slices.Equal(stages, want) {
		t.Errorf("the server is %q, want %q", stages, want)
	}
}

// From 1.36 on a server that starts is not ready before its watch caches are complete, but waits for them no longer than
// a minute.
func TestReadyWithoutCaches(t *testing.T) {
	for cachesNs, want := range map[time.Duration]time.Duration{time.Second: time.Second, time.Minute: time.Minute, 5 * time.Minute: time.Minute} {
		g := newStage(t, func(_ *Settings, p *Process) { p.Startup.Caches = quantity.Duration(cachesNs) })
		readyNs := int64(0)
		g.runState.Observe(Observer{Changed: func(nowNs int64, s *Server) {
			if s.Stage() == Ready {
				readyNs = nowNs
			}
		}})
		g.at(0, g.servers[0].Crash)
		g.at(time.Second.Nanoseconds(), func(nowNs int64) { g.servers[0].Start(nowNs, "") })
		g.run(time.Hour.Nanoseconds())
		if got := time.Duration(readyNs) - time.Second; got != want {
			t.Errorf("with caches that take %v, the server is ready after %v, want %v", cachesNs, got, want)
		}
	}
}
