package trial

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"apfsim/core/flowcontrol"
	"apfsim/lab/live/observed"
	"apfsim/lab/live/outcome"
	"apfsim/lab/live/sender"
	"apfsim/sim/trace/serverlog"
)

// join puts together, for each request, what was sent, what the client saw and what both logs of the server
// say. A request that one of them does not have is Missing.
func (t *Trial) join(prefix string, start time.Time, logs *observed.Logs, responses []sender.Response, slept map[string]time.Duration) {
	t.Live = &outcome.Run{}
	for _, a := range logs.Adjustments {
		if a.At.Sub(start) > outcome.AfterStart {
			t.Live.Adjustments = append(t.Live.Adjustments, outcome.Adjustment{AtNs: int64(a.At.Sub(start)), Limits: a.Limits})
		}
	}
	if len(t.Live.Adjustments) > 0 {
		t.PhaseNs = t.Live.Adjustments[0].AtNs % flowcontrol.AdjustmentPeriodNs
	}
	answers := map[string]*sender.Response{}
	for i := range responses {
		answers[responses[i].AuditID] = &responses[i]
	}
	for i := range t.Prediction.Requests {
		planned := &t.Prediction.Requests[i]
		id := fmt.Sprint(prefix, planned.ID)
		response := answers[id]
		t.Late = append(t.Late, response.Late)
		if response.Err != nil {
			t.Missing = append(t.Missing, fmt.Sprintf("%s: the client has no answer: %v", id, response.Err))
			continue
		}
		entry, ok := logs.HTTP[id]
		if !ok {
			t.Missing = append(t.Missing, id+": not in the log of kube-apiserver")
			continue
		}
		switch event, ok := logs.Audit[id]; {
		case !ok:
			t.Missing = append(t.Missing, id+": not in the audit log")
		case event.User != planned.User:
			t.WrongUsers = append(t.WrongUsers, fmt.Sprintf("%s: %s sent it, the audit log has %s", id, planned.User, event.User))
		case event.Status != response.Status || entry.Status != response.Status:
			t.Missing = append(t.Missing, fmt.Sprintf("%s: the client got status %d, the log of kube-apiserver has %d, the audit log %d",
				id, response.Status, entry.Status, event.Status))
		}
		o := liveOutcome(planned, &entry, start, t.Overhead)
		o.RetryAfterSeconds = response.RetryAfter
		if sleep, ok := slept[id]; ok && o.Outcome == outcome.Executed {
			t.Overheads = append(t.Overheads, time.Duration(o.ExecutionNs)-sleep)
		}
		t.Live.Requests = append(t.Live.Requests, o)
	}
	slices.SortStableFunc(t.Live.Requests, func(a, b outcome.Outcome) int { return int(a.ArrivalNs - b.ArrivalNs) })
	slices.Sort(t.Late)
	slices.Sort(t.Overheads)
}

// liveOutcome returns what the server's log says of a request that was planned like this.
func liveOutcome(planned *outcome.Outcome, e *serverlog.Entry, start time.Time, overhead time.Duration) outcome.Outcome {
	o := outcome.Outcome{Record: planned.Record, Workload: planned.Workload, FlowSchema: e.FlowSchema, PriorityLevel: e.PriorityLevel,
		Outcome: outcome.Executed, Seats: e.Seats, Status: e.Status}
	o.ArrivalNs = max(0, e.ArrivalNs-start.UnixNano())
	o.FinishNs = o.ArrivalNs + e.TotalNs
	if e.FinalSeats > 0 {
		o.FinalSeats, o.AdditionalLatencyNs = e.FinalSeats, max(0, e.AdditionalNs)
	}
	if e.Status == http.StatusTooManyRequests {
		// A queue is full at once, and the wait limit is a second or more.
		o.Outcome, o.Reason, o.WaitNs = outcome.Rejected, outcome.QueueFull, e.TotalNs
		if e.TotalNs > int64(time.Second)/2 {
			o.Reason = outcome.TimeOut
		}
		// It never executed. In the replay it executes for as long as it would have.
		o.ExecutionNs = max(planned.ExecutionNs, int64(overhead))
		return o
	}
	execution := e.ExecutionNs
	if planned.Verb == "watch" {
		if e.InitNs >= 0 {
			execution = e.InitNs
		}
		o.WatchNs = max(0, e.TotalNs-execution)
	}
	o.ExecutionNs = max(0, execution)
	o.WaitNs = e.WaitNs
	if planned.Verb != "watch" && o.WaitNs < 0 {
		o.WaitNs = max(0, e.TotalNs-e.ExecutionNs)
	}
	o.WaitNs = max(0, o.WaitNs)
	return o
}
