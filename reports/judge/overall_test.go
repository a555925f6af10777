package judge

import (
	"strings"
	"testing"

	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// served is a result of one workload and one level in which all is well.
func served(arrived int64) *result.Result {
	counts := metric.Counts{Arrived: arrived, Executed: arrived}
	wait := &result.Distribution{Count: arrived}
	s := &result.Summary{Passed: true, DurationNs: 60e9, Total: result.Group{Counts: counts, Wait: wait}}
	s.Workloads = []result.Group{{Name: "w", Counts: counts, Wait: wait}}
	s.PriorityLevels = []result.Level{{Group: result.Group{Name: "l", Counts: counts, Wait: wait}, Type: "Limited", Response: "Queue"}}
	return &result.Result{Summary: s, Evidence: &result.Evidence{Workloads: make([]result.WorkloadEvidence, 1), Levels: make([]result.LevelEvidence, 1)}}
}

// Each rule of the table in docs/reference/statistics.md decides alone, and the first that applies.
func TestStatus(t *testing.T) {
	disagrees, agrees := false, true
	notServed := func(r *result.Result, n result.NotServed) {
		r.Summary.Total.NotServed, r.Summary.Workloads[0].NotServed = &n, &n
	}
	for _, c := range []struct {
		what   string
		change func(*result.Result)
		want   result.Status
		text   string
	}{
		{"all is well", func(*result.Result) {}, result.OK, "All 1000 requests were served"},
		{"one request was rejected", func(r *result.Result) { notServed(r, result.NotServed{Rejected: 1}) }, result.Harm, "1 of 1000 requests was rejected"},
		{"refused", func(r *result.Result) { notServed(r, result.NotServed{Refused: 166}) }, result.Harm, "16.6 % of 1000 requests were refused"},
		{"lost", func(r *result.Result) { notServed(r, result.NotServed{Lost: 2}) }, result.Harm, "lost"},
		{"answered too late", func(r *result.Result) { notServed(r, result.NotServed{Failures: metric.Failures{Deadline: 1000}}) }, result.Harm, "100 % of 1000 requests were answered too late"},
		{"errors", func(r *result.Result) { notServed(r, result.NotServed{Failures: metric.Failures{Error: 1}}) }, result.Harm, "error"},
		{"unfinished", func(r *result.Result) { notServed(r, result.NotServed{Failures: metric.Failures{Unfinished: 1}}) }, result.Harm, "unfinished"},
		{"several reasons", func(r *result.Result) {
			notServed(r, result.NotServed{Rejected: 60, Lost: 40})
		}, result.Harm, "10 % of 1000 requests were not served (60 rejected, 40 lost)"},
		{"a stall of 5 s", func(r *result.Result) { r.Summary.Workloads[0].Stall = &result.Stall{MaxNs: 5e9, FromNs: 10e9} }, result.Harm, "No request of w was dispatched for 5 s from 10 s to 15 s"},
		{"a shorter stall", func(r *result.Result) { r.Summary.Workloads[0].Stall = &result.Stall{MaxNs: 5e9 - 1} }, result.Watch, "All 1000 requests were served"},
		{"a freeze of 5 s", func(r *result.Result) { r.Summary.PriorityLevels[0].Freeze = &result.Freeze{MaxNs: 5e9} }, result.Harm, "No request of l was served for 5 s"},
		{"a starvation of 5 s", func(r *result.Result) {
			r.Summary.PriorityLevels[0].Starvation = &result.Starvation{MaxNs: 5e9, Flow: "s/a"}
		}, result.Harm, "No request of the flow s/a was dispatched for 5 s"},
		{"a goal failed", func(r *result.Result) {
			r.Summary.Thresholds = []result.Verdict{{Metric: "wait", Expression: "max < 1s", Note: "no samples", Kind: metric.Goal}}
		}, result.Harm, "The goal wait max < 1s was not reached"},
		{"an expectation failed", func(r *result.Result) {
			r.Summary.Thresholds = []result.Verdict{{Metric: "wait", Expression: "max > 1s", Kind: metric.Expect}}
		}, result.OK, "All 1000"},
		{"the threshold of a program that wrote no kinds failed", func(r *result.Result) {
			r.Summary.Thresholds = []result.Verdict{{Metric: "wait", Expression: "max > 1s"}}
		}, result.Harm, "goal"},
		{"fewer than 100 requests", func(r *result.Result) { r.Summary.Total.Arrived = 99 }, result.Unknown, "99 requests arrived"},
		{"few requests, and one rejected", func(r *result.Result) {
			r.Summary.Total.Arrived = 99
			notServed(r, result.NotServed{Rejected: 1})
		}, result.Harm, "1 of 99"},
		{"100 requests", func(r *result.Result) { r.Summary.Total.Arrived = 100 }, result.OK, "All 100"},
		{"the replay disagrees with a log without harm", func(r *result.Result) {
			notServed(r, result.NotServed{Rejected: 500})
			r.Summary.Replay = &result.Replay{Matches: &disagrees, Requests: 1000, RejectedInReplay: 500}
		}, result.Unknown, "does not agree"},
		{"the replay disagrees with a log with harm", func(r *result.Result) {
			r.Summary.Replay = &result.Replay{Matches: &disagrees, Requests: 1000, RejectedInLog: 269}
		}, result.Harm, "26.9 % of 1000 requests were rejected in the log"},
		{"the replay agrees with a log with harm that it does not have", func(r *result.Result) {
			r.Summary.Replay = &result.Replay{Matches: &agrees, Requests: 1000, RejectedInLog: 1}
		}, result.Harm, "in the log"},
		{"the replay agrees", func(r *result.Result) { r.Summary.Replay = &result.Replay{Matches: &agrees, Requests: 1000} }, result.OK, "All 1000"},
		{"a figure above Good up to", func(r *result.Result) { r.Summary.Workloads[0].Wait.MaxNs = 1e9 + 1 }, result.Watch, "All 1000"},
		{"a figure of a level above Good up to", func(r *result.Result) {
			r.Summary.PriorityLevels[0].Starvation = &result.Starvation{MaxNs: 1e9 + 1, Flow: "a"}
		}, result.Watch, "All 1000"},
		{"a figure at Good up to", func(r *result.Result) { r.Summary.Workloads[0].Wait.MaxNs = 1e9 }, result.OK, "All 1000"},
		{"waits grow", func(r *result.Result) { r.Evidence.Levels[0].Grows = true }, result.Watch, "All 1000"},
		{"a level is not in steady state", func(r *result.Result) { r.Summary.AddTrust(result.NotSteady, "not steady") }, result.OK, "All 1000"},
	} {
		r := served(1000)
		c.change(r)
		Verdict(r)
		v := r.Summary.Verdict
		if v.Status != c.want || !strings.Contains(v.Sentence, c.text) {
			t.Errorf("%s: %s %q, want %s, %q", c.what, v.Status, v.Sentence, c.want, c.text)
		}
		if v.Harmed == nil || v.Causes == nil || v.Try == nil || v.Trust == nil {
			t.Errorf("%s: a list is null: %+v", c.what, v)
		}
	}
}

// Who was harmed is in the order of requests that were not served, and then of seconds waited, and never of a ratio.
func TestOrderOfTheHarmed(t *testing.T) {
	r := served(100_000)
	s := r.Summary
	group := func(name string, arrived, rejected, waits, meanNs int64) result.Group {
		g := result.Group{Name: name, Counts: metric.Counts{Arrived: arrived, Rejected: rejected}, Wait: &result.Distribution{Count: waits, MeanNs: meanNs, P99Ns: meanNs, MaxNs: meanNs}}
		if rejected > 0 {
			g.NotServed = &result.NotServed{Rejected: rejected}
		}
		return g
	}
	s.Workloads = []result.Group{
		group("well", 50_000, 0, 50_000, 0),
		group("waited briefly", 2000, 0, 2000, 2e9),
		group("all of few", 3, 3, 0, 0),
		group("waited", 20_000, 0, 20_000, 1e9),
		group("few of many", 28_000, 300, 27_000, 1),
	}
	s.Total.NotServed = &result.NotServed{Rejected: 303}
	r.Evidence.Workloads = make([]result.WorkloadEvidence, len(s.Workloads))
	Verdict(r)
	var names []string
	for i := range s.Verdict.Harmed {
		names = append(names, s.Verdict.Harmed[i].Workload)
		if h := &s.Verdict.Harmed[i]; h.Sent != h.Served+h.Open+h.NotServed.Total() {
			t.Errorf("%+v does not add up", h)
		}
	}
	if got := strings.Join(names, ", "); got != "few of many, all of few, waited, waited briefly" {
		t.Error(got)
	}
}

// Several runs have the worst status, sums, and the causes by their places.
func TestVerdictOfSeveralRuns(t *testing.T) {
	var runs Runs
	p99 := []int64{1e9, 3e9}
	for i, status := range []result.Status{result.Watch, result.Harm, result.Harm} {
		s := served(1000).Summary
		s.Verdict = result.NewOverall()
		s.Verdict.Status, s.Verdict.Sentence = status, "first"
		if status == result.Harm {
			n := result.NotServed{Rejected: 10}
			s.Total.NotServed = &n
			s.Verdict.Harmed = []result.Harmed{{Workload: "w", Level: "l", Sent: 1000, Served: 990, NotServed: n, WaitP99Ns: &p99[i-1], FromNs: int64(10 - i), ToNs: int64(20 + i)}}
			s.Verdict.Causes = []result.Cause{{ID: "lending-1", Kind: result.ByLending, Level: "l"}, {ID: "demand-1", Kind: result.ByDemand, Level: "l"}}
			s.Verdict.Try = []result.Remedy{{Remedy: result.OwnLevel, Causes: []string{"demand-1"}}}
		} else {
			s.Verdict.Causes = []result.Cause{{ID: "demand-1", Kind: result.ByDemand, Level: "l"}}
		}
		runs.Add(s)
	}
	v := runs.Verdict()
	if v.Status != result.Harm || v.Sentence != "0.667 % of 3000 requests of 3 runs, 2 of which have harm, were rejected: l was full." {
		t.Errorf("%s %s", v.Status, v.Sentence)
	}
	if h := v.Harmed; len(h) != 1 || h[0].Sent != 2000 || h[0].NotServed.Rejected != 20 || *h[0].WaitP99Ns != 3e9 || h[0].FromNs != 8 || h[0].ToNs != 22 || len(h[0].Causes) != 2 {
		t.Errorf("%+v", h)
	}
	if len(v.Causes) != 2 || len(v.Try) != 1 || len(v.Try[0].Causes) != 1 || v.Try[0].Causes[0] != "demand-1" {
		t.Errorf("%+v %+v", v.Causes, v.Try)
	}
}

// Where there are too few waits for a p99, that p90 or the median is above what is good says that the p99 is, too.
func TestWaitedLong(t *testing.T) {
	for _, c := range []struct {
		wait result.Distribution
		want bool
	}{
		{result.Distribution{Count: 1000, P99Ns: GoodWaitNs}, false},
		{result.Distribution{Count: 1000, P99Ns: GoodWaitNs + 1}, true},
		{result.Distribution{Count: 999, P99Ns: GoodWaitNs + 1}, false},
		{result.Distribution{Count: 100, P90Ns: GoodWaitNs, P99Ns: GoodWaitNs + 1}, false},
		{result.Distribution{Count: 100, P90Ns: GoodWaitNs + 1}, true},
		{result.Distribution{Count: 99, P50Ns: GoodWaitNs, P90Ns: GoodWaitNs + 1}, false},
		{result.Distribution{Count: 20, P50Ns: GoodWaitNs + 1}, true},
		{result.Distribution{Count: 19, P50Ns: GoodWaitNs + 1}, false},
		{result.Distribution{Count: 1, MaxNs: result.StallNs}, false},
		{result.Distribution{Count: 1, MaxNs: result.StallNs + 1}, true},
	} {
		if got := waitedLong(&result.Level{Group: result.Group{Wait: &c.wait}}); got != c.want {
			t.Errorf("%+v: %v, want %v", c.wait, got, c.want)
		}
	}
}
