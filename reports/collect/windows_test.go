package collect

import (
	"testing"
	"time"

	"apfsim/core/queueset"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

func TestWorseIsFurtherFromTheLimit(t *testing.T) {
	for _, c := range []struct {
		op         string
		worse, not float64 // with the limit 10
	}{{"<", 12, 11}, {"<=", 9, 8}, {">", 8, 9}, {">=", 11, 12}, {"==", 7, 12}, {"==", 13, 8}, {"!=", 10, 11}, {"!=", 9, 12}} {
		th := &metric.Threshold{Op: c.op, Limit: 10}
		if !Worse(th, c.worse, c.not) || Worse(th, c.not, c.worse) {
			t.Errorf("%s 10: %v is not worse than %v", c.op, c.worse, c.not)
		}
	}
}

// Of a run with many short windows only the undecided ones are kept, and of a window with many
// requests not every duration.
func TestWindowsKeptAreThoseUndecided(t *testing.T) {
	sc := &scenario.Scenario{}
	sc.Spec.Warmup.Duration, sc.Spec.Duration = 0, quantity.Duration(100_000*time.Millisecond)
	sc.Spec.Thresholds = metric.Thresholds{{Metric: "wait", Stat: "max", Op: "<", Limit: 1e9, Unit: metric.Nanoseconds}}
	sc.Spec.Thresholds[0].Over = quantity.Duration(time.Millisecond)
	ws := NewWindowed(sc)
	most := 0
	for i := range int64(100_000) {
		r := &server.Request{Sent: server.Sent{Template: &server.Template{}, Attempt: 1}, Decision: server.Decision{ArrivalNs: i * int64(time.Millisecond)}}
		ws.arrived(r.ArrivalNs, r)
		if i%2 == 0 {
			r.Rejection = queueset.QueueFull
			ws.rejected(r.ArrivalNs, r)
		} else {
			ws.dispatched(r.ArrivalNs, r)
			ws.executed(r.ArrivalNs, r)
		}
		most = max(most, len(ws[0].open))
	}
	for range 1000 {
		r := &server.Request{Sent: server.Sent{Template: &server.Template{}, Attempt: 1}, Decision: server.Decision{ArrivalNs: int64(sc.Spec.Duration) - 1}}
		ws.arrived(r.ArrivalNs, r)
		ws.dispatched(r.ArrivalNs, r)
		if n := len(ws[0].open[len(ws[0].open)-1].latest); n > maxLatest {
			t.Fatalf("%d durations were kept", n)
		}
	}
	if most > 2 {
		t.Errorf("%d windows were kept at once", most)
	}
	s := &result.Summary{Thresholds: make([]result.Verdict, 1)}
	ws.Judge(s)
	if w := s.Thresholds[0].Windows; w.Judged != 100_000 || w.Failed != 50_000 { // those whose only request was rejected
		t.Errorf("%+v", w)
	}
}

// A request that has executed counts once in its window, also if its server ends before its seats are free again. One that is
// lost does not count as executed.
func TestRequestsOfAServerThatEnds(t *testing.T) {
	sc := &scenario.Scenario{}
	sc.Spec.Duration = quantity.Duration(20 * time.Second)
	sc.Spec.Thresholds = metric.Thresholds{{Metric: "executed", Stat: "count", Op: ">", Limit: 1}}
	sc.Spec.Thresholds[0].Over = quantity.Duration(10 * time.Second)
	ws := NewWindowed(sc)
	var requests [3]*server.Request
	for i := range requests {
		requests[i] = &server.Request{Sent: server.Sent{Template: &server.Template{}, Attempt: 1}, Decision: server.Decision{ArrivalNs: int64(i) * 1e9}}
		ws.arrived(requests[i].ArrivalNs, requests[i])
		ws.dispatched(requests[i].ArrivalNs, requests[i])
	}
	ws.executed(5e9, requests[0])
	ws.givenUp(11e9, requests[0]) // its server ends
	requests[1].Lost = true
	ws.givenUp(11e9, requests[1])
	if n := ws[0].judged; n != 0 {
		t.Errorf("%d windows are judged while a request of the first one executes", n)
	}
	ws.executed(12e9, requests[2])
	s := &result.Summary{Thresholds: make([]result.Verdict, 1)}
	ws.Judge(s)
	if v := &s.Thresholds[0]; v.Windows.Judged != 1 || v.Value == nil || *v.Value != 2 || !v.Passed || !s.Passed {
		t.Errorf("%+v, windows %+v, all passed: %v; want two executed in the first window, which is enough", v, v.Windows, s.Passed)
	}
}

// A threshold over windows that nobody has observed is named in its verdict, which says so.
func TestThresholdOverWindowsThatWereNotObserved(t *testing.T) {
	th := &metric.Threshold{Metric: "wait", Stat: "max", Op: "<", Limit: 1e9, Unit: metric.Nanoseconds, Key: "wait", Text: "max < 1s"}
	th.Over = quantity.Duration(time.Minute)
	if v := (&Collector{}).judge(&result.Summary{}, th); v.Passed || v.Value != nil || v.Metric != "wait" || v.Note != "not evaluated: the run was not observed by windows" {
		t.Errorf("%+v", v)
	}
}
