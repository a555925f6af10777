package trial

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/lab/live/apiserver"
	"apfsim/lab/live/observed"
	"apfsim/lab/live/outcome"
	"apfsim/lab/live/sender"
	"apfsim/sim/trace/serverlog"

	"github.com/google/go-cmp/cmp"
)

const ms = int64(time.Millisecond)

// Five requests are sent. The first is executed after a wait, the second is rejected at once and the third after a
// second. The fourth is missing in one log, and the fifth has no answer.
func TestJoin(t *testing.T) {
	start := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	entry := func(arrivalMs, totalMs, executionMs int64, status int) (e serverlog.Entry) {
		e.Reset()
		e.ArrivalNs, e.TotalNs, e.Status = start.UnixNano()+arrivalMs*ms, totalMs*ms, status
		if executionMs >= 0 {
			e.ExecutionNs = executionMs * ms
		}
		e.User, e.FlowSchema, e.PriorityLevel, e.Seats, e.FinalSeats, e.AdditionalNs = "mouse", "live", "live", 1, 0, 0
		return e
	}
	logs := &observed.Logs{HTTP: map[string]serverlog.Entry{
		"x-1": entry(10, 50, 30, 201), "x-2": entry(20, 1, -1, 429), "x-3": entry(30, 1001, -1, 429), "x-4": entry(40, 30, 30, 201),
	}, Adjustments: []observed.Adjustment{{At: start}, {At: start.Add(10_001 * time.Millisecond)}}}
	logs.Audit = map[string]serverlog.Entry{"x-1": logs.HTTP["x-1"], "x-2": logs.HTTP["x-2"], "x-3": logs.HTTP["x-3"]}
	run := &Trial{Prediction: &outcome.Run{}, Overhead: 4 * time.Millisecond}
	var responses []sender.Response
	for id := range int64(5) {
		planned := outcome.Outcome{Workload: "mice"}
		planned.ID, planned.ArrivalNs, planned.ExecutionNs, planned.User, planned.Verb = id+1, 10*id*ms, 25*ms, "mouse", "create"
		run.Prediction.Requests = append(run.Prediction.Requests, planned)
		responses = append(responses, sender.Response{AuditID: fmt.Sprint("x-", id+1), Status: []int{201, 429, 429, 201, 0}[id]})
	}
	responses[4].Err = errors.New("connection refused")
	run.join("x-", start, logs, responses, map[string]time.Duration{"x-1": 24 * time.Millisecond})

	type line struct {
		ID, ArrivalMs, WaitMs, ExecutionMs int64
		Outcome, Reason                    string
	}
	var got []line
	for i := range run.Live.Requests {
		o := &run.Live.Requests[i]
		got = append(got, line{o.ID, o.ArrivalNs / ms, o.WaitNs / ms, o.ExecutionNs / ms, o.Outcome, o.Reason})
	}
	want := []line{
		{1, 10, 20, 30, "executed", ""},
		{2, 20, 1, 25, "rejected", "queue-full"},
		{3, 30, 1001, 25, "rejected", "time-out"},
		{4, 40, 0, 30, "executed", ""},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
	if len(run.Missing) != 2 || !strings.Contains(run.Missing[0], "x-4: not in the audit log") || !strings.Contains(run.Missing[1], "x-5: the client has no answer: connection refused") {
		t.Errorf("missing: %q", run.Missing)
	}
	if len(run.Overheads) != 1 || run.Overheads[0] != 6*time.Millisecond {
		t.Errorf("overheads %v, want 6ms: the only executed request for which the webhook slept", run.Overheads)
	}
	if len(run.Live.Adjustments) != 1 || run.PhaseNs != 1*ms {
		t.Errorf("%d adjustments, phase %d ns; want the one after 10.001 s, and 1 ms", len(run.Live.Adjustments), run.PhaseNs)
	}
}

// Each user is listed once, without the group that the server adds.
func TestUsers(t *testing.T) {
	a, b := outcome.Outcome{}, outcome.Outcome{}
	a.User, a.Groups = "a", []string{"live", "system:authenticated"}
	b.User = "b"
	want := []apiserver.User{{Name: "a", Groups: []string{"live"}}, {Name: "b"}}
	if d := cmp.Diff(want, users([]outcome.Outcome{a, b, a})); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
}

// The objects of a case are read with their aliases resolved.
func TestCaseObjects(t *testing.T) {
	objects, stored, err := caseObjects("../cases/borrowing.yaml")
	if err != nil || len(objects) != 4 || len(stored) != 0 {
		t.Fatalf("%d objects, stored %v (%v); want 4 and nothing", len(objects), stored, err)
	}
	a, b := objects[0]["spec"].(map[string]any), objects[1]["spec"].(map[string]any)
	if d := cmp.Diff(a, b); d != "" || len(a) == 0 {
		t.Errorf("the levels differ:\n%s", d)
	}
	want := []outcome.Resource{{Resource: "configmaps", Objects: 2000, AverageBytes: 1300}, {Resource: "events", Objects: 200}}
	if _, stored, err = caseObjects("../cases/lists.yaml"); err != nil || !slices.Equal(stored, want) {
		t.Errorf("stored %v (%v), want %v", stored, err, want)
	}
}
