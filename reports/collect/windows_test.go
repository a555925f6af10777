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
