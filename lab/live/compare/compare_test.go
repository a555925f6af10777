package compare

import (
	"strings"
	"testing"
	"time"

	"apfsim/lab/live/observed"
	"apfsim/lab/live/outcome"
	"apfsim/lab/live/trial"
)

const ms = int64(time.Millisecond)

// executed returns a request that arrives, waits and executes for so many milliseconds.
func executed(id, arrival, wait, execution int64) outcome.Outcome {
	o := outcome.Outcome{Workload: "mice", FlowSchema: "live", PriorityLevel: "live", Outcome: outcome.Executed, WaitNs: wait * ms, Seats: 1}
	o.ID, o.ArrivalNs, o.ExecutionNs = id, arrival*ms, execution*ms
	return o
}

// One seat is busy except for 2 ms before each of two dispatches. The seat is also idle before the first arrival
// and after the last execution, when no request waits; that does not count.
func TestHandover(t *testing.T) {
	requests := []outcome.Outcome{
		executed(1, 100, 0, 50),
		executed(2, 110, 42, 30), // from 152
		executed(3, 120, 64, 30), // from 184
	}
	if got := Handover(requests, "live", 1); got != 2*time.Millisecond {
		t.Errorf("got %v, want 2ms", got)
	}
	if got := Handover(requests[:1], "live", 1); got != 0 {
		t.Errorf("got %v, want 0s: no request waited", got)
	}
}

func TestSummarize(t *testing.T) {
	rejected := outcome.Outcome{Workload: "mice", PriorityLevel: "live", Outcome: outcome.Rejected, Reason: outcome.TimeOut, WaitNs: 1000 * ms}
	all := Summarize([]outcome.Outcome{executed(1, 0, 10, 5), rejected, executed(2, 0, 20, 5), executed(3, 0, 60, 5)})
	if len(all) != 1 {
		t.Fatalf("%d kinds, want 1", len(all))
	}
	s := all[0]
	if s.Requests != 4 || s.Executed != 3 || s.TimeOut != 1 || s.QueueFull != 0 {
		t.Errorf("got %+v; want 4 requests, 3 executed, 1 time-out", s)
	}
	if s.WaitMean != 30*time.Millisecond || s.WaitP50 < 20*time.Millisecond || s.WaitP50 > 20020*time.Microsecond || s.WaitP99 != 60*time.Millisecond {
		t.Errorf("mean %v, p50 %v, p99 %v; want 30ms, 20ms, 60ms: rejected requests have no part in it", s.WaitMean, s.WaitP50, s.WaitP99)
	}
}

// good returns a live run of 600 requests that agrees with its replay in everything.
func good() *trial.Trial {
	t := &trial.Trial{Case: "elephant", Live: &outcome.Run{}, Replay: &outcome.Run{}, Counted: map[observed.Count]int{{Level: "live", Reason: observed.Dispatched}: 600}}
	for i := range int64(600) {
		t.Live.Requests = append(t.Live.Requests, executed(i, 10*i, i, 5))
		t.Replay.Requests = append(t.Replay.Requests, executed(i, 10*i, i, 5))
	}
	for _, run := range []*outcome.Run{t.Live, t.Replay} {
		for i := range int64(3) {
			run.Adjustments = append(run.Adjustments, outcome.Adjustment{AtNs: 10_000 * i * ms, Limits: map[string]int{"live": 8}})
		}
	}
	return t
}

// timedOut lets requests of a run and of its replay time out, without a count in the metrics.
func timedOut(t *trial.Trial, ids ...int) {
	for _, i := range ids {
		for _, r := range []*outcome.Outcome{&t.Live.Requests[i], &t.Replay.Requests[i]} {
			r.Outcome, r.Reason = outcome.Rejected, outcome.TimeOut
		}
		t.Counted[observed.Count{Level: "live", Reason: observed.Dispatched}]--
	}
}

