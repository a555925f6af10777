package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"apfsim/live/calibrate"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

// calibrateFlags are those of a measurement that takes a short time.
func calibrateFlags(f *fake, t *testing.T, more ...string) []string {
	return append([]string{"calibrate", "--kubeconfig", f.kubeconfig(t, "secret"), "--request", "list configmaps?resourceVersion=0 -n big",
		"--step", "300ms", "--max-clients", "8"}, more...)
}

// cores answers like a server with some processors: each serves one request for a time, and the others wait.
func cores(n int, demand time.Duration) func(http.ResponseWriter, *http.Request) {
	free := make(chan bool, n)
	return func(w http.ResponseWriter, _ *http.Request) {
		free <- true
		time.Sleep(demand)
		<-free
		io.WriteString(w, `{"items": []}`)
	}
}

// trickle answers at once, and completes the answer later.
func trickle(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	time.Sleep(600 * time.Millisecond)
	io.WriteString(w, `{"items": []}`)
}

// curveOf reads the curve that was written.
func curveOf(t *testing.T, dir string) (m calibrate.Measurement) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, calibrate.CalibrationFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Without --yes the server is not contacted, and what would be sent is printed.
func TestCalibrateSendsNothing(t *testing.T) {
	f := startFake(t)
	f.measured = cores(2, time.Millisecond)
	s := call(t, t.Context(), calibrateFlags(f, t)...)
	s.want(t, statusInvalid, "nothing was sent; use --yes", "GET /api/v1/namespaces/big/configmaps?resourceVersion=0", "at most 2.4 s, 50000 requests, and a latency of 1 s at p99")
	if len(f.requests()) > 0 || len(f.own) > 0 {
		t.Errorf("%d requests have arrived, and the server was asked for %v; want nothing", len(f.requests()), f.own)
	}
	if _, err := os.Stat(s.dir); err == nil {
		t.Error("a folder was written")
	}
}

// The capacity of a server with two processors is measured with reads alone, and a scenario takes it.
func TestCalibrate(t *testing.T) {
	f := startFake(t)
	f.measured = cores(2, 40*time.Millisecond)
	s := call(t, t.Context(), calibrateFlags(f, t, "--yes", "--step", "600ms")...)
	s.want(t, statusDone, "clients", "requests/s", "Measured until: ", "--set 'spec.servers.capacity={cores: ")
	for _, r := range f.requests() {
		if r.method != http.MethodGet || r.url != "/api/v1/namespaces/big/configmaps?resourceVersion=0" {
			t.Fatalf("%s %s has arrived", r.method, r.url)
		}
	}
	text, err := os.ReadFile(filepath.Join(s.dir, calibrate.CapacityFile))
	if err != nil {
		t.Fatal(err)
	}
	_, capacity, found := strings.Cut(string(text), "\ncapacity: ")
	if !found {
		t.Fatalf("no capacity in\n%s", text)
	}
	all, wrong := loader.Load(nil, scenarioFile(t, "1s", reader), loader.Options{Set: assign.New("--set", []string{"spec.servers.capacity=" + strings.TrimSpace(capacity)})})
	if len(wrong) > 0 {
		t.Fatalf("%v\n%s", wrong, text)
	}
	if c := all[0].Spec.Servers.Capacity; c == nil || c.Cores < 1.4 || c.Cores > 2.6 || c.Measured == 0 {
		t.Errorf("%+v, want 2 cores:\n%s\n%s", c, text, s.stdout)
	}
	// What was measured is not replaced.
	again := call(t, t.Context(), calibrateFlags(f, t, "-o", s.dir)...)
	again.want(t, statusInvalid, "is not empty")
}

