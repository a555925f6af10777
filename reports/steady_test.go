package reports_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"apfsim/reports/collect"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario"
)

// threeSeats is M/M/3 for 100 s, with executions of 100 ms in the mean, after a warm-up of 10 s.
func threeSeats(load float64) string {
	spec := strings.ReplaceAll(twoSeats, "duration: 6100ms", "duration: 110s")
	spec = strings.ReplaceAll(spec, "warmup: 100ms", "warmup: 10s")
	spec = strings.ReplaceAll(spec, "maxRequestsInflight: 2,", "maxRequestsInflight: 3,")
	spec = strings.ReplaceAll(spec, "mean: 1ms", "mean: 100ms")
	return strings.ReplaceAll(spec, "rate: 1000/s", fmt.Sprintf("rate: %v/s", 30*load))
}

// notedRuns are how many runs of a scenario, with the seeds from 1 on, have notes.
type notedRuns struct {
	runs    int
	noted   int            // with any note
	kinds   map[string]int // by the id of the note
	grown   int            // runs in which waits or backlog of the level grew
	example string
}

func noteRuns(t *testing.T, spec string, runs int) *notedRuns {
	t.Helper()
	sc, n := load(t, spec), &notedRuns{runs: runs, kinds: map[string]int{}}
	for i := range runs {
		sc.Spec.Seed = uint64(i + 1)
		s := summaryOfRun(t, sc)
		if len(s.Verdict.Trust) > 0 {
			n.noted++
			for _, reason := range s.Verdict.Trust {
				n.kinds[reason.ID]++
				if reason.Level != "sole" {
					t.Errorf("seed %d: the note is about %q: %s", sc.Spec.Seed, reason.Level, reason.Sentence)
				}
			}
			n.example = s.Verdict.Notes()[0]
		}
		for _, l := range s.PriorityLevels {
			if l.Name == "sole" && l.Growth.Text() != "" {
				n.grown++
			}
		}
	}
	t.Logf("%d of %d runs have notes, %v; waits or backlog grew in %d; %s", n.noted, runs, n.kinds, n.grown, n.example)
	return n
}

func summaryOfRun(t *testing.T, sc *scenario.Scenario) *result.Summary {
	t.Helper()
	r := sim.New(sc)
	measurement := collect.Measure(r, result.Interval(int64(sc.Spec.Duration)))
	if err := r.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return judged(measurement.Result()).Summary
}

// atLeast and atMost are shares of the runs, in percent.
func (n *notedRuns) atLeast(t *testing.T, percent int, kinds ...string) {
	t.Helper()
	found := 0
	for _, kind := range kinds {
		found += n.kinds[kind]
	}
	if found*100 < n.runs*percent {
		t.Errorf("%d of %d runs have a note of %v, want at least %d %%: %v", found, n.runs, kinds, percent, n.kinds)
	}
}

func (n *notedRuns) atMost(t *testing.T, percent int) {
	t.Helper()
	if n.noted*100 > n.runs*percent {
		t.Errorf("%d of %d runs have a note, want at most %d %%: %v, %s", n.noted, n.runs, percent, n.kinds, n.example)
	}
}

// A queue in steady state has hardly ever a note, after a warm-up of 10 s, which is enough for loads up to 0.9. The seeds are
// fixed, here and below.
func TestSteadyStateHasNoNotes(t *testing.T) {
	for _, load := range []float64{0.5, 0.8, 0.9} {
		runs := 500
		if load < 0.9 { // far from the limit
			runs = some(100, 500)
		}
		n := noteRuns(t, threeSeats(load), runs)
		n.atMost(t, 1)
		if n.grown*100 > n.runs*4 {
			t.Errorf("load %v: waits or backlog grew in %d of %d runs, want at most 4 %%", load, n.grown, n.runs)
		}
	}
}

// With more load than seats, waits depend on how long the run is, and many requests wait at its end.
func TestOverloadIsNoted(t *testing.T) {
	n := noteRuns(t, threeSeats(1.1), some(50, 500))
	n.atLeast(t, 95, result.Load1)
	if !strings.Contains(n.example, "waited at sole when the run ended, as many as it dispatches in ") {
		t.Errorf("nothing is said of the requests that wait at the end: %s", n.example)
	}
	if n.grown*100 < n.runs*90 {
		t.Errorf("waits or backlog grew in %d of %d runs, want at least 90 %%", n.grown, n.runs)
	}
}

