package reports_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"apfsim/reports/collect"
	"apfsim/reports/result"
	"apfsim/sim"
)

// threeSeats is M/M/3 for 100 s, with executions of 100 ms in the mean, after a warm-up of 10 s.
func threeSeats(load float64) string {
	spec := strings.ReplaceAll(twoSeats, "duration: 6100ms", "duration: 110s")
	spec = strings.ReplaceAll(spec, "warmup: 100ms", "warmup: 10s")
	spec = strings.ReplaceAll(spec, "maxRequestsInflight: 2,", "maxRequestsInflight: 3,")
	spec = strings.ReplaceAll(spec, "mean: 1ms", "mean: 100ms")
	return strings.ReplaceAll(spec, "rate: 1000/s", fmt.Sprintf("rate: %v/s", 30*load))
}

// unsteadyRuns returns how many runs of a scenario have a note that they are not in steady state, by kind.
func unsteadyRuns(t *testing.T, spec string, runs int) (noted int, kinds map[string]int, example string) {
	t.Helper()
	sc, kinds := load(t, spec), map[string]int{}
	for i := range runs {
		sc.Spec.Seed = uint64(i + 1)
		r := sim.New(sc)
		measurement := collect.Measure(r, result.Interval(int64(sc.Spec.Duration)))
		if err := r.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if v := measurement.Result().Summary.Verdict; v != nil {
			noted++
			for _, reason := range v.Trust {
				kinds[reason.ID]++
			}
			example = v.Notes()[0]
		}
	}
	return noted, kinds, example
}

// A queue in steady state has hardly ever a note, one with more load than seats nearly always. The seeds are fixed.
func TestSteadyStateIsTold(t *testing.T) {
	const runs = 500
	if noted, kinds, example := unsteadyRuns(t, threeSeats(0.8), runs); noted*50 >= runs {
		t.Errorf("%d of %d runs at load 0.8 have a note, want less than 2 %%: %v, %s", noted, runs, kinds, example)
	} else {
		t.Logf("load 0.8: %d of %d, %v", noted, runs, kinds)
	}
	noted, kinds, example := unsteadyRuns(t, threeSeats(1.1), runs)
	if noted*100 < runs*95 {
		t.Errorf("%d of %d runs at load 1.1 have a note, want at least 95 %%: %v", noted, runs, kinds)
	}
	t.Logf("load 1.1: %d of %d, %v, %s", noted, runs, kinds, example)
}
