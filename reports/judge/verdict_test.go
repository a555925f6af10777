package judge

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/server"
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
		{"one request was rejected", func(r *result.Result) { notServed(r, result.NotServed{Rejected: 1}) }, result.Warning, "1 of 1000 requests was rejected"},
		{"refused", func(r *result.Result) { notServed(r, result.NotServed{Refused: 166}) }, result.Harm, "16.6 % of 1000 requests were refused"},
		{"lost", func(r *result.Result) { notServed(r, result.NotServed{Lost: 2}) }, result.Warning, "lost"},
		{"answered too late", func(r *result.Result) { notServed(r, result.NotServed{Failures: metric.Failures{Deadline: 1000}}) }, result.Harm, "100 % of 1000 requests were answered too late"},
		{"errors", func(r *result.Result) { notServed(r, result.NotServed{Failures: metric.Failures{Error: 3}}) }, result.Warning, "error"},
		{"nine were rejected", func(r *result.Result) { notServed(r, result.NotServed{Rejected: 9}) }, result.Harm, "9 of 1000 requests were rejected"},
		{"ten were rejected", func(r *result.Result) { notServed(r, result.NotServed{Rejected: 10}) }, result.Harm, "1 % of 1000 requests were rejected"},
		{"unfinished", func(r *result.Result) { notServed(r, result.NotServed{Failures: metric.Failures{Unfinished: 9}}) }, result.Harm, "unfinished"},
		{"several reasons", func(r *result.Result) {
			notServed(r, result.NotServed{Rejected: 60, Lost: 40})
		}, result.Harm, "10 % of 1000 requests were not served (60 rejected, 40 lost)"},
		{"a stall of 5 s", func(r *result.Result) { r.Summary.Workloads[0].Stall = &result.Stall{MaxNs: 5e9, FromNs: 10e9} }, result.Harm, "No request of w was dispatched for 5 s from 10 s to 15 s"},
		{"a shorter stall", func(r *result.Result) { r.Summary.Workloads[0].Stall = &result.Stall{MaxNs: 5e9 - 1} }, result.Warning, "All 1000 requests were served"},
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
			notServed(r, result.NotServed{Rejected: 9})
		}, result.Harm, "9 of 99"},
		{"100 requests", func(r *result.Result) { r.Summary.Total.Arrived = 100 }, result.OK, "All 100"},
		{"the replay disagrees with a log without harm", func(r *result.Result) {
			notServed(r, result.NotServed{Rejected: 500})
			r.Summary.Replay = &result.Replay{Matches: &disagrees, Requests: 1000, RejectedInReplay: 500}
		}, result.Unknown, "does not agree"},
		{"the replay disagrees with a log with harm", func(r *result.Result) {
			r.Summary.Replay = &result.Replay{Matches: &disagrees, Requests: 1000, RejectedInLog: 269}
		}, result.Harm, "26.9 % of 1000 requests were rejected in the log"},
		{"the replay agrees with a log with harm that it does not have", func(r *result.Result) {
			r.Summary.Replay = &result.Replay{Matches: &agrees, Requests: 1000, RejectedInLog: 9}
		}, result.Harm, "in the log"},
		{"the replay agrees", func(r *result.Result) { r.Summary.Replay = &result.Replay{Matches: &agrees, Requests: 1000} }, result.OK, "All 1000"},
		{"a wait p99 above the limit", func(r *result.Result) { r.Summary.Workloads[0].Wait.P99Ns = 1e8 + 1 }, result.Warning, "All 1000"},
		{"a wait p99 of harm", func(r *result.Result) { r.Summary.Workloads[0].Wait.P99Ns = 1e9 }, result.Harm, "All 1000"},
		{"a wait p99 of too few", func(r *result.Result) {
			r.Summary.Workloads[0].Wait = &result.Distribution{Count: 999, P50Ns: 1e7, P90Ns: 5e7, P99Ns: 1e9}
		}, result.OK, "All 1000"},
		{"a wait p90 that says enough", func(r *result.Result) {
			r.Summary.Workloads[0].Wait = &result.Distribution{Count: 999, P90Ns: 1e9, P99Ns: 1e9}
		}, result.Harm, "All 1000"},
		{"a long starvation", func(r *result.Result) {
			r.Summary.PriorityLevels[0].Starvation = &result.Starvation{MaxNs: 1e9 + 1, Flow: "a"}
		}, result.Warning, "All 1000"},
		{"one long wait", func(r *result.Result) { r.Summary.Workloads[0].Wait.MaxNs = 1e10 }, result.OK, "All 1000"},
		{"waits grow", func(r *result.Result) { r.Evidence.Levels[0].Grows = true }, result.Warning, "All 1000"},
		{"more execute than in the log of an unknown capacity", func(r *result.Result) { r.Summary.AddTrust(result.UnknownCapacity, "slower") }, result.Unknown,
			"All 1000 requests were served if executions take as long as with the smaller load of the log, which is not known."},
		{"more execute than a capacity was measured with", func(r *result.Result) { r.Summary.AddTrust(result.BeyondFit, "extrapolated") }, result.OK, "All 1000"},
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

