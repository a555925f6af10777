package trial

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"apfsim/live/outcome"
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

// The scenario has the executions of the lightest load, the lateness of its events, and the processor time of an event.
func TestFanoutFit(t *testing.T) {
	l := &BusyLoad{Live: &outcome.Run{}}
	for _, executionMs := range []int64{9, 2, 4, 3} { // the first one arrives too early
		o := outcome.Outcome{Outcome: outcome.Executed}
		if o.ExecutionNs = executionMs * ms; executionMs < 9 {
			o.ArrivalNs = int64(2 * time.Second)
		}
		l.Live.Requests = append(l.Live.Requests, o)
	}
	fit := fitFanout(l, time.Second, []Figure{{"20/s", "event late p50", 1500e3}, {"80/s", "event late p50", 9e6}}, 0.008, 100)
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
