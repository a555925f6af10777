package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"apfsim/sim/machine"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// story writes down what happens to the requests of a run, in milliseconds.
type story []string

func (s *story) say(what string) func(nowNs int64, r *server.Request) {
	return func(nowNs int64, r *server.Request) {
		*s = append(*s, fmt.Sprintf("%v ms: %d %s", float64(nowNs)/1e6, r.Number, what))
	}
}

// observer notes the ends of executions, and what the clients are answered.
func (s *story) observer() server.Observer {
	return server.Observer{
		Dispatched: s.say("dispatched"), Executed: s.say("executed"), Released: s.say("released"), Rejected: s.say("rejected"),
		Answered: func(nowNs int64, r *server.Request) { s.say(fmt.Sprintf("answered %d", r.Status))(nowNs, r) },
	}
}

// wantStory executes a run and compares its story.
func wantStory(t *testing.T, run *Run, want ...string) {
	t.Helper()
	var s story
	run.Observe(s.observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	for i := range max(len(s), len(want)) {
		if i >= len(s) || i >= len(want) || s[i] != want[i] {
			t.Errorf("the story is\n%q\nwant\n%q", s, want)
			return
		}
	}
}

// withServers adds fields to the servers of a soleLevel.
func withServers(spec, fields string) string {
	return strings.Replace(spec, "servers: {", "servers: {"+fields+", ", 1)
}

const stepsWorkload = `
  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods}, execution: 20ms, delay: 5ms, arrivals: {burst: {at: 0s, requests: 2, over: 2ms}}}]
`

// One seat, and two requests. A handover of 10 ms comes before the demand of 20 ms and a delay of 5 ms
// after it, all with the seat.
func TestStepsOfAnExecution(t *testing.T) {
	spec := withServers(soleLevel(1, oneQueue, "  duration: 1s"), "handover: 10ms") + stepsWorkload
	for _, sc := range []*scenario.Scenario{load(t, spec), on(machine.Capacity{Cores: 1}, load(t, spec))} {
		wantStory(t, New(sc),
			"0 ms: 1 dispatched",
			"35 ms: 1 executed", "35 ms: 1 released", "35 ms: 2 dispatched", "35 ms: 1 answered 200",
			"70 ms: 2 executed", "70 ms: 2 released", "70 ms: 2 answered 200")
	}
}

// The seat is held while the server waits for a call of 3 ms, which comes before the demand.
func TestCallsBeforeTheDemand(t *testing.T) {
	spec := strings.Replace(stepsWorkload, "resource: pods}", "resource: pods, calls: [{name: c, kind: MutatingWebhook, latency: 3ms}]}", 1)
	wantStory(t, New(load(t, soleLevel(1, oneQueue, "  duration: 1s")+spec)),
		"0 ms: 1 dispatched",
		"28 ms: 1 executed", "28 ms: 1 released", "28 ms: 2 dispatched", "28 ms: 1 answered 200",
		"56 ms: 2 executed", "56 ms: 2 released", "56 ms: 2 answered 200")
}
