package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/sim/metric"
	"apfsim/sim/server"
)

// lives writes down what servers and their requests go through: each stage of a server, and each
// request of a workload that ends otherwise than the one before.
type lives struct {
	run   *Run
	lines []string
	last  map[int]string // by workload
	ended map[string]int // requests by workload and how they ended
}

func (l *lives) note(nowNs int64, format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf("%.3f ", float64(nowNs)/1e9)+fmt.Sprintf(format, args...))
}

// how says how a request has ended for its client.
func how(r *server.Request) string {
	switch {
	case r.Refusal == metric.ConnectionRefused:
		return "refused"
	case r.Rejection != queueset.NotRejected && r.Level == nil: // without PriorityAndFairness
		return fmt.Sprintf("%d %v", r.Status, r.Rejection)
	case r.Rejection != queueset.NotRejected:
		return fmt.Sprintf("%d %v at %s", r.Status, r.Rejection, r.Level.Name())
	case r.Status == 0:
		return "connection broken"
	case r.RetryAfterSeconds > 0:
		return fmt.Sprintf("%d Retry-After %d", r.Status, r.RetryAfterSeconds)
	}
	return fmt.Sprint(r.Status)
}

func (l *lives) answered(nowNs int64, r *server.Request) {
	name, text := l.run.Scenario.Spec.Workload[r.Workload].Name, how(r)
	l.ended[name+": "+text]++
	if l.last[r.Workload] != text {
		l.last[r.Workload] = text
		l.note(nowNs, "%s: %s", name, text)
	}
}

func (l *lives) changed(nowNs int64, s *server.Server) {
	code := map[bool]int{false: 500, true: 200}
	checks := "does not listen"
	if s.Listens() {
		checks = fmt.Sprintf("/readyz %d /livez %d", code[s.Healthy("/readyz")], code[s.Healthy("/livez")])
	}
	l.note(nowNs, "server %d is %v, %s", s.Index(), s.Stage(), checks)
}

// live runs a scenario and returns what happened.
func live(t *testing.T, spec string, observers ...func(*Run) server.Observer) *lives {
	t.Helper()
	l := &lives{run: New(load(t, spec)), last: map[int]string{}, ended: map[string]int{}}
	for _, o := range observers {
		l.run.Observe(o(l.run))
	}
	l.run.Observe(server.Observer{Answered: l.answered, Changed: l.changed})
	if err := l.run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return l
}

// The workloads of the stories. The server is told to stop at 10 s. Requests are sent each 100 ms, so
// that a change of their answers is seen at most so much later.
const (
	stopAt10 = "\n  duration: 100s\n  events: [{at: 10s, stop: {server: 0}}]\n  workload:\n"
	gets     = "  - {name: gets, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1ms, arrivals: {burst: {at: 5ms, requests: 1, every: 100ms}}, stop: 30s}\n"
	own      = "  - {name: own, as: {user: 'system:apiserver', groups: ['system:masters']}, request: {verb: get, resource: pods, name: x}, execution: 1ms, arrivals: {burst: {at: 6ms, requests: 1, every: 100ms}}, stop: 30s}\n"
	readyz   = "  - {name: readyz, as: {user: u}, request: {verb: get, path: /readyz}, execution: 1ms, arrivals: {burst: {at: 7ms, requests: 1, every: 100ms}}, stop: 30s}\n"
	slow     = "  - {name: slow, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 4s, arrivals: {burst: {at: 9.8s, requests: 1}}}\n"
	idle     = "  - {name: idle, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1ms, arrivals: {burst: {at: 1s, requests: 1}}}\n"
	watch    = "  - {name: watch, as: {user: u}, request: {verb: watch, resource: pods}, execution: 1ms, arrivals: {burst: {at: 1s, requests: 1}}}\n"
)