// Several runs have the status of their figures together, and not that of the worst of them, which is named; sums, and the causes
// by their places.
func TestVerdictOfSeveralRuns(t *testing.T) {
	add := func(runs *Runs, seed uint64, rejected int64) {
		s := served(10_000).Summary
		s.Seed, s.Verdict = seed, result.NewOverall()
		s.Verdict.Judged = []result.Judged{{Of: result.OfLevel, Name: "l", Arrived: 10_000, NotServed: rejected}}
		s.Verdict.Status, s.Verdict.Decided = Decide(s.Verdict.Judged)
		s.Verdict.Causes = []result.Cause{{ID: "demand-1", Kind: result.ByDemand, Level: "l"}}
		if rejected > 0 {
			n := result.NotServed{Rejected: rejected}
			s.Total.NotServed = &n
			p99 := rejected * 1e8
			s.Verdict.Harmed = []result.Harmed{{Role: result.Victim, Workload: "w", Level: "l", Sent: 10_000, Served: 10_000 - rejected, NotServed: n, WaitP99Ns: &p99, FromNs: 100 - rejected, ToNs: 100 + rejected}}
		}
		if rejected >= 30 {
			s.Verdict.Causes = []result.Cause{{ID: "lending-1", Kind: result.ByLending, Level: "l"}, {ID: "demand-1", Kind: result.ByDemand, Level: "l"}}
			s.Verdict.Try = []result.Remedy{{Remedy: result.OwnLevel, Causes: []string{"demand-1"}}}
		}
		runs.Add(s)
	}
	var one Runs // bad run of four: 28 of 40 000 are a warning
	for seed, rejected := range []int64{0, 3, 25, 0} {
		add(&one, uint64(seed), rejected)
	}
	v := one.Verdict()
	if want := "28 of 40 000 requests of all 4 runs were rejected: l was full. 3 of 4 runs have another status, such as that with seed 3, which is ok."; v.Status != result.Warning || v.Sentence != want {
		t.Errorf("%s %s, want %s", v.Status, v.Sentence, want)
	}
	var runs Runs
	for seed, rejected := range []int64{0, 40, 30} {
		add(&runs, uint64(seed), rejected)
	}
	v = runs.Verdict()
	if want := "70 of 30 000 requests of all 3 runs were rejected: l was full. The run with seed 0 alone is ok."; v.Status != result.Harm || v.Sentence != strings.Replace(want, "70", "0.233 %", 1) {
		t.Errorf("%s %s, want %s", v.Status, v.Sentence, want)
	}
	if h := v.Harmed; len(h) != 1 || h[0].Sent != 20_000 || h[0].NotServed.Rejected != 70 || *h[0].WaitP99Ns != 4e9 || h[0].FromNs != 60 || h[0].ToNs != 140 || len(h[0].Causes) != 2 {
		t.Errorf("%+v", h)
	}
	if len(v.Causes) != 2 || len(v.Try) != 1 || len(v.Try[0].Causes) != 1 || v.Try[0].Causes[0] != "demand-1" {
		t.Errorf("%+v %+v", v.Causes, v.Try)
	}
}

