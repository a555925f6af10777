package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/core/flowcontrol"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// limits writes down when the limits are adjusted, and what that of one level then is.
type limits struct {
	level string
	seen  []string
}

func (l *limits) adjusted(nowNs int64, s *server.Server) {
	for _, level := range s.Levels() {
		if level.Name() == l.level {
			l.seen = append(l.seen, fmt.Sprint(time.Duration(nowNs), " ", level.CurrentLimit()))
		}
	}
}

// limitsOf runs a scenario and returns the times of its adjustments with the limits of
// workload-low.
func limitsOf(t *testing.T, spec string) []string {
	t.Helper()
	run := New(load(t, spec))
	l := &limits{level: "workload-low"}
	run.Observe(server.Observer{Adjusted: l.adjusted})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return l.seen
}

// asking is a load at workload-low of 20 seats of its 25 nominal ones, from the beginning.
const asking = `
  duration: 25s
  workload:
  - name: tenants
    clients: 20
    as: {serviceAccount: "tenant-{i}/app"}
    request: {verb: get, resource: configmaps, namespace: default, name: settings}
    execution: 1s
    arrivals: {closed: {}}
`

// Idle, the level keeps 5 of its 25 seats. It gets the 20 that it asks for at the first
// periodic adjustment, whenever that falls, and its part of what is left: 63 seats are divided
// by targets of 44, which makes 29. The adjustment of a changed configuration comes
// in between and moves no other.
func TestAdjustmentsFallInTheirPhase(t *testing.T) {
	servers := "  servers: {maxRequestsInflight: 40, maxMutatingRequestsInflight: 20"
	for _, c := range []struct{ name, spec, want string }{
		{"no phase", servers + "}", "0s 5, 10s 29, 20s 29"},
		{"zero", servers + ", adjustmentPhase: 0s}", "0s 5, 10s 29, 20s 29"},
		{"3s", servers + ", adjustmentPhase: 3s}", "0s 5, 3s 29, 13s 29, 23s 29"},
		{"the last moment", servers + ", adjustmentPhase: 9999999999ns}", "0s 5, 9.999999999s 29, 19.999999999s 29"},
		{"3s, and a change at 5s", servers + ", adjustmentPhase: 3s}\n  events: [{at: 5s, apply: {}}]",
			"0s 5, 3s 29, 5s 29, 13s 29, 23s 29"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(limitsOf(t, c.spec+asking), ", "); got != c.want {
				t.Errorf("adjusted at %s, want %s", got, c.want)
			}
		})
	}
}

// Where levels do not lend, the limit is the nominal one. In 1.26.12, whose demand can become NaN,
// the adjustments at time 0 do not make it so.
func TestAdjustmentsByRelease(t *testing.T) {
	for version, want := range map[string]string{
		"1.25":    "0s 25, 10s 25, 20s 25",
		"1.26.12": "0s 5, 10s 29, 20s 29",
		"1.27":    "0s 5, 10s 29, 20s 29",
		"1.30":    "0s 5, 10s 29, 20s 29",
	} {
		spec := "  servers: {kubernetesVersion: \"" + version + "\", maxRequestsInflight: 40, maxMutatingRequestsInflight: 20}" + asking
		if got := strings.Join(limitsOf(t, spec), ", "); got != want {
			t.Errorf("%s: adjusted at %s, want %s", version, got, want)
		}
	}
}

// The first window of demand begins at time 0: a level that asks for seats in the second
// half of it has asked for half of them on average.
func TestFirstWindowOfDemandBeginsAtTheStart(t *testing.T) {
	run := New(load(t, "  servers: {maxRequestsInflight: 40, maxMutatingRequestsInflight: 20, adjustmentPhase: 4s}\n"+
		strings.Replace(strings.Replace(asking, "25s", "4001ms", 1), "clients: 20", "clients: 4\n    start: 2s", 1)))
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	for _, level := range run.Server.Levels() {
		if s := level.Seats(); level.Name() == "workload-low" && (s.High != 4 || s.Average != 2 || s.Deviation != 2) {
			t.Errorf("the demand was %d at most, %v on average with a deviation of %v; want 4, 2 and 2", s.High, s.Average, s.Deviation)
		}
	}
}

// A random phase is another one under each seed, within the period and on average in its
// middle; and it is the only thing that it draws: the requests are the same.
func TestRandomPhase(t *testing.T) {
	sum, n := 0.0, 2000
	seen := map[int64]bool{}
	var spec scenario.Spec
	spec.Servers.AdjustmentPhase.Random = true
	for seed := range n {
		spec.Seed = uint64(seed)
		phase := spec.AdjustmentPhaseNs(0)
		if phase < 0 || phase >= flowcontrol.AdjustmentPeriodNs {
			t.Fatalf("seed %d: %d ns is outside of the period", seed, phase)
		}
		if phase != spec.AdjustmentPhaseNs(0) || phase == spec.AdjustmentPhaseNs(1) {
			t.Errorf("seed %d: a server's phase is not its own", seed)
		}
		seen[phase] = true
		sum += float64(phase)
	}
	// Five standard errors of the mean of a uniform variable are 0.32 s here.
	if mean := sum / float64(n) / 1e9; mean < 4.68 || mean > 5.32 || len(seen) != n {
		t.Errorf("%d phases of %d seeds, %.2f s on average", len(seen), n, mean)
	}

	arrivals := func(phase string) []string {
		run := New(load(t, "  servers: {adjustmentPhase: "+phase+"}\n"+
			strings.Replace(asking, "closed: {}", "poisson: {rate: 5/s}", 1)))
		d := &diary{ignores: map[string]bool{"starts": true, "executed": true, "released": true, "rejected": true}}
		run.Observe(d.observer())
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		return d.lines
	}
	if drawn, fixed := arrivals("random"), arrivals("0s"); len(fixed) < 1000 || !slices.Equal(drawn, fixed) {
		t.Errorf("%d and %d arrivals, and they differ", len(drawn), len(fixed))
	}
}
