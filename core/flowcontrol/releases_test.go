package flowcontrol

import (
	"maps"
	"math"
	"testing"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/rules"
)

func release(t *testing.T, version string) *rules.Rules {
	t.Helper()
	r, err := rules.For(version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Up to 1.25 levels do not lend: what a configuration says about it does not count, the limits are
// the nominal ones, and load does not move them.
func TestFixedLimits(t *testing.T) {
	for _, version := range []string{"1.18", "1.22", "1.25"} {
		h, adjustments := &host{}, 0
		c := New(0, release(t, version), 600, config.Suggested(rules.Latest()), h, func(int64) { adjustments++ })
		want := map[string]int{
			"catch-all": 13, "exempt": 0, "global-default": 49, "leader-election": 25, "node-high": 98,
			"system": 74, "workload-high": 98, "workload-low": 245,
		}
		check := func(when string) {
			t.Helper()
			if got := limits(c); !maps.Equal(got, want) {
				t.Errorf("%s, %s: limits %v, want %v", version, when, got, want)
			}
			for _, l := range c.Levels() {
				if s := l.Limits(); s.Min != s.Nominal || s.Max != s.Nominal || s.Nominal != want[l.Name()] {
					t.Errorf("%s, %s: %s has the limits %+v, want %d", version, when, l.Name(), s, want[l.Name()])
				}
			}
		}
		check("at the start")
		for range 300 {
			route := c.Route(alice())
			route.Hand = route.Level.queues.Hand(uint64(len(h.started)) * 0x9e3779b97f4a7c15) // 300 flows
			c.Arrive(0, request("r"), &route)
		}
		if got := len(h.started); got != 245 {
			t.Errorf("%s: %d of 300 start, want 245", version, got)
		}
		c.Adjust(AdjustmentPeriodNs)
		check("after an adjustment under load")
		if got := len(h.started); got != 245 || adjustments != 2 {
			t.Errorf("%s: after an adjustment %d of 300 have started, and the observer was notified %d times; want 245, and 2", version, got, adjustments)
		}
		// A configuration without node-high divides the seats again: ⌈600·100/205⌉ = 293.
		without := config.Suggested(rules.Latest())
		without.PriorityLevels = nil
		for _, l := range config.Suggested(rules.Latest()).PriorityLevels {
			if l.Name != "node-high" {
				without.PriorityLevels = append(without.PriorityLevels, l)
			}
		}
		c.Configure(AdjustmentPeriodNs+1, without)
		if got := len(h.started); got != 293 || c.level("workload-low").CurrentLimit() != 293 {
			t.Errorf("%s: %d of 300 have started after the new configuration, with a limit of %d; want 293", version, got, c.level("workload-low").CurrentLimit())
		}
	}
}

// A configuration gives the exempt level 55 shares. Up to 1.27 they do not count: the sum is 245.
func TestExemptShares(t *testing.T) {
	shares, lendable := int32(55), int32(50)
	objects := config.Suggested(rules.Latest())
	for _, l := range objects.PriorityLevels {
		if l.Name == "exempt" {
			l.Spec.Exempt = &config.ExemptSpec{NominalConcurrencyShares: &shares, LendablePercent: &lendable}
		}
	}
	for version, want := range map[string][2]int{
		"1.25": {0, 245},
		"1.27": {0, 245},
		"1.28": {110, 200}, // ⌈600·55/300⌉ and ⌈600·100/300⌉
		"1.31": {110, 200},
	} {
		c := New(0, release(t, version), 600, objects, nil, nil)
		exempt, low := c.level("exempt").Limits(), c.level("workload-low").Limits()
		if exempt.Nominal != want[0] || low.Nominal != want[1] {
			t.Errorf("%s: nominal limits of exempt %d and of workload-low %d, want %v", version, exempt.Nominal, low.Nominal, want)
		}
		if want := want[0] / 2; exempt.Min != want {
			t.Errorf("%s: the lower limit of exempt is %d, want %d", version, exempt.Min, want)
		}
	}
}

// 100 exempt requests execute for a whole period of 10 s. Up to 1.27 they do not affect the levels
// with limits. From 1.28 to 1.30 the exempt level has a demand of 100 seats and takes part in the
// division. From 1.31 on it gets its 100 seats, but they are still divided among the others as well.
func TestExemptDemand(t *testing.T) {
	idle := limits(New(0, release(t, "1.26"), 600, config.Suggested(rules.Latest()), nil, nil))
	for _, version := range []string{"1.26", "1.28", "1.31"} {
		c := New(0, release(t, version), 600, config.Suggested(rules.Latest()), &host{}, nil)
		admin := &classify.Attributes{User: "admin", Groups: []string{"system:masters"}, Verb: "get", Resource: "pods"}
		for range 100 {
			r, route := request("r"), c.Route(admin)
			c.Arrive(0, r, &route)
		}
		c.Adjust(AdjustmentPeriodNs)
		got, sum := limits(c), 0
		for name, limit := range got {
			if name != "exempt" {
				sum += limit
			}
		}
		exempt := c.level("exempt").Seats()
		switch version {
		case "1.26":
			if !maps.Equal(got, idle) || exempt.High != 0 || exempt.FairFraction != 0 {
				t.Errorf("1.26: limits %v and demand %+v, want those of an idle server and none", got, exempt)
			}
		case "1.28": // the targets are 258 in all without exempt: 602·100/358 = 168
			if got["exempt"] != 168 || math.Abs(float64(sum-434)) > 4 || exempt.Target() != 100 {
				t.Errorf("1.28: exempt has %d seats and the others %d, its target is %v; want 168, about 434, and 100", got["exempt"], sum, exempt.Target())
			}
		case "1.31":
			if got["exempt"] != 100 || math.Abs(float64(sum-602)) > 4 || exempt.High != 100 {
				t.Errorf("1.31: exempt has %d seats and the others %d; want 100 and about 602", got["exempt"], sum)
			}
		}
	}
}

// The cap of a request's seats by its level came with 1.25, and with patch releases of 1.26 and 1.27.
func TestSeatCapByRelease(t *testing.T) {
	for version, want := range map[string]int{
		"1.24": 0, "1.25.12": 0, "1.25.13": 37, "1.26.7": 0, "1.26.8": 37, "1.27.4": 0, "1.27.5": 37, "1.28.0": 37, "1.37": 37,
	} {
		c := New(0, release(t, version), 600, config.Suggested(rules.Latest()), nil, nil)
		if got := c.level("workload-low").SeatCap(); got != want {
			t.Errorf("%s: the seat cap of workload-low is %d, want %d", version, got, want)
		}
		if got := c.level("catch-all").SeatCap(); got != 0 {
			t.Errorf("%s: catch-all has the seat cap %d, want none, because it has no queues", version, got)
		}
	}
}

// A steady demand of 7 seats makes the smoothed demand NaN in 1.26.12. From then on no limit
// changes, however much load there is. 1.26.13 has the correction.
func TestBorrowingStops(t *testing.T) {
	for version, stops := range map[string]bool{"1.26.12": true, "1.26.13": false, "1.28.5": true, "1.28.6": false} {
		h := &host{}
		c := New(0, release(t, version), 600, config.Suggested(rules.Latest()), h, nil)
		idle := c.level("workload-low").CurrentLimit()
		last := [7]*Request{}
		for i := range last {
			last[i] = arrive(c, 0)
		}
		const periodNs = 10_300_000_000 // an interval for which rounding makes the variance negative
		for ns := int64(second / 10); ns < periodNs; ns += second / 10 {
			c.Finish(ns, last[0])
			last[0] = arrive(c, ns)
		}
		c.Adjust(periodNs)
		if got := math.IsNaN(c.level("workload-low").Seats().Smoothed); got != stops {
			t.Errorf("%s: smoothed demand %v", version, c.level("workload-low").Seats().Smoothed)
		}
		for range 300 {
			route := c.Route(alice())
			route.Hand = route.Level.queues.Hand(uint64(len(h.started)) * 0x9e3779b97f4a7c15)
			c.Arrive(periodNs+1, request("r"), &route)
		}
		for i := range int64(5) {
			c.Adjust(periodNs + (i+1)*AdjustmentPeriodNs)
		}
		if got := c.level("workload-low").CurrentLimit(); (got == idle) != stops {
			t.Errorf("%s: the limit of workload-low is %d under load, and %d before it", version, got, idle)
		}
	}
}

// A server that starts with the mandatory levels and is configured at the same instant has a period of
// length 0. In 1.26.0 this makes the demand of catch-all NaN: it keeps all 600 seats, and the other
// levels keep the limits with which they were created, the nominal ones less half of what they may
// lend. (At a real server some time passes.)
func TestConfiguredAtOneInstant(t *testing.T) {
	for version, want := range map[string]map[string]int{
		"1.26.0": {"catch-all": 600, "workload-low": 245 - 221/2, "leader-election": 25},
		"1.26":   {"catch-all": 30, "workload-low": 56, "leader-election": 58},
	} {
		c := New(0, release(t, version), 600, config.Mandatory(rules.Latest()), &host{}, nil)
		c.Configure(0, config.Suggested(rules.Latest()))
		c.Adjust(0)
		c.Adjust(AdjustmentPeriodNs)
		got := limits(c)
		for level, limit := range want {
			if got[level] != limit {
				t.Errorf("%s: the limit of %s is %d, want %d", version, level, got[level], limit)
			}
		}
	}
}

// Up to 1.27 a rejected client is always told to come back after one second.
func TestRetryAfterByRelease(t *testing.T) {
	for version, want := range map[string]int{"1.18": 1, "1.27": 1, "1.28": 2, "1.37": 2} {
		tracker := NewRetryAfter(release(t, version))
		for range 9 {
			tracker.Drop(second)
		}
		if got := tracker.Drop(2 * second); got != want {
			t.Errorf("%s: retry after %d s, want %d", version, got, want)
		}
	}
}