// Four elephants among many mice are limited: that is a warning and not harm. Their rejections do not make victims of the mice,
// whose own rejections would.
func TestLimitedFlowsAreNoVictims(t *testing.T) {
	build := func(micesRejected int64) *result.Result {
		r := served(100_000)
		s := r.Summary
		s.Workloads[0].NotServed = &result.NotServed{Rejected: 20_000 + micesRejected}
		s.PriorityLevels[0].NotServed, s.Total.NotServed = s.Workloads[0].NotServed, s.Workloads[0].NotServed
		for i := range 4 {
			f := result.Flow{Group: result.Group{Name: fmt.Sprintf("s/system:elephant-%d", i), Counts: metric.Counts{Arrived: 20_000, Rejected: 5000}, NotServed: &result.NotServed{Rejected: 5000}},
				PriorityLevel: "l", Workload: "w", DemandSeatSeconds: 1000, FairShareSeatSeconds: 750}
			if f.Limited = Limited(&f, 1, 0); !f.Limited {
				t.Fatal("an elephant is not limited")
			}
			s.Flows = append(s.Flows, f)
		}
		mice := measure.New(measure.CoarsePrecision)
		mice.Arrived, mice.Executed = 20_000, 20_000-micesRejected
		mice.QueueFull = micesRejected
		s.Flows = append(s.Flows, result.Flow{Group: result.NewGroup("s/system:mouse", mice), PriorityLevel: "l", Workload: "w", DemandSeatSeconds: 1, FairShareSeatSeconds: 1})
		s.NameFlows()
		asked := result.Asked{Limited: 4, LimitedSeconds: 4000, Victims: mice}
		r.Evidence.Workloads[0].Asked, r.Evidence.Levels[0].Asked = asked, asked
		r.Series = []*result.Series{{Level: "l", Points: []result.Point{{EndNs: 60e9, CurrentLimit: 50}}}}
		Verdict(r)
		return r
	}
	v := build(0).Summary.Verdict
	if v.Status != result.Warning || v.Sentence != "4 flows of l asked for 133 % of its seats and were limited; nobody else was affected." {
		t.Errorf("%s %s", v.Status, v.Sentence)
	}
	if len(v.Harmed) != 1 || v.Harmed[0].Role != result.WasLimited || v.Harmed[0].Name != "elephant-*" || v.Harmed[0].Flows != 4 {
		t.Errorf("%+v", v.Harmed)
	}
	v = build(100).Summary.Verdict
	if v.Status != result.Harm || len(v.Harmed) != 2 || v.Harmed[0].Role != result.Victim || v.Harmed[0].Name != "mouse" {
		t.Errorf("%s %s %+v", v.Status, v.Sentence, v.Harmed)
	}
	if v.Decided.Sentence == "" || v.Decided.Value != 100./20_000 {
		t.Errorf("%+v", v.Decided)
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

// full is a level of ten seats that is asked for 12 of them for 30 s, and then for 8: a backlog grows to 60 seat-seconds, and
// is gone in the end. Flow a asks for more than its fair share, and b for less.
func full() *result.Result {
	r := served(1000)
	s := r.Summary
	l := &s.PriorityLevels[0]
	wait := &result.Distribution{Count: 1000, MeanNs: 3e9, P50Ns: 3e9, P90Ns: 5e9, P99Ns: 6e9, MaxNs: 6e9}
	l.Wait, s.Workloads[0].Wait, s.Total.Wait, l.ServiceSeatSeconds = wait, wait, wait, 600
	s.Flows = []result.Flow{
		{Group: result.Group{Name: "s/a", Wait: wait}, PriorityLevel: "l", FlowSchema: "s", Workload: "w", DemandSeatSeconds: 400, FairShareSeatSeconds: 300},
		{Group: result.Group{Name: "s/b", Wait: wait}, PriorityLevel: "l", FlowSchema: "s", Workload: "w", DemandSeatSeconds: 200, FairShareSeatSeconds: 300},
	}
	series := &result.Series{Level: "l", Limited: true}
	backlog, left := 0.0, 0.0
	for i := range int64(60) {
		work := 12.0
		if i >= 30 {
			work = 8
		}
		p := result.Point{StartNs: i * 1e9, EndNs: (i + 1) * 1e9, SeatsInUse: 10, CurrentLimit: 10, NominalLimit: 10, Arrived: int64(work), AskedSeatSeconds: left + work}
		backlog += work - 10
		p.WaitingSeats, p.WaitingRequests, p.LeftSeatSeconds = backlog, backlog, backlog+5 // five are left of those that execute
		left = p.LeftSeatSeconds
		series.Points = append(series.Points, p)
	}
	r.Series = []*result.Series{series}
	r.Evidence.Levels[0].MostConfigured, r.Evidence.Levels[0].LeastConfigured = 10, 10
	r.Evidence.Workloads[0].Levels = []result.WorkloadLevel{{Level: "l", Arrived: 1000, Seats: 1000, WaitedNs: 3e12}}
	return r
}

// Each mechanism that takes seats from a level, or makes its requests hold them for longer, is named if the backlog would
// not be there without it. Without one, it is the demand.
func TestCausesAtALevel(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*result.Result, *result.LevelEvidence, []result.Point)
		kinds  string
		text   string
	}{
		{"demand", func(*result.Result, *result.LevelEvidence, []result.Point) {}, "demand", "a asked for 66.7 % of all seat-seconds of l, 133 % of its fair share."},
		{"flows that are not listed", func(r *result.Result, _ *result.LevelEvidence, _ []result.Point) {
			r.Summary.Flows = nil
			r.Summary.OtherFlows = []result.OtherFlows{{Flow: result.Flow{PriorityLevel: "l", DemandSeatSeconds: 600}}}
		}, "demand", "The requests of l asked for 100 % of its seats."},
		{"exempt", func(r *result.Result, _ *result.LevelEvidence, _ []result.Point) {
			r.Summary.PriorityLevels[0].Type = "Exempt"
		}, "", ""},
		{"calls", func(_ *result.Result, e *result.LevelEvidence, _ []result.Point) {
			e.Spent = result.Spent{TotalNs: 1000, CallsNs: 500}
		}, "webhook", "50 % of the seat-seconds of l passed while the server waited"},
		{"calls, and a demand that the series does not have", func(_ *result.Result, e *result.LevelEvidence, points []result.Point) {
			e.Spent = result.Spent{TotalNs: 1000, CallsNs: 500}
			for i := range points { // ten seats are enough for what was expected, which is less than 600 seat-seconds
				points[i].AskedSeatSeconds -= []float64{2.5, 0}[i/30]
			}
		}, "webhook", "50 % of the seat-seconds of l passed while the server waited"},
		{"shared processors", func(_ *result.Result, e *result.LevelEvidence, _ []result.Point) {
			e.Spent = result.Spent{TotalNs: 1000, ServedNs: 1000, SlowNs: 500}
		}, "cores", "50 % of the seat-seconds of l are more than they take alone"},
		{"slow machines", func(r *result.Result, e *result.LevelEvidence, points []result.Point) {
			e.Spent = result.Spent{TotalNs: 1000, ServedNs: 1000, SlowNs: 250}
			series := &result.ServerSeries{}
			for i := range points {
				p := result.ServerPoint{StartNs: points[i].StartNs, EndNs: points[i].EndNs}
				p.InService, p.Factor = 4, []float64{0.5, 1}[i/30]
				series.Points = append(series.Points, p)
			}
			r.ServerSeries = []*result.ServerSeries{series}
			r.Summary.Timeline = []result.Moment{{Server: result.AllServers, Factor: 0.5}, {AtNs: 30e9, Server: result.AllServers, Factor: 1}}
		}, "execution", "Executions of l were slow: the machines ran at 50 % of their speed from 0 s to 30 s."},
		{"etcd", func(r *result.Result, e *result.LevelEvidence, _ []result.Point) {
			e.Spent = result.Spent{TotalNs: 1000, StoredNs: 800}
			r.Evidence.EtcdTookNs, r.Evidence.EtcdAloneNs = 100, 20
		}, "etcd", "Transactions of etcd hindered each other, which took 64 % of the seat-seconds of l"},
		{"reads of etcd", func(r *result.Result, e *result.LevelEvidence, _ []result.Point) {
			e.Spent = result.Spent{TotalNs: 1000, StoredNs: 800}
			r.Evidence.EtcdTookNs, r.Evidence.EtcdAloneNs, r.Evidence.EtcdReads = 100, 20, true
		}, "etcd", "Calls to etcd hindered each other, which took 64 % of the seat-seconds of l"},
		{"the network", func(_ *result.Result, e *result.LevelEvidence, _ []result.Point) {
			e.Spent = result.Spent{TotalNs: 1000, ServedNs: 200, SlowSentNs: 500}
		}, "network", "Answers shared the network of the server: 50 % of the seat-seconds of l are more than they take alone."},
		{"the configuration", func(_ *result.Result, e *result.LevelEvidence, _ []result.Point) { e.MostConfigured = 13 },
			"seats", "The configuration gave l only 10 nominal seats at first, and up to 13 later."},
		{"a change of the configuration", func(_ *result.Result, e *result.LevelEvidence, _ []result.Point) {
			e.MostConfigured, e.ReducedNs = 13, 20e9
		},
			"seats", "A change of the configuration at 20 s gave l only 10 nominal seats, which had 13 before."},
		{"lending", func(_ *result.Result, _ *result.LevelEvidence, points []result.Point) {
			for i := range points {
				points[i].NominalLimit = 13
			}
		}, "lending", "l had only 10 of its 13 nominal seats for some time, because it had lent the others."},
		{"retries", func(r *result.Result, _ *result.LevelEvidence, _ []result.Point) {
			r.Summary.PriorityLevels[0].Retries = 300
		},
			"retries", "30 % of the requests of l were retries"},
	} {
		r := full()
		e := &r.Evidence.Levels[0]
		c.change(r, e, r.Series[0].Points)
		e.Executed = 600
		spent := e.Spent
		e.Spent = result.Spent{}
		for _, p := range r.Series[0].Points { // ten seats spend their time alike all the time
			step := result.LevelStep{Retries: r.Summary.PriorityLevels[0].Retries * p.Arrived / 1000}
			step.Spent.Add(&spent, 10e9/1000)
			e.Steps = append(e.Steps, step)
			e.Spent.Add(&step.Spent, 1)
		}
		Verdict(r)
		v := r.Summary.Verdict
		var kinds []string
		for _, found := range v.Causes {
			kinds = append(kinds, string(found.Kind))
			if len(found.Figures) == 0 || found.Level != "l" {
				t.Errorf("%s: %+v has no figures, or is not about l", c.what, found)
			}
		}
		if got := strings.Join(kinds, " "); got != c.kinds || got != "" && !strings.Contains(v.Causes[0].Sentence, c.text) {
			t.Errorf("%s: %q %+v, want %q, %q", c.what, got, v.Causes, c.kinds, c.text)
		}
		if c.kinds != "" && !strings.HasSuffix(v.Sentence, ": "+Clause(&v.Causes[0])+".") {
			t.Errorf("%s: %q does not end with the first cause", c.what, v.Sentence)
		}
	}
}

