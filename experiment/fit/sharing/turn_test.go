package sharing

import (
	"math/rand/v2"
	"testing"
)

// A server that is slow at times is busy then, and its short requests are slow. That is no turn.
func TestSlowTimesAreNoTurns(t *testing.T) {
	s := named(t, "2 cores, slow at times")
	for seed := range uint64(5) {
		if turn := Given(s.law, nil, s.run(s.seconds(), seed+1)).Turn; turn.Ns != 0 || turn.Requests < 1000 {
			t.Errorf("seed %d: %+v", seed, *turn)
		}
	}
}

// On one core with turns of 5 ms, a get waits for the rest of the turn of a list that executes. Its demand is known only if it finds
// the core free.
func TestTurnOnOneCore(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const ms = 1_000_000
	var log []Execution
	for i := range int64(4000) {
		at := i * 100 * ms
		switch demand := int64((0.8 + 0.4*r.Float64()) * ms); i % 4 {
		case 0: // a get that comes 2 ms after the list, and waits for 3 ms
			log = append(log, Execution{at, at + 20*ms + demand, 0}, Execution{at + 2*ms, at + 5*ms + demand, 1})
		case 1: // one that comes when the turn of the list is over, and waits for nothing
			log = append(log, Execution{at, at + 20*ms + demand, 0}, Execution{at + 7*ms, at + 7*ms + demand, 1})
		default:
			log = append(log, Execution{at, at + demand, 1})
		}
	}
	turn := Given(Law{Cores: 1}, nil, log).Turn
	if turn.Ns != 5*ms || turn.Requests != 4000 || !turn.Short(1) || turn.Short(0) {
		t.Errorf("%+v", *turn)
	}
	for _, given := range []int64{0, 2 * ms} {
		if turn := Given(Law{Cores: 1}, &given, log).Turn; turn.Ns != given || turn.Short(1) != (given > 0) || turn.LowNs != 0 {
			t.Errorf("given %d ns: %+v", given, *turn)
		}
	}
	demands := map[any]float64{}
	free := map[any]bool{}
	m := NewMeter(Law{Cores: 1}, 5*ms, func(tag any, ns float64, place bool) { demands[tag], free[tag] = ns/ms, place })
	m.Add(0, 0, 21*ms, "list")
	m.Add(2*ms, 2*ms, 6*ms, "get")
	m.Add(30*ms, 30*ms, 31*ms, "alone")
	m.Close()
	if demands["list"] != 20 || demands["get"] != 1 || demands["alone"] != 1 || free["get"] || !free["list"] || !free["alone"] {
		t.Errorf("demands %v, free %v", demands, free)
	}
}

// Without more requests at a time than cores, or without short ones, a log says nothing of turns.
func TestLogsWithoutTurns(t *testing.T) {
	idle, alike := system{law: Law{Cores: 8}, perS: []float64{30}, demand: []func(*rand.Rand) float64{lognormal(0.02, 0.5)}, limit: 60}, named(t, "constant demands, 2 cores")
	for _, s := range []*system{&idle, alike} {
		if turn := Given(s.law, nil, s.run(10, 1)).Turn; turn.Ns != 0 || turn.Requests != 0 {
			t.Errorf("%+v", *turn)
		}
	}
	if turn := Given(none(), nil, alike.run(10, 1)).Turn; turn.Ns != 0 || turn.Requests != 0 {
		t.Errorf("%+v", *turn)
	}
}
