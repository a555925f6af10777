package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"apfsim/core/queueset"
	"apfsim/sim/machine"
	"apfsim/sim/server"
)

// The names of the tests are rows of the table of cases that were found by running kube-apiserver's
// filters; TestDeadlinesLikeUpstream in conformance runs them.

// eachWay runs a scenario twice: with the ends of executions known at dispatch, and with requests that
// have Details and share a machine on which they do not slow down each other.
func eachWay(t *testing.T, spec string, test func(t *testing.T, run *Run)) {
	t.Run("fixed", func(t *testing.T) { test(t, New(load(t, spec))) })
	t.Run("capacity", func(t *testing.T) {
		test(t, New(on(machine.Capacity{}, load(t, spec))))
	})
}

// L12: a get with timeout=1s and 4 s of work is answered at 1 s, and has its seat until 4 s.
func TestL12ReadGoesOnAfterItsDeadline(t *testing.T) {
	eachWay(t, soleLevel(1, oneQueue, "  duration: 20s")+`
  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods, name: x, query: timeout=1s}, execution: 4s, arrivals: {burst: {at: 0s, requests: 1}}}]
`, func(t *testing.T, run *Run) {
		wantStory(t, run, "0 ms: 1 dispatched", "1000 ms: 1 answered 504", "4000 ms: 1 executed", "4000 ms: 1 released")
	})
}

// L13: a patch that has waited for 10 s and has 40 s of work ends 34 s after its dispatch.
func TestL13WriteEndsAfterItsLimit(t *testing.T) {
	spec := strings.Replace(soleLevel(1, oneQueue, "  duration: 100s"), "requestTimeout: 240s", "requestTimeout: 60s", 1)
	eachWay(t, spec+`
  workload:
  - {name: first, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 10s, arrivals: {burst: {at: 0s, requests: 1}}}
  - {name: patch, as: {user: u}, request: {verb: patch, resource: pods, name: x}, execution: 40s, arrivals: {burst: {at: 0s, requests: 1}}}
`, func(t *testing.T, run *Run) {
		wantStory(t, run, "0 ms: 1 dispatched",
			"10000 ms: 1 executed", "10000 ms: 1 released", "10000 ms: 2 dispatched", "10000 ms: 1 answered 200",
			"44000 ms: 2 answered 504", "44000 ms: 2 executed", "44000 ms: 2 released")
	})
}

// L14: a request with timeout=2s waits for 0.5 s at most. The client may come back after a second.
func TestL14TimeoutShortensTheWait(t *testing.T) {
	eachWay(t, soleLevel(1, oneQueue, "  duration: 10s")+`
  workload:
  - {name: first, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 5s, arrivals: {burst: {at: 0s, requests: 1}}}
  - {name: second, as: {user: u}, request: {verb: get, resource: pods, name: x, query: timeout=2s}, execution: 1s, retry: {maxRetries: 0}, arrivals: {burst: {at: 0s, requests: 1}}}
`, func(t *testing.T, run *Run) {
		wantStory(t, run, "0 ms: 1 dispatched", "500 ms: 2 rejected", "500 ms: 2 answered 429",
			"5000 ms: 1 executed", "5000 ms: 1 released", "5000 ms: 1 answered 200")
	})
}

// L15: 20 clients that wait in a queue leave. They are rejected as time-outs, and are 20 drops, of which
// the level's advice to come back later speaks afterwards.
func TestL15ClientsLeaveTheQueue(t *testing.T) {
	run := New(load(t, soleLevel(1, oneQueue, "  duration: 20s")+`
  workload:
  - {name: first, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 10s, arrivals: {burst: {at: 0s, requests: 1}}}
  - {name: leave, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1s, clientTimeout: 3s, arrivals: {burst: {at: 1s, requests: 20}}}
  - {name: later, as: {user: u}, request: {verb: get, resource: pods, name: x, query: timeout=2s}, execution: 1s, arrivals: {burst: {at: 5s, requests: 1}}, retry: {maxRetries: 0}}
`))
	rejected, answered, advice := 0, 0, int16(0)
	run.Observe(server.Observer{
		Rejected: func(nowNs int64, r *server.Request) {
			if r.Details.HungUp {
				rejected++
			}
			if r.Rejection != queueset.TimedOut || r.AtDeadline() {
				t.Errorf("request %d: rejected as %q, at its deadline: %v", r.Number, r.Rejection, r.AtDeadline())
			}
			advice = r.RetryAfterSeconds
		},
		Answered: func(nowNs int64, r *server.Request) {
			if r.Details.HungUp {
				answered++
			}
			if nowNs == 4e9 && r.Status != 0 {
				t.Errorf("a client that has left is answered %d", r.Status)
			}
		},
	})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if rejected != 20 || answered != 20 {
		t.Errorf("%d clients that left are rejected, and %d answered; want 20", rejected, answered)
	}
	if advice < 2 {
		t.Errorf("Retry-After %d after 20 drops; want more than 1", advice)
	}
}

