package fit_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"apfsim/experiment"
	"apfsim/experiment/fit"
	"apfsim/experiment/fit/check"
	"apfsim/sim/scenario"
)

// sine returns stages in which the rate is that of a sine: mean·(1 + sin) with a period.
func sine(mean, periodSeconds, seconds float64) string {
	const parts = 16
	stages := []string{}
	for at := 0.0; at < seconds; at += periodSeconds / parts {
		stages = append(stages, fmt.Sprintf("{duration: %gms, rate: %.3f/s}", 1000*periodSeconds/parts, mean*(1+math.Sin(2*math.Pi*(at/periodSeconds+1.0/parts)))))
	}
	return fmt.Sprintf("{ramping: {startRate: %g/s, stages: [%s]}}", mean, strings.Join(stages, ", "))
}

// sends returns a workload of clients that send gets of 5 ms.
func sends(user string, clients int, arrivals string) string {
	return fmt.Sprintf(`
  - name: %s-%d
    clients: %d
    as: {user: "%s-{i}"}
    request: {verb: get, resource: configmaps, namespace: default, name: settings}
    execution: {exponential: {mean: 5ms}}
    arrivals: %s`, user, len(arrivals), clients, user, arrivals)
}

// processes are arrivals that are known, because they are those of a scenario. Where two workloads have the same user,
// the log does not tell them apart: a Poisson process and one that pauses are together one whose rate has two values.
var processes = []struct{ name, workloads string }{
	{"on-off: 10 clients at the same times, 2 s of 20 s", sends("together", 10, "{onOff: {rate: 40/s, on: 2s, off: 18s}}")},
	{"trains: 1000/s for 10 ms, twice a second", sends("trains", 1, "{onOff: {rate: 1000/s, on: 10ms, off: {exponential: {mean: 490ms}}}}")},
	{"Poisson, on-off and a sine, by different users", sends("poisson", 3, "{poisson: {rate: 10/s}}") +
		sends("onoff", 2, "{onOff: {rate: 90/s, on: {exponential: {mean: 1s}}, off: {exponential: {mean: 5s}}}}") + sends("sine", 1, sine(20, 30, 300))},
	{"two rates (MMPP): 5/s and 85/s, each for 10 s on average",
		sends("mmpp", 1, "{poisson: {rate: 5/s}}") + sends("mmpp", 1, "{onOff: {rate: 80/s, on: {exponential: {mean: 10s}}, off: {exponential: {mean: 10s}}}}")},
	{"on-off: 5 clients, exponential times", sends("onoff", 5, "{onOff: {rate: 60/s, on: {exponential: {mean: 2s}}, off: {exponential: {mean: 8s}}}}")},
	{"Poisson", sends("poisson", 1, "{poisson: {rate: 40/s}}")},
	{"periodic: each of 100 clients every 2 s", sends("periodic", 100, "{constant: {rate: 0.5/s}}")},
	{"sine with a period of 20 s", sends("sine", 1, sine(40, 20, 300))},
}

// recordMinutes returns the request log of five minutes.
func recordMinutes(t testing.TB, workloads string, seed uint64) string {
	return recordSeed(t, "  duration: 300s\n  workload:"+workloads, seed)
}

// complete fits a scenario to a log, checks it, and replays what is not fitted.
func complete(t testing.TB, log string, runs int) (*fit.Fitted, *check.Report) {
	t.Helper()
	f := fitTo(t, log)
	r, _, err := check.Complete(context.Background(), f, filepath.Join(t.TempDir(), "scenario.yaml"), runs, func(*scenario.Scenario) experiment.Progress { return silent{} })
	if err != nil {
		t.Fatal(err)
	}
	return f, r
}

// The statistics of the bursts of each workload and of all requests are those of the log: whatever its process is, it is
// fitted, or its requests are replayed, and the report says so.
func TestBurstsAreThoseOfTheLog(t *testing.T) {
	for _, p := range some(3, processes) {
		t.Run(p.name, func(t *testing.T) {
			f, r := complete(t, recordMinutes(t, p.workloads, 11), check.DefaultRuns)
			rows, within := 0, 0
			for _, row := range r.Check.Rows {
				if !isOfBursts(row.Statistic) {
					continue
				}
				rows++
				if row.Within {
					within++
				}
				width := *row.High - *row.Low + 0.03*math.Abs(row.Recorded) + 0.03
				if math.Abs(row.Recorded-*row.Median) > 1.5*width {
					t.Errorf("%s %s %s: recorded %g, in the runs %g to %g", row.Group, row.Name, row.Statistic, row.Recorded, *row.Low, *row.High)
				}
			}
			if want := 7 * (1 + len(f.Report.Workloads)); rows != want || within < rows*8/10 {
				t.Errorf("%d of %d statistics are within their intervals; want %d statistics", within, rows, want)
			}
			for _, w := range f.Report.Workloads {
				if replayed := strings.Contains(string(f.Scenario), "traces/"+w.Name+".jsonl"); replayed != (len(w.NotFitted) > 0) || replayed != strings.Contains(strings.Join(w.Notes, "; "), "not fitted: bursts") {
					t.Errorf("%s: replayed: %v; not fitted: %v, %q", w.Name, replayed, w.NotFitted, w.Notes)
				}
			}
		})
	}
}

// isOfBursts says whether a statistic is one of how much the counts of arrivals vary.
func isOfBursts(statistic string) bool {
	return strings.HasPrefix(statistic, "dispersion ") || strings.HasPrefix(statistic, "autocorrelation ") || statistic == "largest second"
}

// A Poisson process is not taken for one with bursts: nearly as many of its statistics are within the 95 % intervals as
// those say, and none of its logs is replayed.
func TestPoissonHasNoBursts(t *testing.T) {
	rows, within, logs := 0, 0, len(some(5, make([]int, 20)))
	for seed := range uint64(logs) {
		f, r := complete(t, recordSeed(t, "  workload:"+sends("poisson", 2, "{poisson: {rate: 15/s}}"), 100+seed), check.DefaultRuns)
		if w := f.Report.Workloads[0]; len(w.NotFitted) > 0 || len(r.Check.NotFitted) > 0 {
			t.Errorf("seed %d: %q", seed, w.Notes)
		}
		for _, row := range r.Check.Rows {
			if row.Group == "workload" && isOfBursts(row.Statistic) {
				rows++
				if row.Within {
					within++
				}
			}
		}
	}
	// A log of 60 s has six statistics, as it is too short for windows of 60 s. If those of twenty logs were independent,
	// the standard deviation of the number outside would be 2.4.
	if outside := rows - within; rows != 6*logs || outside > logs*6/20+8 {
		t.Errorf("%d of %d statistics are outside of 95 %% intervals", outside, rows)
	}
}
