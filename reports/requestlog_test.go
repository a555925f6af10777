package reports_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"apfsim/core/queueset"
	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/reports/record"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

// The story's lines are in the order of arrival, though x is done before e2 and m3 before
// either of e2 and m1; those that still wait or execute at the end have their lines too.
func TestRequestLogOfTheStory(t *testing.T) {
	var out bytes.Buffer
	sc := storyScenario()
	l := record.NewRequestLog(&out, sc)
	newStage(sc, l).tell()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	golden(t, "story.jsonl", out.Bytes())
	for line := range bytes.Lines(out.Bytes()) {
		if !json.Valid(line) {
			t.Errorf("no JSON: %s", line)
		}
	}
}

func TestRequestLogWritesARequestsAttributes(t *testing.T) {
	var out bytes.Buffer
	sc := storyScenario()
	l := record.NewRequestLog(&out, sc)
	s := newStage(sc, l)
	r := s.arrive(1, mice, flowB, 1, func(r *server.Request) {
		r.Client, r.Query, r.WatchNs = 3, "limit=500", 7
		r.Attributes.User, r.Attributes.Groups = "alice \"the\" admin", []string{"g<1>", "g2"}
		r.Attributes.Verb, r.Attributes.APIGroup, r.Attributes.Resource = "watch", "apps", "deployments"
		r.Attributes.Subresource, r.Attributes.Namespace, r.Attributes.Name = "status", "default", "web"
		r.Attributes.Path = "/apis/apps/v1/namespaces/default/deployments/web/status"
	})
	s.reject(2, r, queueset.ConcurrencyLimit)
	l.Close()
	const want = `{"id":1,"arrivalNs":1000000000,"user":"alice \"the\" admin","groups":["g<1>","g2"],"verb":"watch",` +
		`"apiGroup":"apps","resource":"deployments","subresource":"status","namespace":"default","name":"web",` +
		`"path":"/apis/apps/v1/namespaces/default/deployments/web/status","query":"limit=500","executionNs":1000000000,"watchNs":7,` +
		`"workload":"mice","client":3,"flowSchema":"service-accounts","priorityLevel":"low","flow":"service-accounts/b","queue":-1,` +
		`"outcome":"rejected","reason":"concurrency-limit","attempt":1,"waitNs":1000000000,"seats":1,"retryAfterSeconds":1,"status":429}` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
}

// Dispatch leaves the final phase of 3 seats out: the request log and the trace show one seat.
func TestARequestThatDispatchNarrows(t *testing.T) {
	var log, trace bytes.Buffer
	sc := storyScenario()
	l, w := record.NewRequestLog(&log, sc), bufio.NewWriter(&trace)
	e := record.NewPerfetto(w, sc, []*server.Server{{}}, 0, 30*second)
	s := &stage{}
	s.attach(l, e)
	s.tick(0)
	r := s.arrive(1, mice, flowB, 5, func(r *server.Request) {
		r.SeatsAsked, r.Work.InitialSeats, r.Work.FinalSeats, r.Work.AdditionalLatencyNs = 3, 1, 3, second
	})
	s.each(func(o server.Observer) { o.Queued(second, r) })
	r.Work.FinalSeats, r.Work.AdditionalLatencyNs = 0, 0
	s.dispatch(2, r)
	s.finish(7, r)
	s.tick(30)
	l.Close()
	e.Close()
	w.Flush()
	if text := log.String(); !strings.Contains(text, `"seats":1,`) || strings.Contains(text, "finalSeats") {
		t.Error(text)
	}
	if text := trace.String(); !strings.Contains(text, `{"seats":1}`) || strings.Contains(text, `{"seats":3}`) || strings.Contains(text, "seat 2") {
		t.Error(text)
	}
}

