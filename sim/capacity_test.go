package sim

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"apfsim/sim/machine"
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
