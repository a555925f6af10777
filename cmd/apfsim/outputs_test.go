package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"apfsim/reports"
	"apfsim/sim"
	"apfsim/sim/scenario"
)

// The first output that cannot be begun is the one that is told of, and no other stays behind.
func TestOutputsThatCannotBeBegun(t *testing.T) {
	loaded, err := loadScenarios([]string{"elephants-and-mice"}, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of := sim.New(loaded[0]).Server
	dir := t.TempDir()
	for _, metrics := range []string{"metrics.om", "gone/metrics.om"} {
		f := runFlags{outputFlags: outputFlags{openMetrics: filepath.Join(dir, metrics), events: filepath.Join(dir, "none", "events.json"), toNs: 1}}
		want := "none"
		if metrics != filepath.Base(metrics) {
			want = "gone"
		}
		if _, err := f.create(loaded[0], of); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, want)) {
			t.Errorf("%s: %v; want that there is no %s", metrics, err, want)
		}
		if left := regular(t, dir); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

// Whatever the outputs are to show, there is a tick at its time.
func TestTicks(t *testing.T) {
	const day = int64(24 * time.Hour)
	f := outputFlags{openMetrics: "metrics.om", dumpsNs: []int64{0, 7_001_000_000}, events: "events.json", fromNs: 3_004_000_000, toNs: 9_002_000_000}
	interval := reports.Interval(day)
	for _, c := range []struct {
		name  string
		flags outputFlags
		want  []int64
	}{
		{"none", outputFlags{fromNs: 1, toNs: 3}, nil},
		{"metrics", outputFlags{openMetrics: f.openMetrics}, []int64{reports.ScrapeInterval(day)}},
		{"dumps", outputFlags{dumpsNs: f.dumpsNs}, f.dumpsNs},
		{"events", outputFlags{events: f.events, fromNs: f.fromNs, toNs: 2 * interval}, []int64{f.fromNs}},
		{"events to an odd time", outputFlags{events: f.events, fromNs: interval, toNs: f.toNs}, []int64{f.toNs}},
		{"all", f, []int64{reports.ScrapeInterval(day), 7_001_000_000, f.fromNs, f.toNs}},
	} {
		tick := c.flags.tickNs(day, interval)
		for _, at := range append(c.want, interval) {
			if at%tick != 0 {
				t.Errorf("%s: every %v, and none at %v", c.name, time.Duration(tick), time.Duration(at))
			}
		}
		if c.want == nil && tick != interval {
			t.Errorf("%s: every %v, want %v", c.name, time.Duration(tick), time.Duration(interval))
		}
	}
}
