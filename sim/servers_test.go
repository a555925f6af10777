package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/core/flowcontrol"
	"apfsim/sim/server"
)

// perServer writes down what happens at which server, and to which flow.
type perServer struct {
	lines    []string
	numbers  []int64
	flows    map[*server.Flow]bool
	kept     map[int64]*server.Template // by the number of the request
	adjusted map[*server.Server][]int64 // when
	sampled  []*server.Server           // at the latest tick
}

func (p *perServer) note(nowNs int64, what string, r *server.Request) {
	p.lines = append(p.lines, fmt.Sprintf("%d s: request %d %s at server %d", nowNs/1e9, r.Number, what, r.Server))
}

func (p *perServer) observer() server.Observer {
	return server.Observer{
		Arrived: func(_ int64, r *server.Request) {
			p.numbers = append(p.numbers, r.Number)
			p.flows[r.Flow] = true
			p.kept[r.Number] = r.Template
		},
		Queued:     func(nowNs int64, r *server.Request) { p.note(nowNs, "waits", r) },
		Dispatched: func(nowNs int64, r *server.Request) { p.note(nowNs, "starts", r) },
		Rejected: func(nowNs int64, r *server.Request) {
			p.note(nowNs, "is rejected: "+r.Rejection.String(), r)
		},
		Adjusted: func(nowNs int64, s *server.Server) { p.adjusted[s] = append(p.adjusted[s], nowNs) },
		Tick: func(_ int64, servers []*server.Server) int64 {
			p.sampled = servers
			return 0
		},
	}
}

// One client sends requests of one template to two servers in turn. Each server has one seat and
// one queue for one request, and decides by itself: the first request of each executes, the second
// waits, and the third is rejected. The client sends that again a second later, when there is room
// in the queues, with a server chosen anew. The servers adjust their limits at different times.
func TestServersShareClientsAndTemplates(t *testing.T) {
	run := New(load(t, strings.Replace(oneSeat, "servers: {", "servers: {replicas: 2, adjustmentPhase: random, loadBalancer: {policy: RoundRobin}, ", 1)+`
  duration: 100s
  workload:
  - name: w
    as: {user: u}
    request: {verb: get, resource: pods, name: x}
    execution: 10s
    connection: PerRequest
    arrivals: {burst: {at: 0s, requests: 6, over: 0s}}
    retry: {maxRetries: 1, backoff: {initial: 11s, factor: 1}}
`))
	p := &perServer{flows: map[*server.Flow]bool{}, kept: map[int64]*server.Template{}, adjusted: map[*server.Server][]int64{}}
	run.Observe(p.observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0 s: request 1 starts at server 0",
		"0 s: request 2 starts at server 1",
		"0 s: request 3 waits at server 0",
		"0 s: request 4 waits at server 1",
		"0 s: request 5 is rejected: queue-full at server 0",
		"0 s: request 6 is rejected: queue-full at server 1",
		"10 s: request 3 starts at server 0",
		"10 s: request 4 starts at server 1",
		"11 s: request 7 waits at server 0",
		"11 s: request 8 waits at server 1",
		"20 s: request 7 starts at server 0",
		"20 s: request 8 starts at server 1",
	}
	if !slices.Equal(p.lines, want) {
		t.Errorf("got\n%v\nwant\n%v", p.lines, want)
	}
	if !slices.Equal(p.numbers, []int64{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("requests are numbered %v, want 1 to 8 in the whole run", p.numbers)
	}
	if len(p.flows) != 1 {
		t.Errorf("there are %d flows, want one that both servers know", len(p.flows))
	}
	for n, template := range p.kept {
		if template != p.kept[1] {
			t.Errorf("request %d has a template of its own", n)
		}
	}
	for i, s := range run.servers {
		if got := s.Levels()[2].Queues(); got == run.servers[1-i].Levels()[2].Queues() {
			t.Error("the servers have the same queues")
		}
		phaseNs := run.Scenario.Spec.AdjustmentPhaseNs(i)
		if i > 0 && phaseNs == run.Scenario.Spec.AdjustmentPhaseNs(0) {
			t.Fatal("the servers have the same adjustment phase, and cannot be told apart by it")
		}
		at := []int64{0}
		for ns := phaseNs; ns < int64(run.Scenario.Spec.Duration); ns += flowcontrol.AdjustmentPeriodNs {
			at = append(at, ns)
		}
		if got := p.adjusted[s]; s.Index() != i || !slices.Equal(got, at) {
			t.Errorf("server %d, of index %d, is adjusted at %v, want %v", i, s.Index(), got, at)
		}
	}
	if !slices.Equal(p.sampled, run.servers) {
		t.Error("a tick does not get the servers of the run in their order")
	}
}