// Wide requests that do not fit hold up narrow ones although seats are free: that is a cause beside the demand, if the next
// request was held back for long, or if a single one takes more than all seats.
func TestWideRequestsAsACause(t *testing.T) {
	for _, c := range []struct {
		what       string
		heldBackNs int64
		wideSeats  int64 // of ten requests
		peak       int
		want       string // "" for none
	}{
		{"held back for half of the time", 30e9, 50, 10, "For 50 % of the time with queued requests, the next request of l needed more seats than were free"},
		{"hardly held back", 6e9, 50, 10, ""},
		{"not wide", 30e9, 14, 10, ""},
		{"wider than the level", 0, 200, 20, "A request of wide takes 20 seats, more than the 10 of l"},
	} {
		r := full()
		s := r.Summary
		for i := range r.Series[0].Points { // six of ten seats are used, and five requests wait
			p := &r.Series[0].Points[i]
			p.SeatsInUse, p.WaitingSeats, p.WaitingRequests, p.LeftSeatSeconds, p.AskedSeatSeconds = 6, 5, 5, 8, 14
		}
		s.Flows[0].DemandSeatSeconds, s.Flows[1].DemandSeatSeconds = 180, 180
		s.PriorityLevels[0].PeakSeats = c.peak
		s.Workloads = append(s.Workloads, result.Group{Name: "wide", Counts: metric.Counts{Arrived: 10, Executed: 10}})
		r.Evidence.Workloads[0].Levels[0].WaitedNs = 9e9
		r.Evidence.Workloads = append(r.Evidence.Workloads, result.WorkloadEvidence{Levels: []result.WorkloadLevel{{Level: "l", Arrived: 10, Seats: c.wideSeats, WaitedNs: 1e9}}})
		r.Evidence.Levels[0].HeldBackNs = c.heldBackNs
		Verdict(r)
		var wide *result.Cause
		for i := range s.Verdict.Causes {
			if found := &s.Verdict.Causes[i]; found.Kind == result.ByWideLists {
				wide = found
			}
		}
		if (wide != nil) != (c.want != "") || wide != nil && (!strings.Contains(wide.Sentence, c.want) || strings.Join(wide.Workloads, " ") != "wide") {
			t.Errorf("%s: %+v, want %q", c.what, s.Verdict.Causes, c.want)
		}
	}
	r := full()
	r.Series[0].Points = r.Series[0].Points[:1]
	r.Series[0].Points[0].WaitingSeats, r.Summary.PriorityLevels[0].PeakSeats = 0, 20
	r.Evidence.Workloads[0].Levels[0].Seats = 20_000
	d := &diagnosis{Result: r}
	c, _ := d.wide(0, nil, d.newFluid(r.Series[0].Points, true, nil, 0), 1)
	if c == nil || c.Figures[1] != (result.Figure{Name: "heldBackShare"}) {
		t.Errorf("%+v; want a wide request that was not held back, as none waited", c)
	}
}

