package fit_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

// unmarked removes from a log what says which requests are retries.
func unmarked(log string) string {
	return regexp.MustCompile(`,"(attempt|retryAfterSeconds)":\d+`).ReplaceAllString(log, "")
}

// In an overload in which clients retry with back-offs of their own, most arrivals are retries. A log that does not say
// which ones still gives the rate of the first attempts, and the back-off. If so many other requests arrive while a retry
// may be due that it does not show, the report says how many of the arrivals may be retries.
func TestBackoffsOfClients(t *testing.T) {
	for i, c := range []struct {
		retry          string
		initial        float64 // seconds; 0 if it is not recognised
		factor, jitter float64
		most           int
	}{
		{"{maxRetries: 4, backoff: {initial: 100ms, factor: 2, jitter: 0.1}}", 0.1, 2, 0.1, 4},
		{"{maxRetries: 6, backoff: {initial: 50ms, factor: 1.5}}", 0.05, 1.5, 0, 6},
		{"{maxRetries: 3, backoff: {initial: 250ms, factor: 3}}", 0.25, 3, 0, 3},
		{"{maxRetries: 5, backoff: {initial: 600ms, factor: 1, jitter: 0.5}}", 0, 0, 0, 0},
	} {
		t.Run(c.retry, func(t *testing.T) {
			if (i == 1 || i == 2) && !*long { // they differ from the first in their numbers only
				t.Skip("takes long: only with -long")
			}
			log := recordRun(t, `  workload:
  - name: hasty
    clients: 20
    as: {user: "hasty-{i}"}
    request: {verb: create, resource: configmaps, namespace: default}
    execution: {exponential: {mean: 200ms}}
    arrivals: {poisson: {rate: 13/s}}
    retry: `+c.retry+"\n")
			first, all := float64(strings.Count(log, `"attempt":1,`)), float64(strings.Count(log, "\n"))
			if all < 2.5*first {
				t.Fatalf("only %g of %g are retries", all-first, all)
			}
			f := fitTo(t, unmarked(log))
			sc := load(t, string(f.Scenario))
			w, notes := sc.Spec.Workload[0], strings.Join(f.Report.Workloads[0].Notes, "; ")
			if c.initial == 0 {
				rejected := strings.Count(log, `"outcome":"rejected"`)
				if want := fmt.Sprintf("up to %d of the %g first attempts are retries", rejected, all); !strings.Contains(notes, want) || w.Retry.MaxRetries != 0 {
					t.Errorf("%q; want %q", notes, want)
				}
				return
			}
			near(t, "first attempts", float64(f.Report.Workloads[0].First), first, 0.05)
			if p := w.Arrivals.Poisson; p == nil {
				t.Errorf("arrivals: %s", f.Report.Workloads[0].Arrivals)
			} else {
				near(t, "rate", float64(p.Rate), 13, 0.06)
			}
			b := w.Retry.Backoff
			if b == nil || w.Retry.MaxRetries != c.most || b.Factor != c.factor || math.Abs(b.Jitter-c.jitter) > 0.03 {
				t.Fatalf("%q", notes)
			}
			near(t, "first delay", float64(b.Initial), c.initial*1e9, 0.02)
		})
	}
}

// Clients that are rejected as often, and send nothing again, have no back-off, also if they send requests at equal
// distances.
func TestNoBackoffWithoutRetries(t *testing.T) {
	for _, arrivals := range []string{"{poisson: {rate: 45/s}}", "{constant: {rate: 40/s}}", "{onOff: {rate: 90/s, on: {exponential: {mean: 1s}}, off: {exponential: {mean: 1s}}}}"} {
		log := recordRun(t, `  workload:
  - name: hasty
    clients: 20
    as: {user: "hasty-{i}"}
    request: {verb: create, resource: configmaps, namespace: default}
    execution: {exponential: {mean: 200ms}}
    arrivals: `+arrivals+"\n")
		f := fitTo(t, unmarked(log))
		if w := f.Report.Workloads[0]; w.Retries != 0 || strings.Contains(string(f.Scenario), "retry") || w.Rejected < w.First/2 {
			t.Errorf("%s: %d retries, %d of %d rejected: %q", arrivals, w.Retries, w.Rejected, w.First, w.Notes)
		}
	}
}
