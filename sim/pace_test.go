package sim

import (
	"context"
	"fmt"
	"testing"

	"apfsim/sim/server"
)

// The speed is that of the capacity at first, then that of the events of the scenario. A get of 4 s begins at
// 0: it has done 1 s at 1 s, 1.5 s at 2 s, and ends at 2 + 2.5/0.25 = 12 s.
func TestSpeedChanges(t *testing.T) {
	wantStory(t, New(load(t, `
  duration: 20s
  servers: {flowControl: None, capacity: {speed: [{at: 1s, factor: 0.5}]}}
  events: [{at: 2s, speed: {factor: 0.25}}]
  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 4s, arrivals: {burst: {at: 0s, requests: 1}}}]
`)), "0 ms: 1 dispatched", "12000 ms: 1 executed", "12000 ms: 1 released", "12000 ms: 1 answered 200")
}

// Events to watches take cores from requests. Of 1 000 watches, each gets an event for each write: 4 in the
// first second, which take 2 cores of 4 in the next, if one takes 0.5 ms. A get that begins at 1 s then shares
// 2 cores with three others. A change of the speed to what it is makes no difference.
func TestWatchEventsTakeCores(t *testing.T) {
	for _, speed := range []string{"", ", speed: [{at: 800ms, factor: 1}]"} {
		run := New(load(t, `
  duration: 6s
  servers: {flowControl: None, capacity: {cores: 4, watchEvent: 500us`+speed+`}}
  workload:
  - {name: watches, clients: 1000, as: {user: u}, request: {verb: watch, resource: pods, watch: {duration: 1h}}, execution: 0s, arrivals: {burst: {at: 0s, requests: 1}}}
  - {name: writes, as: {user: u}, request: {verb: update, resource: pods, name: x, namespace: n}, execution: 1ms, arrivals: {burst: {at: 0.1s, requests: 4, over: 0.4s}}}
  - {name: gets, clients: 4, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {burst: {at: 1s, requests: 1}}}
`))
		ended := map[string]int{}
		run.Observe(server.Observer{Executed: func(nowNs int64, r *server.Request) {
			if r.Attributes.Verb == "get" {
				ended[fmt.Sprintf("%v s", float64(nowNs)/1e9)]++
			}
		}})
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		// At half speed they have done half of their demand after a second, and the rest at full speed.
		if got, want := fmt.Sprint(ended), "map[2.5 s:4]"; got != want {
			t.Errorf("the gets end at %s, want %s", got, want)
		}
	}
}

// A capacity without bounds changes nothing: the same requests end at the same times.
func TestUnboundedCapacityChangesNothing(t *testing.T) {
	spec := soleLevel(4, oneQueue, "  duration: 20s") + clients(20, "{exponential: {mean: 8ms}}", "{poisson: {rate: 22/s}}")
	var stories []story
	for _, spec := range []string{spec, withServers(spec, "capacity: {}")} {
		run := New(load(t, spec))
		var s story
		run.Observe(s.observer())
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		stories = append(stories, s)
	}
	for i := range max(len(stories[0]), len(stories[1])) {
		if i >= len(stories[0]) || i >= len(stories[1]) || stories[0][i] != stories[1][i] {
			t.Fatalf("the stories differ from step %d on", i)
		}
	}
	if len(stories[0]) < 30_000 {
		t.Errorf("the story has %d steps only", len(stories[0]))
	}
}