// Each difference fails exactly the comparisons that are about it.
func TestChecks(t *testing.T) {
	for _, c := range []struct {
		story  string
		change func(*trial.Trial)
		failed string
	}{
		{"no difference", func(*trial.Trial) {}, ""},
		{"a lost request", func(t *trial.Trial) { t.Missing = []string{"x-1"} }, "nothing lost"},
		{"another user", func(t *trial.Trial) { t.WrongUsers = []string{"x-1"} }, "users"},
		{"one FlowSchema", func(t *trial.Trial) { t.Live.Requests[7].FlowSchema = "other" }, "FlowSchema, level and seats"},
		{"one final seat", func(t *trial.Trial) { t.Live.Requests[7].FinalSeats = 1 }, "FlowSchema, level and seats"},
		{"one dispatch too many", func(t *trial.Trial) { t.Counted[observed.Count{Level: "live", Reason: observed.Dispatched}]++ }, "counts of the metrics"},
		{"an unlogged rejection", func(t *trial.Trial) { t.Counted[observed.Count{Level: "live", Reason: outcome.QueueFull}]++ }, "counts of the metrics"},
		{"a time-out that is not counted", func(t *trial.Trial) { timedOut(t, 0) }, ""},
		{"two time-outs that are not counted", func(t *trial.Trial) { timedOut(t, 0, 1) }, "counts of the metrics"},
		{"a time-out too many", func(t *trial.Trial) { t.Counted[observed.Count{Level: "live", Reason: outcome.TimeOut}]++ }, "counts of the metrics"},
		{"a seat more", func(t *trial.Trial) { t.Live.Adjustments[1].Limits["live"] = 9 }, ""},
		{"two seats more", func(t *trial.Trial) { t.Live.Adjustments[1].Limits["live"] = 10 }, "limits after each adjustment"},
		{"waits a tenth longer", func(t *trial.Trial) {
			for i := range t.Live.Requests {
				t.Live.Requests[i].WaitNs += t.Live.Requests[i].WaitNs / 10
			}
		}, "mice at live: wait mean"},
		{"the longest waits twice as long", func(t *trial.Trial) {
			for i := len(t.Live.Requests) - 12; i < len(t.Live.Requests); i++ {
				t.Live.Requests[i].WaitNs *= 2
			}
		}, "mice at live: wait p99"},
		{"waits a tenth longer at small queues", func(t *trial.Trial) {
			t.Case = "overload"
			for i := range t.Live.Requests {
				t.Live.Requests[i].WaitNs += t.Live.Requests[i].WaitNs / 10
			}
		}, ""},
	} {
		t.Run(c.story, func(t *testing.T) {
			run := good()
			c.change(run)
			var failed []string
			for _, check := range Checks(run) {
				if !check.Passed {
					failed = append(failed, check.What)
				}
			}
			if got := strings.Join(failed, ", "); got != c.failed {
				t.Errorf("failed: %q, want %q", got, c.failed)
			}
		})
	}
}

// A run in which the machine was too busy says nothing.
func TestVoid(t *testing.T) {
	trialOf := func(late, overhead time.Duration) *trial.Trial {
		return &trial.Trial{Late: []time.Duration{late}, Overheads: []time.Duration{overhead}}
	}
	long := good()
	for i := range long.Live.Requests {
		long.Live.Requests[i].Verb, long.Live.Requests[i].ExecutionNs = "create", 1000*ms
	}
	long.Overheads = []time.Duration{30 * time.Millisecond}
	for _, c := range []struct {
		t    *trial.Trial
		want string
	}{
		{trialOf(mostLate, mostOverhead), ""},
		{trialOf(mostLate+1, 0), "the sender was 20ms late"},
		{long, ""}, // 3 % of 1 s
		{trialOf(0, mostOverhead+1), "executions took 15ms longer"},
	} {
		if got := Void(c.t); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// Two runs agree on a request if it is executed in both, or rejected for the same reason in both.
func TestSameOutcome(t *testing.T) {
	full := executed(2, 0, 0, 0)
	full.Outcome, full.Reason = outcome.Rejected, outcome.QueueFull
	late := full
	late.Reason = outcome.TimeOut
	a := []outcome.Outcome{executed(1, 0, 5, 5), full}
	if got := SameOutcome(a, []outcome.Outcome{full, executed(1, 0, 50, 5)}); got != 1 {
		t.Errorf("%v, want 1: waits do not matter", got)
	}
	if got := SameOutcome(a, []outcome.Outcome{late, executed(1, 0, 5, 5)}); got != 0.5 {
		t.Errorf("%v, want 0.5: the reasons differ", got)
	}
}

// Waits that differ by ten milliseconds in either direction have the same mean, which is known to two standard errors.
// Requests that were rejected in one of the runs are not compared.
func TestChance(t *testing.T) {
	run := good()
	for i := range run.Live.Requests {
		run.Live.Requests[i].WaitNs += (int64(i%2)*2 - 1) * 10 * ms
	}
	stats := Summarize(run.Live.Requests)[0]
	want := 2 * 10 * time.Millisecond / 24 // the square root of 600 is 24.5
	if got := chance(run, stats); got > want || got < want*9/10 {
		t.Errorf("got %v, want about %v", got, want)
	}
	run.Replay.Requests[7].WaitNs, run.Replay.Requests[7].Outcome = 1e15, outcome.Rejected
	if got := chance(run, stats); got > want {
		t.Errorf("with a rejected request: got %v, want about %v", got, want)
	}
}