// The flow b asks for little, and its only queue is one of the elephant's, behind which it waits.
func TestHandsAsACause(t *testing.T) {
	r := full()
	flows := r.Summary.Flows
	for i := range flows {
		f := &flows[i]
		f.Hand, f.Arrived = [][]int{{0, 1}, {1}}[i], 500
		for k := range 60 {
			f.QueuedIn.Set(k)
		}
		f.Wait = &result.Distribution{Count: 500, MeanNs: []int64{2e9, 8e9}[i], P50Ns: 1e9}
	}
	Verdict(r)
	causes := r.Summary.Verdict.Causes
	if len(causes) != 2 || causes[0].Kind != result.ByHand || causes[0].Flows[0].Flow != "s/a" || causes[1].Kind != result.ByDemand ||
		!strings.HasPrefix(causes[0].Sentence, "s/b asked for no more than its fair share, and shares all queues of its hand with flows of l that asked for more: s/a.") {
		t.Errorf("%+v, want the hand of b, and then the demand", causes)
	}
	flows[0].Hand = []int{0, 2}
	Verdict(r)
	if causes = r.Summary.Verdict.Causes; len(causes) != 1 || causes[0].Kind != result.ByDemand {
		t.Errorf("%+v, want the demand only, as the elephant is in other queues", causes)
	}
}

