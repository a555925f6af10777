package reports_test

import (
	"cmp"
	"fmt"

	"apfsim/core/queueset"
	"apfsim/reports/collect"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/server"

	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func over(seconds int64, t metric.Threshold) metric.Threshold {
	t.Over = quantity.Duration(seconds * second)
	return t
}

// The story, over the windows from 10 s and from 20 s.
func TestWindowsOfTheStory(t *testing.T) {
	const plain, duration = metric.NoUnit, metric.Nanoseconds
	const none = -1
	for _, c := range []struct {
		threshold             metric.Threshold
		value                 float64 // none: there is a note instead
		judged, empty, failed int64
		worstFrom             int64 // seconds; none
	}{
		// m1 waits 3 s, m4 and the one that passes by do not wait.
		{thresholdOf("k", "wait", tags("workload", "mice"), "max", "<", 2e9, duration), 3e9, 2, 0, 1, 10},
		{thresholdOf("k", "wait", tags("workload", "mice"), "max", "<", 4e9, duration), 3e9, 2, 0, 0, 10},
		{thresholdOf("k", "wait", tags("workload", "mice"), "max", ">", 1e9, duration), 0, 2, 0, 1, 20},
		{thresholdOf("k", "wait", tags("workload", "mice", "priorityLevel", "low"), "mean", "<", 4e9, duration), 3e9, 2, 0, 0, 10},
		{thresholdOf("k", "wait", tags("workload", "mice", "flow", "service-accounts/b"), "count", "<", 2, plain), 1, 2, 0, 0, 10},
		// What arrives from 20 s on has not been executed: there are requests, but no sample.
		{thresholdOf("k", "latency", nil, "max", "<", 30e9, duration), none, 2, 0, 1, 20},
		{thresholdOf("k", "executed", nil, "rate", ">", 0.5, metric.NoUnit), 0, 2, 0, 1, 20},
		{thresholdOf("k", "executing", nil, "count", "<", 2, plain), 1, 2, 0, 0, 20},
		{thresholdOf("k", "waiting", nil, "count", "==", 0, plain), 1, 2, 0, 1, 20},
		// Elephants come in the first window alone.
		{thresholdOf("k", "wait", tags("workload", "elephants"), "max", "<", 1, duration), 0, 1, 1, 0, 10},
		{thresholdOf("k", "arrived", tags("workload", "elephants"), "count", ">", 0, plain), 0, 2, 0, 1, 20},
		{thresholdOf("k", "arrived", nil, "perSecond", "<=", 0.5, plain), 0.5, 2, 0, 0, 10},
		{thresholdOf("k", "rejected", nil, "rate", "<", 0.3, metric.NoUnit), 0.4, 2, 0, 1, 10},
		{thresholdOf("k", "rejected", tags("reason", "time-out"), "count", "!=", 1, plain), 1, 2, 0, 1, 10},
		{thresholdOf("k", "rejectedWait", nil, "max", "<", 5e9, duration), 4e9, 1, 1, 0, 10},
		{thresholdOf("k", "rejectedWait", nil, "count", "<", 5, plain), 2, 2, 0, 0, 10},
		{thresholdOf("k", "retries", nil, "count", "<", 1, plain), 1, 2, 0, 1, 10},
		// Nothing to judge is no pass.
		{thresholdOf("k", "wait", tags("workload", "unheard"), "max", "<", 1, duration), none, 0, 2, 0, none},
	} {
		s := storyResult(over(10, c.threshold)).Summary
		v := s.Thresholds[0]
		want := result.Windows{LengthNs: 10 * second, Judged: c.judged, Empty: c.empty, Failed: c.failed}
		if c.worstFrom != none {
			from := c.worstFrom * second
			want.WorstFromNs = &from
		}
		name := fmt.Sprintf("%s %v %s %s", c.threshold.Metric, c.threshold.Tags, c.threshold.Text, v.Found())
		if diff := gocmp.Diff(&want, v.Windows); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		switch {
		case (v.Value == nil) != (c.value == none) || (v.Value == nil) != (v.Note != ""):
			t.Errorf("%s: value %v, note %q", name, v.Value, v.Note)
		case v.Value != nil:
			nearNumber(t, name, *v.Value, c.value)
		}
		if v.Passed != (c.failed == 0 && c.judged > 0) || s.Passed != v.Passed {
			t.Errorf("%s: passed: %v, the run %v", name, v.Passed, s.Passed)
		}
	}
}

func TestAFlowThatNeverAppearedHasNoWindows(t *testing.T) {
	s := storyResult(over(10, thresholdOf("k", "arrived", tags("flow", "service-accounts/nobody"), "count", "<", 5, metric.NoUnit))).Summary
	if v := s.Thresholds[0]; v.Passed || s.Passed || v.Value != nil || v.Windows != nil || v.Note != result.NoSuchFlow {
		t.Errorf("%+v", v)
	}
}

// What is left at the end and makes no window is not judged.
func TestTheRestIsInNoWindow(t *testing.T) {
	v := storyResult(over(8, thresholdOf("k", "arrived", nil, "count", ">", 0, metric.NoUnit))).Summary.Thresholds[0]
	if v.Windows.Judged != 2 || v.Windows.Failed != 1 || *v.Windows.WorstFromNs != 18*second {
		t.Errorf("%+v", v.Windows)
	}
}

func TestVerdictOverWindowsInWords(t *testing.T) {
	wait := func(op string, limit float64) metric.Threshold {
		return over(10, thresholdOf("k", "wait", tags("workload", "mice"), "max", op, limit, metric.Nanoseconds))
	}
	s := storyResult(wait("<", 2e9), wait("<", 4e9), over(10, thresholdOf("k", "latency", nil, "max", "<", 3e9, metric.Nanoseconds)),
		over(10, thresholdOf("k", "wait", tags("workload", "unheard"), "max", "<", 3e9, metric.Nanoseconds)),
		thresholdOf("k", "arrived", nil, "count", ">", 0, metric.NoUnit),
		over(20, thresholdOf("k", "execution", tags("workload", "mice"), "max", "<", 6e9, metric.Nanoseconds))).Summary
	for i, want := range []string{"3 s in the worst of 2 windows, from 10 s; 1 failed", "3 s in the worst of 2 windows, from 10 s",
		"no samples in the worst of 2 windows, from 20 s; 2 failed", "no samples in any window", "7",
		"5 s in the only window, from 10 s"} {
		if got := s.Thresholds[i].Found(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := s.Thresholds[0].Expression; got != "max < over 10s" {
		t.Errorf("expression %q", got)
	}
}

// Without a threshold over windows there is nothing to observe.
func TestNoWindowsWithoutOver(t *testing.T) {
	sc := storyScenario()
	sc.Spec.Thresholds = metric.Thresholds{thresholdOf("k", "arrived", nil, "count", ">", 0, metric.NoUnit)}
	if ws := collect.NewWindowed(sc); ws != nil {
		t.Errorf("%d thresholds over windows", len(ws))
	}
}

// Nobody judges the windows: the threshold has failed, rather than passed in silence.
func TestWindowsThatNobodyObservesFail(t *testing.T) {
	sc := storyScenario()
	sc.Spec.Thresholds = metric.Thresholds{over(10, thresholdOf("k", "arrived", nil, "count", ">", 0, metric.NoUnit))}
	s := newStage(sc)
	s.tell()
	if s := s.collector.Result().Summary; s.Passed || s.Thresholds[0].Passed || s.Thresholds[0].Note == "" {
		t.Errorf("%+v", s.Thresholds[0])
	}
}

// life is what becomes of one request in a random run. Times are in nanoseconds, so short
// that histograms are exact; 0 is never.
type life struct {
	workload                        int
	flow                            *server.Flow
	arrival, dispatch, finish, turn int64 // turn: rejected
}

// play plays lives to an observer, in the order of time.
func play(o server.Observer, lives []life) {
	type event struct {
		atNs int64
		tell func()
	}
	var events []event
	for _, l := range lives {
		r := &server.Request{Sent: server.Sent{Template: &server.Template{Workload: l.workload}, Attempt: 1}, Decision: server.Decision{Flow: l.flow, ArrivalNs: l.arrival, DispatchNs: -1}}
		events = append(events, event{l.arrival, func() { o.Arrived(l.arrival, r) }})
		if l.dispatch > 0 {
			events = append(events, event{l.dispatch, func() { r.DispatchNs = l.dispatch; o.Dispatched(l.dispatch, r) }})
		}
		if l.finish > 0 {
			events = append(events, event{l.finish, func() { o.Executed(l.finish, r) }})
		}
		if l.turn > 0 {
			events = append(events, event{l.turn, func() { r.Rejection = queueset.TimedOut; o.Rejected(l.turn, r) }})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.atNs, b.atNs) })
	for _, e := range events {
		e.tell()
	}
}

// slowly returns the value of a threshold over the lives of one window, ok if it has one,
// and whether there is anything to judge.
func slowly(t *metric.Threshold, lives []life) (value float64, ok, judged bool) {
	var durations []int64
	rejected := 0
	for _, l := range lives {
		switch {
		case l.turn > 0:
			rejected++
			if t.Metric == "rejectedWait" {
				durations = append(durations, l.turn-l.arrival)
			}
		case t.Metric == "wait" && l.dispatch > 0:
			durations = append(durations, l.dispatch-l.arrival)
		case t.Metric == "latency" && l.finish > 0:
			durations = append(durations, l.finish-l.arrival)
		}
	}
	slices.Sort(durations)
	n := len(durations)
	switch {
	case t.Metric == "arrived":
		return float64(len(lives)), true, true
	case len(lives) == 0:
		return 0, false, false
	case t.Metric == "rejected":
		return float64(rejected) / float64(len(lives)), true, true
	case n == 0:
		return 0, false, t.Metric != "rejectedWait"
	case t.Stat == "max":
		return float64(durations[n-1]), true, true
	}
	return float64(durations[max(0, int(math.Ceil(t.Percentile/100*float64(n)))-1)]), true, true
}

// Windows are what a slow look at all requests of each says.
func TestWindowsAreThoseOfASlowLook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.Int64Range(1, 300).Draw(t, "length")
		warmup := rapid.Int64Range(0, 200).Draw(t, "warm-up")
		end := warmup + length + rapid.Int64Range(0, 800).Draw(t, "more")
		var lives []life
		for i := range rapid.SampledFrom([]int{0, 3, 30, 1000}).Draw(t, "requests") {
			draw := func(what string, most int64) int64 { return rapid.Int64Range(0, most).Draw(t, fmt.Sprint(what, i)) }
			l := life{workload: int(draw("workload", 1)), arrival: draw("arrival", end-1)}
			l.flow = []*server.Flow{nil, flowA, flowB}[draw("flow", 2)]
			if decision := l.arrival + draw("wait", 200); draw("rejected", 3) == 0 {
				l.turn = decision
			} else {
				l.dispatch, l.finish = decision, decision+draw("execution", 200)
			}
			for _, at := range []*int64{&l.turn, &l.dispatch, &l.finish} {
				if *at >= end { // it does not come to that
					*at = 0
				}
			}
			lives = append(lives, l)
		}
		// What arrives at the same instant arrives in this order.
		slices.SortStableFunc(lives, func(a, b life) int { return cmp.Compare(a.arrival, b.arrival) })

		stat := rapid.SampledFrom([][2]string{{"wait", "max"}, {"wait", "p"}, {"latency", "p"}, {"rejectedWait", "max"},
			{"rejected", "rate"}, {"arrived", "count"}}).Draw(t, "statistic")
		th := thresholdOf("k", stat[0], rapid.SampledFrom([][]metric.Tag{nil, tags("workload", "mice"), tags("flow", flowB.Name()),
			tags("workload", "elephants", "flowSchema", schema.Name)}).Draw(t, "tags"),
			stat[1], rapid.SampledFrom([]string{"<", "<=", ">", ">=", "==", "!="}).Draw(t, "comparison"),
			float64(rapid.SampledFrom([]int64{0, 1, 50, 100}).Draw(t, "limit")), metric.NoUnit)
		th.Percentile = float64(rapid.SampledFrom([]int{0, 50, 90, 100}).Draw(t, "percentile"))
		th.Over = quantity.Duration(length)
		sc := storyScenario()
		sc.Spec.Warmup.Duration, sc.Spec.Duration = quantity.Duration(warmup), quantity.Duration(end)
		sc.Spec.Thresholds = metric.Thresholds{th}

		ws := collect.NewWindowed(sc)
		play(ws.Observer(), lives)
		s := &result.Summary{Thresholds: make([]result.Verdict, 1)}
		ws.Judge(s)
		got := s.Thresholds[0]

		lives = slices.DeleteFunc(lives, func(l life) bool {
			name, schemaName := "", ""
			if l.flow != nil {
				name, schemaName = l.flow.Name(), l.flow.Schema.Name
			}
			return !collect.Tagged(&th, "workload", sc.Spec.Workload[l.workload].Name) || !collect.Tagged(&th, "flow", name) || !collect.Tagged(&th, "flowSchema", schemaName)
		})
		if th.Tag("flow") != "" && len(lives) == 0 {
			if got.Note != result.NoSuchFlow || got.Passed {
				t.Fatalf("%+v of a flow that never appeared", got)
			}
			return
		}
		want := collect.NewVerdict(&th)
		want.Windows = &result.Windows{LengthNs: length}
		for from := warmup; from+length <= end; from += length {
			var in []life
			for _, l := range lives {
				if l.arrival >= from && l.arrival < from+length {
					in = append(in, l)
				}
			}
			value, ok, judged := slowly(&th, in)
			switch {
			case !judged:
				want.Windows.Empty++
				continue
			case !ok || !th.Holds(value):
				want.Windows.Failed++
			}
			want.Windows.Judged++
			if n := durationsOf(&th, in); n > 0 && th.Stat == "p" && n < map[float64]int64{50: 20, 90: 100}[th.Percentile] && (want.Few == 0 || n < want.Few) {
				want.Few = n
			}
			if want.Note != "" { // there is no worse
				continue
			}
			switch {
			case !ok:
				want.Value, want.Note = nil, metric.NoSamples
			case want.Value != nil && !collect.Worse(&th, value, *want.Value):
				continue
			default:
				want.Value = &value
			}
			want.Windows.WorstFromNs = &from
		}
		want.Passed = want.Windows.Judged > 0 && want.Windows.Failed == 0
		if want.Windows.Judged == 0 {
			want.Note = metric.NoSamples
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
}

// durationsOf returns how many of the requests have the duration of a threshold.
func durationsOf(th *metric.Threshold, lives []life) (n int64) {
	for _, l := range lives {
		if th.Metric == "wait" && l.dispatch > 0 || th.Metric == "latency" && l.finish > 0 {
			n++
		}
	}
	return n
}