// The rows of a table of what a kube-apiserver does in its life, of which most have been seen at a
// running server.
func TestLifeOfAServer(t *testing.T) {
	for _, story := range []struct {
		row, what string
		spec      string
		want      []string
	}{
		{
			row: "L1", what: "before the flow-control objects are read, everybody shares the seats of catch-all",
			spec: `
  duration: 20s
  servers: {startup: {duration: 5s, objects: 5s}}
  events: [{at: 1s, crash: {server: 0}}, {at: 2s, start: {server: 0}}]
  workload:
  - {name: crowd, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {burst: {at: 3s, requests: 640}}}
  - {name: admin, as: {user: a, groups: ['system:masters']}, request: {verb: get, resource: pods, name: x}, execution: 100ms, arrivals: {burst: {at: 3.5s, requests: 1}}}
  - {name: later, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {burst: {at: 8s, requests: 20}}}
`,
			want: []string{
				"1.000 server 0 is off, does not listen",
				"2.000 server 0 is starting, /readyz 500 /livez 500",
				"3.000 crowd: 429 concurrency-limit at catch-all",
				"3.600 admin: 200",
				"4.000 crowd: 200",
				"7.000 server 0 is ready, /readyz 200 /livez 200",
				"9.000 later: 200",
				"= admin: 200 1, crowd: 200 600, crowd: 429 concurrency-limit at catch-all 40, later: 200 20",
			},
		}, {
			row: "L2", what: "delay 2 s, no Retry-After, an open watch: 6 s, the request timeout, after the listener has closed the process ends",
			spec: "\n  servers: {requestTimeout: 6s, shutdown: {delay: 2s}}" + stopAt10 + gets + own + readyz + slow + watch,
			want: []string{
				"0.006 gets: 200", "0.007 own: 200", "0.008 readyz: 200",
				"10.000 server 0 is stopping, /readyz 500 /livez 200",
				"10.008 readyz: 500",
				"12.000 server 0 is not accepting, does not listen",
				"12.005 gets: refused", "12.006 own: refused", "12.007 readyz: refused",
				"13.800 slow: 200",
				"13.800 server 0 is draining, does not listen",
				"18.000 server 0 is off, does not listen",
				"18.000 watch: connection broken",
			},
		}, {
			row: "L3", what: "the same with Retry-After: the process ends 2 s after the last request",
			spec: "\n  servers: {requestTimeout: 6s, shutdown: {delay: 2s, sendRetryAfter: true}}" + stopAt10 + gets + own + readyz + slow + watch +
				"  - {name: new watch, as: {user: u}, request: {verb: watch, resource: pods}, execution: 1ms, arrivals: {burst: {at: 12.5s, requests: 1}}}\n",
			want: []string{
				"0.006 gets: 200", "0.007 own: 200", "0.008 readyz: 200",
				"10.000 server 0 is stopping, /readyz 500 /livez 200",
				"10.008 readyz: 500",
				"12.000 server 0 is not accepting, /readyz 500 /livez 200",
				"12.005 gets: 429 Retry-After 5",
				"12.500 new watch: 429 Retry-After 5",
				"13.800 slow: 200",
				"13.800 server 0 is draining, does not listen",
				"13.805 gets: refused", "13.806 own: refused", "13.807 readyz: refused",
				"15.800 server 0 is off, does not listen",
				"15.800 watch: connection broken",
			},
		}, {
			row: "L4", what: "without watches and without Retry-After, the process ends with the last request",
			spec: "\n  servers: {requestTimeout: 6s, shutdown: {delay: 2s}}" + stopAt10 + slow + idle,
			want: []string{
				"1.001 idle: 200",
				"10.000 server 0 is stopping, /readyz 500 /livez 200",
				"12.000 server 0 is not accepting, does not listen",
				"13.800 slow: 200",
				"13.800 server 0 is draining, does not listen",
				"14.112 server 0 is off, does not listen", // the HTTP server looks every 525 ms at last
			},
		}, {
			row: "L4", what: "without watches and with Retry-After, the process ends when idle connections are closed",
			spec: "\n  servers: {requestTimeout: 6s, shutdown: {delay: 2s, sendRetryAfter: true}}" + stopAt10 + slow + idle,
			want: []string{
				"1.001 idle: 200",
				"10.000 server 0 is stopping, /readyz 500 /livez 200",
				"12.000 server 0 is not accepting, /readyz 500 /livez 200",
				"13.800 slow: 200",
				"13.800 server 0 is draining, does not listen",
				"14.862 server 0 is off, does not listen",
			},
		}, {
			row: "L5", what: "hooks that take 5 s hold the listener open",
			spec: "\n  servers: {shutdown: {hooks: 5s}}" + stopAt10 + gets,
			want: []string{
				"0.006 gets: 200",
				"10.000 server 0 is stopping, /readyz 500 /livez 200",
				"15.000 server 0 is not accepting, does not listen",
				"15.000 server 0 is draining, does not listen",
				"15.005 gets: refused",
				"16.062 server 0 is off, does not listen", // the idle connection of gets is closed after 1 s
			},
		}, {
			row: "L5", what: "a delay that is longer than the hooks does so, too",
			spec: "\n  servers: {shutdown: {hooks: 5s, delay: 10s}}" + stopAt10 + gets,
			want: []string{
				"0.006 gets: 200",
				"10.000 server 0 is stopping, /readyz 500 /livez 200",
				"20.000 server 0 is not accepting, does not listen",
				"20.000 server 0 is draining, does not listen",
				"20.005 gets: refused",
				"21.062 server 0 is off, does not listen", // the idle connection of gets is closed after 1 s
			},
		}, {
			row: "L6", what: "a hook that returns an error ends the process at once",
			spec: "\n  servers: {shutdown: {delay: 5s, hookError: true}}" + stopAt10 + slow + watch,
			want: []string{
				"10.000 server 0 is stopping, /readyz 500 /livez 200",
				"10.000 server 0 is off, does not listen",
				"10.000 watch: connection broken",
				"10.000 slow: connection broken",
			},
		}, {
			row: "L8", what: "an open watch holds the process for 60 s, and the kubelet kills it after 30 s",
			spec: "\n  servers: {shutdown: {killAfter: 30s}}" + stopAt10 + watch,
			want: []string{
				"10.000 server 0 is stopping, /readyz 500 /livez 200",
				"10.000 server 0 is not accepting, does not listen",
				"10.000 server 0 is draining, does not listen",
				"40.000 server 0 is off, does not listen",
				"40.000 watch: connection broken",
			},
		}, {
			row: "L9", what: "the second signal ends the process at once",
			spec: "\n  servers: {shutdown: {delay: 20s}}\n  duration: 100s\n  events: [{at: 10s, stop: {server: 0}}, {at: 12s, stop: {server: 0}}]\n  workload:\n" + slow,
			want: []string{
				"10.000 server 0 is stopping, /readyz 500 /livez 200",
				"12.000 server 0 is off, does not listen",
				"12.000 slow: connection broken",
			},
		}, {
			row: "L10", what: "a request that is queued when the server stops to accept is dispatched and answered",
			spec: strings.Replace(oneSeat, "servers: {", "servers: {shutdown: {sendRetryAfter: true}, ", 1) + stopAt10 +
				"  - {name: first, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 4s, arrivals: {burst: {at: 9s, requests: 1}}}\n" +
				"  - {name: queued, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {burst: {at: 9.5s, requests: 1}}}\n",
			want: []string{
				"10.000 server 0 is stopping, /readyz 500 /livez 200",
				"10.000 server 0 is not accepting, /readyz 500 /livez 200",
				"13.000 first: 200",
				"14.000 queued: 200",
				"14.000 server 0 is draining, does not listen",
				"15.062 server 0 is off, does not listen", // the idle connection of first is closed after 1 s
			},
		}, {
			row: "L16", what: "one user fills the queues of a hand",
			spec: `
  servers: {maxRequestsInflight: 104, maxMutatingRequestsInflight: 0}
  duration: 10s
  config:
    base: Mandatory
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: one}
      spec: {type: Limited, limited: {nominalConcurrencyShares: 100000, limitResponse: {type: Queue, queuing: {queues: 64, handSize: 6, queueLengthLimit: 50}}}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: all}
      spec:
        priorityLevelConfiguration: {name: one}
        matchingPrecedence: 100
        distinguisherMethod: {type: ByUser}
        rules: [{subjects: [{kind: Group, group: {name: "*"}}], resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]}]
  workload:
  - {name: user, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 2s, arrivals: {burst: {at: 1s, requests: 414}}}
`,
			want: []string{
				"1.000 user: 429 queue-full at one",
				"3.000 user: 200",
				"= user: 200 404, user: 429 queue-full at one 10",
			},
		}, {
			row: "L17", what: "a watch is told to come back while the watch caches are not complete",
			spec: "\n  servers: {kubernetesVersion: '1.35', startup: {duration: 1s, caches: 22s}}\n  duration: 60s\n  events: [{at: 1s, crash: {server: 0}}, {at: 2s, start: {server: 0}}]\n  workload:\n" +
				"  - {name: watches, as: {user: u}, request: {verb: watch, resource: pods, watch: {duration: 1s}}, execution: 1s, arrivals: {burst: {at: 5s, requests: 1, every: 1s}}, stop: 28s}\n",
			want: []string{
				"1.000 server 0 is off, does not listen",
				"2.000 server 0 is starting, /readyz 500 /livez 500",
				"3.000 server 0 is ready, /readyz 200 /livez 200",
				"5.000 watches: 429 Retry-After 1",
				"14.000 watches: 429 Retry-After 2", // 12 s
				"21.000 watches: 429 Retry-After 3", // 19 s, and so at 20 s
				"26.000 watches: 200",
				"= watches: 200 4, watches: 429 Retry-After 1 9, watches: 429 Retry-After 2 7, watches: 429 Retry-After 3 3",
			},
		}, {
			row: "1.24", what: "without Retry-After, requests are answered 503 from the end of the delay to that of the hooks",
			spec: "\n  servers: {kubernetesVersion: '1.24', shutdown: {delay: 1s, hooks: 4s}}" + stopAt10 + gets +
				"  - {name: old, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 2s, arrivals: {burst: {at: 9.5s, requests: 1}}}\n",
			want: []string{
				"0.006 gets: 200",
				"10.000 server 0 is stopping, /readyz 500 /livez 200",
				"11.000 server 0 is not accepting, /readyz 500 /livez 200",
				"11.005 gets: 503 Retry-After 1",
				"11.500 old: 200",
				"11.500 server 0 is draining, /readyz 500 /livez 200",
				"14.005 gets: refused",
				"15.062 server 0 is off, does not listen",
			},
		}, {
			row: "1.22", what: "the listener closes at the end of the delay, and the process waits for the hooks",
			spec: "\n  servers: {kubernetesVersion: '1.22', shutdown: {delay: 1s, hooks: 4s}}" + stopAt10 + gets,
			want: []string{
				"0.006 gets: 200",
				"10.000 server 0 is stopping, /readyz 500 /livez 200",
				"11.000 server 0 is not accepting, does not listen",
				"11.000 server 0 is draining, does not listen",
				"11.005 gets: refused",
				"14.000 server 0 is off, does not listen",
			},
		}, {
			row: "node", what: "of a node that is gone, a client notices after 45 s at most",
			spec: "\n  duration: 100s\n  events: [{at: 10s, lose: {server: 0}}]\n  workload:\n" + slow + watch +
				"  - {name: patient, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 4s, clientTimeout: 10s, arrivals: {burst: {at: 9.5s, requests: 1}}}\n",
			want: []string{
				"10.000 server 0 is off, does not listen",
				"19.500 patient: connection broken", // it has given up, without a status
				"46.000 watch: connection broken",   // its connection has been idle since 1 s: a ping at 31 s has no answer for 15 s
				"54.800 slow: connection broken",
			},
		}, {
			row: "1.36", what: "from this release on, a server is not ready before its watch caches are complete",
			spec: "\n  servers: {startup: {duration: 1s, caches: 4s}}\n  duration: 20s\n  events: [{at: 1s, crash: {server: 0}}, {at: 2s, start: {server: 0}}]\n  workload:\n" + idle,
			want: []string{
				"1.000 server 0 is off, does not listen",
				"1.000 idle: refused",
				"2.000 server 0 is starting, /readyz 500 /livez 500",
				"6.000 server 0 is ready, /readyz 200 /livez 200",
			},
		},
	} {
		t.Run(story.row+" "+story.what, func(t *testing.T) {
			l := live(t, story.spec)
			if strings.HasPrefix(story.want[len(story.want)-1], "=") {
				var all []string
				for what, n := range l.ended {
					all = append(all, fmt.Sprintf("%s %d", what, n))
				}
				slices.Sort(all)
				l.lines = append(l.lines, "= "+strings.Join(all, ", "))
			}
			if !slices.Equal(l.lines, story.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(l.lines, "\n"), strings.Join(story.want, "\n"))
			}
		})
	}
}