// A cover is of the flows with most of the queues and, of these, with the greatest service.
func TestCoverOfQueues(t *testing.T) {
	flows := []*result.Flow{{Group: result.Group{Name: "one"}, Hand: []int{0}}, {Group: result.Group{Name: "two"}, Hand: []int{1, 2}},
		{Group: result.Group{Name: "more"}, Hand: []int{1, 2}, ServiceSeatSeconds: 1}, {Group: result.Group{Name: "none"}, Hand: []int{7}}}
	var names []string
	for _, f := range CoverOf([]int{0, 1, 2}, flows) {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "more one" {
		t.Errorf("covered by %q, want more and one", got)
	}
	if got := CoverOf([]int{0, 5}, flows); got != nil {
		t.Errorf("queue 5 is covered by %d flows", len(got))
	}
}

// Requests that failed otherwise than by flow control have the cause that took most of their time, or ended their server.
func TestCausesOfFailures(t *testing.T) {
	for _, c := range []struct {
		what   string
		failed result.Spent
		n      result.NotServed
		change func(*result.Result)
		want   result.Kind
		text   string
	}{
		{"own time", result.Spent{TotalNs: 100, CallsNs: 20, SlowNs: 20, StoredNs: 20}, result.NotServed{Failures: metric.Failures{Deadline: 7}}, nil, result.ByExecution, "7 requests of w were not answered in time, as their executions take that long."},
		{"etcd", result.Spent{TotalNs: 100, StoredNs: 70}, result.NotServed{Failures: metric.Failures{Deadline: 7}}, nil, result.ByEtcd, "as they waited for etcd"},
		{"shared processors", result.Spent{TotalNs: 100, SlowNs: 70}, result.NotServed{Failures: metric.Failures{Deadline: 1}}, nil, result.ByCores, "1 request of w was not answered in time, as they shared the processor"},
		{"a full network", result.Spent{TotalNs: 100, SlowSentNs: 70}, result.NotServed{Failures: metric.Failures{Deadline: 7}}, nil, result.ByNetwork, "7 requests of w were not answered in time, as their answers shared the network"},
		{"calls", result.Spent{TotalNs: 100, CallsNs: 70}, result.NotServed{Failures: metric.Failures{Error: 7}}, nil, result.ByWebhook, "7 requests of w failed while the server waited"},
		{"a crash", result.Spent{}, result.NotServed{Lost: 3, Refused: 4}, func(r *result.Result) {
			r.Summary.Timeline = []result.Moment{{Stage: "off"}, {What: result.NotAccepting}}
		}, result.ByStoppedServer, "7 requests of w reached a server that had stopped"},
		{"out of memory", result.Spent{}, result.NotServed{Lost: 7}, func(r *result.Result) {
			r.Summary.Timeline = []result.Moment{{Stage: "off", OutOfMemory: true}, {Stage: "off", OutOfMemory: true}}
		}, result.ByMemory, "A server was killed 2 times, as it needed more memory than there is; 7 requests were lost or refused."},
	} {
		r := served(1000)
		r.Summary.Total.NotServed, r.Summary.Workloads[0].NotServed = &c.n, &c.n
		r.Evidence.Workloads[0].Failed = c.failed
		if c.change != nil {
			c.change(r)
		}
		Verdict(r)
		v := r.Summary.Verdict
		if len(v.Causes) != 1 || v.Causes[0].Kind != c.want || !strings.Contains(v.Causes[0].Sentence, c.text) || strings.Join(v.Causes[0].Harmed, " ") != "w" {
			t.Errorf("%s: %+v, want %s, %q", c.what, v.Causes, c.want, c.text)
			continue
		}
		if v.Causes[0].Figures[0].Value != float64(c.n.Total()) || len(v.Harmed) != 1 || strings.Join(v.Harmed[0].Causes, " ") != v.Causes[0].ID {
			t.Errorf("%s: %+v harmed %+v", c.what, v.Causes, v.Harmed)
		}
		if ends := v.Causes[0].Figures[len(v.Causes[0].Figures)-1]; c.want == result.ByStoppedServer && ends != (result.Figure{Name: "ends", Value: 2}) {
			t.Errorf("%s: %+v, want two ends", c.what, ends)
		}
	}
}

// Without priority levels, rejections have the cause that a limit of requests in flight was reached.
func TestInFlightLimitAsACause(t *testing.T) {
	r := served(1000)
	s := r.Summary
	s.FlowControl = server.MaxInFlight
	Verdict(r)
	if len(s.Verdict.Causes) != 0 {
		t.Errorf("%+v, although nothing was rejected", s.Verdict.Causes)
	}
	n := result.NotServed{Rejected: 50}
	s.Total.NotServed, s.Workloads[0].NotServed, s.Total.Rejected, s.Workloads[0].Rejected = &n, &n, 50, 50
	s.Workloads[0].Execution = &result.Distribution{Count: 950, MeanNs: 1e9}
	Verdict(r)
	if c := s.Verdict.Causes; len(c) != 1 || c[0].Kind != result.ByInFlightLimit || c[0].Sentence != "50 requests were rejected by the limits of requests in flight; w asked for 100 % of the time of all requests." {
		t.Errorf("%+v", c)
	}
}

// The time of the harm is told if it is not all of the window, of which a fiftieth at each end makes no difference.
func TestTimeOfTheHarm(t *testing.T) {
	s := &result.Summary{WarmupNs: 10e9, DurationNs: 110e9}
	for _, c := range []struct {
		fromNs, toNs int64
		want         string
	}{{10e9, 110e9, ""}, {12e9, 108e9, ""}, {12e9 + 1, 108e9, " from 12 s to 1m48s"}, {12e9, 100e9, " from 12 s to 1m40s"}, {50e9, 110e9, " from 50 s to 1m50s"}} {
		harmed := []result.Harmed{{FromNs: 0, ToNs: 200e9}, {FromNs: c.fromNs, ToNs: c.toNs, NotServed: result.NotServed{Rejected: 1}}}
		if got := when(s, harmed); (got == "") != (c.want == "") {
			t.Errorf("%d to %d: %q, want %q", c.fromNs, c.toNs, got, c.want)
		}
	}
	d := &diagnosis{Result: &result.Result{Summary: s}}
	n := result.NotServed{Rejected: 1}
	s.Workloads = []result.Group{{Name: "w", NotServed: &n}}
	series := &result.WorkloadSeries{}
	for i := range int64(11) {
		series.Points = append(series.Points, result.WorkloadPoint{StartNs: i * 10e9, EndNs: (i + 1) * 10e9, WaitP99Ns: i})
	}
	d.WorkloadSeries = []*result.WorkloadSeries{series}
	series.Points[4].WaitP99Ns = GoodWaitNs
	if from, to := d.whenHarmed(0); from != 10e9 || to != 110e9 {
		t.Errorf("of a rejection that the series does not have: %d to %d, want the window", from, to)
	}
	s.Workloads[0].NotServed, series.Points[4].WaitP99Ns = nil, 4
	if from, to := d.whenHarmed(0); from != 10e9 || to != 110e9 {
		t.Errorf("of short waits: %d to %d, want all with a wait", from, to)
	}
	series.Points[4].WaitP99Ns, series.Points[6].OldestWaitNs = GoodWaitNs, GoodWaitNs
	if from, to := d.whenHarmed(0); from != 40e9 || to != 70e9 {
		t.Errorf("of long waits: %d to %d, want 40 s to 70 s", from, to)
	}
	s.WarmupNs, series.Points[0].WaitP99Ns = 0, GoodWaitNs
	if from, to := d.whenHarmed(0); from != 0 || to != 70e9 {
		t.Errorf("of long waits from the beginning: %d to %d, want 0 to 70 s", from, to)
	}
}

// The flows of a workload that replays a log are those of different clients: those that are harmed have rows, and the others one.
func TestRowsOfALog(t *testing.T) {
	r := full()
	s := r.Summary
	n := result.NotServed{Rejected: 30, Lost: 2}
	s.Total.NotServed, s.Workloads[0].NotServed = &n, &n
	for i := range s.Flows {
		s.Flows[i].Arrived = 500
	}
	s.Flows[0].NotServed, s.Flows[1].Wait = &result.NotServed{Rejected: 30}, &result.Distribution{Count: 500}
	s.NameFlows()
	rows := func() (all []string) {
		Verdict(r)
		for _, h := range s.Verdict.Harmed {
			all = append(all, fmt.Sprintf("%s %q: %d of %d flows", h.Name, h.Flow, h.NotServed.Total(), h.Flows))
		}
		return all
	}
	if got := rows(); len(got) != 1 || got[0] != `w "": 32 of 2 flows` {
		t.Errorf("of a scenario: %q", got)
	}
	r.Evidence.Workloads[0].Recorded = true
	if got := rows(); len(got) != 2 || got[0] != `a "s/a": 30 of 1 flows` || got[1] != `flows of w that are not listed "": 2 of 0 flows` {
		t.Errorf("of a log: %q", got)
	}
	s.Flows = s.Flows[:1]
	if got := rows(); len(got) != 1 || got[0] != `a "s/a": 32 of 1 flows` {
		t.Errorf("of a log with one flow: %q", got)
	}
}

// Similar flows are many flows that ask for too much, and none for much more than the others. Make them one flow.
func TestCrowdsAreMerged(t *testing.T) {
	d := &diagnosis{}
	for _, c := range []struct {
		over        float64
		first, last float64
		flows       int
		want        bool
	}{{10, 0.1, 0.05, result.MostCauseFlows, true}, {9, 0.1, 0.05, result.MostCauseFlows, false}, {10, 0.31, 0.1, result.MostCauseFlows, false}, {10, 0.1, 0.05, result.MostCauseFlows - 1, false}} {
		cause := &result.Cause{Figures: []result.Figure{figure("other", 99), figure("overDemandingFlows", c.over)}}
		for range c.flows {
			cause.Flows = append(cause.Flows, result.CauseFlow{ShareOfDemand: c.last})
		}
		cause.Flows[0].ShareOfDemand = c.first
		if got := d.manySimilarFlows(cause); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if d.manySimilarFlows(&result.Cause{Flows: make([]result.CauseFlow, result.MostCauseFlows)}) {
		t.Error("flows of which nothing is known are similar")
	}
}

// A cause that is not about a level is one of the rows whose requests failed in its way.
func TestCausesOfARow(t *testing.T) {
	row := func(n result.NotServed) *result.Harmed { return &result.Harmed{Workload: "w", NotServed: n} }
	for _, c := range []struct {
		kind result.Kind
		n    result.NotServed
		want bool
	}{
		{result.ByStoppedServer, result.NotServed{Refused: 1}, true}, {result.ByStoppedServer, result.NotServed{Rejected: 1}, false}, {result.ByMemory, result.NotServed{Lost: 1}, true},
		{result.ByInFlightLimit, result.NotServed{Rejected: 1}, true}, {result.ByInFlightLimit, result.NotServed{Lost: 1}, false},
		{result.ByEtcd, result.NotServed{Failures: metric.Failures{Deadline: 1}}, true}, {result.ByEtcd, result.NotServed{Rejected: 1}, false},
		{result.ByNetwork, result.NotServed{Failures: metric.Failures{Deadline: 1}}, true}, {result.ByNetwork, result.NotServed{Rejected: 1}, false},
	} {
		if got := explains(&result.Cause{Kind: c.kind}, row(c.n)); got != c.want {
			t.Errorf("%s, %+v: %v", c.kind, c.n, got)
		}
	}
	if explains(&result.Cause{Kind: result.ByEtcd, Harmed: []string{"v"}}, row(result.NotServed{Failures: metric.Failures{Deadline: 1}})) {
		t.Error("a cause is that of another workload")
	}
}

// Runs that have harm by stalls, and serve all requests, have the sentence of the first of them.
func TestSeveralRunsThatServeAll(t *testing.T) {
	var runs Runs
	for range 2 {
		s := served(1000).Summary
		s.Verdict = result.NewOverall()
		s.Verdict.Status, s.Verdict.Sentence = result.Harm, "No request was dispatched."
		runs.Add(s)
	}
	if v := runs.Verdict(); v.Sentence != "In all 2 runs, as in the first: No request was dispatched." {
		t.Error(v.Sentence)
	}
}

// A fluid has what the series of a level says: the work that was rejected is what was asked for, and neither served nor left. It
// is known only where requests were rejected.
func TestFluidOfASeries(t *testing.T) {
	r := full()
	d := &diagnosis{Result: r}
	points := []result.Point{
		{EndNs: 1e9, SeatsInUse: 10, CurrentLimit: 10, NominalLimit: 10, AskedSeatSeconds: 14, LeftSeatSeconds: 2},
		{StartNs: 1e9, EndNs: 2e9, SeatsInUse: 10, CurrentLimit: 10, NominalLimit: 10, AskedSeatSeconds: 14, LeftSeatSeconds: 3, WaitingSeats: 5},
	}
	if seen := d.newFluid(points, true, nil, 0).observed(); seen.over != 0 || seen.area != 1.5 {
		t.Errorf("without a rejection: %+v, want 1.5 seat-seconds that wait", seen)
	}
	points[1].Rejected[0] = 3
	f := d.newFluid(points, true, nil, 0)
	if seen := f.observed(); seen.over != 1 || f.room != 1.5 {
		t.Errorf("%+v, with room for %v; want one rejected and room for what waited", seen, f.room)
	}
	if d.newFluid(points, false, nil, 0).room != 0 {
		t.Error("a level without queues has room")
	}
	if got := (harm{}).relief(harm{}); got != 0 {
		t.Errorf("without harm, the relief is %v", got)
	}
	if got := (harm{over: 1}).relief(harm{over: 2}); got != 0 {
		t.Errorf("with more harm than before, the relief is %v", got)
	}
	if n := unfinishedWaiting(&result.Level{}); n != 0 {
		t.Errorf("%d of no unfinished requests were queued", n)
	}
}

// Half of the time of executions was spent at a machine of half of its speed, and of that half was lost: a quarter. If sharing the
// machine lost more than its own speed, that does not explain the harm.
func TestSlowMachines(t *testing.T) {
	for _, c := range []struct {
		factor, slowNs float64
		want           bool
	}{{0.5, 250, true}, {0.98, 450, false}, {1, 250, false}} {
		r := full()
		s := &result.ServerSeries{Points: make([]result.ServerPoint, 60)}
		e := &result.LevelEvidence{Executed: 1000}
		for i := range s.Points {
			s.Points[i].InService, s.Points[i].Factor = 4, c.factor
			e.Steps = append(e.Steps, result.LevelStep{Spent: result.Spent{TotalNs: 10e9, ServedNs: 5e9, SlowNs: c.slowNs * 1e7}})
			e.Spent.Add(&e.Steps[i].Spent, 1)
		}
		r.ServerSeries = []*result.ServerSeries{s, {Points: make([]result.ServerPoint, 60)}} // the second one has no machine
		r.Summary.Timeline = []result.Moment{{AtNs: 20e9, Server: result.AllServers, Factor: c.factor}}
		d := &diagnosis{Result: r}
		f := d.newFluid(r.Series[0].Points, true, e, 0)
		m := d.slowMachine(f, "l")
		if (m != nil) != c.want {
			t.Errorf("%+v: %+v", c, m)
		}
		if m == nil {
			continue
		}
		if got := f.lostWhileFull(m.lost); math.Abs(got-0.25) > 1e-9 {
			t.Errorf("%v of the time was lost, want a quarter", got)
		}
		if got, want := m.tell(&cause{}), "Executions of l were slow: the machines ran at 50 % of their speed from 20 s on."; got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
}

// A flow that waited at another time than its workload was harmed was harmed when it waited, and never ends before it begins.
func TestWhenAFlowWasHarmed(t *testing.T) {
	points := make([]result.Point, 10)
	for i := range points {
		points[i].StartNs, points[i].EndNs = int64(i)*1e9, int64(i+1)*1e9
	}
	r := served(1000)
	r.Series = []*result.Series{{Level: "l", Points: points}}
	d := &diagnosis{Result: r}
	for _, c := range []struct {
		queued, rejected int64 // a bit for each point, and requests
		from, to         int64 // seconds
	}{
		{0, 0, 2, 5}, {1 << 3, 0, 3, 4}, {1<<1 | 1<<7, 0, 2, 5}, {1 << 4, 0, 4, 5},
		{1 << 8, 0, 8, 9}, {1 << 0, 0, 0, 1}, {1 << 8, 1, 2, 5},
	} {
		f := &result.Flow{PriorityLevel: "l"}
		f.QueuedIn = append(f.QueuedIn, uint64(c.queued))
		if c.rejected > 0 {
			f.NotServed = &result.NotServed{Rejected: c.rejected}
		}
		if from, to := d.whenQueued(f, 2e9, 5e9); from != c.from*1e9 || to != c.to*1e9 {
			t.Errorf("queued %b, %d rejected: from %d to %d ns, want %d to %d s", c.queued, c.rejected, from, to, c.from, c.to)
		}
	}
}

// Leaders are never lost without a cause: where nothing else explains it, it is what took most of the time of their requests.
func TestLostLeadersHaveACause(t *testing.T) {
	r := served(1000)
	r.Summary.Workloads[0].Clients = &result.Clients{Notes: []result.Noted{{Metric: "leaderLost", Count: 2}}}
	r.Evidence.Workloads[0].Levels = []result.WorkloadLevel{{Level: "l", Spent: result.Spent{TotalNs: 100, StoredNs: 90}}}
	Verdict(r)
	v := r.Summary.Verdict
	if len(v.Causes) != 1 || v.Causes[0].Kind != result.ByEtcd || v.Causes[0].Sentence != "Leaders of w lost their leases 2 times: etcd was slow." {
		t.Errorf("the causes are %+v", v.Causes)
	}
}