// The load is 0.7 until 90 s, and more than 1 in the last fifth of the window: over the whole window it is less than 1.
func TestDriftIntoOverloadIsNoted(t *testing.T) {
	noteRuns(t, drifting(0.7, 1.1), some(40, 100)).atLeast(t, 85, result.Drift)
	n := noteRuns(t, drifting(0.7, 1.3), some(40, 100))
	n.atLeast(t, 98, result.Drift)
	if !strings.Contains(n.example, "the scenario itself changes the load") {
		t.Errorf("nothing is said of the ramp: %s", n.example)
	}
}

// The load rises from 0.3 to 0.95: there is no steady state, although the level is never overloaded.
func TestTrendIsNoted(t *testing.T) {
	noteRuns(t, ramping(0.3, 0.95), 100).atLeast(t, 65, result.NotSteady)
}

// Five seconds before the end, four times as many requests arrive as the level can serve. The load of the whole window is
// below 1, and the overload is too short for a drift, but 5·(120 − 30) = 450 requests wait at the end.
func TestBacklogAtTheEndIsNoted(t *testing.T) {
	spec := strings.NewReplacer("90s", "105s", "20s", "5s").Replace(drifting(0.5, 4))
	n := noteRuns(t, spec, 20)
	n.atLeast(t, 95, result.Backlog)
	if !strings.Contains(n.example, "requests waited at sole when the run ended, as many as it dispatches in ") {
		t.Errorf("got %s", n.example)
	}
}

// A queue that begins empty at load 0.9 fills in some seconds, which are part of a window without a warm-up; at a load of 0.5
// it fills at once.
func TestShortWarmupIsNoted(t *testing.T) {
	fromStart := func(load float64) string { return strings.Replace(threeSeats(load), "warmup: 10s", "warmup: 0s", 1) }
	n := noteRuns(t, fromStart(0.9), some(50, 200))
	n.atLeast(t, 65, result.ShortWarmupID)
	if !strings.Contains(n.example, "the warm-up is 0 s, and ") || !strings.HasSuffix(n.example, " would do") {
		t.Errorf("no warm-up is named: %s", n.example)
	}
	noteRuns(t, fromStart(0.5), some(50, 200)).atMost(t, 1)
}

// adjustedLate begins with the nominal limit of a level, 5 seats, which needs 10: limits are adjusted for the first time at
// 10 s, and 500 requests have queued until then.
const adjustedLate = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: adjusted-late}
spec:
  duration: 110s
  warmup: 5s
  servers: {maxRequestsInflight: 40, maxMutatingRequestsInflight: 20}
  workload:
  - name: w
    as: {user: u}
    request: {verb: get, resource: configmaps, namespace: x}
    arrivals: {poisson: {rate: 100/s}}
    execution: {exponential: {mean: 100ms}}
`

// The backlog of the beginning differs from everything later, which MSER-5 notices.
func TestBacklogOfTheBeginningIsNoted(t *testing.T) {
	for _, c := range []struct {
		warmup string
		want   int
	}{{"0s", 20}, {"5s", 20}, {"25s", 0}} {
		noted := 0
		sc := load(t, adjustedLate, "spec.warmup="+c.warmup)
		for i := range 20 {
			sc.Spec.Seed = uint64(i + 1)
			if s := summaryOfRun(t, sc); len(s.Verdict.Trust) > 0 {
				reason := s.Verdict.Trust[0]
				if noted++; reason.ID != result.ShortWarmupID || !strings.Contains(reason.Sentence, "MSER-5 leaves out the beginning; the warm-up is ") {
					t.Errorf("warm-up %s: %+v", c.warmup, reason)
				}
			}
		}
		if noted != c.want {
			t.Errorf("warm-up %s: %d of 20 runs have the note, want %d", c.warmup, noted, c.want)
		}
	}
}

// drifting is threeSeats whose load changes at 90 s, for the last fifth of the window.
func drifting(before, last float64) string {
	return strings.Replace(threeSeats(before), fmt.Sprintf("poisson: {rate: %v/s}", 30*before), fmt.Sprintf("ramping: {startRate: %v/s, stages: [{duration: 90s, rate: %v/s}, {duration: 0s, rate: %v/s}, {duration: 20s, rate: %v/s}]}", 30*before, 30*before, 30*last, 30*last), 1)
}

// ramping is threeSeats whose load grows all the time.
func ramping(first, last float64) string {
	return strings.Replace(threeSeats(first), fmt.Sprintf("poisson: {rate: %v/s}", 30*first), fmt.Sprintf("ramping: {startRate: %v/s, stages: [{duration: 110s, rate: %v/s}]}", 30*first, 30*last), 1)
}