// A server that answers with errors, or that takes longer than is allowed, is not loaded further. What was measured before is
// written, as whole files.
func TestCalibrateStops(t *testing.T) {
	for _, c := range []struct {
		name   string
		above  int64 // requests at a time, for which the answer is
		answer func(http.ResponseWriter, *http.Request)
		status int
		want   string
	}{
		{"429", 2, func(w http.ResponseWriter, _ *http.Request) { reject(w, "1") }, statusFailed, "the server answers with errors"},
		{"503", 2, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusServiceUnavailable) }, statusFailed, "the last one with status 503"},
		{"403", 2, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusForbidden) }, statusFailed, "refuses the request: status 403"},
		{"slow", 2, trickle, statusDone, "longer than the latency allowed, 400ms"},
		{"hangs", 2, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, statusFailed, "context deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := startFake(t)
			var running atomic.Int64
			quick := cores(8, 5*time.Millisecond)
			f.measured = func(w http.ResponseWriter, r *http.Request) {
				n := running.Add(1)
				defer running.Add(-1)
				if n > c.above {
					c.answer(w, r)
					return
				}
				quick(w, r)
			}
			s := call(t, t.Context(), calibrateFlags(f, t, "--yes", "--max-latency", "400ms")...)
			s.want(t, c.status, c.want)
			if m := curveOf(t, s.dir); len(m.Steps) < 2 || m.Steps[1].Clients != 2 || m.Steps[1].Failed > 0 {
				t.Errorf("%d steps were written; want those of one and two clients:\n%s", len(m.Steps), s.stdout)
			}
			if strings.Contains(s.stderr, "8 clients") {
				t.Errorf("8 clients were begun, though the server was in need with 4:\n%s", s.stderr)
			}
			if _, err := os.Stat(filepath.Join(s.dir, calibrate.CapacityFile)); err != nil {
				t.Error(err)
			}
		})
	}
}

// An interruption ends the measurement at once. Without a whole step, no file is written.
func TestCalibrateInterrupted(t *testing.T) {
	f := startFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.measured = func(w http.ResponseWriter, _ *http.Request) {
		if len(f.requests()) == 20 {
			cancel()
		}
		io.WriteString(w, `{}`)
	}
	began := time.Now()
	s := call(t, ctx, calibrateFlags(f, t, "--yes", "--step", "1m")...)
	s.want(t, statusFailed, "interrupted")
	if time.Since(began) > 20*time.Second {
		t.Errorf("it has ended after %v", time.Since(began))
	}
	if entries, err := os.ReadDir(s.dir); err == nil {
		t.Errorf("%v were written", entries)
	}
}

// All requests that cannot be sent are reported together, and nothing is sent.
func TestCalibrateRefuses(t *testing.T) {
	f := startFake(t)
	args := []string{"calibrate", "--kubeconfig", f.kubeconfig(t, "secret"), "--yes", "--max-clients", "0", "--request", "x"}
	s := call(t, t.Context(), args...)
	s.want(t, statusInvalid, "--max-clients: 0: want 1 to 10000")
	args = []string{"calibrate", "--kubeconfig", f.kubeconfig(t, "secret"), "--yes"}
	s = call(t, t.Context(), args...)
	s.want(t, statusInvalid, "--request: is not given")
	var want []string
	for _, c := range []struct{ request, want string }{
		{"list", "want VERB RESOURCE"},
		{"create configmaps -n a", "create is not sent; use list or get"},
		{"watch pods", "watch is not sent"},
		{"delete pods p -n a", "delete is not sent"},
		{"get configmaps -n a", "get needs the name of an object"},
		{"list configmaps c -n a", "list has no name of an object"},
		{"list pods?watch=true", "as watch pods"},
		{"get pods/proxy p -n a", "connects to a pod"},
		{"get pods/exec p -n a", "connects to a pod"},
		{"list pods --all-namespaces", "--all-namespaces is not supported"},
		{"get configmaps .. -n a", "leads to another path"},
		{"list pods?a=b#c", "#"},
	} {
		args = append(args, "--request", c.request)
		want = append(want, c.want)
	}
	s = call(t, t.Context(), args...)
	s.want(t, statusInvalid, want...)
	if len(f.requests()) > 0 || len(f.own) > 0 {
		t.Errorf("%d requests have arrived", len(f.requests()))
	}
	if n := strings.Count(s.stderr, "--request: "); n != len(want) {
		t.Errorf("%d errors, want %d:\n%s", n, len(want), s.stderr)
	}
}