// L7: open watches end at a rate that lets the last of them go when the grace period is over, but at
// least 200 per second. Some may leave before the rate applies, up to 1.37.
func TestWatchesEndInTheGracePeriod(t *testing.T) {
	for _, test := range []struct {
		version     string
		grace       string
		leak        int
		inTheFirst  int // within 1 s
		drainedAtMs int64
	}{
		{"1.37", "3s", 0, 334, 2997},         // 1000 watches / 3 s = 333.3/s
		{"1.37", "10s", 0, 200, 4995},        // 200/s
		{"1.37", "3s", 229, 229 + 257, 2996}, // the other 771 are counted: 771/3 s = 257/s
		{"1.37", "3s", 421, 421 + 200, 2890}, // the other 579 leave at 200/s, as 579/3 s is less
		{"1.38", "3s", 421, 334, 2997},       // the limit is in force when they are told to leave
	} {
		t.Run(fmt.Sprint(test.version, test.grace, test.leak), func(t *testing.T) {
			spec := fmt.Sprintf("\n  servers: {kubernetesVersion: \"%s\", shutdown: {watchTerminationGracePeriod: %s, watchLeak: %d}}", test.version, test.grace, test.leak)
			var ends []int64
			var drainedNs int64
			live(t, spec+stopAt10+"  - {name: watches, clients: 1000, as: {user: u, groups: ['system:masters']}, request: {verb: watch, resource: pods}, execution: 1ms, arrivals: {burst: {at: 1s, requests: 1}}, stop: 9s}\n",
				func(*Run) server.Observer {
					return server.Observer{
						Answered: func(nowNs int64, r *server.Request) {
							if r.Refusal == metric.NotRefused && r.Status == server.StatusOK {
								ends = append(ends, nowNs-10e9)
							}
						},
						Changed: func(nowNs int64, s *server.Server) {
							if s.Stage() == server.Draining {
								drainedNs = nowNs - 10e9
							}
						},
					}
				})
			first, _ := slices.BinarySearch(ends, 1e9)
			if len(ends) != 1000 || first != test.inTheFirst || drainedNs/1e6 != test.drainedAtMs || ends[999] != drainedNs {
				t.Errorf("%d watches ended, %d of them in the first second; drained after %d ms; want 1000, %d, %d ms",
					len(ends), first, drainedNs/1e6, test.inTheFirst, test.drainedAtMs)
			}
		})
	}
}