// However fates are decided, there is a line for every request, in the order of arrival.
func TestRequestLogKeepsTheOrderOfArrival(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		sc := storyScenario()
		l := record.NewRequestLog(&out, sc)
		s := &stage{}
		s.attach(l)
		var open []*server.Request
		n := rapid.IntRange(1, 1000).Draw(t, "requests")
		for range n {
			open = append(open, s.arrive(1, mice, flowA, 1))
			for len(open) > 0 && rapid.IntRange(0, 9).Draw(t, "decide") < 4 {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				s.dispatch(1, open[i])
				s.finish(1, open[i])
				open = append(open[:i], open[i+1:]...)
			}
		}
		l.Close()
		number, executed := 0, 0
		for line := range strings.Lines(out.String()) {
			number++
			var got struct {
				ID      int
				Outcome string
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil || got.ID != number {
				t.Fatalf("line %d: %s (%v)", number, line, err)
			}
			if got.Outcome == "executed" {
				executed++
			}
		}
		if number != n || executed != n-len(open) {
			t.Fatalf("%d lines, %d executed; want %d and %d", number, executed, n, n-len(open))
		}
	})
}

func TestRequestLogKeepsTheFirstError(t *testing.T) {
	sc := storyScenario()
	l := record.NewRequestLog(&brokenPipe{}, sc)
	newStage(sc, l).tell()
	if err := l.Close(); !errors.Is(err, errBroken) {
		t.Errorf("error %v, want that of the writer", err)
	}
}

func TestRequestLogFileIsWholeOrNotThere(t *testing.T) {
	dir := t.TempDir()
	sc := storyScenario()
	path := filepath.Join(dir, "story", output.RequestsFile)
	var set atomicfile.Set
	l, err := output.CreateRequestLog(&set, dir, sc)
	if err != nil {
		t.Fatal(err)
	}
	newStage(sc, l).tell()
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is there before it is complete")
	}
	if err := errors.Join(l.Close(), set.Commit()); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(path)
	if err != nil || bytes.Count(first, []byte("\n")) != 8 {
		t.Fatalf("%d bytes, %v; want the story's 8 lines", len(first), err)
	}

	given, err := output.CreateRequestLog(&set, dir, sc)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{}
	s.attach(given)
	s.arrive(1, mice, flowA, 1)
	given.Discard()
	if err := set.Discard(); err != nil {
		t.Fatal(err)
	}
	if now, _ := os.ReadFile(path); !bytes.Equal(now, first) {
		t.Error("a log that was given up has changed the one before")
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// A request that was sent during the execution of another names that one.
func TestRequestLogNamesTheParent(t *testing.T) {
	var out bytes.Buffer
	sc := storyScenario()
	l := record.NewRequestLog(&out, sc)
	s := newStage(sc, l)
	outer := s.arrive(1, mice, flowB, 1, func(r *server.Request) { r.ID, r.Details = 12, &server.Details{} })
	callback := s.arrive(1, mice, flowB, 1, func(r *server.Request) {
		r.ID, r.Details = 13, &server.Details{CallDetails: server.CallDetails{Parent: outer.ID}}
	})
	s.reject(2, callback, queueset.ConcurrencyLimit)
	s.reject(2, outer, queueset.ConcurrencyLimit)
	l.Close()
	lines := strings.Split(out.String(), "\n")
	if strings.Contains(lines[0], `"parent"`) || !strings.HasSuffix(lines[1], `,"parent":12}`) {
		t.Errorf("got\n%swant a parent in the second line", out.String())
	}
}

// A watch is answered 429 while the caches of a server that has restarted are not complete, and its line says
// so; one that comes later is answered 200.
func TestRequestLogOfARefusedWatch(t *testing.T) {
	scenarios, err := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(`
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: cold}
spec:
  duration: 30s
  servers: {startup: {duration: 1s, caches: 12s}}
  events: [{at: 1s, crash: {server: 0}}, {at: 2s, start: {server: 0}}]
  workload:
  - {name: watches, as: {user: u}, request: {verb: watch, resource: pods, watch: {duration: 1s}}, execution: 1ms, start: 5s, arrivals: {constant: {rate: 0.2/s}}}
`)}}, "s.yaml", loader.Options{})
	if len(err) > 0 {
		t.Fatal(err)
	}
	var out bytes.Buffer
	run, l := sim.New(scenarios[0]), record.NewRequestLog(&out, scenarios[0])
	run.Observe(l.Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	l.Close()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) < 3 || !strings.Contains(lines[0], `"retryAfterSeconds":1,"status":429`) || !strings.Contains(lines[len(lines)-1], `"status":200`) {
		t.Errorf("got\n%s", out.String())
	}
}
