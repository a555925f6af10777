package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain makes the test binary behave like the program if inChild or recorded starts it.
func TestMain(m *testing.M) {
	if isChild(os.Args[1:]) {
		os.Exit(run(context.Background(), os.Stdout, os.Stderr, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// short returns regime B with queues so short that they are soon full.
func short() *regime {
	return &regime{name: "B", about: "short queues", file: "one-level.yaml", set: append(oneLevel(200, 1.2),
		"spec.config.objects[0].spec.limited.limitResponse.queuing.queueLengthLimit=2")}
}

// measureAll measures every peer in a number of rounds.
func measureAll(t *testing.T, r *regime, rounds, requests int) (load, []*peerResult) {
	t.Helper()
	l, err := r.load()
	if err != nil {
		t.Fatal(err)
	}
	var results []*peerResult
	for i := range peers {
		p := &peers[i]
		if !strings.Contains(p.regimes, r.name) {
			continue
		}
		if p.name == peerSimPy {
			if _, err := simpyVersion(t.Context()); err != nil {
				t.Logf("without SimPy: %v", err)
				continue
			}
		}
		s := &peerResult{peer: p}
		for range rounds {
			m, err := p.measure(r, requests)
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			s.rounds = append(s.rounds, m)
		}
		results = append(results, s)
	}
	return l, results
}

func TestPeersAgree(t *testing.T) {
	light := regimes[0]
	for _, r := range []*regime{short(), &light} {
		l, results := measureAll(t, r, 2, 10_000)
		if err := check(r, l, results); err != nil {
			t.Error(err)
		}
		upstream, ours := named(results, peerUpstream).rounds[0], named(results, peerQueueSet).rounds[0]
		if !upstream.sameWork(&ours) {
			t.Errorf("with the same arrivals and services, upstream has %+v, apfsim %+v", upstream, ours)
		}
		if overload := l.utilisation() > 1; overload != (ours.Rejected > 0) {
			t.Errorf("at load %.2f, %d requests were rejected", l.utilisation(), ours.Rejected)
		}
	}
}

func TestManyClients(t *testing.T) {
	for _, r := range regimes {
		if r.requests > 0 {
			l, results := measureAll(t, &r, 1, 20_000)
			if err := check(&r, l, results); err != nil {
				t.Error(err)
			}
		}
	}
}

// The replay of a request log makes the decisions of the run that has written it.
func TestReplay(t *testing.T) {
	apfsim := find(peers, peerApfsim, func(p *peer) string { return p.name })
	var results []measurement
	for _, name := range []string{"A", "H"} {
		m, err := apfsim.measure(find(regimes, name, func(r *regime) string { return r.name }), 10_000)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, m)
	}
	if run, replay := results[0], results[1]; !run.sameWork(&replay) {
		t.Errorf("the run has the result %+v, its replay %+v", run, replay)
	}
}

// TestCheck changes plausible results in one way at a time, so that check must find it.
func TestCheck(t *testing.T) {
	r := short()
	falsify := func(name string, act func(m *measurement)) func([]*peerResult) {
		return func(results []*peerResult) {
			for i := range named(results, name).rounds {
				act(&named(results, name).rounds[i])
			}
		}
	}
	l, results := measureAll(t, r, 2, 10_000)
	for _, test := range []struct {
		falsify func([]*peerResult)
		want    string
	}{
		{func(s []*peerResult) { s[0].rounds[1].Completed++ }, "round 2 has the result"},
		{falsify(peerBare, func(m *measurement) { m.Completed -= 10 }), "requests arrived, but"},
		{falsify(peerBare, func(m *measurement) { m.Completed--; m.Waiting++ }), "requests waited"},
		{falsify(peerApfsim, func(m *measurement) { m.SimulatedNs *= 2 }), "requests per second arrived"},
		{falsify(peerQueueSet, func(m *measurement) { m.Completed += m.Rejected; m.Rejected = 0 }), "no request was rejected"},
		{falsify(peerQueueSet, func(m *measurement) { m.Completed += m.Rejected; m.Rejected = 0 }), "of the requests were completed"},
		{falsify(peerUpstream, func(m *measurement) { m.Rejected += 1000; m.Completed -= 1000 }), "were rejected or waiting"},
		{falsify(peerUpstream, func(m *measurement) { m.Waiting += m.Rejected; m.Rejected = 0 }), "requests are waiting"},
		{falsify(peerLogging, func(m *measurement) { m.MeanWaitNs++ }), "without the log"},
	} {
		var copies []*peerResult
		for _, s := range results {
			c := *s
			c.rounds = append([]measurement(nil), s.rounds...)
			copies = append(copies, &c)
		}
		test.falsify(copies)
		if err := check(r, l, copies); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("check says %v; want %q", err, test.want)
		}
	}
}

func TestErlangWait(t *testing.T) {
	// In M/M/1 the mean wait is load/(1-load) services. In M/M/2 at load 1/2, C is 1/3.
	for _, test := range []struct {
		servers    int
		load, want float64
	}{{1, 0.75, 3}, {2, 0.5, 1. / 3}} {
		if got := erlangWaitNs(test.servers, test.load, 1); !near(got, test.want, 1e-9) {
			t.Errorf("M/M/%d at load %v: %v; want %v", test.servers, test.load, got, test.want)
		}
	}
}

func TestChild(t *testing.T) {
	bare := find(peers, peerBare, func(p *peer) string { return p.name })
	m, err := inChild(t.Context(), bare, &regimes[0], 1000)
	if err != nil {
		t.Fatal(err)
	}
	if m.Arrived != 1000 || m.ElapsedNs <= 0 {
		t.Errorf("the child has measured %+v", m)
	}
	if _, err := inChild(t.Context(), bare, &regime{name: "X"}, 1000); err == nil || !strings.Contains(err.Error(), "is not a peer, a regime") {
		t.Errorf("for an unknown regime, the error is %v", err)
	}
	if _, err := recorded(&regime{name: "X"}, 1000, t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not a regime, a number of requests") {
		t.Errorf("for a request log of an unknown regime, the error is %v", err)
	}
}

func TestTable(t *testing.T) {
	result := func(name string, queues bool, ns ...int64) *peerResult {
		s := &peerResult{peer: &peer{name: name, seats: queues, queues: queues}, setUpNs: 1_500_000}
		for _, ns := range ns {
			s.rounds = append(s.rounds, measurement{Arrived: 1000, Completed: 750, Rejected: 250, MeanWaitNs: 2e6, ElapsedNs: 1000 * ns, PeakBytes: 8e6})
		}
		return s
	}
	results := []*peerResult{
		result(peerUpstream, true, 30_000, 10_000, 20_000),
		result(peerBare, false, 100, 100, 100),
		result(peerApfsim, true, 400, 500, 600),
		result(peerLogging, true, 1000, 1000, 1000),
	}
	for _, test := range []struct {
		markdown bool
		want     string
	}{
		{false, `
X: example
                           requests  requests/s  ns/request  spread  vs upstream  vs bare  vs apfsim   set-up  memory  rejected  mean wait
  upstream                    1,000      50,000      20,000   100 %         1.00   200.00             1.50 ms    8 MB   25.00 %   2.000 ms
  bare loop                   1,000  10,000,000         100     0 %       200.00     1.00             1.50 ms    8 MB
  apfsim                      1,000   2,000,000         500    40 %        40.00     5.00             1.50 ms    8 MB   25.00 %   2.000 ms
  apfsim with request log     1,000   1,000,000       1,000     0 %        20.00    10.00       2.00  1.50 ms    8 MB   25.00 %   2.000 ms
`},
		{true, `
### X: example

|  | requests | requests/s | ns/request | spread | vs upstream | vs bare | vs apfsim | set-up | memory | rejected | mean wait |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| upstream | 1,000 | 50,000 | 20,000 | 100 % | 1.00 | 200.00 |  | 1.50 ms | 8 MB | 25.00 % | 2.000 ms |
| bare loop | 1,000 | 10,000,000 | 100 | 0 % | 200.00 | 1.00 |  | 1.50 ms | 8 MB |  |  |
| apfsim | 1,000 | 2,000,000 | 500 | 40 % | 40.00 | 5.00 |  | 1.50 ms | 8 MB | 25.00 % | 2.000 ms |
| apfsim with request log | 1,000 | 1,000,000 | 1,000 | 0 % | 20.00 | 10.00 | 2.00 | 1.50 ms | 8 MB | 25.00 % | 2.000 ms |
`},
	} {
		var b bytes.Buffer
		if err := write(&b, &regime{name: "X", about: "example"}, results, test.markdown); err != nil {
			t.Fatal(err)
		}
		if b.String() != test.want {
			t.Errorf("the table is\n%swant\n%s", &b, test.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct{ flags, want string }{
		{"-regimes A,X", `-regimes: "X": want some of A, B, C, D, E, F, G, H`},
		{"-peers upstreams", `-peers: "upstreams": want some of upstream, `},
		{"-rounds 0", "-rounds: 0: want at least 1"},
		{"-requests -1", "-requests: -1: want at least 0"},
		{"-format html", `-format: "html": want text or markdown`},
		{"A", `"A": want no arguments other than flags`},
	} {
		var out, stderr bytes.Buffer
		status := run(t.Context(), &out, &stderr, strings.Fields(test.flags))
		if got := fmt.Sprint(status, " ", stderr.String()); !strings.HasPrefix(got, "2 bench-peers: "+test.want) || out.Len() > 0 {
			t.Errorf("%s: status, stderr %q, stdout %q", test.flags, got, &out)
		}
	}
}
