package trial

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"apfsim/lab/live/outcome"
)

// Writes that arrive in the first seconds are left out, but their events were received like all others.
func TestFanoutFigures(t *testing.T) {
	write := func(arrivalMs, waitMs, executionMs int64, became string) (o outcome.Outcome) {
		o.ArrivalNs, o.WaitNs, o.Outcome = arrivalMs*ms, waitMs*ms, became
		o.FinishNs = o.ArrivalNs + o.WaitNs + executionMs*ms
		o.FinalSeats, o.AdditionalLatencyNs = 2, 25*ms
		return o
	}
	g := &fanoutFigures{part: "80/s", from: time.Second, watchers: 2, received: 6, delays: []time.Duration{4e6, 2e6, 3e6, 3e6}, ended: 1}
	got := g.of([]outcome.Outcome{write(10, 0, 900, outcome.Executed), write(1000, 10, 4, outcome.Executed), write(1200, 30, 2, outcome.Executed),
		write(1300, 0, 0, outcome.Rejected)})
	want := []Figure{
		{"80/s", "seats after the execution", 2}, {"80/s", "time of these seats", 25e6}, {"80/s", "executed", 2}, {"80/s", "rejected", 1.0 / 3},
		{"80/s", "execution mean", 3e6}, {"80/s", "wait mean", 20e6}, {"80/s", "wait p99", 30e6},
		{"80/s", "events received", 1}, {"80/s", "event late mean", 3e6}, {"80/s", "event late p50", 3e6}, {"80/s", "event late p99", 4e6},
		{"80/s", "watches ended", 1},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
}

// The scenario has the executions of the lightest load, the lateness of its events, and the processor time of an event of the next one.
func TestFanoutFit(t *testing.T) {
	l := &BusyLoad{Live: &outcome.Run{}}
	for _, executionMs := range []int64{9, 2, 4, 3} { // the first one arrives too early
		o := outcome.Outcome{Outcome: outcome.Executed}
		if o.ExecutionNs = executionMs * ms; executionMs < 9 {
			o.ArrivalNs = int64(2 * time.Second)
		}
		l.Live.Requests = append(l.Live.Requests, o)
	}
	next := &BusyLoad{Live: &outcome.Run{Requests: []outcome.Outcome{{}, {}, {}}}}
	next.Live.Requests[0].Outcome, next.Live.Requests[1].Outcome, next.Live.Requests[2].Outcome = outcome.Executed, outcome.Executed, outcome.Rejected
	fit := fitFanout([]*BusyLoad{l, next}, time.Second, []Figure{{"20/s", "event late p50", 1500e3}, {"80/s", "event late p50", 9e6}}, 0.004, 100)
	want := []string{"spec.workload[0].execution={empirical: {values: [2ms, 3ms, 4ms]}}", "spec.store.costs={watchEvent: 20µs, eventLatency: 1.5ms}"}
	got := fit.assignments()
	if d := cmp.Diff(want, []string{got[0], got[2]}); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
	if _, err := outcome.Load("../cases/watch-fanout.yaml", got...); err != nil {
		t.Error(err)
	}
	if text := fit.String(); !strings.HasPrefix(text, "execution median 3ms, event late median 1.5ms, 20µs of a core") {
		t.Error(text)
	}
}

// An event says which request has written its object. The names of the managed fields do not.
func TestMarkOf(t *testing.T) {
	id, ok := markOf([]byte(`{"type":"MODIFIED","object":{"metadata":{"managedFields":[{"fieldsV1":{"f:data":{"f:of":{}}}}]},"data":{"of":"x-1-7","text":"x"}}}`))
	if id != "x-1-7" || !ok {
		t.Errorf("got %q, %v", id, ok)
	}
	if _, ok := markOf([]byte(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}`)); ok {
		t.Error("a bookmark has a mark")
	}
}

// Requests belong to a part of a stop by their arrival. What the first server gets after the stop, or what is refused then, delays
// the time at which the second one has all.
func TestStopFigures(t *testing.T) {
	request := func(arrivalMs int64, server, status int, became string) (o outcome.Outcome) {
		o.ArrivalNs, o.Server, o.Status, o.Outcome, o.WaitNs = arrivalMs*ms, server, status, became, 5*ms
		o.FinishNs = o.ArrivalNs + 20*ms
		return o
	}
	got := stopFigures([]outcome.Outcome{
		request(1000, 0, 201, outcome.Executed), // too early
		request(5000, 0, 201, outcome.Executed), request(6000, 1, 201, outcome.Executed),
		request(10100, 0, 201, outcome.Executed), request(10700, 0, 0, outcome.Refused), request(10800, 1, 201, outcome.Executed), request(10900, 1, 504, outcome.Executed),
		request(14000, 1, 429, outcome.Rejected), request(15000, 1, 201, outcome.Executed),
	}, 10*time.Second)
	values := map[string]float64{}
	for _, f := range got {
		values[f.Part+": "+f.Name] = f.Value
	}
	for name, want := range map[string]float64{
		"before the stop: requests": 2, "before the stop: at the second server": 0.5, "before the stop: status 201": 1, "before the stop: wait mean": 5e6,
		"3s from the stop: requests": 4, "3s from the stop: connection errors": 1, "3s from the stop: other statuses, or no answer": 1,
		"3s from the stop: status 201": 0.5, "3s from the stop: at the second server": 0.5,
		"after that: status 429": 0.5, "after that: latency p50": 20e6, "after that: at the second server": 1,
		"the stop: until the second server has all": 0.7e9,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