// A client that leaves while its request executes ends a write, but not a read. A watch is not affected once
// it is initialized; before, it ends when it would have been.
func TestClientLeavesDuringExecution(t *testing.T) {
	run := New(on(machine.Capacity{}, load(t, soleLevel(4, oneQueue, "  duration: 20s")+`
  workload:
  - {name: read, as: {user: u}, request: {verb: list, resource: pods}, execution: 3s, clientTimeout: 1s, arrivals: {burst: {at: 0s, requests: 1}}}
  - {name: write, as: {user: u}, request: {verb: create, resource: pods}, execution: 3s, clientTimeout: 1s, arrivals: {burst: {at: 0s, requests: 1}}}
  - {name: short, as: {user: u}, request: {verb: watch, resource: pods, watch: {duration: 5s}}, execution: 2s, clientTimeout: 3s, arrivals: {burst: {at: 0s, requests: 1}}}
  - {name: long, as: {user: u}, request: {verb: watch, resource: pods, watch: {duration: 5s}}, execution: 4s, clientTimeout: 3s, arrivals: {burst: {at: 0s, requests: 1}}}
`)))
	wantStory(t, run, "0 ms: 1 dispatched", "0 ms: 2 dispatched", "0 ms: 3 dispatched", "0 ms: 4 dispatched",
		"1000 ms: 1 answered 0", "1000 ms: 2 answered 0", "1000 ms: 2 executed", "1000 ms: 2 released",
		"2000 ms: 3 executed", "2000 ms: 3 released",
		"3000 ms: 1 executed", "3000 ms: 1 released", "3000 ms: 4 answered 0",
		"4000 ms: 4 executed", "4000 ms: 4 released",
		"7000 ms: 3 answered 200")
}

// A long-running request has no deadline, and a deletecollection that of a read, with which it ends.
func TestWhoHasADeadline(t *testing.T) {
	for request, want := range map[string]string{
		"{verb: get, resource: pods, subresource: log, name: x}": "[100000 ms: 1 executed 100000 ms: 1 answered 200]",
		"{verb: watch, resource: pods, watch: {duration: 1s}}":   "[100000 ms: 1 executed 101000 ms: 1 answered 200]",
		"{verb: deletecollection, resource: pods}":               "[60000 ms: 1 answered 504 60000 ms: 1 executed]",
		"{verb: get, path: /metrics}":                            "[60000 ms: 1 answered 504 100000 ms: 1 executed]",
		"{verb: delete, resource: pods, name: x}":                "[34000 ms: 1 answered 504 34000 ms: 1 executed]",
	} {
		eachWay(t, "  duration: 200s\n"+`
  workload: [{name: w, as: {user: u}, request: `+request+`, execution: 100s, arrivals: {burst: {at: 0s, requests: 1}}}]
`, func(t *testing.T, run *Run) {
			var s story
			o := s.observer()
			o.Dispatched, o.Released = nil, nil
			run.Observe(o)
			if err := run.Execute(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(s); got != want {
				t.Errorf("%s: %s, want %s", request, got, want)
			}
		})
	}
}

// A client of a closed loop whose request is at its deadline sends the next, at once but for the least
// time between two, while the server still executes the first.
func TestClosedLoopGoesOnAfterADeadline(t *testing.T) {
	eachWay(t, soleLevel(2, oneQueue, "  duration: 1500ms")+`
  workload: [{name: w, as: {user: u}, request: {verb: get, resource: pods, name: x, query: timeout=1s}, execution: 4s, arrivals: {closed: {}}}]
`, func(t *testing.T, run *Run) {
		wantStory(t, run, "0 ms: 1 dispatched", "1000 ms: 1 answered 504", "1001 ms: 2 dispatched")
	})
}

// A create that succeeds is answered 201, a connection that is used for something else from then on 101, and what
// else succeeds 200; a store answers the same.
func TestStatusesOfSuccess(t *testing.T) {
	for request, want := range map[string]string{
		"{verb: get, resource: pods, name: x}":                                            "200",
		"{verb: create, resource: pods}":                                                  "201",
		"{verb: create, resource: pods, subresource: eviction, name: x}":                  "201",
		"{verb: create, resource: pods, subresource: exec, name: x}":                      "101",
		"{verb: get, resource: pods, subresource: portforward, name: x}":                  "101",
		"{verb: get, resource: pods, subresource: log, name: x}":                          "200",
		"{verb: create, resource: services, subresource: proxy, name: x}":                 "200",
		"{verb: patch, resource: pods, name: x}":                                          "200",
		"{verb: delete, resource: pods, name: x}":                                         "200",
		"{verb: watch, resource: pods, watch: {duration: 1s}}":                            "200",
		"{verb: post, path: /reviews}":                                                    "200",
		"{verb: create, group: authorization.k8s.io, resource: selfsubjectaccessreviews}": "201",
	} {
		for _, more := range []string{"", "  servers: {capacity: {cores: 1}}\n", "  store: {}\n"} {
			spec := "  duration: 10s\n" + more + `  workload:
  - {name: w, as: {user: u}, request: ` + request + `, execution: 10ms, arrivals: {burst: {requests: 1}}}
`
			if more == "  store: {}\n" && (strings.Contains(request, "name: x") && !strings.Contains(request, "subresource") || strings.Contains(request, "eviction")) {
				continue // there is no such object
			}
			run, got := New(load(t, spec)), ""
			run.Observe(server.Observer{Answered: func(_ int64, r *server.Request) { got = how(r) }})
			if err := run.Execute(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("%s %s is answered %s, want %s", more, request, got, want)
			}
		}
	}
}
