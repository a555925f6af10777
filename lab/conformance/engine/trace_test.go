package engine

import (
	"context"
	"fmt"
	"testing"

	"apfsim/scenarios"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

type line struct {
	what   string
	nowNs  int64
	number int64
	flow   string
	queue  int
	work   string
}

func traced(t *testing.T, sc *scenario.Scenario, options ...sim.Option) (all []line) {
	r := sim.New(sc, options...)
	note := func(what string) func(int64, *server.Request) {
		return func(nowNs int64, r *server.Request) {
			l := line{what, nowNs, r.Number, "", r.QueueIndex(), fmt.Sprint(r.Work)}
			if what == "rejected" {
				l.work += fmt.Sprint(r.Rejection, r.RetryAfterSeconds)
			}
			if r.Flow != nil {
				l.flow = r.Flow.Schema.Name + r.Flow.Distinguisher
			}
			all = append(all, l)
		}
	}
	r.Observe(server.Observer{Queued: note("queued"), Dispatched: note("dispatched"), Rejected: note("rejected"), Refused: note("refused"), GivenUp: note("given up"),
		Adjusted: func(nowNs int64, s *server.Server) {
			for l := range s.EachLevel {
				all = append(all, line{what: "limit", nowNs: nowNs, number: int64(s.Index()), flow: l.Name(), queue: l.CurrentLimit()})
			}
		}})
	if err := r.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTrace(t *testing.T) {
	all, errs := loader.Load(scenarios.Files, scenarios.File(*only), loader.Options{})
	if err := errs.Err(); err != nil {
		t.Fatal(err)
	}
	for _, sc := range all {
		want := traced(t, sc)
		Simulate(t, func(engine sim.Option) {
			got := traced(t, sc, engine)
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					for k := max(0, i-5); k < min(i+6, len(got), len(want)); k++ {
						t.Errorf("%d of %d, %d: %+v, want %+v", k, len(got), len(want), got[k], want[k])
					}
					return
				}
			}
			t.Log(len(got), len(want))
		})
	}
}
