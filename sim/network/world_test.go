package network_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"apfsim/core/classify"
	"apfsim/core/rules"
	"apfsim/sim/network"
	"apfsim/sim/quantity"
	"apfsim/sim/server"
)

// Units of time, in nanoseconds.
const (
	millisecond = int64(time.Millisecond)
	second      = int64(time.Second)
	minute      = int64(time.Minute)
)

// world is a network between servers without flow control and clients of the test, in virtual time.
type world struct {
	*network.Network
	t        *testing.T
	runState *server.RunState
	servers  []*server.Server
	labels   []string // of the requests, by their ID
	lines    []string // what the clients learn
	after    func()   // is called after each event
}

// plan is what a world is made of.
type plan struct {
	servers int
	process server.Process
	network network.Deps
}

// newWorld returns the world of a plan. Without workloads there is one of ten clients with HTTP/2.
func newWorld(t *testing.T, p plan) *world {
	w := &world{t: t, runState: server.NewRunState(server.Options{NeedsDetails: true})}
	settings := &server.Settings{
		Replicas: p.servers, KubernetesVersion: server.Versions{server.Version(rules.Latest().Version)},
		RequestTimeout: quantity.Duration(time.Minute), FlowControl: server.NoFlowControl,
	}
	d := p.network
	if d.Workloads == nil {
		d.Workloads = []network.Workload{{Name: "w", Clients: 10}}
	}
	d.RunState, d.Clients = w.runState, w
	d.Servers = func(n *network.Network) []*server.Server {
		return server.New(server.Deps{Settings: settings, Process: &p.process, ServersMayEnd: true, RunState: w.runState, Clients: n, Network: n})
	}
	w.Network = network.New(d)
	w.servers = w.Servers()
	return w
}

// Responded implements server.Clients.
func (w *world) Responded(nowNs int64, r *server.Request, response server.Response) {
	text := fmt.Sprint(response.Status)
	if response.Status == 0 {
		text = map[server.Failure]string{server.FailedToConnect: "no connection", server.BrokenConnection: "connection broken", server.ClientTimedOut: "timed out"}[response.Failure]
	}
	w.lines = append(w.lines, fmt.Sprintf("%v %s at %d: %s", time.Duration(nowNs), w.labels[r.ID], r.Server, text))
}

// alarm makes a test act at a time.
type alarm func(nowNs int64)

func (f alarm) Ring(nowNs int64) { f(nowNs) }

// at makes the test act at a time.
func (w *world) at(atNs int64, act func(nowNs int64)) { w.runState.StoreAlarms().Set(atNs, alarm(act)) }

// request returns a request that executes for some time.
func (w *world) request(label string, executionNs int64) *server.Request {
	r := w.runState.NewRequest()
	r.Template = w.runState.NewTemplate(0, 0, classify.Attributes{Verb: "get", Resource: "pods", Name: "x"}, "")
	r.TemplateID, r.ExecutionNs, r.ID, r.Attempt = r.Template.TemplateID, executionNs, int64(len(w.labels)), 1
	w.labels = append(w.labels, label)
	return r
}

// send sends a request of a client of the first workload at a time.
func (w *world) send(atNs int64, client int, label string, executionNs int64) {
	w.at(atNs, func(nowNs int64) { w.Send(nowNs, w.request(label, executionNs), 0, client) })
}

// run lets everything happen up to a time, that time included.
func (w *world) run(untilNs int64) {
	w.t.Helper()
	for {
		if atNs, ok := w.runState.Events.NextNs(); !ok || atNs > untilNs {
			return
		}
		e, _ := w.runState.Events.Next()
		switch nowNs := w.runState.Events.NowNs(); e.Kind {
		case server.Connect:
			w.Handle(nowNs, e)
		case server.StoreAlarm:
			w.runState.Alarm(nowNs, e)
		default:
			w.servers[e.Owner].Handle(nowNs, e)
		}
		if w.after != nil {
			w.after()
		}
	}
}

// wants fails the test if the clients have learned something else; a line each.
func (w *world) wants(want string) {
	w.t.Helper()
	if got := strings.Join(w.lines, "\n"); got != strings.TrimSpace(want) {
		w.t.Errorf("the clients have learned\n%s\nwant\n%s", got, strings.TrimSpace(want))
	}
}

// connections fails the test if the servers have other numbers of connections.
func (w *world) connections(want ...int) {
	w.t.Helper()
	var got []int
	for i := range w.servers {
		got = append(got, w.Connections(i))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("%v: %v connections, want %v", time.Duration(w.runState.Events.NowNs()), got, want)
	}
}
