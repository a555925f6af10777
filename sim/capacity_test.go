package sim

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"apfsim/sim/machine"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// on gives the servers of a scenario a capacity.
func on(c machine.Capacity, sc *scenario.Scenario) *scenario.Scenario {
	sc.Spec.Servers.Capacity = &c
	return sc
}

// sojourns adds up how long requests are at the server.
type sojourns struct {
	n     int64
	sumNs float64
	story []string
}

func (s *sojourns) executed(nowNs int64, r *server.Request) {
	s.n++
	s.sumNs += float64(nowNs - r.ArrivalNs)
	s.story = append(s.story, fmt.Sprintf("%d ns", nowNs))
}

// The ends of executions move as others begin and end. Three requests of 60 ns arrive at 0, 30 and
// 60 ns: the first has done 30 at 30, and 45 at 60; its other 15 take three times as long, until
// 105. By then the second has done 30, the third 15; they go on at half speed. The second has 30
// left, until 165, and then the third 15, alone.
func TestCapacityMovesFinishes(t *testing.T) {
	run := New(on(machine.Capacity{Cores: 1}, load(t, `
  duration: 1s
  servers: {flowControl: None}
  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods}, execution: 60ns, arrivals: {burst: {at: 0s, requests: 3, over: 90ns}}}]
`)))
	s := &sojourns{}
	run.Observe(server.Observer{Executed: s.executed})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"105 ns", "165 ns", "180 ns"}; !slices.Equal(s.story, want) {
		t.Errorf("executions end at %v, want %v", s.story, want)
	}
}

// The same three requests take turns of 40 ns. The first gives way at 40 ns, with 20 left, to the second, and the third waits from 60 on behind
// it. At 80 the second gives way to the first, which ends at 100. The third has its turn until 140, then the second ends
// at 160, and the third has its other 20.
func TestTurnsChangeTheOrder(t *testing.T) {
	for range 2 { // the same seed gives the same run
		run := New(on(machine.Capacity{Cores: 1, Turn: 40}, load(t, `
  duration: 1s
  servers: {flowControl: None}
  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods}, execution: 60ns, arrivals: {burst: {at: 0s, requests: 3, over: 90ns}}}]
`)))
		s := &sojourns{}
		run.Observe(server.Observer{Executed: s.executed})
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if want := []string{"100 ns", "160 ns", "180 ns"}; !slices.Equal(s.story, want) {
			t.Errorf("executions end at %v, want %v", s.story, want)
		}
	}
}

// A list of 40 ms has one core. A request of 3 ms comes after 2 ms, and comes to the core as often as it says, 3 ms in all, before its delay of
// 4 ms. With turns of 10 ms, it waits until 10, 21 and 32 ms for its three visits of 1 ms, and for one visit only until 10 ms. If all progress all the
// time, it has half of the core until 8 ms, however often it comes.
func TestRequestsWaitForEachVisit(t *testing.T) {
	for _, c := range []struct {
		turn   time.Duration
		visits string
		want   []string
	}{
		{10 * time.Millisecond, "visits: 3, ", []string{"37 ms: mouse", "43 ms: list"}},
		{10 * time.Millisecond, "visits: 1, ", []string{"17 ms: mouse", "43 ms: list"}},
		{10 * time.Millisecond, "", []string{"17 ms: mouse", "43 ms: list"}},
		{0, "visits: 3, ", []string{"12 ms: mouse", "43 ms: list"}},
		{0, "", []string{"12 ms: mouse", "43 ms: list"}},
	} {
		tellsEnds(t, fmt.Sprintf("turn %v, %s", c.turn, c.visits), on(machine.Capacity{Cores: 1, Turn: quantity.Duration(c.turn)}, load(t, `
  duration: 1s
  servers: {flowControl: None}
  workload:
  - {name: list, as: {user: l}, request: {verb: list, resource: pods}, execution: 40ms, arrivals: {burst: {at: 0s, requests: 1}}}
  - {name: mouse, as: {user: m}, request: {verb: get, resource: pods}, execution: 3ms, delay: 4ms, `+c.visits+`arrivals: {burst: {at: 2ms, requests: 1}}}
`)), c.want...)
	}
}

// The server has one seat for reads. The request of three visits is rejected at 100 ms, while a list has the seat, and comes again a second later, when
// a write has one core since 1098 ms. It waits until 1108, 1119 and 1130 ms for its visits of 1 ms, as it would have the first time.
func TestRetriesKeepTheirVisits(t *testing.T) {
	tellsEnds(t, "retry", on(machine.Capacity{Cores: 1, Turn: quantity.Duration(10 * time.Millisecond)}, load(t, `
  duration: 2s
  servers: {flowControl: MaxInFlight, maxRequestsInflight: 1, maxMutatingRequestsInflight: 1}
  workload:
  - {name: list, as: {user: l}, request: {verb: list, resource: pods}, execution: 500ms, arrivals: {burst: {at: 0s, requests: 1}}}
  - {name: mouse, as: {user: m}, request: {verb: get, resource: pods}, execution: 3ms, visits: 3, retry: ClientGo, arrivals: {burst: {at: 100ms, requests: 1}}}
  - {name: write, as: {user: w}, request: {verb: create, resource: pods}, execution: 60ms, arrivals: {burst: {at: 1098ms, requests: 1}}}
`)), "500 ms: list", "1131 ms: mouse", "1161 ms: write")
}

// tellsEnds compares when executions end, by the users who asked.
func tellsEnds(t *testing.T, what string, sc *scenario.Scenario, want ...string) {
	t.Helper()
	var got []string
	run := New(sc)
	run.Observe(server.Observer{Executed: func(nowNs int64, r *server.Request) {
		got = append(got, fmt.Sprintf("%v ms: %s", float64(nowNs)/1e6, sc.Spec.Workload[r.Workload].Name))
	}})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: executions end at %v, want %v", what, got, want)
	}
}