// L11: the limits of the levels are adjusted until the listener closes, and are constant from then on,
// while the requests in flight end.
func TestLimitsAreFrozenWhenTheControllersHaveEnded(t *testing.T) {
	for _, test := range []struct {
		retryAfter bool
		lastNs     int64 // adjustment
	}{{false, 10e9}, {true, 30e9}} {
		spec := fmt.Sprintf(`
  duration: 60s
  servers: {shutdown: {sendRetryAfter: %v}}
  events: [{at: 15s, stop: {server: 0}}]
  workload:
  - {name: crowd, clients: 20, as: {serviceAccount: "ns/{i}"}, request: {verb: get, resource: pods, name: x}, execution: 2s, arrivals: {burst: {at: 0s, requests: 20, every: 5s}}}
  - {name: long, as: {user: jane}, request: {verb: get, resource: pods, name: x}, execution: 20s, arrivals: {burst: {at: 14.5s, requests: 1}}}
`, test.retryAfter)
		var run *Run
		limits := func() (all []int) {
			for _, l := range run.Server.Levels() {
				all = append(all, l.CurrentLimit())
			}
			return all
		}
		var lastNs int64
		var frozen []int
		checked := 0
		live(t, spec, func(r *Run) server.Observer {
			run = r
			return server.Observer{
				Adjusted: func(nowNs int64, s *server.Server) {
					if s.Stage() != server.Off {
						lastNs, frozen = nowNs, limits()
					}
				},
				Tick: func(nowNs int64, _ []*server.Server) int64 {
					if run.Server.Stage() >= server.NotAccepting {
						checked++
						if got := limits(); !slices.Equal(got, frozen) {
							t.Errorf("with sendRetryAfter %v, the limits at %d ms are %v, but %v at the last adjustment", test.retryAfter, nowNs/1e6, got, frozen)
						}
					}
					return nowNs + 100e6
				},
			}
		})
		nominal := New(load(t, spec)).Server.Levels()
		if lastNs != test.lastNs || checked < 100 || frozen == nil {
			t.Errorf("with sendRetryAfter %v, the last adjustment is at %d ms, want %d; %d looks afterwards", test.retryAfter, lastNs/1e6, test.lastNs/1e6, checked)
		}
		if same := slices.EqualFunc(nominal, frozen, func(l *flowcontrol.Level, limit int) bool { return l.CurrentLimit() == limit }); same {
			t.Error("no level borrows, so that the limits would be constant in any case")
		}
	}
}

// A change of the flow-control objects reaches a server that reads them later, and does not reach one
// whose controllers have ended.
func TestObjectsOfAServerThatStartsOrStops(t *testing.T) {
	const apply = `apply: {objects: [{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, metadata: {name: %s}, spec: {type: Limited, limited: {nominalConcurrencyShares: 5, limitResponse: {type: Reject}}}}]}`
	has := map[string]string{}
	live(t, `
  duration: 60s
  servers: {replicas: 2, startup: {duration: 5s, objects: 5s}}
  events:
  - {at: 10s, crash: {server: 1}}
  - {at: 11s, `+fmt.Sprintf(apply, "while-off")+`}
  - {at: 12s, start: {server: 1}}
  - {at: 14s, `+fmt.Sprintf(apply, "while-starting")+`}
  - {at: 20s, stop: {server: 0}}
  - {at: 21s, `+fmt.Sprintf(apply, "after-the-listener")+`}
  workload:
  - {name: long, clients: 2, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 20s, arrivals: {burst: {at: 19s, requests: 5}}}
`, func(*Run) server.Observer {
		return server.Observer{Tick: func(nowNs int64, servers []*server.Server) int64 {
			for _, s := range servers {
				var names []string
				for _, l := range s.Levels() {
					if strings.Contains(l.Name(), "while-") || strings.Contains(l.Name(), "after-") || l.Name() == "global-default" {
						names = append(names, l.Name())
					}
				}
				has[fmt.Sprintf("%d s, server %d", nowNs/1e9, s.Index())] = strings.Join(names, " ")
			}
			return nowNs + 1e9
		}}
	})
	for when, want := range map[string]string{
		"10 s, server 1": "global-default", // a sample comes before the event
		"11 s, server 1": "",
		"15 s, server 1": "",
		"18 s, server 1": "global-default while-off while-starting",
		"15 s, server 0": "global-default while-off while-starting",
		"22 s, server 0": "global-default while-off while-starting",
		"22 s, server 1": "after-the-listener global-default while-off while-starting",
	} {
		if has[when] != want {
			t.Errorf("at %s: levels %q, want %q", when, has[when], want)
		}
	}
}
